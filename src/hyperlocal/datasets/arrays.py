"""Arrays in npy and npz files: whole, or read from front to back a few rows at a time.

Blocks are read, not mapped into memory: compressed members of npz files can be read the same way,
and only one block is in memory at a time.
"""

from __future__ import annotations

import math
import struct
import sys
import zipfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from itertools import repeat
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from .dataset import Dataset, RawRows, Rows, csr_rows, tidy_labels
from .reading import Reading
from .text import table_name

_CSR_MEMBERS = frozenset({"data", "indices", "indptr", "shape"})
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
# What zipfile raises for damaged archives; NotImplementedError and RuntimeError for foreign ones.
_DAMAGED = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError,
)  # fmt: skip
_PLAIN_KINDS = "biufSU"  # numbers and text
# Deflate makes at most so many bytes of one: a member cannot hold more, whatever its header says.
MOST_UNPACKED = 1032
WHOLE = Reading(sys.maxsize)  # all rows in one block
LabelledBlock = tuple[Rows, np.ndarray | None]


class ArrayReader:
    """An array in an open npy file, or in a member of an npz file, read in turn.

    Attributes
    ----------
    shape : tuple of int
    dtype : numpy dtype
    """

    def __init__(self, file: IO[bytes], path: Path, n_bytes: int, what: str = "the array"):
        self._file = file
        self._where = f"{path}: {what}"
        try:
            read_header = _HEADERS.get(npy.read_magic(file), npy.read_array_header_2_0)
            self.shape, in_columns, self.dtype = read_header(file)
        except Exception as error:  # of any kind, where the header is damaged
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            raise ValueError(f"{self._where} is not a readable array ({reason})") from error
        if self.dtype.kind not in _PLAIN_KINDS:
            held = "Python objects" if self.dtype.hasobject else self.dtype
            raise ValueError(f"{self._where} holds {held}; save plain numbers or text")
        self._check_size(n_bytes)
        self._in_columns = in_columns and len(self.shape) > 1
        self._n_left = self.shape[0] if self.shape else 1

    def _check_size(self, n_bytes: int) -> None:
        """Raise before memory is reserved for more than the file can hold."""
        size = self.dtype.itemsize  # negative where an older numpy counts beyond 32 bits
        if min((size, *self.shape)) < 0 or math.prod(self.shape) * size > n_bytes:
            raise ValueError(
                f"{self._where} is said to have shape {self.shape}, which the {n_bytes:,} bytes of "
                "it cannot hold; the file is damaged"
            )

    def take(self, n: int) -> np.ndarray:
        """The next ``n`` rows (or items of a flat array)."""
        if not 0 <= n <= self._n_left:
            raise ValueError(f"{self._where} ends early; the file is damaged")
        if self._in_columns and n < self.shape[0]:
            raise ValueError(
                f"{self._where} is stored column by column; save numpy.ascontiguousarray of it"
            )
        self._n_left -= n
        shape = (n, *self.shape[1:])
        out = np.empty(shape[::-1] if self._in_columns else shape, self.dtype)
        left: Any = out.reshape(-1).view(np.uint8).data if out.size else b""
        while left:
            piece = self._read(min(len(left), 1 << 20))
            left[: len(piece)] = piece
            left = left[len(piece) :]
        return out.T if self._in_columns else out

    def _read(self, n_bytes: int) -> bytes:
        try:
            piece = self._file.read(n_bytes)
        except _DAMAGED as error:
            raise ValueError(f"{self._where} is not a readable array ({error})") from error
        if not piece:
            raise ValueError(f"{self._where} ends early; the file is damaged")
        return piece

    def pieces(self, n_rows: int) -> Iterator[np.ndarray]:
        """All rows, at most ``n_rows`` at a time."""
        for begin in range(0, self.shape[0], n_rows):
            yield self.take(min(n_rows, self.shape[0] - begin))


