"""The papers' tables beside today's tools: markdown and pictures from the tracked results.

    python -m benchmarks.tables show [TABLE …]   # markdown
    python -m benchmarks.tables import           # take over what other benchmarks tracked
    python -m benchmarks.tables draw             # error against prediction time, for the docs

The results themselves come from ``hyperlocal reproduce TABLE --out benchmarks/results/tables``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hyperlocal.plots.drawing import BLUE, GREY, INK, ORANGE, pyplot

from .common import RESULTS, Row, markdown_table, read_result
from .reproduction import (
    Comparison,
    Result,
    ResultsFolder,
    Table,
    compared,
    load_table,
    table_names,
    verdict,
)
from .reproduction.results import TRACKED

TABLES = RESULTS / "tables"
IMAGES = Path(__file__).parents[1] / "docs" / "images"
BASELINE = "svc"
LARGE = 10_000  # training rows above which speed is compared
FIT_TIMES, PREDICT_TIMES = 5, 20  # how much faster than the baseline we want to be there


# ---- markdown ------------------------------------------------------------------------------------


def measured_tables() -> list[str]:
    """Tables that have results, the main one first."""
    names = [name for name in table_names() if (TABLES / name / "results.csv").exists()]
    return sorted(names, key=lambda name: (name != "main", name))


def results_of(name: str) -> tuple[Table, list[Comparison]]:
    """A table and what was found."""
    table = load_table(name)
    return table, compared(table, ResultsFolder(TABLES / name).read())


def page(name: str) -> str:
    """All that was found of a table."""
    table, rows = results_of(name)
    if not rows:
        return f"## {table.title}\n\nNot measured yet: `hyperlocal reproduce {name}` does it."
    parts = [f"## {table.title}", by_method(table, rows), verdict_in_words(rows)]
    if name == "main":
        parts = [f"## {table.title}", *(in_full(table, rows, plan.name) for plan in table.sets)]
    if table.missing:
        parts.append(f"Not reproduced: {table.missing}.")
    return "\n\n".join(part for part in parts if part)


def by_method(table: Table, rows: Sequence[Comparison]) -> str:
    """Errors, a line per method and a column per set, published figures in brackets."""
    found = {(row.method, row.set): row for row in rows}
    lines: list[Row] = []
    for method in table.methods:
        cells = {
            plan.name: error_and_published(found[method.key, plan.name])
            for plan in table.sets
            if (method.key, plan.name) in found
        }
        if cells:
            names = {plan.name: "" for plan in table.sets}
            lines.append({"error % (published)": method.name, **names, **cells})
    return markdown_table(lines)


def error_and_published(row: Comparison) -> str:
    """``5.20 ± 0.10 (5.78)``; bold where it is at most the published figure."""
    text = with_deviation(row)
    if row.published_error is None:
        return text
    return f"{f'**{text}**' if row.as_good else text} ({row.published_error:.2f})"


def with_deviation(row: Comparison) -> str:
    """``5.20 ± 0.10``, or the error alone where there is no deviation; on one line."""
    n = digits(row.error)
    text = f"{row.error:.{n}f}" + ("" if row.deviation is None else f" ± {row.deviation:.{n}f}")
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def verdict_in_words(rows: Sequence[Comparison]) -> str:
    """How many of our cells reach the paper's, as a sentence."""
    words = verdict(rows)
    return f"{words[0].upper()}{words[1:]}." if words else ""


def in_full(table: Table, rows: Sequence[Comparison], name: str) -> str:
    """One set: error, seconds, and how many times faster than the baseline."""
    lines = [
        {
            "method": row.name,
            "error %": with_deviation(row),
            "fit s": seconds(row.fit_seconds),
            "predict s": seconds(row.predict_seconds),
            "fit ×": times(row.fit_ratio),
            "predict ×": times(row.predict_ratio),
            "runs": row.runs,
        }
        for row in rows
        if row.set == name
    ]
    return f"### {name}\n\n{markdown_table(lines)}" if lines else ""


def seconds(value: float | None) -> str:
    """Two digits, or more above a hundred; never as a power of ten."""
    if value is None:
        return ""
    return f"{value:.0f}" if value >= 100 else np.format_float_positional(
        value, precision=2, fractional=False, trim="-"
    )  # fmt: skip


