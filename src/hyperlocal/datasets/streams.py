"""Rows of files and arrays in blocks, for data larger than memory.

What a block means depends on the whole file: whether labels are whole numbers, how many features a
LIBSVM file has, how text is encoded. So a stream with labels reads the file once before it gives
the first block.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from .arrays import NpyFile, NpzFile
from .dataset import RawRows, Rows, is_sparse, labels_alike, tidy_labels
from .delimited import find_layout, import_pandas, read_delimited_blocks
from .parquet import read_parquet_blocks
from .reading import Reading
from .svmlight import SvmlightFile
from .tables import Wanted, existing_file, format_of, known_column, refuse_target, without_label
from .text import table_name

SAMPLE_ROWS = 100_000  # to which an encoder is fitted


def stream(
    data: Any,
    target: Any = None,
    *,
    columns: Sequence[str] | None = None,
    optional: Collection[str] = (),
    encoder: Any = None,
    part: str = "train",
    block_rows: Any = "auto",
    dtype: Any = None,
    cache: Any = None,
) -> RowStream:
    """Read labelled rows in blocks: more than memory holds, as often as needed.

    Parameters
    ----------
    data : path or array
        A file of the formats of :func:`read_table` (CSV and the like, LIBSVM, npz, parquet), an npy
        file with a 2-D array in C order, or an array, sparse rows or ``numpy.memmap`` in Python.
    target : optional
        The label column of a table or npy file, by name or by number from 0 (negative: from the
        end); by default the last. Of an npy file also the path of another one with the labels. Of
        an array in Python: the labels.
    columns, optional : sequence of str, default=None and ()
        The columns of a table to read, in this order, as in :func:`read_raw`; there are no labels
        then, unless a target is named.
    encoder : transformer, optional
        Encodes the blocks of a table, e.g. ``TableEncoder()``. If it is not fitted, it is fitted to
        a uniform sample of 100,000 rows. By default blocks of tables are DataFrames.
    part : {"train", "test"}, default="train"
        Which part of an npz file that has both.
    block_rows : int or "auto", default="auto"
        Rows per block. "auto" is about a million numbers.
    dtype : numpy dtype, optional
        Of the rows: float32 takes half the memory and disk. By default what is stored.
    cache : path or False, optional
        Where to store the parsed rows of a LIBSVM file in binary form; by default among the
        system's temporary files. They are removed together with the stream. False parses the text
        each time, as is done with tables.

    Returns
    -------
    RowStream
        Iterate over it for blocks ``(X, y)``, with columns, text and labels treated as by
        :func:`read_table`.

    See Also
    --------
    hyperlocal.LocallyLinearSVC.fit_stream : Fit to the blocks.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from hyperlocal.datasets import stream
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "cats.csv")
    ...     _ = path.write_text("weight,fur,tame\\n4.1,long,yes\\n3.2,short,yes\\n9.5,long,no\\n")
    ...     cats = stream(path, "tame", block_rows=2)
    ...     [X.shape for X, y in cats], cats.feature_names
    ([(2, 2), (1, 2)], ('weight', 'fur'))
    """
    reading = Reading(block_rows, None if dtype is None else np.dtype(dtype), cache)
    if not isinstance(data, (str, Path)):
        return ArrayStream(data, target, reading)
    path = existing_file(data)
    kind = format_of(path)
    if kind == ".npy":
        return FileStream(NpyFile(path, target, reading), reading)
    if kind == ".npz":
        refuse_target(path, target)
        return FileStream(NpzFile(path, part, reading), reading)
    if kind == ".svm":
        refuse_target(path, target)
        return FileStream(SvmlightFile(path, reading), reading)
    return TableStream(Wanted(path, target, columns, optional), encoder, reading)


class RowStream(ABC):
    """Blocks of rows of a file or an array; iterate over it as often as needed.

    Parameters
    ----------
    name : str
        What to call the data in a table.
    reading : Reading
        Sizes and types of blocks, as :func:`stream` chooses them.

    Attributes
    ----------
    n_rows, n_features : int
        Some formats must be read to the end to know them.
    feature_names : tuple of str, or None
        One name per column, if the source has names.
    notes : tuple of str
        What is left out, such as rows without a label.

    Examples
    --------
    >>> from hyperlocal.datasets import make_banana, stream
    >>> rows = stream(*make_banana(100, random_state=0), block_rows=60)
    >>> rows.n_rows, [X.shape for X, y in rows]
    (100, [(60, 2), (40, 2)])
    """

    name: str
    n_rows: int
    n_features: int
    feature_names: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()

    def __init__(self, name: str, reading: Reading):
        self.name = name
        self._reading = reading

    def __iter__(self) -> Iterator[tuple[Rows, np.ndarray | None]]:
        for block in self.raw_blocks():
            yield self._reading.cast(block.X), block.y

    @abstractmethod
    def raw_blocks(self) -> Iterator[RawRows]:
        """Read blocks as the file has them: text as text, for a pipeline that encodes it."""


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
        self.n_rows, self.n_features = X.shape

    def raw_blocks(self) -> Iterator[RawRows]:
        """Slices of the array."""
        n_rows = self._reading.rows(None if is_sparse(self._X) else self.n_features)
        for begin in range(0, self.n_rows, n_rows):
            part = slice(begin, begin + n_rows)
            yield RawRows(self.name, self._X[part], self._y[part])


class FileStream(RowStream):
    """Rows of a file that is one array, with or without labels: npy, npz and LIBSVM files."""

    def __init__(self, file: NpyFile | NpzFile | SvmlightFile, reading: Reading):
        super().__init__(table_name(file.path), reading)
        self._file = file
        self.feature_names = file.feature_names

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        """Number of rows."""
        return self._file.shape[0]

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Number of columns of ``X``."""
        return self._file.shape[1]

    @cached_property
    def _kinds(self) -> set[str]:
        return self._file.label_kinds()

    def raw_blocks(self) -> Iterator[RawRows]:
        """Rows and labels."""
        names = self.feature_names
        for X, cells in self._file.blocks():
            y = None if cells is None else labels_alike(cells, self._kinds)
            yield RawRows(self.name, X, y, names, has_names=names is not None)


