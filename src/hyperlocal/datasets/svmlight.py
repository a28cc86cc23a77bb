"""LIBSVM (svmlight) files: lines ``label index:value …``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from io import BytesIO
from itertools import islice
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from .dataset import Dataset, csr_rows, tidy_labels
from .text import SAMPLE_LINES, open_text, table_name, to_float

_SVMLIGHT_PAIR = re.compile(r"(qid|\d+):\S+")


def looks_like_svmlight(path: Path) -> bool:
    """Tell ``label index:value …`` lines from a table; a row of zeros has no pairs at all."""
    with open_text(path) as file:
        lines = [line.partition("#")[0].split() for line in islice(file, SAMPLE_LINES)]
    pairs = [pair for line in lines for pair in line[1:]]
    return bool(pairs) and all(_SVMLIGHT_PAIR.fullmatch(pair) for pair in pairs)


def read_svmlight(path: Path) -> Dataset:
    """Read a LIBSVM file into CSR rows."""
    try:
        X, y = load_svmlight_file(str(path))
    except ValueError as error:
        fault = _svmlight_fault(path) or f": {error}"
        raise ValueError(f"{path}{fault}") from error
    rows = csr_rows(X.data, X.indices, X.indptr, X.shape)
    return Dataset(table_name(path), rows, tidy_labels(y))


def read_svmlight_blocks(path: Path, n_rows: int) -> Iterator[tuple[sparse.csr_array, np.ndarray]]:
    """Read a LIBSVM file in blocks of rows and labels.

    Columns are numbered as in the file (from 0 or from 1), and end at the block's last one.
    """
    with open_text(path) as file:
        while lines := list(islice(file, n_rows)):
            try:
                X, y = load_svmlight_file(BytesIO("".join(lines).encode()), zero_based=True)
            except ValueError as error:
                fault = _svmlight_fault(path) or f": {error}"
                raise ValueError(f"{path}{fault}") from error
            if len(y):
                yield csr_rows(X.data, X.indices, X.indptr, X.shape), y


def _svmlight_fault(path: Path) -> str | None:
    """Return where and why a LIBSVM file cannot be read, as ", line …: …"."""
    with open_text(path) as file:
        for number, line in enumerate(file, start=1):
            cells = line.partition("#")[0].split()
            reason = _svmlight_line_fault(cells) if cells else None
            if reason:
                return f", line {number}: {reason}"
    return None


def _svmlight_line_fault(cells: Sequence[str]) -> str | None:
    label, *pairs = cells
    if to_float(label) is None:
        return f"the label {label!r} is not a number"
    last = -1
    for pair in pairs:
        index, _, value = pair.partition(":")
        if index == "qid":
            continue
        if not index.isdigit() or to_float(value) is None:
            return f"{pair!r} is not index:value"
        if int(index) <= last:
            return f"index {index} after {last}: indices must increase"
        last = int(index)
    return None