class NpyFile:
    """Rows of an npy file; labels are one of its columns, or another npy file.

    Attributes
    ----------
    shape : tuple of int
        Of the rows without labels.
    feature_names : None
        npy files have no names.
    """

    feature_names = None

    def __init__(self, path: Path, target: Any, reading: Reading):
        self.path = path
        stored = _npy_shape(path)
        if len(stored) != 2 or stored[0] == 0 or stored[1] < 2:
            raise ValueError(f"{path}: an array of shape {stored}; a 2-D one is needed")
        self._block_rows = reading.rows(stored[1])
        self._labels: Path | None = None
        self._column = -1
        if isinstance(target, Path) or (isinstance(target, str) and target.endswith(".npy")):
            self._labels = Path(target)
            if _npy_shape(self._labels) != stored[:1]:
                shape = _npy_shape(self._labels)
                raise ValueError(f"{target}: labels of shape {shape} for {stored[0]} rows")
        elif target is not None:
            self._column = self._column_number(target, stored[1])
        self.shape = (stored[0], stored[1] - (self._labels is None))

    def _column_number(self, target: Any, n_columns: int) -> int:
        try:
            column = int(target)
        except (TypeError, ValueError):
            column = n_columns
        if not -n_columns <= column < n_columns:
            raise ValueError(
                f"{self.path}: no column {target!r}; columns are 0 to {n_columns - 1} (or name an "
                "npy file with the labels)"
            )
        return column

    def blocks(self) -> Iterator[LabelledBlock]:
        """Rows and labels, some at a time."""
        if self._labels is not None:
            yield from zip(self._pieces(self.path), self._pieces(self._labels), strict=True)
            return
        for rows in self._pieces(self.path):
            yield np.delete(rows, self._column, axis=1), rows[:, self._column]

    def label_kinds(self) -> set[str]:
        """Kinds of the labels of all blocks."""
        labels = (
            (rows[:, self._column] for rows in self._pieces(self.path))
            if self._labels is None
            else self._pieces(self._labels)
        )
        return {tidy_labels(cells).dtype.kind for cells in labels}

    def _pieces(self, path: Path) -> Iterator[np.ndarray]:
        with open(path, "rb") as file:
            yield from ArrayReader(file, path, path.stat().st_size).pieces(self._block_rows)


def _npy_shape(path: Path) -> tuple[int, ...]:
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file")
    with open(path, "rb") as file:
        return ArrayReader(file, path, path.stat().st_size).shape


