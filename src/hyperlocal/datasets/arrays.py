"""Arrays in npy and npz files, read from front to back a few rows at a time.

The files are read, not mapped into memory: compressed members of npz files can be read the same
way, and what a block takes is all that is held.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

from .dataset import Rows, csr_rows

_CSR_MEMBERS = frozenset({"data", "indices", "indptr", "shape"})
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


class ArrayReader:
    """An array in an npy file, or in a member of an npz file, read in turn.

    Attributes
    ----------
    shape : tuple of int
    dtype : numpy dtype
    """

    def __init__(self, file: BinaryIO, path: Path, what: str):
        self._file = file
        self._where = f"{path}: {what}"
        try:
            read_header = _HEADERS.get(npy.read_magic(file), npy.read_array_header_2_0)
            self.shape, in_columns, self.dtype = read_header(file)
        except ValueError as error:
            raise ValueError(f"{self._where} is not a readable array ({error})") from error
        if self.dtype.hasobject:
            raise ValueError(f"{self._where} holds Python objects; save plain numbers or text")
        if in_columns and len(self.shape) > 1:
            raise ValueError(
                f"{self._where} is stored column by column; save numpy.ascontiguousarray of it"
            )

    def take(self, n: int) -> np.ndarray:
        """The next ``n`` rows (or items of a flat array)."""
        out = np.empty((n, *self.shape[1:]), self.dtype)
        left: Any = out.reshape(-1).view(np.uint8).data if out.size else b""
        while left:
            piece = self._file.read(min(len(left), 1 << 20))
            if not piece:
                raise ValueError(f"{self._where} ends early; the file is damaged")
            left[: len(piece)] = piece
            left = left[len(piece) :]
        return out


@contextmanager
def array_reader(path: Path) -> Iterator[ArrayReader]:
    """Read an npy file."""
    with open(path, "rb") as file:
        yield ArrayReader(file, path, "the array")


def npy_shape(path: Path) -> tuple[int, ...]:
    """The shape of the array in an npy file."""
    with array_reader(path) as reader:
        return reader.shape


class NpzFile:
    """Rows and labels in an npz file, in one of the forms that ``read_table`` takes.

    Attributes
    ----------
    shape : tuple of int
        Of the rows.
    has_labels : bool
    feature_names : tuple of str, or None
    """

    def __init__(self, path: Path, part: str = "train"):
        self.path = path
        with self._archive() as archive:
            members = {Path(name).stem for name in archive.namelist()}
            self._rows, self._labels = _members(path, members, part)
            self.feature_names = None
            if "feature_names" in members:
                names = self._whole(archive, "feature_names")
                self.feature_names = tuple(str(name) for name in names)
            if self._rows == "CSR":
                n_rows, width = self._whole(archive, "shape")
                self.shape: tuple[int, ...] = (int(n_rows), int(width))
            else:
                with archive.open(f"{self._rows}.npy") as file:
                    self.shape = ArrayReader(file, path, self._rows).shape  # type: ignore[arg-type]
        if len(self.shape) != 2 or 0 in self.shape:
            raise ValueError(f"{path}: rows of shape {self.shape}; a 2-D array with rows is needed")

    @property
    def has_labels(self) -> bool:
        """Whether there is a label for each row."""
        return self._labels is not None

    def blocks(self, n_rows: int) -> Iterator[Rows]:
        """The rows, some at a time."""
        if self._rows == "CSR":
            yield from self._sparse_blocks(n_rows)
        else:
            yield from self._pieces(self._rows, n_rows)

    def label_blocks(self, n_rows: int) -> Iterator[np.ndarray]:
        """The labels, as many at a time."""
        if self._labels is not None:
            yield from (piece.reshape(len(piece)) for piece in self._pieces(self._labels, n_rows))

    def _pieces(self, member: str, n_rows: int) -> Iterator[np.ndarray]:
        with self._archive() as archive, archive.open(f"{member}.npy") as file:
            reader = ArrayReader(file, self.path, member)  # type: ignore[arg-type]
            if reader.shape[0] != self.shape[0] or reader.shape[1:] not in (
                (),
                (1,),
                self.shape[1:],
            ):
                raise ValueError(
                    f"{self.path}: {member} of shape {reader.shape} with {self.shape[0]} rows"
                )
            for begin in range(0, self.shape[0], n_rows):
                yield reader.take(min(n_rows, self.shape[0] - begin))

    def _sparse_blocks(self, n_rows: int) -> Iterator[Rows]:
        with ExitStack() as stack:
            archive = stack.enter_context(self._archive())
            data, indices, starts = (
                ArrayReader(
                    stack.enter_context(archive.open(f"{name}.npy")),  # type: ignore[arg-type]
                    self.path,
                    name,
                )
                for name in ("data", "indices", "indptr")
            )
            last = int(starts.take(1)[0])
            for begin in range(0, self.shape[0], n_rows):
                ends = starts.take(min(n_rows, self.shape[0] - begin)).astype(np.int64)
                indptr = np.concatenate([[0], ends - last])
                n_values, last = int(indptr[-1]), int(ends[-1])
                shape = (len(ends), self.shape[1])
                yield csr_rows(data.take(n_values), indices.take(n_values), indptr, shape)

    def _archive(self) -> zipfile.ZipFile:
        try:
            return zipfile.ZipFile(self.path)
        except (zipfile.BadZipFile, OSError) as error:
            raise ValueError(f"{self.path}: not a readable npz file ({error})") from error

    def _whole(self, archive: zipfile.ZipFile, member: str) -> np.ndarray:
        with archive.open(f"{member}.npy") as file:
            reader = ArrayReader(file, self.path, member)  # type: ignore[arg-type]
            return reader.take(reader.shape[0])


def _members(path: Path, members: set[str], part: str) -> tuple[str, str | None]:
    """The members that hold rows and labels."""
    for rows, labels in ((f"X_{part}", f"y_{part}"), ("X_train", "y_train"), ("X", "y")):
        if {rows, labels} <= members:
            return rows, labels
    if members >= _CSR_MEMBERS:
        return "CSR", "y" if "y" in members else None
    if "X" in members:
        return "X", None
    raise ValueError(
        f"{path}: holds {sorted(members)}; expected X and y, or X_train, y_train, X_test and "
        "y_test, or CSR rows as data, indices, indptr and shape together with y"
    )


def array_blocks(X: Any, n_rows: int) -> Iterator[Any]:
    """Rows of an array in memory, or mapped into it, some at a time."""
    for begin in range(0, X.shape[0], n_rows):
        yield X[begin : begin + n_rows]