def times(ratio: float | None) -> str:
    """A ratio with two digits, or more above a hundred."""
    return "" if ratio is None else f"{ratio:.0f}" if ratio >= 100 else f"{ratio:.2g}"


def is_fast(row: Comparison) -> bool:
    """Whether fits and predictions are faster than the baseline's by as much as we want."""
    return (row.fit_ratio or 0) >= FIT_TIMES and (row.predict_ratio or 0) >= PREDICT_TIMES


def training_rows() -> dict[str, int]:
    """How many each set of the main table has."""
    results = ResultsFolder(TABLES / "main").read()
    return {result.set: result.n_train for result in results if result.n_train is not None}


@dataclass(frozen=True)
class Contender:
    """One of our estimators against the baseline on all sets of the main table."""

    rows: dict[str, Comparison]
    baseline: dict[str, Comparison]
    n_rows: dict[str, int]

    @property
    def name(self) -> str:
        """What the table calls it."""
        return next(iter(self.rows.values())).name

    def error_of(self, name: str) -> str:
        """Its error on a set, bold if it is at most the baseline's."""
        error = self.rows[name].error
        return bold_if(error <= self.baseline[name].error, error)

    @property
    def excess(self) -> dict[str, float]:
        """How far its error is above the baseline's, in points, set by set."""
        return {name: row.error - self.baseline[name].error for name, row in self.rows.items()}

    @property
    def large(self) -> list[Comparison]:
        """Its results where there are many rows."""
        return [row for name, row in self.rows.items() if self.n_rows[name] > LARGE]

    @property
    def merit(self) -> tuple[bool, int, float]:
        """What makes one better: speed where it counts, sets that are won, and by how much."""
        excess = self.excess.values()
        return all(map(is_fast, self.large)), sum(one <= 0 for one in excess), -sum(excess)

    def in_words(self) -> str:
        """Where it wins, where it loses, and how fast it is."""
        above = {name: points for name, points in self.excess.items() if points > 0}
        losses = ", ".join(f"{name} by {points:.2g}" for name, points in above.items())
        text = f"{self.name}: the error is at most SVC's on {len(self.rows) - len(above)} of "
        text += f"{len(self.rows)} sets" + (f", above it on {losses} points" if above else "")
        fit, predict = (
            times(min(getattr(row, kind) or 0 for row in self.large))
            for kind in ("fit_ratio", "predict_ratio")
        )
        text += f"; above {LARGE:,} rows, fits are at least {fit} and predictions {predict} times "
        slow = [f"{row.set}: {times(row.fit_ratio)}" for row in self.large if not is_fast(row)]
        return text + "faster" + (f" ({', '.join(slow)})." if slow else ".")


def contenders() -> list[Contender]:
    """Our estimators, the best of them first."""
    rows, sizes = results_of("main")[1], training_rows()
    baseline = {row.set: row for row in rows if row.method == BASELINE}
    found: dict[str, dict[str, Comparison]] = {}
    for row in rows:
        if row.ours and row.set in baseline:
            found.setdefault(row.method, {})[row.set] = row
    ours = [Contender(results, baseline, sizes) for results in found.values()]
    return sorted(ours, key=lambda one: one.merit, reverse=True)


def summary() -> str:
    """For the README: ours against a tuned RBF SVC, set by set, and how fast our best is."""
    best, *others = contenders()
    lines = []
    for name, theirs in best.baseline.items():
        line: Row = {
            "test error %": f"{name}, {best.n_rows[name]:,} rows",
            best.name: best.error_of(name),
            "RBF SVC, tuned": f"{theirs.error:.{digits(theirs.error)}f}",
            "fit ×": times(best.rows[name].fit_ratio),
            "predict ×": times(best.rows[name].predict_ratio),
        }
        lines.append(line | {one.name: one.error_of(name) for one in others})
    words = "\n".join(f"- {one.in_words()}" for one in (best, *others))
    return f"{markdown_table(lines)}\n\n{words}"


def judged() -> Iterator[tuple[str, str, list[Comparison]]]:
    """Table, method, and the cells of that method of ours that have a published figure."""
    for name in measured_tables():
        table, rows = results_of(name)
        for method in table.methods:
            cells = [row for row in rows if row.method == method.key and row.as_good is not None]
            if cells and cells[0].ours:
                yield name, method.name, cells


