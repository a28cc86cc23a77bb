"""Tables of columns, such as CSV files, read in blocks of rows.

Blocks of nothing but numbers are read by numpy; from the first other block on, cells are parsed one
by one, several times more slowly.
"""

from __future__ import annotations

import csv
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

import numpy as np

from .columns import Table, joined
from .text import SAMPLE_LINES, open_text, records, to_float, to_floats, without_breaks

CHUNK_ROWS = 20_000  # the text of so many rows is in memory at a time, not that of the whole file


@dataclass(frozen=True)
class _Layout:
    """How the columns of a text table stand in its file."""

    path: Path
    delimiter: str
    names: tuple[str, ...]
    has_header: bool


def read_delimited(
    path: Path,
    target: str | int | None = None,
    *,
    texts: Collection[int] = (),
    decimal: str = ".",
    fast: bool = True,
    chunk_rows: int = CHUNK_ROWS,
) -> Table:
    """Read a whole table; arguments as in :func:`read_delimited_blocks`."""

    def blocks(texts: Collection[int]) -> list[Table]:
        return list(
            read_delimited_blocks(
                path, chunk_rows, target=target, texts=texts, decimal=decimal, fast=fast
            )
        )

    found = blocks(texts)
    columns = range(len(found[0].names))
    some = {j for j in columns if any(block.is_text(j) for block in found)}
    if any(not block.is_text(j) for block in found for j in some):
        found = blocks(some)  # what was read as numbers in some blocks must stay text
    return joined(found)


def read_delimited_blocks(
    path: Path,
    n_rows: int,
    *,
    target: str | int | None = None,
    texts: Collection[int] = (),
    decimal: str = ".",
    fast: bool = True,
) -> Iterator[Table]:
    """Read a table in blocks of about ``n_rows`` rows.

    A ``target`` that is a cell of the first line makes that line a header. A column that is not
    among ``texts`` is text only in the blocks that need it. ``decimal`` is the decimal point of
    numbers. ``fast=False`` parses cells one by one from the beginning.
    """
    layout = _find_layout(path, target)
    is_text = np.isin(np.arange(len(layout.names)), list(texts))
    first_row = lines_before = 0

    def block(values: list[np.ndarray], lines: Sequence[int] | None) -> Table:
        nonlocal first_row
        numbers = None if lines is None else np.array(lines)
        table = Table(path, layout.names, values, numbers, layout.has_header, first_row)
        first_row += table.n_rows
        return table

    with open_text(path) as file:
        lines: list[str] = []
        while fast and not is_text.any() and (lines := list(islice(file, n_rows))):
            numbers = _parse_numbers(layout, lines, lines_before == 0)
            if numbers is None:
                break
            lines_before += len(lines)
            yield block(list(numbers.T), None)
        for chunk_lines, columns in _chunks(layout, chain(lines, file), n_rows, lines_before):
            pairs = zip(columns, is_text, strict=True)
            yield block([_values(cells, text, decimal) for cells, text in pairs], chunk_lines)


def _find_layout(path: Path, target: str | int | None) -> _Layout:
    with open_text(path) as file:
        sample = [without_breaks(line) for line in islice(file, SAMPLE_LINES) if line.strip()]
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
    """Whether the first line holds column names rather than data."""
    if isinstance(target, str) and target in first and not _is_column_number(target, len(first)):
        return True
    if _counts_from_zero(first):
        return True
    if any(to_float(cell) is not None for cell in first):
        return False
    # All text: names do not occur as values further down.
    return not any(cell == name for row in others for cell, name in zip(row, first, strict=False))


def _is_column_number(target: str, n_columns: int) -> bool:
    return target.isdecimal() and int(target) < n_columns


def _counts_from_zero(cells: Sequence[str]) -> bool:
    """Recognise the header "0,1,2,…" that data frames without names are written with."""
    leading = list(cells[:-1])
    return len(leading) > 3 and leading == [str(j) for j in range(len(leading))]


def _chunks(
    layout: _Layout, lines: Iterable[str], n_rows: int, lines_before: int
) -> Iterator[tuple[Sequence[int], list[Sequence[str]]]]:
    """Yield line numbers and columns of cells, for ``n_rows`` rows at a time."""
    rows = records(layout.path, lines, layout.delimiter, lines_before=lines_before)
    if layout.has_header and not lines_before:
        next(rows)
    while chunk := list(islice(rows, n_rows)):
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


def _parse_numbers(layout: _Layout, lines: Iterable[str], from_start: bool) -> np.ndarray | None:
    """Lines of nothing but numbers as rows; None if there is anything else."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # numpy's on lines that are all blank
            numbers = np.loadtxt(
                lines,
                delimiter=None if layout.delimiter == " " else layout.delimiter,
                skiprows=int(layout.has_header and from_start),
                comments=None,
                quotechar='"',
                ndmin=2,
            )
    except ValueError:
        return None
    as_expected = numbers.shape[1] == len(layout.names) and np.isfinite(numbers).all()
    return numbers if as_expected else None


def _values(cells: Sequence[str], is_text: bool, decimal: str) -> np.ndarray:
    """Cells as numbers if all are, else as text."""
    numbers = None if is_text else to_floats(cells)
    if numbers is None and not is_text and decimal != ".":
        numbers = to_floats([cell.replace(decimal, ".") for cell in cells])
    return np.char.strip(cells) if numbers is None else numbers
