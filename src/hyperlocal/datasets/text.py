"""Text files: opening them, cutting lines into cells, and cells into numbers."""

from __future__ import annotations

import bz2
import csv
import gzip
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np

SAMPLE_LINES = 100  # the part of a text file from which its format is recognized
SAMPLE_BYTES = 1 << 16
_COMPRESSED = (".gz", ".bz2")
_MISSING = frozenset({"", "?", "na", "n/a", "nan", "null", "none"})


def open_text(path: Path) -> TextIO:
    """Open a text file, compressed or not."""
    opened: Any = {".gz": gzip.open, ".bz2": bz2.open}.get(path.suffix, open)
    with opened(path, "rb") as file:
        # Old files end lines with a carriage return; in others it may be part of a cell.
        newline = "\n" if b"\n" in file.read(SAMPLE_BYTES) else ""
    # "-sig" drops the byte-order mark that spreadsheets write.
    return opened(path, "rt", encoding="utf-8-sig", newline=newline)


def without_breaks(line: str) -> str:
    """A line without its end; a carriage return within it is a space."""
    return line.rstrip("\r\n").replace("\r", " ")


def table_name(path: Path) -> str:
    """Return the name of a file without its endings."""
    return Path(path.stem).stem if path.suffix in _COMPRESSED else path.stem


def records(
    path: Path, lines: Iterable[str], delimiter: str, *, lines_before: int = 0
) -> Iterator[tuple[int, list[str]]]:
    """Cut lines into cells; yield each with its line number, blank lines left out."""
    plain = (without_breaks(line) for line in lines)
    if delimiter == " ":  # outer tabs are empty cells, outer spaces are not
        plain = (line.strip(" ") for line in plain)
    reader = csv.reader(plain, delimiter=delimiter, skipinitialspace=True)
    try:
        for cells in reader:
            if any(cells):
                yield lines_before + reader.line_num, cells
    except csv.Error as error:
        raise ValueError(f"{path}, line {lines_before + reader.line_num}: {error}") from error


def to_floats(cells: Sequence[str]) -> np.ndarray | None:
    """Return cells as numbers, missing ones as NaN; None if some cell is text."""
    try:
        return np.fromiter(map(float, cells), np.float64, len(cells))
    except ValueError:
        pass
    numbers = []
    for cell in cells:
        number = np.nan if is_missing(cell) else to_float(cell)
        if number is None:
            return None
        numbers.append(number)
    return np.array(numbers, dtype=np.float64)


def to_float(cell: str) -> float | None:
    """Return a cell as a number; None if it is text."""
    try:
        return float(cell)
    except ValueError:
        return None


def is_missing(cell: str) -> bool:
    """Whether a cell stands for a missing value."""
    return cell.strip().lower() in _MISSING
