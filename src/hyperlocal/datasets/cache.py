"""Blocks of a text file in binary form, so that the text is parsed only once."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np


class BlockCache:
    """Blocks of named arrays in a temporary folder, which is removed together with this object.

    Parameters
    ----------
    folder : path or None
        Where to make the temporary folder; by default where the system has them.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.datasets.cache import BlockCache
    >>> cache = BlockCache(None)
    >>> cache.append({"X": np.eye(2)})
    >>> [block["X"].shape for block in cache]
    [(2, 2)]
    """

    def __init__(self, folder: Any):
        self._folder = Path(tempfile.mkdtemp(prefix="hyperlocal-", dir=folder))
        self._n_blocks = 0
        self._remove = weakref.finalize(self, shutil.rmtree, self._folder, True)

    def append(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Add a block."""
        np.savez(self._path(self._n_blocks), **arrays)  # type: ignore[arg-type]
        self._n_blocks += 1

    def __iter__(self) -> Iterator[dict[str, np.ndarray]]:
        for number in range(self._n_blocks):
            with np.load(self._path(number), allow_pickle=False) as archive:
                yield {name: archive[name] for name in archive.files}

    def close(self) -> None:
        """Remove the folder."""
        self._remove()

    def _path(self, number: int) -> Path:
        return self._folder / f"{number}.npz"
