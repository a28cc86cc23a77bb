"""Rows of files and arrays in blocks, for data larger than memory.

What a block means depends on the whole file: which columns are text and what values they have,
whether labels are whole numbers, how many features a LIBSVM file has. So a stream reads the file
once before it gives the first block. Text is parsed then, stored in binary form, and not parsed
again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from .arrays import NpyFile, NpzFile
from .columns import Table
from .dataset import RawRows, Rows, is_sparse, labels_alike, refuse_missing, tidy_labels
from .delimited import read_delimited_blocks
from .parquet import read_parquet_blocks
from .reading import BlockCache, Reading
from .svmlight import SvmlightFile
from .tables import as_text, existing_file, is_svmlight, known_column, refuse_target
from .text import table_name


def stream(
    data: Any,
    target: Any = None,
    *,
    columns: Sequence[str] | None = None,
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
    columns : sequence of str, optional
        The columns of a table to read, in this order, as in :func:`read_raw`; there are no labels
        then, unless a target is named.
    part : {"train", "test"}, default="train"
        Which part of an npz file that has both.
    block_rows : int or "auto", default="auto"
        Rows per block. "auto" is about a million numbers.
    dtype : numpy dtype, optional
        Of the rows: float32 takes half the memory and disk. By default what is stored; float64 for
        text.
    cache : path or False, optional
        Where to store the parsed rows of a text file in binary form; by default among the system's
        temporary files. They are removed together with the stream. False parses the text each time.

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
    ([(2, 3), (1, 3)], ('weight', 'fur=long', 'fur=short'))
    """
    reading = Reading(block_rows, None if dtype is None else np.dtype(dtype), cache)
    if not isinstance(data, (str, Path)):
        return ArrayStream(data, target, reading)
    path = existing_file(data)
    if path.suffix == ".npy":
        return FileStream(NpyFile(path, target, reading), reading)
    if path.suffix == ".npz":
        refuse_target(path, target)
        return FileStream(NpzFile(path, part, reading), reading)
    if is_svmlight(path):
        refuse_target(path, target)
        return FileStream(SvmlightFile(path, reading), reading)
    return TableStream(path, target, columns, reading)