@dataclass
class _Survey:
    """What a table with labels holds as a whole."""

    n_rows: int = 0
    n_without: int = 0
    kinds: set[str] = field(default_factory=set)
    names: tuple[str, ...] = ()
    sample: Any = None


class TableStream(RowStream):
    """Rows of a table: delimited text or parquet."""

    def __init__(self, wanted: Wanted, encoder: Any, reading: Reading):
        super().__init__(table_name(wanted.path), reading)
        self._wanted, self._encoder = wanted, encoder
        self._is_parquet = format_of(wanted.path) == ".parquet"
        if not self._is_parquet:
            known = known_column(wanted.target, wanted.columns)
            self._layout = find_layout(wanted.path, known)
            self._wanted = replace(wanted, has_names=self._layout.has_header)

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        """Number of rows."""
        return self._survey.n_rows

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Number of columns, encoded if there is an encoder."""
        return len(self.feature_names)

    @property
    def feature_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the columns, encoded if there is an encoder."""
        if self._encoder is None:
            return self._survey.names
        return tuple(self.fitted_encoder.get_feature_names_out())

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        """How the header was read, and what is left out."""
        notes = () if self._is_parquet else self._layout.notes
        return (*notes, *without_label(self._survey.n_without))

    @property
    def fitted_encoder(self) -> Any:
        """The encoder, fitted to a sample of the rows."""
        if not hasattr(self._encoder, "n_features_in_"):
            self._encoder.fit(self._survey.sample)
        return self._encoder

    def __iter__(self) -> Iterator[tuple[Rows, np.ndarray | None]]:
        encoder = None if self._encoder is None else self.fitted_encoder
        for block in self.raw_blocks():
            X = block.X if encoder is None else encoder.transform(block.X)
            yield (
                (X if self._reading.dtype is None else np.asarray(X, self._reading.dtype)),
                block.y,
            )

    def raw_blocks(self) -> Iterator[RawRows]:
        """Blocks as the file has them, without rows that have no label."""
        for frame in self._frames():
            X, cells, _ = self._wanted.parts(frame)
            y = None if cells is None else labels_alike(cells, self._survey.kinds)
            target, has_names = self._wanted.target_of(frame), self._wanted.has_names
            yield RawRows(self.name, X, y, tuple(X.columns), target, has_names)

    @cached_property
    def _survey(self) -> _Survey:
        found = _Survey()
        sample = _Sample(import_pandas(self._wanted.path))
        for frame in self._frames():
            X, cells, n_without = self._wanted.parts(frame)
            found.n_rows += len(X)
            found.n_without += n_without
            found.names = tuple(X.columns)
            if cells is not None:
                found.kinds.add(tidy_labels(cells).dtype.kind)
            if self._encoder is not None:
                sample.add(X)
        if not found.n_rows:
            raise ValueError(f"{self._wanted.path}: no rows with a label")
        found.sample = sample.rows()
        return found

    def _frames(self) -> Iterator[Any]:
        path = self._wanted.path
        if self._is_parquet:
            return read_parquet_blocks(path, self._reading.rows(None))
        n_rows = self._reading.rows(len(self._layout.names))
        return read_delimited_blocks(path, n_rows, self._layout)


class _Sample:
    """A uniform sample of rows that come in frames."""

    def __init__(self, pandas: Any, most: int = SAMPLE_ROWS):
        self._pandas, self._most = pandas, most
        self._rng = np.random.default_rng(0)
        self._frames: list[Any] = []
        self._keys: list[np.ndarray] = []

    def add(self, frame: Any) -> None:
        """Take rows into account."""
        self._frames.append(frame)
        self._keys.append(self._rng.random(len(frame)))
        if sum(map(len, self._frames)) > 2 * self._most:
            self._thin()

    def _thin(self) -> None:
        """Keep the rows with the smallest random keys, in their order."""
        frame, keys = self._pandas.concat(self._frames), np.concatenate(self._keys)
        if len(keys) > self._most:
            kept = np.sort(np.argpartition(keys, self._most)[: self._most])
            frame, keys = frame.iloc[kept], keys[kept]
        self._frames, self._keys = [frame], [keys]

    def rows(self) -> Any:
        """The sample; None without rows."""
        if not self._frames:
            return None
        self._thin()
        return self._frames[0]
