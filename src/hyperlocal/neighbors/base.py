"""What every search for nearest rows shares: its result, its interface, and how it is saved."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..runtime.threads import Workers


@dataclass(frozen=True)
class Neighbors:
    """Each query's nearest rows, nearest first, and their squared distances."""

    indices: np.ndarray
    distances: np.ndarray

    @classmethod
    def empty(cls, n_queries: int, k: int, dtype: Any) -> Neighbors:
        """An empty result for ``k`` neighbors of each query."""
        return cls(np.empty((n_queries, k), np.int32), np.empty((n_queries, k), dtype))

    def first(self, k: int) -> Neighbors:
        """The ``k`` nearest of them."""
        return Neighbors(
            np.ascontiguousarray(self.indices[:, :k]), np.ascontiguousarray(self.distances[:, :k])
        )

    def replace(self, queries: np.ndarray, found: Neighbors) -> None:
        """Overwrite the neighbors of some queries."""
        self.indices[queries], self.distances[queries] = found.indices, found.distances


class Search(Protocol):
    """Finds the nearest of the rows it was made with."""

    def query(self, X: Any, k: int, workers: Workers) -> Neighbors:
        """The ``k`` nearest rows of each row of ``X`` (stored like the rows)."""
        ...


class SavedAsRows(ABC):
    """A search of which only the rows are saved; the rest is prepared again when it is loaded.

    So files stay small and hold no types of other libraries.
    """

    def __init__(self, X: Any, workers: Workers | None = None):
        self.X = X
        self._prepare(workers or Workers(1))

    @abstractmethod
    def _prepare(self, workers: Workers) -> None:
        """Make from ``X`` what searches use."""

    def __getstate__(self) -> dict[str, Any]:
        return {"X": self.X}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.X = state["X"]
        self._prepare(Workers(1))


def ordered(indices: np.ndarray, distances: np.ndarray, dtype: Any) -> Neighbors:
    """Nearest first, equal distances by the row's index."""
    order = np.lexsort((indices, distances), axis=1)
    return Neighbors(
        np.take_along_axis(indices, order, axis=1).astype(np.int32),
        np.take_along_axis(distances, order, axis=1).astype(dtype),
    )


def without_self(found: Neighbors, own: np.ndarray) -> Neighbors:
    """Leave each query's own row out of its neighbors, or else the farthest one.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.neighbors.base import Neighbors, without_self
    >>> found = Neighbors(np.array([[4, 7], [7, 5]]), np.array([[0.0, 1.0], [0.0, 2.0]]))
    >>> without_self(found, np.array([4, 6])).indices.tolist()
    [[7], [7]]
    """
    n_queries, k = found.indices.shape
    is_own = found.indices == own[:, None]
    is_own[~is_own.any(axis=1), -1] = True
    return Neighbors(
        found.indices[~is_own].reshape(n_queries, k - 1),
        found.distances[~is_own].reshape(n_queries, k - 1),
    )
