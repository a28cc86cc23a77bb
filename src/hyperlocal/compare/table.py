"""The rows of a comparison as text, for the terminal and for the page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .metrics import METRICS
from .run import Row


def headings(metrics: Sequence[str]) -> tuple[str, ...]:
    """Headings of a table with these figures."""
    figures = (METRICS[name].heading for name in metrics)
    return ("method", *figures, "fit s", "predict µs/row", "numbers stored", "note")


def format_table(rows: Iterable[Row], metrics: Sequence[str] = ("accuracy",)) -> str:
    """Return rows as aligned plain text, with a column for each of the metrics.

    Parameters
    ----------
    rows : iterable of Row
        The figures of methods.
    metrics : sequence of str, default=("accuracy",)
        The measures, one column each.

    Returns
    -------
    str
        The lines.

    Examples
    --------
    >>> from hyperlocal.compare import Row, format_table
    >>> print(format_table([Row("one", 0.985, 1.25, 7.5, 12345), Row("two", note="skipped")]))
    method  accuracy  fit s  predict µs/row  numbers stored  note
    ------  --------  -----  --------------  --------------  -------
    one      98.50 %   1.25            7.50          12,345
    two            –      –               –               –  skipped
    """
    lines = [headings(metrics), *(formatted(row, metrics) for row in rows)]
    is_text = [heading in ("method", "note") for heading in lines[0]]
    if not any(line[-1] for line in lines[1:]):
        lines = [line[:-1] for line in lines]
    return aligned_table(lines, is_text[: len(lines[0])], rule=True)


def formatted(row: Row, metrics: Sequence[str] = ("accuracy",)) -> tuple[str, ...]:
    """A row as the table shows it, one text for each heading."""
    return (
        row.method,
        *(METRICS[name].text(getattr(row, name)) for name in metrics),
        _three_digits(row.fit_seconds),
        _three_digits(row.predict_microseconds),
        "–" if row.n_numbers is None else f"{row.n_numbers:,}",
        row.note,
    )


def _three_digits(value: float | None) -> str:
    if value is None:
        return "–"
    decimals = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:,.{decimals}f}" if value >= 0.1 else f"{value:.3f}"


def aligned_table(
    lines: Sequence[Sequence[str]], is_text: Sequence[bool], *, rule: bool = False
) -> str:
    """Return cells as aligned text: words at the left and figures at the right of their columns.

    Parameters
    ----------
    lines : sequence of sequences of str
        The headings first.
    is_text : sequence of bool
        Which columns hold words.
    rule : bool, default=False
        Whether to underline the headings.
    """
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rules = [tuple("-" * width for width in widths)] if rule else []
    return "\n".join(
        "  ".join(
            cell.ljust(width) if text else cell.rjust(width)
            for cell, width, text in zip(line, widths, is_text, strict=True)
        ).rstrip()
        for line in (lines[0], *rules, *lines[1:])
    )
