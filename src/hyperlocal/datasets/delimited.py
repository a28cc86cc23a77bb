"""Tables of columns, such as CSV files, as pandas data frames.

pandas parses them. What it must be given is found in the first lines of a file: what separates the
cells, whether the first line is a header, whether numbers have decimal commas, and which columns
hold codes such as "0012" or words such as "TRUE", which stay as they are. The index of a frame is
the line of the file in which each row stands.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .text import SAMPLE_LINES, is_number, open_text, sample_lines

MISSING = (
    "", "?", "NA", "na", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NAN", "NaT", "NULL", "null",
    "Null",
)  # fmt: skip
_COMMA = re.compile(r"[-+]?\d+,\d+")
_POINT = re.compile(r"[-+]?\d+\.\d+")
# Read as numbers or truth values, these would not be written again as they are in the file.
_VERBATIM = re.compile(r"0\d+|TRUE|FALSE|true|false")
_DELIMITERS = ("\t", ";", "|", ",")  # comma after semicolon, because of decimal commas


@dataclass(frozen=True)
class Layout:
    """How the columns of a text table are written in its file."""

    delimiter: str
    names: tuple[str, ...]
    has_header: bool
    decimal: str
    codes: tuple[int, ...]  #: columns that stay text: codes with leading zeros, and some words
    lines_before: int  #: lines before the first row
    notes: tuple[str, ...] = ()  #: what the header leaves open, and how it was read

    def options(self) -> dict[str, Any]:
        """Arguments of ``pandas.read_csv``."""
        return {
            "sep": r"\s+" if self.delimiter == " " else self.delimiter,
            "header": None,
            "names": range(len(self.names)),
            "skiprows": self.lines_before,
            "decimal": self.decimal,
            "dtype": dict.fromkeys(self.codes, str),
            "na_values": MISSING,
            "keep_default_na": False,
            "skipinitialspace": True,
            "skip_blank_lines": False,  # line numbers are those of the file
            "low_memory": False,
        }


def read_delimited(path: Path, target: str | int | None = None) -> tuple[Any, Layout]:
    """Read a whole table; a target that is a cell of the first line makes that line a header.

    Returns
    -------
    DataFrame
    Layout
        How it is written in its file.
    """
    layout = find_layout(path, target)
    (frame,) = _frames(path, layout, None)
    return frame, layout


def read_delimited_blocks(path: Path, n_rows: int | None, layout: Layout) -> Iterator[Any]:
    """Read a table in frames of ``n_rows`` rows; types of columns may differ between them."""
    return (frame for frame in _frames(path, layout, n_rows) if len(frame))


def _frames(path: Path, layout: Layout, n_rows: int | None) -> Iterator[Any]:
    pandas = import_pandas(path)
    breaks = 0  # line breaks within cells so far
    with open_text(path) as file:
        try:
            frames = pandas.read_csv(file, chunksize=n_rows, **layout.options())
            for frame in [frames] if n_rows is None else frames:
                breaks = _number_lines(frame, 1 + layout.lines_before, breaks)
                frame.columns = list(layout.names)
                yield frame[~frame.index.isin(file.empty_lines)] if file.empty_lines else frame
        except (pandas.errors.ParserError, pandas.errors.EmptyDataError, OverflowError) as error:
            raise ValueError(f"{path}{_fault(str(error), layout)}") from error


def _fault(error: str, layout: Layout) -> str:
    found = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", error)
    if found:
        expected, line, n_cells = found.groups()
        return (
            f", line {line}: {n_cells} cells where the others have {expected}; quote cells that "
            f"hold {layout.delimiter!r}"
        )
    found = re.search(r"EOF inside string starting at row (\d+)", error)
    if found:
        return f", line {int(found[1]) + 1}: a quote that is never closed"
    return f": {error.strip()}"


def _number_lines(frame: Any, first: int, breaks: int) -> int:
    """Make the index of a frame its lines in the file; return the line breaks in cells so far."""
    lines = np.asarray(frame.index) + first + breaks
    within = np.zeros(len(frame), dtype=np.int64)
    for j in np.flatnonzero(
        [not hasattr(kind, "kind") or kind.kind == "O" for kind in frame.dtypes]
    ):
        cells = frame.iloc[:, j].astype(str).str
        if cells.contains("\n", regex=False).any():
            within += cells.count("\n").fillna(0).to_numpy(np.int64)
    lines[1:] += np.cumsum(within)[:-1]
    frame.index = lines
    frame.index.name = "line"
    return breaks + int(within.sum())


def import_pandas(path: Path) -> Any:
    """The module pandas."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            f"{path}: tables are read by pandas; pip install 'hyperlocal[cli]' (a file of numbers "
            "alone is also read by numpy.loadtxt)"
        ) from error
    return pandas


# ---- the layout of a file ------------------------------------------------------------------------