def tally() -> str:
    """How many cells of each method of ours are at or below the published error."""
    return markdown_table(
        [
            {
                "table": table,
                "method": method,
                "reached": f"{sum(bool(row.as_good) for row in cells)} of {len(cells)}",
            }
            for table, method, cells in judged()
        ]
    )


def misses() -> str:
    """The cells above the published error, and why."""
    return markdown_table(
        [
            {
                "table": table,
                "method": method,
                "set": row.set,
                "error %": with_deviation(row),
                "published": f"{row.published_error:.2f}",
                "why": row.note or "not known",
            }
            for table, method, cells in judged()
            for row in cells
            if not row.as_good
        ]
    )


def bold_if(condition: bool, error: float) -> str:
    """An error, bold if it is the lower one."""
    text = f"{error:.{digits(error)}f}"
    return f"**{text}**" if condition else text


def digits(error: float) -> int:
    """Small errors have a digit more."""
    return 2 if error >= 0.1 else 3


# ---- what other benchmarks tracked ---------------------------------------------------------------


@dataclass(frozen=True)
class Source:
    """Rows of a tracked result that belong to a method of a table."""

    result: str
    table: str
    method: str
    where: tuple[tuple[str, Any], ...] = ()

    def results(self) -> Iterator[Result]:
        """The rows as results of the table's sets."""
        sets = {plan.name for plan in load_table(self.table).sets}
        rows = read_result(self.result)["rows"]
        n_runs = sum(row.get("part") == "runs" for row in rows) or 1
        for row in rows:
            if row["set"] in sets and all(row.get(key) == value for key, value in self.where):
                error = row["error %"] if "error %" in row else 100 - row["accuracy %"]
                yield Result(
                    row["set"], self.method, 0, round(error, 4),
                    deviation=row.get("sd", row.get("error % (std)")),
                    runs=int(row.get("seeds", row.get("splits", n_runs))),
                    note=f"measured by {read_result(self.result)['command']}", plan=TRACKED,
                )  # fmt: skip


MEAN = (("part", "mean"),)
AT_100 = ("m", 100)
SOURCES = (
    Source("landmark_accuracy", "l3-svm-3", "l3-svm", (("method", "LandmarkSVC"),)),
    Source("landmark_accuracy", "l3-svm-3", "clustered", (("method", "ClusteredSVC"),)),
    *(Source("landmark_accuracy", "llc-sapl-2", "clustered",
             (("method", "ClusteredSVC"), ("set", name)))
      for name in ("ijcnn1", "skin", "magic04", "usps", "letter")),
    *(Source(f"rivals_accuracy_ml3_{name}", "l3-svm-3", "ml3", MEAN)
      for name in ("svmguide1", "ijcnn1", "usps", "mnist")),
    *(Source(f"rivals_accuracy_ldkl_{name}", "llc-sapl-2", "ldkl", MEAN)
      for name in ("banana", "ijcnn1", "skin", "magic04", "usps", "mnist", "letter")),
    Source("anchor_learning_biases", "llc-sapl-2", "llc-sapl-lcc",
           (AT_100, ("method", "LLC-SAPL_lcc"))),
    *(Source("anchor_learning_biases", "llc-sapl-2", "lcc",
             (AT_100, ("method", "LCC+SVM (lcc codes)"), ("set", name)))
      for name in ("banana", "skin", "magic04", "usps", "mnist")),
    Source("neighborhood_accuracy", "llc-sapl-2", "svm-knn",
           (("method", "SVM-KNN (k by leave-one-out)"),)),
    *(Source(f"pegasos_kernel_{name}", "pegasos-kernel", method, (("method", theirs), ("C", 1.0)))
      for name in ("a9a", "mnist")
      for method, theirs in (("kernel-pegasos", "KernelPegasosSVC"), ("svc", "LIBSVM"))),
)  # fmt: skip
# Rows of the main table that other tables have too, prepared and chosen alike.
SHARED = {
    "ll-svm-1": {"svc": "svc", "linear-svc": "linear"},
    "ll-svm-2": {"svc": "svc", "linear-svc": "linear"},
    "llc-sapl-2": {"svc": "svc", "linear-svc": "linear"},
}


