"""The papers' tables beside today's tools: markdown and pictures from the tracked results.

    python -m benchmarks.tables show [TABLE …]   # markdown
    python -m benchmarks.tables import           # take over what other benchmarks tracked
    python -m benchmarks.tables draw             # error against prediction time, for the docs
    python -m benchmarks.tables restamp          # after a rename in the plans, see restamp()

The results come from ``python -m benchmarks reproduce TABLE --out benchmarks/results/tables``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hyperlocal.plots.drawing import BLUE, GREY, INK, ORANGE, pyplot

from .common import plain_parser, read_result
from .reproduction import Comparison, Result, ResultsFolder, load_table
from .reproduction.results import TRACKED
from .table_pages import TABLES, measured_tables, page, results_of

IMAGES = Path(__file__).parents[1] / "docs" / "images"

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
    Source("landmark_accuracy", "l3-svm-3", "landmark", (("method", "LandmarkSVC"),)),
    Source("landmark_accuracy", "l3-svm-3", "clustered", (("method", "ClusteredSVC"),)),
    *(Source("landmark_accuracy", "llc-sapl-2", "clustered",
             (("method", "ClusteredSVC"), ("set", name)))
      for name in ("ijcnn1", "skin", "magic04", "usps", "letter")),
    *(Source(f"rivals_accuracy_latent_{name}", "l3-svm-3", "latent", MEAN)
      for name in ("svmguide1", "ijcnn1", "usps", "mnist")),
    *(Source(f"rivals_accuracy_local-deep_{name}", "llc-sapl-2", "local-deep", MEAN)
      for name in ("banana", "ijcnn1", "skin", "magic04", "usps", "mnist", "letter")),
    Source("anchor_learning_biases", "llc-sapl-2", "supervised-anchors-bias-only",
           (AT_100, ("method", "LLC-SAPL_lcc"))),
    *(Source("anchor_learning_biases", "llc-sapl-2", "local-coding",
             (AT_100, ("method", "LCC+SVM (lcc codes)"), ("set", name)))
      for name in ("banana", "skin", "magic04", "usps", "mnist")),
    Source("neighborhood_accuracy", "llc-sapl-2", "neighborhood",
           (("method", "SVM-KNN (k by leave-one-out)"),)),
    *(Source(f"pegasos_kernel_{name}", "pegasos-kernel", method, (("method", theirs), ("C", 1.0)))
      for name in ("a9a", "mnist")
      for method, theirs in (("kernel-pegasos", "KernelPegasosSVC"), ("svc", "LIBSVM"))),
)  # fmt: skip
# Rows of the main table that other tables have too, prepared and chosen alike.
SHARED_TABLES, SHARED_METHODS = ("ll-svm-1", "ll-svm-2", "llc-sapl-2"), ("svc", "linear-svc")


def take_over() -> None:
    """Write tracked rows into the tables' results, in the place of those taken over before."""
    taken: dict[str, list[Result]] = {}
    for source in SOURCES:
        taken.setdefault(source.table, []).extend(source.results())
    for name in SHARED_TABLES:
        sets = {plan.name for plan in load_table(name).sets}
        for row in results_of("main")[1]:
            if row.method in SHARED_METHODS and row.set in sets:
                taken.setdefault(name, []).append(
                    Result(
                        row.set, row.method, 0, row.error, row.deviation, row.runs,
                        row.fit_seconds, row.predict_seconds, note="as in the table main",
                        plan=TRACKED,
                    )
                )  # fmt: skip
    for name, results in taken.items():
        folder = ResultsFolder(TABLES / name)
        folder.write([r for r in folder.read() if r.plan != TRACKED] + results)


def restamp() -> None:
    """Mark the last result of every cell as one of the plan as it is now.

    For a plan in which a setting or a method only has another name: the results stay valid, but the
    digest of the plan has changed. The names in ``results.csv`` must have been changed too.
    """
    for name in measured_tables():
        folder = ResultsFolder(TABLES / name)
        digests = {cell.key: cell.digest for cell in load_table(name).cells()}
        results = folder.read()
        stamped = [
            one if one.plan == TRACKED else replace(one, plan=digests.get(one.key, one.plan))
            for one in results
        ]
        if stamped != results:
            folder.write(stamped)


# ---- pictures ------------------------------------------------------------------------------------

COLUMNS = 4
CROWDED = 30  # errors that differ by so much leave room for powers of ten only
FULL = 10  # and by so much, for a few numbers between them
COLORS = (ORANGE, BLUE, BLUE, BLUE, ORANGE, *7 * (GREY,))  # in the order of the table


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
    for color, shape in zip(COLORS, "oDsdP^v<>Xp*", strict=True):
        yield {"marker": shape, "color": color, "markersize": 7 if color == BLUE else 6}


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
    """Show, import, draw or restamp."""
    parser = plain_parser(__doc__)
    parser.add_argument("part", choices=("show", "import", "draw", "restamp"))
    parser.add_argument("tables", nargs="*", metavar="TABLE")
    arguments = parser.parse_args()
    if arguments.part == "import":
        take_over()
    elif arguments.part == "draw":
        draw()
    elif arguments.part == "restamp":
        restamp()
    else:
        print("\n\n".join(page(name) for name in arguments.tables or measured_tables()))


if __name__ == "__main__":
    main()