class NpzFile:
    """Rows and labels in an npz file, in one of the forms that ``read_table`` takes.

    Attributes
    ----------
    members : set of str
        Names of all arrays.
    shape : tuple of int
        Of the rows.
    feature_names : tuple of str, or None
    """

    def __init__(self, path: Path, part: str, reading: Reading):
        self.path = path
        with self._archive() as archive:
            self.members = {Path(name).stem for name in archive.namelist()}
            self._rows, self._labels = _members(path, self.members, part)
            self.feature_names = self._stored_names(archive)
            if self._rows == "CSR":
                self.shape = self._sparse_shape(archive)
            else:
                with self._reader(archive, self._rows) as reader:
                    self.shape = reader.shape
        if len(self.shape) != 2 or min(self.shape) < 1:
            raise ValueError(f"{path}: rows of shape {self.shape}; a 2-D array with rows is needed")
        self._block_rows = reading.rows(self.shape[1])

    def blocks(self) -> Iterator[LabelledBlock]:
        """Rows and labels, some at a time."""
        rows = self._sparse_blocks() if self._rows == "CSR" else self._pieces(self._rows)
        labels = repeat(None) if self._labels is None else self._label_cells()
        yield from zip(rows, labels, strict=False)

    def label_kinds(self) -> set[str]:
        """Kinds of the labels of all blocks."""
        return {tidy_labels(cells).dtype.kind for cells in self._label_cells()}

    def whole(self) -> LabelledBlock:
        """All rows, and all labels, integers if they are whole numbers."""
        X, y = next(self.blocks())
        return X, None if y is None else tidy_labels(y)

    def _label_cells(self) -> Iterator[np.ndarray]:
        if self._labels is not None:
            yield from (piece.reshape(len(piece)) for piece in self._pieces(self._labels))

    def _pieces(self, member: str) -> Iterator[np.ndarray]:
        with self._archive() as archive, self._reader(archive, member) as reader:
            widths = [self.shape[1:]] if member == self._rows else [(), (1,)]
            if reader.shape[:1] != self.shape[:1] or reader.shape[1:] not in widths:
                raise ValueError(
                    f"{self.path}: {member} of shape {reader.shape} with {self.shape[0]} rows"
                )
            yield from reader.pieces(self._block_rows)

    def _sparse_blocks(self) -> Iterator[Rows]:
        with ExitStack() as stack:
            archive = stack.enter_context(self._archive())
            data, indices, starts = (
                stack.enter_context(self._reader(archive, name))
                for name in ("data", "indices", "indptr")
            )
            self._check_sparse(data, indices, starts)
            last = int(starts.take(1)[0])
            for begin in range(0, self.shape[0], self._block_rows):
                n_rows = min(self._block_rows, self.shape[0] - begin)
                ends = starts.take(n_rows).astype(np.int64)
                indptr = np.concatenate([[0], ends - last])
                n_values, last = int(indptr[-1]), int(ends[-1])
                if (np.diff(indptr) < 0).any() or last > min(data.shape[0], indices.shape[0]):
                    raise ValueError(f"{self.path}: indptr decreases, or ends beyond the entries")
                shape = (n_rows, self.shape[1])
                try:
                    rows = csr_rows(data.take(n_values), indices.take(n_values), indptr, shape)
                except ValueError as error:
                    raise ValueError(f"{self.path}: not a CSR matrix ({error})") from error
                yield rows

    def _sparse_shape(self, archive: zipfile.ZipFile) -> tuple[int, ...]:
        form = self._member(archive, "format").tolist() if "format" in self.members else [b"csr"]
        if form not in ([b"csr"], ["csr"]):
            raise ValueError(f"{self.path}: a sparse matrix of format {form[0]!r}; save X.tocsr()")
        numbers = self._member(archive, "shape")
        if numbers.dtype.kind not in "iu":
            raise ValueError(f"{self.path}: shape holds {numbers.dtype}; whole numbers are needed")
        return tuple(np.ravel(numbers).tolist())

    def _check_sparse(self, data: ArrayReader, indices: ArrayReader, starts: ArrayReader) -> None:
        """Raise unless these can be the arrays of CSR rows."""
        kinds = (data.dtype.kind in "biuf", indices.dtype.kind in "iu", starts.dtype.kind in "iu")
        if not all(kinds) or {len(part.shape) for part in (data, indices, starts)} != {1}:
            raise ValueError(f"{self.path}: data, indices and indptr are not those of CSR rows")

    def _archive(self) -> zipfile.ZipFile:
        try:
            return zipfile.ZipFile(self.path)
        except _DAMAGED as error:
            raise ValueError(f"{self.path}: not a readable npz file ({error})") from error

    @contextmanager
    def _reader(self, archive: zipfile.ZipFile, member: str) -> Iterator[ArrayReader]:
        try:
            info = archive.getinfo(f"{member}.npy")
            file = archive.open(info)
        except (KeyError, *_DAMAGED) as error:
            raise ValueError(f"{self.path}: {member} cannot be read ({error})") from error
        packed = min(info.compress_size, self.path.stat().st_size)
        with file:
            yield ArrayReader(
                file, self.path, min(info.file_size, MOST_UNPACKED * packed), what=member
            )

    def _stored_names(self, archive: zipfile.ZipFile) -> tuple[str, ...] | None:
        for member in ("feature_names", "names"):
            if member in self.members:
                return tuple(str(name) for name in self._member(archive, member))
        return None

    def _member(self, archive: zipfile.ZipFile, member: str) -> np.ndarray:
        with self._reader(archive, member) as reader:
            return reader.take(reader.shape[0] if reader.shape else 1)


# ---- whole files ---------------------------------------------------------------------------------


def read_npz(path: Path) -> Dataset:
    """Read an npz file with labels, and its test part if it has one."""
    train = NpzFile(path, "train", WHOLE)
    X, y = train.whole()
    if y is None:
        raise _unknown_members(path, train.members)
    X_test = y_test = None
    if {"X_train", "X_test"} <= train.members:
        X_test, y_test = NpzFile(path, "test", WHOLE).whole()
    return Dataset(table_name(path), X, y, X_test, y_test, train.feature_names)


def read_raw_npz(path: Path, part: str) -> RawRows:
    """Read one part of an npz file, with or without labels."""
    file = NpzFile(path, part, WHOLE)
    X, y = file.whole()
    names = file.feature_names
    return RawRows(table_name(path), X, y, names, has_names=names is not None)


def _members(path: Path, members: Collection[str], part: str) -> tuple[str, str | None]:
    """The names of the arrays that hold rows and labels."""
    found = set(members)
    for rows, labels in ((f"X_{part}", f"y_{part}"), ("X_train", "y_train"), ("X", "y")):
        if {rows, labels} <= found:
            return rows, labels
    if found >= _CSR_MEMBERS:
        return "CSR", "y" if "y" in found else None
    if "X" in found:
        return "X", None
    raise _unknown_members(path, found)


def _unknown_members(path: Path, members: Collection[str]) -> ValueError:
    return ValueError(
        f"{path}: holds {sorted(members)}; expected X and y, or X_train, y_train, X_test and "
        "y_test, or CSR rows as data, indices, indptr and shape together with y"
    )
