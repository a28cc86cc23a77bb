"""LIBSVM (svmlight) files: lines ``label index:value …``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file

from .dataset import MOST_COLUMNS, Dataset, Rows, csr_rows, tidy_labels
from .packed import open_bytes
from .reading import BlockCache, Reading
from .text import SAMPLE_LINES, is_number, open_text, table_name

_SVMLIGHT_PAIR = re.compile(r"(qid|\d+):\S+")


def looks_like_svmlight(path: Path) -> bool:
    """Whether lines read ``label index:value …``; a row of zeros has no pairs at all."""
    with open_text(path) as file:
        lines = [line.partition("#")[0].split() for line in islice(file, SAMPLE_LINES)]
    pairs = [pair for line in lines for pair in line[1:]]
    return bool(pairs) and all(_SVMLIGHT_PAIR.fullmatch(pair) for pair in pairs)


def read_svmlight(path: Path) -> Dataset:
    """Read a LIBSVM file into CSR rows."""
    with open_bytes(path) as file:
        X, y = _load(path, file)
    return Dataset(table_name(path), X, tidy_labels(y))


class SvmlightFile:
    """Sparse rows and labels in a LIBSVM file, in blocks.

    How many features there are is known when the file has been read once; the parsed rows are
    stored in binary form then.
    """

    feature_names = None

    def __init__(self, path: Path, reading: Reading):
        self.path = path
        self._reading = reading
        self._cache: BlockCache | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows, and of columns up to the last that is not zero."""
        found = self._survey
        return found.n_rows, found.last + 1 - found.first

    def label_kinds(self) -> set[str]:
        """Kinds of the labels of all blocks."""
        return self._survey.kinds

    def blocks(self) -> Iterator[tuple[Rows, np.ndarray]]:
        """Rows and labels, some at a time."""
        first, n_features = self._survey.first, self.shape[1]
        if self._cache is None:
            parts: Iterator[Any] = ((X.data, X.indices, X.indptr, y) for X, y in self._parsed())
        else:
            parts = ((b["data"], b["indices"], b["indptr"], b["y"]) for b in self._cache)
        for data, indices, indptr, y in parts:
            # Files that never use column 0 count from 1.
            yield csr_rows(data, indices - first, indptr, (len(y), n_features)), y

    @cached_property
    def _survey(self) -> _Survey:
        found, cache = _Survey(), self._reading.new_cache()
        for X, y in self._parsed():
            found.add(X, y)
            if cache is not None:
                cache.append({"data": X.data, "indices": X.indices, "indptr": X.indptr, "y": y})
        if not found.n_rows:
            raise ValueError(f"{self.path}: no rows")
        self._cache = cache
        return found

    def _parsed(self) -> Iterator[tuple[Rows, np.ndarray]]:
        """Blocks whose columns are numbered as in the file, from 0 or from 1."""
        with open_text(self.path) as file:
            while lines := list(islice(file, self._reading.rows(None))):
                X, y = _load(self.path, BytesIO("".join(lines).encode()), zero_based=True)
                if len(y):
                    yield X, y


@dataclass
class _Survey:
    """What a LIBSVM file holds as a whole."""

    n_rows: int = 0
    first: int = 1
    last: int = 0
    kinds: set[str] = field(default_factory=set)

    def add(self, X: Rows, y: np.ndarray) -> None:
        """Take a block into account."""
        if X.nnz:
            self.first = min(self.first, int(X.indices.min()))
            self.last = max(self.last, int(X.indices.max()))
        self.n_rows += len(y)
        self.kinds.add(tidy_labels(y).dtype.kind)


def _load(path: Path, source: Any, **options: Any) -> tuple[Rows, np.ndarray]:
    try:
        X, y = load_svmlight_file(source, **options)
        return csr_rows(X.data, X.indices, X.indptr, X.shape), y
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{path}{_svmlight_fault(path) or f': {error}'}") from error


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
    if not is_number(label):
        return f"the label {label!r} is not a number"
    last = -1
    for pair in pairs:
        index, _, value = pair.partition(":")
        if index == "qid":
            continue
        if not index.isdigit() or not is_number(value):
            return f"{pair!r} is not index:value"
        if int(index) <= last:
            return f"index {index} after {last}: indices must increase"
        last = int(index)
        if last > MOST_COLUMNS:
            return f"index {index}; sparse rows may have at most {MOST_COLUMNS:,} columns"
    return None
