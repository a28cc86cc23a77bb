"""Tables of columns, such as CSV files.

A table of nothing but numbers is read at once by numpy. Any other is read in chunks, twice: to find
out which columns are text, and to keep numbers as numbers and text as text.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from .columns import Table
from .text import SAMPLE_LINES, open_text, records, to_float, to_floats

_CHUNK_ROWS = 20_000  # strings of so many rows are held at once, not the whole file


@dataclass(frozen=True)
class _Layout:
    """How the columns of a text table stand in its file."""

    path: Path
    delimiter: str
    names: tuple[str, ...]
    has_header: bool


def read_delimited(path: Path, target: str | int | None = None) -> Table:
    """Read a table of columns; a ``target`` that stands in the first line makes it a header."""
    layout = _find_layout(path, target)
    numbers = _read_numbers(layout)
    if numbers is not None:
        return Table(path, layout.names, list(numbers.T), None, layout.has_header)
    values, lines = _read_columns(layout, _find_text_columns(layout))
    return Table(path, layout.names, values, lines, layout.has_header)


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
    if isinstance(target, str) and target in first and not _is_column_number(target, len(first)):
        return True
    if _counts_from_zero(first):
        return True
    if any(to_float(cell) is not None for cell in first):
        return False
    # All text: names do not come back as values further down.
    return not any(cell == name for row in others for cell, name in zip(row, first, strict=False))


def _is_column_number(target: str, n_columns: int) -> bool:
    return target.isdecimal() and int(target) < n_columns


def _counts_from_zero(cells: Sequence[str]) -> bool:
    """Recognise the header "0,1,2,…" that data frames without names are written with."""
    leading = list(cells[:-1])
    return len(leading) > 3 and leading == [str(j) for j in range(len(leading))]


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


def _find_text_columns(layout: _Layout) -> np.ndarray:
    is_text = np.zeros(len(layout.names), dtype=bool)
    for _, columns in _chunks(layout):
        for j in np.flatnonzero(~is_text):
            is_text[j] = to_floats(columns[j]) is None
    return is_text


def _read_columns(layout: _Layout, is_text: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """Values of every column, and the line of the file each row stands in."""
    lines: list[int] = []
    pieces: list[list[np.ndarray]] = [[] for _ in layout.names]
    for chunk_lines, columns in _chunks(layout):
        lines.extend(chunk_lines)
        for j, cells in enumerate(columns):
            numbers = None if is_text[j] else to_floats(cells)
            pieces[j].append(np.char.strip(cells) if numbers is None else numbers)
    return [np.concatenate(piece) for piece in pieces], np.array(lines)