def find_layout(path: Path, target: str | int | None) -> Layout:
    """Recognize separator, header and kind of numbers from the first lines."""
    lines = sample_lines(path)
    declared = re.fullmatch(r"sep=(.)", lines[0].strip()) if lines else None
    n_before = 0 if declared is None else 1
    n_before += _preamble(lines[n_before : n_before + SAMPLE_LINES])
    sample = [line for line in lines[n_before : n_before + SAMPLE_LINES] if line.strip()]
    if not sample:
        raise ValueError(f"{path}: the file is empty")
    delimiter = _sniff_delimiter(sample) if declared is None else declared[1]
    rows = _cells(sample, delimiter)
    first, others = rows[0], rows[1:]
    if len(first) < 2:
        raise ValueError(
            f"{path}: found only one column; a table needs features and a label, separated by "
            "comma, semicolon, tab, bar or spaces"
        )
    has_header = _is_header(first, others, target)
    if has_header and not others:
        raise ValueError(f"{path}: a header but no rows")
    given = _names(first, others) if has_header else [f"column {j}" for j in range(len(first))]
    names = tuple(_unique(given))
    data = others if has_header else rows
    if len(data[0]) > len(names):  # pandas would take the first cells for row names
        raise ValueError(
            f"{path}, line {n_before + has_header + 1}: {len(data[0])} cells where the header has "
            f"{len(first)}"
        )
    return Layout(
        delimiter, names, has_header, _decimal(data, delimiter),
        tuple(_code_columns(data, len(names))), n_before + has_header,
        tuple(_header_notes(len(first), given, names)),
    )  # fmt: skip


def _preamble(lines: Sequence[str]) -> int:
    """Number of lines before a table: blank ones, titles of one cell, and comments after a #."""
    for marks in (_DELIMITERS, (" ",)):
        shapes = [(len(_cells([line], mark)[0]), mark) for mark in marks for line in lines]
        counts = Counter(shape for shape in shapes if shape[0] > 1)
        if counts:
            break
    else:
        return 0
    n_cells, mark = max(counts, key=lambda shape: counts[shape])
    for number, line in enumerate(lines):
        found = len(_cells([line], mark)[0])
        if found == n_cells or (found > 1 and not line.startswith("#")):
            return number
    return 0


def _cells(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    if delimiter == " ":
        lines = [line.strip(" ") for line in lines]
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter, skipinitialspace=True)
    rows = []
    try:
        for cells in reader:
            rows.append([cell.strip() for cell in cells])
    except csv.Error:  # a cell without end: pandas names its line
        pass
    return rows or [[""]]


def _sniff_delimiter(sample: Sequence[str]) -> str:
    """Choose the delimiter that cuts all lines into equally many cells.

    Space last, because text has spaces.
    """
    fallback = " "
    most_cells = 1
    for delimiter in _DELIMITERS:
        widths = [len(cells) for cells in _cells(sample, delimiter)]
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
    if any(is_number(cell.replace(",", ".")) for cell in first):
        return False
    # All text: names do not occur as values further down.
    return not any(
        cell == name and name for row in others for cell, name in zip(row, first, strict=False)
    )


def _is_column_number(target: str, n_columns: int) -> bool:
    return target.isdecimal() and int(target) < n_columns


def _counts_from_zero(cells: Sequence[str]) -> bool:
    """Recognise the header "0,1,2,…" that data frames without names are written with."""
    leading = list(cells[:-1])
    return len(leading) > 3 and leading == [str(j) for j in range(len(leading))]


def _names(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The names, also where rows have a cell more: R's row names, or an empty one at the end."""
    names = list(header)
    width = Counter(len(row) for row in rows).most_common(1)[0][0]
    if width == len(names) + 1:
        ends_empty = all(not row[-1] for row in rows if len(row) == width)
        names = [*names, ""] if ends_empty else ["", *names]
    # As pandas calls them: an encoder drops a column of this name if it holds row numbers.
    return [name or f"Unnamed: {j}" for j, name in enumerate(names)]


def _unique(names: Sequence[str]) -> Iterator[str]:
    taken: set[str] = set()
    for name in names:
        one, number = name, 0
        while one in taken or (number and one in names):
            number += 1
            one = f"{name}.{number}"
        taken.add(one)
        yield one


def _header_notes(n_cells: int, given: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    """What to say of a header that is a cell short, or names several columns alike."""
    if len(names) > n_cells and given[-1] != f"Unnamed: {n_cells}":  # else a comma ends each row
        yield (
            f"rows have {len(names)} cells and the header {n_cells}: the first cell is read as the "
            f"name of the row, column {names[0]!r}"
        )
    for old, new in zip(given, names, strict=True):
        if old != new:
            yield f"several columns are named {old!r}: a later one is {new!r}"


def _decimal(rows: Sequence[Sequence[str]], delimiter: str) -> str:
    if delimiter == ",":
        return "."
    cells = [cell for row in rows for cell in row]
    has_commas = any(_COMMA.fullmatch(cell) for cell in cells)
    return "," if has_commas and not any(_POINT.fullmatch(cell) for cell in cells) else "."


def _code_columns(rows: Sequence[Sequence[str]], n_columns: int) -> Iterator[int]:
    for j in range(n_columns):
        if any(len(row) > j and _VERBATIM.fullmatch(row[j]) for row in rows):
            yield j
