"""What is said of the columns of a table: cells that are filled in, read as missing or unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..data.cells import number_of, seconds_of
from ..data.table import Column
from .column_encoders import CategoryEncoder, ColumnEncoder, DateEncoder, NumberEncoder


def notes_on(encoders: Mapping[str, ColumnEncoder | None], columns: Sequence[Column]) -> list[str]:
    """What fitted encoders fill in, or do not know, in rows to predict.

    Parameters
    ----------
    encoders : dict
        The encoder of each column by name; None where it is dropped.
    columns : sequence of Column
        The columns of the rows, in the same order.

    Returns
    -------
    list of str
        Nothing for columns whose cells are all known.

    Examples
    --------
    >>> from hyperlocal.data.table import Column
    >>> from hyperlocal.estimators.column_encoders import NumberEncoder
    >>> from hyperlocal.estimators.column_notes import notes_on
    >>> age = Column("text", codes=[0, 1], values=["30", "4o"])
    >>> notes_on({"age": NumberEncoder("number", 35.0, 35.0, 9.0, False)}, [age])
    ["age: 1 cell is not a number ('4o'): read as missing", 'age: 1 missing value filled in by 35']
    """
    pairs = zip(encoders.items(), columns, strict=True)
    return [f"{name}: {note}" for (name, one), column in pairs for note in _notes(one, column)]


def _notes(encoder: ColumnEncoder | None, column: Column) -> Iterable[str]:
    if isinstance(encoder, NumberEncoder):
        bare, comma = column.without(encoder.unit), encoder.decimal_comma
        n_missing = int((~np.isfinite(bare.as_numbers(comma))).sum())
        found = typos(bare, lambda text: number_of(text, comma), "number")
        return (*found, *missing(n_missing, encoder.fill))
    if isinstance(encoder, DateEncoder):
        style = encoder.style
        n_missing = int(np.isnan(column.as_times(style)).sum())
        found = typos(column, lambda text: seconds_of(text, style), "date")
        return (*found, *missing_dates(n_missing))
    if isinstance(encoder, CategoryEncoder):
        return _unknown(encoder, column)
    return ()


def _unknown(encoder: CategoryEncoder, column: Column) -> tuple[str, ...]:
    """A note on values that training did not have; some of the rare ones may be such, too."""
    known: set[str | None] = set(encoder.values)
    unknown = {
        text: count
        for text, count in zip(column.texts, counts_of(column).tolist(), strict=True)
        if count and text not in known
    }
    n_missing = unknown.pop(None, 0)
    notes = []
    if unknown and not encoder.has_rare:
        rows = "row has" if sum(unknown.values()) == 1 else "rows have"
        shown = _shown([str(text) for text in unknown])
        notes.append(f"{sum(unknown.values()):,} {rows} a value that training had not ({shown})")
    if n_missing:
        notes.append(f"{n_missing:,} missing")
    return tuple(notes)


def missing(n_missing: int, fill: float) -> tuple[str, ...]:
    """A note on numbers that are filled in."""
    what = "value" if n_missing == 1 else "values"
    return (f"{n_missing:,} missing {what} filled in by {fill:g}",) if n_missing else ()


def missing_dates(n_missing: int) -> tuple[str, ...]:
    """A note on dates that are missing."""
    return (f"{n_missing:,} missing date{'' if n_missing == 1 else 's'}",) if n_missing else ()


def typos(column: Column, read: Callable[[str], float], what: str) -> tuple[str, ...]:
    """A note on cells that ``read`` cannot make numbers of."""
    if column.numbers is not None:
        n_infinite = int(np.isinf(column.numbers).sum())
        what = "value" if n_infinite == 1 else "values"
        note = f"{n_infinite:,} infinite or huge {what} read as missing"
        return (note,) if n_infinite else ()
    bad = [
        (text, count)
        for text, count in zip(column.texts, counts_of(column), strict=True)
        if text is not None and not np.isfinite(read(text))
    ]
    if not bad:
        return ()
    n_rows = sum(count for _, count in bad)
    cells = f"cell is not a {what}" if n_rows == 1 else f"cells are not {what}s"
    return (f"{n_rows:,} {cells} ({_shown([text for text, _ in bad])}): read as missing",)


def counts_of(column: Column) -> Any:
    """How many rows have each of the different values of a column."""
    cells = column.as_cells()
    assert cells.codes is not None
    return np.bincount(cells.codes, minlength=len(cells.values or ()))


def _shown(texts: Sequence[str]) -> str:
    return ", ".join(map(repr, texts[:3])) + (", …" if texts[3:] else "")
