"""Rows in files, for data larger than memory: appended once, then read by ranges.

Files are read with plain reads rather than mapped, so that memory holds only the rows that were
requested, and the system counts them as used.
"""

from __future__ import annotations

import errno
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from ..runtime.threads import row_blocks

Ranges: TypeAlias = Sequence[tuple[int, int]]

# Rows are assigned to blocks in chunks of adjacent rows, so that reads have many kilobytes. A block
# has so many chunks that it is a fair sample, even of rows that are sorted by class. New blocks in
# every pass matter: with the same blocks in all passes, descent took several times the passes.
CHUNKS_PER_BLOCK = 256
FEWEST_ADJACENT, MOST_ADJACENT = 8, 256
# Errors of a folder that cannot hold files: full, over a limit, read-only, or forbidden.
NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM)


@contextmanager
def working_folder(folder: Any = None) -> Iterator[Path]:
    """A new folder inside a given one, or among the system's temporary files; removed at the end.

    An error of the system, such as a full disk, names the folder and the remedy.
    """
    where = folder or tempfile.gettempdir()
    try:
        with tempfile.TemporaryDirectory(prefix="hyperlocal-", dir=folder) as made:
            yield Path(made)
    except OSError as error:
        if error.errno not in NO_SPACE:
            raise
        raise OSError(
            f"{where}: rows cannot be stored there ({error.strerror}); give a folder with space "
            "that can be written to"
        ) from error


