"""Text files: opening them, cutting lines into cells, and cells into numbers."""

from __future__ import annotations

import bz2
import csv
import gzip
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TextIO

import numpy as np

SAMPLE_LINES = 100  # how much of a text file is looked at to tell its format
_COMPRESSED = (".gz", ".bz2")
_MISSING = frozenset({"", "?", "na", "n/a", "nan", "null", "none"})


def open_text(path: Path) -> TextIO:
    """Open a text file, compressed or not."""
    # "-sig" drops the byte-order mark that spreadsheets write.
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    if path.suffix == ".bz2":
        return bz2.open(path, "rt", encoding="utf-8-sig", newline="")
    return open(path, encoding="utf-8-sig", newline="")


def table_name(path: Path) -> str:
    """Return the name of a file without its endings."""
    return Path(path.stem).stem if path.suffix in _COMPRESSED else path.stem


def records(
    path: Path, lines: Iterable[str], delimiter: str, *, lines_before: int = 0
) -> Iterator[tuple[int, list[str]]]:
    """Cut lines into cells; yield each with its line number, blank lines left out."""
    edge = " \r\n" if delimiter == " " else "\r\n"  # outer tabs are empty cells, outer spaces not
    reader = csv.reader(
        (line.strip(edge) for line in lines), delimiter=delimiter, skipinitialspace=True
    )
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
    numbers = [np.nan if is_missing(cell) else to_float(cell) for cell in cells]
    return None if None in numbers else np.array(numbers, dtype=np.float64)


def to_float(cell: str) -> float | None:
    """Return a cell as a number; None if it is text."""
    try:
        return float(cell)
    except ValueError:
        return None


def is_missing(cell: str) -> bool:
    """Tell whether a cell stands for a missing value."""
    return cell.strip().lower() in _MISSING