class RowStream:
    """Blocks of rows of a file or an array; iterate over it as often as needed.

    Attributes
    ----------
    name : str
        What to call the data in a table.
    n_rows, n_features : int
        Some formats must be read to the end to know them.
    feature_names : tuple of str, or None
        One name per column, if the source has names.
    categories : list of ndarray
        The values of each text column of raw blocks.

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
    categories: Sequence[np.ndarray] = ()

    def __init__(self, name: str, reading: Reading):
        self.name = name
        self._reading = reading

    def __iter__(self) -> Iterator[tuple[Rows, np.ndarray | None]]:
        for block in self.raw_blocks():
            yield self._reading.cast(block.X), block.y

    def raw_blocks(self) -> Iterator[RawRows]:
        """Blocks as the file has them: text as text, for a pipeline that encodes it."""
        raise NotImplementedError


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
        """Rows and labels; refused if a number is missing."""
        names, first_row = self.feature_names, 0
        for X, cells in self._file.blocks():
            refuse_missing(self._file.path, X, "", first_row)
            first_row += X.shape[0]
            y = None if cells is None else labels_alike(cells, self._kinds)
            yield RawRows(self.name, X, y, names, has_names=names is not None)


@dataclass
class _Survey:
    """What a table holds as a whole; ``head`` is its first block."""

    head: Table
    label_column: int | None
    n_rows: int = 0
    texts: set[int] = field(default_factory=set)
    numeric: set[int] = field(default_factory=set)
    kinds: set[str] = field(default_factory=set)
    categories: dict[int, np.ndarray] = field(default_factory=dict)
    has_row_numbers: bool = True
    chosen: list[int] = field(default_factory=list)

    def add(self, table: Table) -> None:
        """Take a block into account; raises if a text column has too many values."""
        self.n_rows += table.n_rows
        self.has_row_numbers &= table.begins_with_row_numbers()
        if self.label_column is not None:
            self.kinds.add(tidy_labels(table.label_cells(self.label_column)).dtype.kind)
        for j in range(len(table.names)):
            if not table.is_text(j):
                self.numeric.add(j)
                continue
            self.texts.add(j)
            if j != self.label_column:
                known = self.categories.get(j, np.empty(0, "U1"))
                self.categories[j] = np.union1d(known, table.values[j])
                table.check_categories(j, self.categories[j])


class TableStream(RowStream):
    """Rows of a table: delimited text or parquet."""

    def __init__(self, path: Path, target: Any, columns: Sequence[str] | None, reading: Reading):
        super().__init__(table_name(path), reading)
        self._path, self._target, self._columns = path, target, columns
        self._cache: BlockCache | None = None

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        """Number of rows."""
        return self._survey.n_rows

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Number of columns, when text is encoded."""
        return len(self.feature_names)

    @property
    def feature_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the encoded columns."""
        return self._survey.head.encoded_names(self._survey.chosen, self._survey.categories)

    @property
    def categories(self) -> list[np.ndarray]:  # type: ignore[override]
        """The values of each text column of raw blocks."""
        return [*self._survey.categories.values()]

    def __iter__(self) -> Iterator[tuple[Rows, np.ndarray | None]]:
        survey = self._survey
        for table in self._tables():
            X = table.encode(survey.chosen, survey.categories)
            yield self._reading.cast(X), self._labels(table)

    def raw_blocks(self) -> Iterator[RawRows]:
        """Blocks as the file has them."""
        survey = self._survey
        for table in self._tables():
            yield table.raw(survey.chosen, survey.label_column, self._labels(table))

    def _labels(self, table: Table) -> np.ndarray | None:
        column = self._survey.label_column
        return (
            None if column is None else labels_alike(table.label_cells(column), self._survey.kinds)
        )

    @cached_property
    def _survey(self) -> _Survey:
        found = self._scan(set())
        if found.texts & found.numeric:  # read as numbers in some blocks, but must stay text
            found = self._scan(found.texts)
        chosen = found.head.features(found.label_column)
        if found.head.begins_with_row_numbers() and not found.has_row_numbers:
            chosen = [0, *chosen]
        if self._columns is not None:
            chosen = found.head.find(self._columns, chosen)
        found.chosen = chosen
        found.categories = {j: found.categories[j] for j in chosen if j in found.categories}
        return found

    def _scan(self, texts: set[int]) -> _Survey:
        found = None
        cache = None if self._path.suffix == ".parquet" else self._reading.new_cache()
        has_labels = self._columns is None or self._target is not None
        for table in self._parsed(texts):
            if found is None:
                found = _Survey(table, table.column(self._target) if has_labels else None)
            found.add(table)
            if cache is not None:
                cache.append(_arrays_of(table))
        if found is None:
            raise ValueError(f"{self._path}: no rows")
        self._texts, self._cache = texts, cache
        return found

    def _tables(self) -> Iterator[Table]:
        if self._cache is None:
            yield from self._parsed(self._texts)
            return
        first_row, head = 0, self._survey.head
        for arrays in self._cache:
            values = _columns_of(arrays, len(head.names))
            lines = arrays.get("lines")
            table = Table(head.path, head.names, values, lines, head.has_names, first_row)
            first_row += table.n_rows
            yield table

    def _parsed(self, texts: set[int]) -> Iterator[Table]:
        if self._path.suffix == ".parquet":
            yield from read_parquet_blocks(self._path, self._reading.rows(None))
            return
        known = known_column(self._target, self._columns)
        first = as_text(self._path, lambda path: next(read_delimited_blocks(path, 1, target=known)))
        n_rows = self._reading.rows(len(first.names))
        yield from read_delimited_blocks(self._path, n_rows, target=known, texts=texts)


def _arrays_of(table: Table) -> dict[str, np.ndarray]:
    """A block as arrays: numbers side by side, each column of text by itself."""
    numeric = [values for values in table.values if values.dtype.kind == "f"]
    arrays = {f"text {j}": table.values[j] for j in range(len(table.names)) if table.is_text(j)}
    if numeric:
        arrays["numbers"] = np.column_stack(numeric)
    if table.lines is not None:
        arrays["lines"] = table.lines
    return arrays


def _columns_of(arrays: dict[str, np.ndarray], n_columns: int) -> list[np.ndarray]:
    numeric = iter(arrays["numbers"].T if "numbers" in arrays else ())
    return [
        arrays[f"text {j}"] if f"text {j}" in arrays else next(numeric) for j in range(n_columns)
    ]
