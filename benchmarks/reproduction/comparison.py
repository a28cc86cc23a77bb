"""What was found beside what was published, and beside a baseline of the same run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import mean, median, stdev

from hyperlocal.compare.table import aligned_table

from .results import Result
from .table import MethodPlan, SetPlan, Table


@dataclass(frozen=True)
class Comparison:
    """A cell of a table, its runs taken together."""

    set: str
    method: str  #: its key in the table
    name: str
    ours: bool
    error: float  #: mean over the runs, in %
    deviation: float | None  #: between the runs
    runs: int
    fit_seconds: float | None  #: median
    predict_seconds: float | None  #: median
    published_error: float | None = None
    source: str = ""
    note: str = ""  #: why the error is above the published one, where it is
    #: Seconds of the table's baseline over these: above 1 is faster, below 1 slower.
    fit_ratio: float | None = None
    predict_ratio: float | None = None

    @property
    def as_good(self) -> bool | None:
        """Whether the error is at most the published one, to the two digits that papers print."""
        if self.published_error is None:
            return None
        return round(self.error, 2) <= self.published_error


def compared(table: Table, results: Sequence[Result]) -> list[Comparison]:
    """Return a row for each set and method that was measured, in the order of the table."""
    found = [
        _compared(table, plan, method, runs)
        for plan in table.sets
        for method in table.methods
        if (runs := [r for r in results if (r.set, r.method) == (plan.name, method.key)])
    ]
    baseline = {row.set: row for row in found if row.method == table.baseline}
    return [_with_ratios(row, baseline.get(row.set)) for row in found]


def _compared(
    table: Table, plan: SetPlan, method: MethodPlan, runs: Sequence[Result]
) -> Comparison:
    errors = [run.error for run in runs]
    deviation = stdev(errors) if len(errors) > 1 else runs[0].deviation
    published = table.published_error(method, plan.name)
    fit_seconds = [run.fit_seconds for run in runs if run.fit_seconds is not None]
    predict_seconds = [run.predict_seconds for run in runs if run.predict_seconds is not None]
    return Comparison(
        plan.name,
        method.key,
        method.name,
        method.entry.is_ours,
        mean(errors),
        deviation,
        sum(run.runs for run in runs),
        median(fit_seconds) if fit_seconds else None,
        median(predict_seconds) if predict_seconds else None,
        published.error if published else None,
        published.source if published else "",
        published.note if published else "",
    )


def _with_ratios(row: Comparison, baseline: Comparison | None) -> Comparison:
    if baseline is None:
        return row
    return replace(
        row,
        fit_ratio=_ratio(baseline.fit_seconds, row.fit_seconds),
        predict_ratio=_ratio(baseline.predict_seconds, row.predict_seconds),
    )


def _ratio(theirs: float | None, ours: float | None) -> float | None:
    return theirs / ours if theirs and ours else None


def verdict(rows: Sequence[Comparison]) -> str:
    """How many of our cells are at least as good as the published ones, in words."""
    compared_with = [row.as_good for row in rows if row.ours and row.as_good is not None]
    if not compared_with:
        return ""
    n_good, n_cells = sum(compared_with), len(compared_with)
    return f"ours at or below the published error in {n_good} of {n_cells} cells"


HEADINGS = ("set", "method", "error %", "published %", "fit s", "predict s", "runs")


def format_comparison(rows: Sequence[Comparison]) -> str:
    """Return rows as aligned plain text.

    Examples
    --------
    >>> from benchmarks.reproduction import Comparison, format_comparison
    >>> row = Comparison("usps", "ll", "LL-SVM", True, 5.2, 0.1, 3, 1.5, 0.02, 5.78, "table 2")
    >>> print(format_comparison([row]))
    set   method  error %      published %  fit s  predict s  runs
    usps  LL-SVM  5.20 ± 0.10         5.78   1.50     0.0200     3
    """
    # Figures with a deviation stand at the left, as words do: their first digits align.
    is_text = [heading in ("set", "method", "error %") for heading in HEADINGS]
    return aligned_table([HEADINGS, *(_cells(row) for row in rows)], is_text)


def _cells(row: Comparison) -> tuple[str, ...]:
    deviation = "" if row.deviation is None else f" ± {row.deviation:.2f}"
    return (
        row.set,
        row.name,
        f"{row.error:.2f}{deviation}",
        "" if row.published_error is None else f"{row.published_error:.2f}",
        _seconds(row.fit_seconds),
        _seconds(row.predict_seconds),
        str(row.runs),
    )


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}" if value >= 100 else f"{value:#.3g}"
