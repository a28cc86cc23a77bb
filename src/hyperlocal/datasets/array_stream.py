"""Streams of rows that are one array, dense or sparse: of Python, npy, npz and LIBSVM files."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np

from .arrays import NpzFile, array_blocks, array_reader, npy_shape
from .cache import BlockCache
from .dataset import REMEDY_FOR_MISSING, Rows, csr_rows, is_sparse, labels_alike, tidy_labels
from .row_stream import Reading, RowStream
from .svmlight import read_svmlight_blocks
from .tables import RawRows, bad_rows, existing_file
from .text import table_name


class ArrayStream(RowStream):
    """Rows of an array in memory, or mapped into it."""

    def __init__(self, X: Any, y: Any, reading: Reading):
        super().__init__("array", reading)
        if not (is_sparse(X) or isinstance(X, np.ndarray)) or X.ndim != 2:
            raise TypeError(
                f"data must be a path, a 2-D numpy array or sparse rows, not {type(X).__name__}"
            )
        if y is None:
            raise ValueError("target must hold the labels of the rows")
        self._X, self._y = X.tocsr() if is_sparse(X) else X, np.asanyarray(y)
        if self._y.shape != (X.shape[0],):
            raise ValueError(f"target has shape {self._y.shape} for {X.shape[0]} rows")

    def raw_blocks(self) -> Iterator[RawRows]:
        """Slices of the array."""
        n_rows = self._reading.rows(None if is_sparse(self._X) else self.n_features)
        pairs = zip(array_blocks(self._X, n_rows), array_blocks(self._y, n_rows), strict=True)
        for X, y in pairs:
            yield RawRows(self.name, X, y)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self._X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self._X.shape[1])


class FileStream(RowStream):
    """Rows of a file that holds labels beside the rows."""

    def __init__(self, path: Path, reading: Reading):
        super().__init__(table_name(path), reading)
        self._path = path
        self._kinds: set[str] | None = None

    def raw_blocks(self) -> Iterator[RawRows]:
        """Rows and labels; refused where a number is missing."""
        if self._kinds is None:
            self._kinds = {tidy_labels(cells).dtype.kind for cells in self._label_cells()}
        first_row = 0
        for X, cells in self._pairs():
            bad = bad_rows(X)
            if bad.size:
                raise ValueError(
                    f"{self._path}: row {first_row + bad[0]}, counted from 0, has missing or "
                    f"infinite values; {REMEDY_FOR_MISSING}"
                )
            y = None if cells is None else labels_alike(cells, self._kinds)
            first_row += X.shape[0]
            yield RawRows(
                self.name, X, y, self.feature_names, has_names=self.feature_names is not None
            )

    def _pairs(self) -> Iterator[tuple[Rows, np.ndarray | None]]:
        raise NotImplementedError

    def _label_cells(self) -> Iterator[np.ndarray]:
        raise NotImplementedError


class NpzStream(FileStream):
    """Rows of an npz file."""

    def __init__(self, path: Path, part: str, reading: Reading):
        super().__init__(path, reading)
        self._file = NpzFile(path, part)
        self._block_rows = reading.rows(self.n_features)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._file.shape[0]

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self._file.shape[1]

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """One name per column, if they are stored."""
        return self._file.feature_names

    def _pairs(self) -> Iterator[tuple[Rows, np.ndarray | None]]:
        labels = self._label_cells() if self._file.has_labels else repeat(None)
        yield from zip(self._file.blocks(self._block_rows), labels, strict=False)

    def _label_cells(self) -> Iterator[np.ndarray]:
        return self._file.label_blocks(self._block_rows)


class NpyStream(FileStream):
    """Rows of an npy file; labels are one of its columns, or in another file."""

    def __init__(self, path: Path, target: Any, reading: Reading):
        super().__init__(path, reading)
        self._shape = npy_shape(path)
        if len(self._shape) != 2 or self._shape[0] == 0 or self._shape[1] < 2:
            raise ValueError(f"{path}: an array of shape {self._shape}; a 2-D one is needed")
        self._block_rows = reading.rows(self._shape[1])
        self._labels: Path | None = None
        self._column = -1
        if isinstance(target, Path) or (isinstance(target, str) and target.endswith(".npy")):
            self._labels = existing_file(target)
            shape = npy_shape(self._labels)
            if shape != self._shape[:1]:
                raise ValueError(
                    f"{self._labels}: labels of shape {shape} for {self._shape[0]} rows"
                )
        elif target is not None:
            self._column = self._column_number(target)

    def _column_number(self, target: Any) -> int:
        try:
            column = int(target)
        except (TypeError, ValueError):
            column = self._shape[1]
        if not -self._shape[1] <= column < self._shape[1]:
            raise ValueError(
                f"{self._path}: no column {target!r}; columns are 0 to {self._shape[1] - 1} (or "
                "name an npy file with the labels)"
            )
        return column

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._shape[0]

    @property
    def n_features(self) -> int:
        """Number of columns but the labels."""
        return self._shape[1] - (self._labels is None)

    def _pairs(self) -> Iterator[tuple[Rows, np.ndarray | None]]:
        if self._labels is not None:
            yield from zip(self._pieces(self._path), self._pieces(self._labels), strict=True)
            return
        for rows in self._pieces(self._path):
            yield np.delete(rows, self._column, axis=1), rows[:, self._column]

    def _label_cells(self) -> Iterator[np.ndarray]:
        if self._labels is not None:
            return self._pieces(self._labels)
        return (rows[:, self._column] for rows in self._pieces(self._path))

    def _pieces(self, path: Path) -> Iterator[np.ndarray]:
        with array_reader(path) as reader:
            for begin in range(0, self.n_rows, self._block_rows):
                yield reader.take(min(self._block_rows, self.n_rows - begin))


class SvmlightStream(FileStream):
    """Sparse rows of a LIBSVM file."""

    def __init__(self, path: Path, reading: Reading):
        super().__init__(path, reading)
        self._cache: BlockCache | None = None
        self._first, self._last = -1, -1
        self._n_rows = 0

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        self._survey()
        return self._n_rows

    @property
    def n_features(self) -> int:
        """The last column that is not zero."""
        self._survey()
        return self._last + 1 - self._first

    def _survey(self) -> None:
        if self._n_rows:
            return
        cache = None if self._reading.cache is False else BlockCache(self._reading.cache)
        first, last, n_rows = 1, 0, 0
        self._kinds = set()
        for X, y in self._parsed():
            if X.nnz:
                first, last = min(first, int(X.indices.min())), max(last, int(X.indices.max()))
            n_rows += len(y)
            self._kinds.add(tidy_labels(y).dtype.kind)
            if cache is not None:
                arrays = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "y": y}
                cache.append(arrays)
        if not n_rows:
            raise ValueError(f"{self._path}: no rows")
        self._first, self._last, self._n_rows, self._cache = first, last, n_rows, cache

    def raw_blocks(self) -> Iterator[RawRows]:
        """Sparse rows and labels."""
        self._survey()
        return super().raw_blocks()

    def _pairs(self) -> Iterator[tuple[Rows, np.ndarray | None]]:
        if self._cache is None:
            parts = (((X.data, X.indices, X.indptr), y) for X, y in self._parsed())
        else:
            parts = (((b["data"], b["indices"], b["indptr"]), b["y"]) for b in self._cache)
        for (data, indices, indptr), y in parts:
            # Files that never use column 0 count from 1.
            yield csr_rows(data, indices - self._first, indptr, (len(y), self.n_features)), y

    def _parsed(self) -> Iterator[tuple[Any, np.ndarray]]:
        return read_svmlight_blocks(self._path, self._reading.rows(None))