def take_over() -> None:
    """Write tracked rows into the tables' results, in the place of those taken over before."""
    taken: dict[str, list[Result]] = {}
    for source in SOURCES:
        taken.setdefault(source.table, []).extend(source.results())
    for name, methods in SHARED.items():
        sets = {plan.name for plan in load_table(name).sets}
        for row in results_of("main")[1]:
            if row.method in methods and row.set in sets:
                taken.setdefault(name, []).append(
                    Result(
                        row.set, methods[row.method], 0, row.error, row.deviation, row.runs,
                        row.fit_seconds, row.predict_seconds, note="as in the table main",
                        plan=TRACKED,
                    )
                )  # fmt: skip
    for name, results in taken.items():
        folder = ResultsFolder(TABLES / name)
        folder.write([r for r in folder.read() if r.plan != TRACKED] + results)


# ---- pictures ------------------------------------------------------------------------------------

COLUMNS = 4
CROWDED = 30  # errors that differ by so much leave room for powers of ten only
FULL = 10  # and by so much, for a few numbers between them
COLOURS = (ORANGE, BLUE, BLUE, BLUE, ORANGE, *7 * (GREY,))  # in the order of the table


def draw() -> None:
    """Error against prediction time, one panel per set."""
    plt = pyplot()
    table, rows = results_of("main")
    styles = {method.key: style for method, style in zip(table.methods, markers(), strict=False)}
    names = [plan.name for plan in table.sets if any(row.set == plan.name for row in rows)]
    n_lines = -(-len(names) // COLUMNS)
    figure, panels = plt.subplots(
        n_lines, COLUMNS, figsize=(11, 2.9 * n_lines + 0.7), squeeze=False, layout="constrained"
    )
    tested = {result.set: result.n_test for result in ResultsFolder(TABLES / "main").read()}
    for panel, name in zip(panels.ravel(), names, strict=False):
        draw_set(panel, name, [row for row in rows if row.set == name], tested[name], styles)
    for panel in panels.ravel()[len(names) :]:
        panel.axis("off")
    handles = [
        plt.Line2D([], [], linestyle="", **styles[method.key], label=method.name)
        for method in table.methods
        if any(row.method == method.key for row in rows)
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    figure.savefig(IMAGES / "pareto.png", dpi=85)


def markers() -> Iterator[dict[str, Any]]:
    """Our estimators in blue, kernel SVMs in orange, the rest in grey; a shape for each."""
    for colour, shape in zip(COLOURS, "oDsdP^v<>Xp*", strict=True):
        yield {"marker": shape, "color": colour, "markersize": 7 if colour == BLUE else 6}


def draw_set(
    panel: Any, name: str, rows: Sequence[Comparison], n_test: int, styles: dict[str, Any]
) -> None:
    """Points, and the line of those that none beats in both."""
    points = [(1e6 * row.predict_seconds / n_test, row.error, row.method) for row in rows
              if row.predict_seconds is not None]  # fmt: skip
    front, best = [], float("inf")
    for microseconds, error, _ in sorted(points):
        if error < best:
            front.append((microseconds, error))
            best = error
    panel.plot(*zip(*front, strict=True), color=INK, lw=0.7, alpha=0.5, zorder=1)
    for microseconds, error, method in points:
        panel.plot(microseconds, error, linestyle="", zorder=2, **styles[method])
    panel.set(xscale="log", yscale="log", title=name)
    panel.set_xlabel("predict, µs per row", fontsize=8)
    panel.set_ylabel("test error, %", fontsize=8)
    low, high = panel.get_ylim()
    if high > FULL * low:
        panel.set_yscale("log", subs=(2, 5))
    panel.yaxis.set_major_formatter("{x:g}")
    panel.yaxis.set_minor_formatter("{x:g}" if high < CROWDED * low else "")
    panel.tick_params(labelsize=7, which="both")
    panel.spines[["top", "right"]].set_visible(False)


def main() -> None:
    """Show, import or draw."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("part", choices=("show", "import", "draw"))
    parser.add_argument("tables", nargs="*", metavar="TABLE")
    arguments = parser.parse_args()
    if arguments.part == "import":
        take_over()
    elif arguments.part == "draw":
        draw()
    else:
        print("\n\n".join(page(name) for name in arguments.tables or measured_tables()))


if __name__ == "__main__":
    main()