class NumberFile:
    """A file of rows of equally many numbers.

    Parameters
    ----------
    path : Path
    dtype : numpy dtype
    width : int
        Numbers per row.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from pathlib import Path
    >>> from hyperlocal.data.row_store import NumberFile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with NumberFile(Path(folder, "numbers"), np.int32, 2) as file:
    ...         file.append([[0, 1], [2, 3], [4, 5]])
    ...         file.read([(0, 1), (2, 3)]).tolist()
    [[0, 1], [4, 5]]
    """

    def __init__(self, path: Path, dtype: Any, width: int = 1):
        self.dtype = np.dtype(dtype)
        self.width = width
        self.n_rows = 0
        self._path = path
        self._lock = threading.Lock()  # a thread may read ahead
        # Open as long as the object exists: it is read in every pass.
        self._file = open(path, "w+b", buffering=0)  # noqa: SIM115

    def __enter__(self) -> NumberFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close and delete the file."""
        self._file.close()
        self._path.unlink(missing_ok=True)

    def append(self, rows: Any) -> None:
        """Add rows at the end."""
        rows = self._in_order(rows)
        self._write_at(self.n_rows, rows)
        self.n_rows += len(rows)

    def extend(self, n_rows: int) -> None:
        """Add rows of zeros at the end."""
        self.n_rows += n_rows
        self._file.truncate(self.n_rows * self._row_bytes)

    def read(self, ranges: Ranges) -> np.ndarray:
        """The rows of some ranges, one after the other, ``(n, width)``."""
        out = np.empty((count_rows(ranges), self.width), self.dtype)
        place = 0
        for begin, end in joined(ranges):
            self._read_at(begin, out[place : place + end - begin])
            place += end - begin
        return out

    def write(self, ranges: Ranges, rows: np.ndarray) -> None:
        """Replace the rows of some ranges."""
        rows = self._in_order(rows)
        place = 0
        for begin, end in joined(ranges):
            self._write_at(begin, rows[place : place + end - begin])
            place += end - begin

    @property
    def _row_bytes(self) -> int:
        return self.width * self.dtype.itemsize

    def _in_order(self, rows: Any) -> np.ndarray:
        return np.ascontiguousarray(rows, self.dtype).reshape(len(rows), self.width)

    def _read_at(self, row: int, out: np.ndarray) -> None:
        if not out.size:
            return
        left = memoryview(out).cast("B")  # type: ignore[arg-type]
        with self._lock:
            self._file.seek(row * self._row_bytes)
            while left:  # a system may read less than requested
                n_bytes = self._file.readinto(left)
                if not n_bytes:
                    raise OSError(f"{self._path}: shorter than what was written to it")
                left = left[n_bytes:]

    def _write_at(self, row: int, rows: np.ndarray) -> None:
        if not rows.size:
            return
        left = memoryview(rows).cast("B")  # type: ignore[arg-type]
        with self._lock:
            self._file.seek(row * self._row_bytes)
            while left:
                left = left[self._file.write(left) :]


class DenseStore:
    """Dense rows of features in a file."""

    def __init__(self, folder: Path, name: str, like: np.ndarray):
        self._rows = NumberFile(folder / name, like.dtype, like.shape[1])
        self.bytes_per_row = float(like.itemsize * like.shape[1])

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._rows.n_rows

    def append(self, X: np.ndarray) -> None:
        """Add rows at the end."""
        self._rows.append(X)

    def read(self, ranges: Ranges) -> np.ndarray:
        """The rows of some ranges."""
        return self._rows.read(ranges)

    def close(self) -> None:
        """Close and delete the file."""
        self._rows.close()


class SparseStore:
    """CSR rows in files: values, columns, and where each row begins."""

    def __init__(self, folder: Path, name: str, like: Any):
        self.width = like.shape[1]
        self._values = NumberFile(folder / f"{name}-values", like.dtype)
        self._columns = NumberFile(folder / f"{name}-columns", np.int32)
        self._starts = NumberFile(folder / f"{name}-starts", np.int64)
        self._starts.append([0])

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._starts.n_rows - 1

    @property
    def bytes_per_row(self) -> float:
        """Mean size of a row in memory."""
        per_value = self._values.dtype.itemsize + self._columns.dtype.itemsize
        return per_value * self._values.n_rows / max(1, self.n_rows) + self._starts.dtype.itemsize

    def append(self, X: Any) -> None:
        """Add CSR rows at the end."""
        self._starts.append(self._values.n_rows + X.indptr[1:].astype(np.int64))
        self._values.append(X.data)
        self._columns.append(X.indices)

    def read(self, ranges: Ranges) -> sp.csr_array:
        """The rows of some ranges."""
        ranges = joined(ranges)
        starts = [self._starts.read([(begin, end + 1)])[:, 0] for begin, end in ranges]
        places = [(int(piece[0]), int(piece[-1])) for piece in starts]
        lengths = np.concatenate([np.diff(piece) for piece in starts])
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        values, columns = self._values.read(places), self._columns.read(places)
        shape = (len(lengths), self.width)
        return sp.csr_array((values[:, 0], columns[:, 0], indptr), shape=shape)

    def close(self) -> None:
        """Close and delete the files."""
        for file in (self._values, self._columns, self._starts):
            file.close()


RowStore: TypeAlias = DenseStore | SparseStore


def open_store(folder: Path, name: str, like: Any) -> RowStore:
    """An empty store for rows like these: their storage, type and width."""
    return (SparseStore if sp.issparse(like) else DenseStore)(folder, name, like)


def deal_chunks(n_rows: int, block_rows: int, rng: np.random.Generator) -> list[Ranges]:
    """Assign chunks of adjacent rows at random to blocks of about equally many rows.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.data.row_store import count_rows, deal_chunks
    >>> blocks = deal_chunks(10_000, 4_000, np.random.default_rng(0))
    >>> [count_rows(block) for block in blocks]
    [3345, 3325, 3330]
    """
    wanted = min(MOST_ADJACENT, max(FEWEST_ADJACENT, block_rows // CHUNKS_PER_BLOCK))
    chunks = list(row_blocks(n_rows, min(wanted, block_rows)))
    n_blocks = min(len(chunks), -(-n_rows // block_rows))
    order = rng.permutation(len(chunks))
    return [[chunks[i] for i in np.sort(part)] for part in np.array_split(order, n_blocks)]


def single_rows(rows: Iterable[int]) -> Ranges:
    """Row numbers as ranges."""
    return [(int(row), int(row) + 1) for row in rows]


def count_rows(ranges: Ranges) -> int:
    """Number of rows in ranges."""
    return sum(end - begin for begin, end in ranges)


def joined(ranges: Ranges) -> list[tuple[int, int]]:
    """Ranges, with adjacent ones joined.

    Examples
    --------
    >>> from hyperlocal.data.row_store import joined
    >>> joined([(0, 2), (2, 3), (5, 6)])
    [(0, 3), (5, 6)]
    """
    result: list[tuple[int, int]] = []
    for begin, end in ranges:
        if result and result[-1][1] == begin:
            result[-1] = (result[-1][0], end)
        else:
            result.append((begin, end))
    return result
