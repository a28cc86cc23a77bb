"""How rows are read in blocks: the size of a block, its precision, and a cache of parsed text."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .dataset import Rows

NUMBERS_PER_BLOCK = 1 << 20
FEWEST_ROWS, MOST_ROWS = 64, 65_536
ROWS_OF_UNKNOWN_WIDTH = 8_192


class BlockCache:
    """Blocks of named arrays in a temporary folder, which is removed together with this object.

    Parameters
    ----------
    folder : path or None
        Where to make the temporary folder; by default among the system's temporary files.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.datasets.reading import BlockCache
    >>> cache = BlockCache(None)
    >>> cache.append({"X": np.eye(2)})
    >>> [block["X"].shape for block in cache]
    [(2, 2)]
    """

    def __init__(self, folder: Any):
        self._folder = Path(tempfile.mkdtemp(prefix="hyperlocal-", dir=folder))
        self._n_blocks = 0
        weakref.finalize(self, shutil.rmtree, self._folder, True)

    def append(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Add a block."""
        np.savez(self._path(self._n_blocks), **arrays)  # type: ignore[arg-type]
        self._n_blocks += 1

    def __iter__(self) -> Iterator[dict[str, np.ndarray]]:
        for number in range(self._n_blocks):
            with np.load(self._path(number), allow_pickle=False) as archive:
                yield {name: archive[name] for name in archive.files}

    def _path(self, number: int) -> Path:
        return self._folder / f"{number}.npz"


@dataclass(frozen=True)
class Reading:
    """How rows are read; the attributes are arguments of :func:`~hyperlocal.datasets.stream`."""

    block_rows: Any = "auto"
    dtype: np.dtype | None = None
    cache: Any = None

    def __post_init__(self) -> None:
        is_number = isinstance(self.block_rows, (int, np.integer))
        if self.block_rows != "auto" and not (is_number and self.block_rows > 0):
            raise ValueError(
                f"block_rows must be a positive integer or 'auto', not {self.block_rows!r}"
            )
        if self.dtype is not None and self.dtype.kind != "f":
            raise ValueError(f"dtype must be a type of floating-point numbers, not {self.dtype}")

    def rows(self, width: int | None) -> int:
        """Number of rows per block, for rows of this many numbers."""
        if self.block_rows != "auto":
            return int(self.block_rows)
        if width is None:
            return ROWS_OF_UNKNOWN_WIDTH
        return min(MOST_ROWS, max(FEWEST_ROWS, NUMBERS_PER_BLOCK // max(1, width)))

    def cast(self, X: Rows) -> Rows:
        """Rows in the chosen precision."""
        return X if self.dtype is None else X.astype(self.dtype, copy=False)

    def new_cache(self) -> BlockCache | None:
        """An empty cache; None if text is to be parsed each time."""
        return None if self.cache is False else BlockCache(self.cache)
