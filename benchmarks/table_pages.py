"""What was found of the papers' tables as markdown, for the README and the docs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .common import RESULTS, Row, markdown_table, speed
from .reproduction import (
    Comparison,
    ResultsFolder,
    Table,
    compared,
    load_table,
    table_names,
    verdict,
)

TABLES = RESULTS / "tables"
BASELINE = "svc"
# Locally linear throughout: a weight per feature explains every prediction exactly.
EXPLAINED = ("supervised-anchors", "locally-linear")
LARGE = 10_000  # training rows above which speed is compared
FIT_TIMES, PREDICT_TIMES = 5, 20  # how much faster than the baseline we want to be there


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
        return f"## {table.title}\n\nNot measured: `python -m benchmarks reproduce {name}` does it."
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
    """One set: error, seconds, and how much faster or slower than the baseline."""
    lines = [
        {
            "method": row.name,
            "error %": with_deviation(row),
            "fit s": seconds(row.fit_seconds),
            "predict s": seconds(row.predict_seconds),
            "fit": speed(row.fit_ratio),
            "predict": speed(row.predict_ratio),
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


def is_fast(row: Comparison) -> bool:
    """Whether fits and predictions are faster than the baseline's by as much as we want."""
    return (row.fit_ratio or 0) >= FIT_TIMES and (row.predict_ratio or 0) >= PREDICT_TIMES


def rows_of_sets(table: Table) -> dict[str, tuple[int, int]]:
    """How many rows of each set are trained on, and how many are tested on in all repeats.

    Test parts that are cut anew in each repeat overlap, but have no more rows than the set.
    """
    found, plans = {}, {plan.name: plan for plan in table.sets}
    for one in ResultsFolder(TABLES / table.name).read():
        if one.set in plans and one.n_train and one.n_test:
            plan = plans[one.set]
            times = 1 if plan.train_share is None else plan.repeats
            found[one.set] = one.n_train, min(times * one.n_test, one.n_train + one.n_test)
    return found


def chance(errors: Sequence[float], n_rows: int) -> float:
    """How far a difference of two errors in % is from the truth, typically: at most this.

    As if the two methods erred independently; mostly they err on the same rows, and it is less.

    Examples
    --------
    >>> from benchmarks.table_pages import chance
    >>> chance([50, 50], 5_000)
    1.0
    """
    return float(100 * np.sqrt(sum(e / 100 * (1 - e / 100) for e in errors) / n_rows))


@dataclass(frozen=True)
class OurEstimator:
    """One of our estimators against the baseline on all sets of the main table."""

    rows: dict[str, Comparison]
    baseline: dict[str, Comparison]
    n_rows: dict[str, int]
    n_test: dict[str, int]

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

    def chance_of(self, name: str) -> float:
        """The standard error, at most, of a difference from the baseline on a set's test rows."""
        return chance([self.rows[name].error, self.baseline[name].error], self.n_test[name])

    @property
    def large(self) -> list[Comparison]:
        """Its results where there are many rows."""
        return [row for name, row in self.rows.items() if self.n_rows[name] > LARGE]

    @property
    def merit(self) -> tuple[bool, bool, int, float]:
        """What puts one first: it is explained, it is fast on many rows, and it errs less."""
        is_explained = next(iter(self.rows.values())).method in EXPLAINED
        excess = self.excess.values()
        n_as_good = sum(one <= 0 for one in excess)
        return is_explained, all(map(is_fast, self.large)), n_as_good, -sum(excess)

    def in_words(self) -> str:
        """On which sets it errs less and more than the baseline, and how fast it is."""
        above = {name: points for name, points in self.excess.items() if points > 0}
        higher = ", ".join(
            f"{name} by {points:.2g} (±{self.chance_of(name):.1g})"
            for name, points in above.items()
        )
        text = f"{self.name}: the error is at most SVC's on {len(self.rows) - len(above)} of "
        text += f"{len(self.rows)} sets" + (f", above it on {higher} points" if above else "")
        fits = _range({row.set: row.fit_ratio for row in self.large})
        predictions = _range({row.set: row.predict_ratio for row in self.large})
        return f"{text}; above {LARGE:,} rows, fits are {fits}, predictions {predictions}."


def _range(ratios: dict[str, float | None]) -> str:
    """The smallest and the largest ratio in words, with the sets that they are of."""
    known = {name: ratio for name, ratio in ratios.items() if ratio is not None}
    ends = [name for find in (min, max) for name in [find(known, key=lambda one: known[one])]]
    return " to ".join(f"{speed(known[name])} ({name})" for name in ends)


def our_estimators() -> list[OurEstimator]:
    """Our estimators, by merit."""
    table, rows = results_of("main")
    sizes = rows_of_sets(table)
    n_train, n_test = ({name: pair[i] for name, pair in sizes.items()} for i in (0, 1))
    baseline = {row.set: row for row in rows if row.method == BASELINE}
    found: dict[str, dict[str, Comparison]] = {}
    for row in rows:
        if row.ours and row.set in baseline:
            found.setdefault(row.method, {})[row.set] = row
    ours = [OurEstimator(results, baseline, n_train, n_test) for results in found.values()]
    return sorted(ours, key=lambda one: one.merit, reverse=True)


def summary() -> str:
    """For the README: ours against a tuned RBF SVC, set by set, and how fast the first is."""
    best, *others = our_estimators()
    lines = []
    for name, theirs in best.baseline.items():
        line: Row = {
            "test error %": f"{name}, {best.n_rows[name]:,} rows",
            best.name: best.error_of(name),
            "RBF SVC, tuned": f"{theirs.error:.{digits(theirs.error)}f}",
            "fit": speed(best.rows[name].fit_ratio),
            "predict": speed(best.rows[name].predict_ratio),
        }
        lines.append(line | {one.name: one.error_of(name) for one in others})
    words = "\n".join(f"- {one.in_words()}" for one in (best, *others))
    return f"{markdown_table(lines)}\n\n{words}"


def with_published() -> Iterator[tuple[str, str, list[Comparison]]]:
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
            for table, method, cells in with_published()
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
            for table, method, cells in with_published()
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
