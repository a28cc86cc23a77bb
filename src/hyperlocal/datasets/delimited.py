"""Tables of columns, such as CSV files.

A table of nothing but numbers is read at once by numpy. Any other is read in chunks, twice: to find
out which columns are text, and to keep numbers as numbers and text as text.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from .dataset import REMEDY_FOR_MISSING, Dataset, tidy_labels
from .text import SAMPLE_LINES, is_missing, open_text, records, table_name, to_float, to_floats

_MAX_CATEGORIES = 256  # more one-hot columns than that are rarely meant: an id, a date, a typo
_CHUNK_ROWS = 20_000  # strings of so many rows are held at once, not the whole file


@dataclass(frozen=True)
class _Layout:
    """How the columns of a text table stand in its file."""

    path: Path
    delimiter: str
    names: tuple[str, ...]
    has_header: bool


@dataclass(frozen=True)
class _Columns:
    """The columns of a table, numbers or text, and the line of the file each row stands in."""

    values: list[np.ndarray]
    lines: np.ndarray


def read_delimited(path: Path, target: str | int | None) -> Dataset:
    """Read a table of columns, of which ``target`` (default: the last) holds the labels."""
    layout = _find_layout(path, target)
    label_column = _column_index(layout, target)
    feature_columns = [j for j in range(len(layout.names)) if j != label_column]
    numbers = _read_numbers(layout)
    if numbers is not None:
        feature_columns = _without_row_numbers(layout, feature_columns, numbers[:, 0])
        names = tuple(layout.names[j] for j in feature_columns)
        y = tidy_labels(numbers[:, label_column])
        return Dataset(table_name(path), numbers[:, feature_columns], y, feature_names=names)
    is_text = _find_text_columns(layout)
    # Labels stay text here, so that a missing label is not confused with a number.
    is_text[label_column] = True
    columns = _read_columns(layout, is_text)
    y = _labels(layout, columns, label_column)
    _refuse_missing_numbers(layout, columns, feature_columns)
    feature_columns = _without_row_numbers(layout, feature_columns, columns.values[0])
    X, names = _encode_features(layout, columns, feature_columns)
    return Dataset(table_name(path), X, y, feature_names=names)


def _find_layout(path: Path, target: str | int | None) -> _Layout:
    with open_text(path) as file:
        sample = [line for line in islice(file, SAMPLE_LINES) if line.strip()]
    if not sample:
        raise ValueError(f"{path}: the file is empty")
    delimiter = _sniff_delimiter(sample)
    rows = [[cell.strip() for cell in cells] for _, cells in records(path, sample, delimiter)]
    first = rows[0]
    if len(first) < 2:
        raise ValueError(
            f"{path}: found only one column; a table needs features and a label, separated by "
            "comma, semicolon, tab, bar or spaces"
        )
    has_header = _is_header(first, rows[1:], target)
    if has_header and len(rows) == 1:
        raise ValueError(f"{path}: a header but no rows")
    names = first if has_header else [f"column {j}" for j in range(len(first))]
    return _Layout(path, delimiter, tuple(names), has_header)


def _sniff_delimiter(sample: Sequence[str]) -> str:
    """Choose the delimiter that cuts all lines into equally many cells.

    Comma after semicolon, because of decimal commas; space last, because text has spaces.
    """
    fallback = " "
    most_cells = 1
    for delimiter in ("\t", ";", "|", ","):
        widths = [len(cells) for cells in csv.reader(sample, delimiter=delimiter) if cells]
        if widths[0] > 1 and len(set(widths)) == 1:
            return delimiter
        if widths[0] > most_cells:
            fallback, most_cells = delimiter, widths[0]
    return fallback


def _is_header(
    first: Sequence[str], others: Sequence[Sequence[str]], target: str | int | None
) -> bool:
    """Tell column names from a first row of data."""
    if isinstance(target, str) and target in first:
        return True
    if _counts_from_zero(first):
        return True
    if any(to_float(cell) is not None for cell in first):
        return False
    # All text: names do not come back as values further down.
    return not any(cell == name for row in others for cell, name in zip(row, first, strict=False))


def _counts_from_zero(cells: Sequence[str]) -> bool:
    """Recognise the header "0,1,2,…" that data frames without names are written with."""
    leading = list(cells[:-1])
    return len(leading) > 3 and leading == [str(j) for j in range(len(leading))]


def _column_index(layout: _Layout, target: str | int | None) -> int:
    names = layout.names
    if target is None:
        return len(names) - 1
    if isinstance(target, str) and target in names:
        return names.index(target)
    try:
        index = int(target)
    except ValueError:
        index = len(names)
    if not -len(names) <= index < len(names):
        raise ValueError(
            f"{layout.path}: no column {target!r}; columns are {', '.join(names)} "
            f"(or numbers 0 to {len(names) - 1})"
        )
    return index % len(names)


def _chunks(layout: _Layout) -> Iterator[tuple[Sequence[int], list[Sequence[str]]]]:
    """Yield line numbers and columns of cells, for some thousand rows at a time."""
    with open_text(layout.path) as file:
        rows = records(layout.path, file, layout.delimiter)
        if layout.has_header:
            next(rows)
        while chunk := list(islice(rows, _CHUNK_ROWS)):
            for line, cells in chunk:
                if len(cells) != len(layout.names):
                    raise ValueError(
                        f"{layout.path}, line {line}: {len(cells)} cells where the first line has "
                        f"{len(layout.names)}"
                    )
            yield (
                [line for line, _ in chunk],
                list(zip(*(cells for _, cells in chunk), strict=True)),
            )


def _read_numbers(layout: _Layout) -> np.ndarray | None:
    """Read a table of nothing but numbers, several times as fast; None if it is not one.

    What is wrong with the table, if anything, is left to the slow way to find out.
    """
    try:
        with open_text(layout.path) as file:
            numbers = np.loadtxt(
                file,
                delimiter=None if layout.delimiter == " " else layout.delimiter,
                skiprows=int(layout.has_header),
                comments=None,
                quotechar='"',
                ndmin=2,
            )
    except ValueError:
        return None
    as_expected = numbers.shape[1] == len(layout.names) and np.isfinite(numbers).all()
    return numbers if as_expected else None


def _without_row_numbers(
    layout: _Layout, feature_columns: list[int], first: np.ndarray
) -> list[int]:
    """Leave out a nameless first column of row numbers, which data frames are written with.

    Where rows are sorted by class, such a column would give the labels away.
    """
    is_index = (
        layout.names[0] == ""
        and first.dtype.kind == "f"
        and np.array_equal(first, np.round(first))
        and len(np.unique(first)) == len(first)
    )
    return [j for j in feature_columns if j != 0] if is_index else feature_columns


def _find_text_columns(layout: _Layout) -> np.ndarray:
    is_text = np.zeros(len(layout.names), dtype=bool)
    for _, columns in _chunks(layout):
        for j in np.flatnonzero(~is_text):
            is_text[j] = to_floats(columns[j]) is None
    return is_text


def _read_columns(layout: _Layout, is_text: np.ndarray) -> _Columns:
    lines: list[int] = []
    pieces: list[list[np.ndarray]] = [[] for _ in layout.names]
    for chunk_lines, columns in _chunks(layout):
        lines.extend(chunk_lines)
        for j, cells in enumerate(columns):
            numbers = None if is_text[j] else to_floats(cells)
            pieces[j].append(np.char.strip(cells) if numbers is None else numbers)
    return _Columns([np.concatenate(piece) for piece in pieces], np.array(lines))


def _labels(layout: _Layout, columns: _Columns, label_column: int) -> np.ndarray:
    cells = columns.values[label_column]
    missing = np.flatnonzero([is_missing(cell) for cell in cells])
    if missing.size:
        raise ValueError(
            f"{layout.path}, line {columns.lines[missing[0]]}: no label in column "
            f"{layout.names[label_column]!r} ({missing.size} rows in all); drop those rows"
        )
    return tidy_labels(cells)


def _refuse_missing_numbers(
    layout: _Layout, columns: _Columns, feature_columns: Sequence[int]
) -> None:
    n_bad = np.zeros(len(columns.lines), dtype=np.int64)
    for j in feature_columns:
        if columns.values[j].dtype.kind == "f":
            n_bad += ~np.isfinite(columns.values[j])
    rows = np.flatnonzero(n_bad)
    if not rows.size:
        return
    row = rows[0]
    column = next(
        layout.names[j]
        for j in feature_columns
        if columns.values[j].dtype.kind == "f" and not np.isfinite(columns.values[j][row])
    )
    raise ValueError(
        f"{layout.path}: {rows.size} rows have missing or infinite values (the first is line "
        f"{columns.lines[row]}, column {column!r}); {REMEDY_FOR_MISSING}"
    )


def _encode_features(
    layout: _Layout, columns: _Columns, feature_columns: Sequence[int]
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return numbers as they are and text one-hot, with a name for every column."""
    blocks: list[np.ndarray] = []
    names: list[str] = []
    for j in feature_columns:
        values = columns.values[j]
        if values.dtype.kind == "f":
            blocks.append(values[:, np.newaxis])
            names.append(layout.names[j])
            continue
        categories, codes = np.unique(values, return_inverse=True)
        _check_categories(layout, columns, j, categories)
        blocks.append(np.eye(len(categories))[codes])
        names.extend(f"{layout.names[j]}={category}" for category in categories)
    return np.hstack(blocks), tuple(names)


def _check_categories(layout: _Layout, columns: _Columns, j: int, categories: np.ndarray) -> None:
    line, cell = _first_text_cell(columns, j)
    where = f"{layout.path}, line {line}, column {layout.names[j]!r}"
    if re.fullmatch(r"[-+]?\d+,\d+", cell):
        raise ValueError(f"{where}: {cell!r} has a decimal comma; write a point")
    if len(categories) > _MAX_CATEGORIES:
        raise ValueError(
            f"{where}: {cell!r} is not a number, and as text the column has {len(categories)} "
            "different values, too many to one-hot encode; correct it or drop the column"
        )


def _first_text_cell(columns: _Columns, j: int) -> tuple[int, str]:
    """Return the cell that makes column ``j`` one of text, and its line."""
    return next(
        (int(line), str(cell))
        for line, cell in zip(columns.lines, columns.values[j], strict=True)
        if to_float(cell) is None and not is_missing(cell)
    )
