"""Which training rows are nearest to a query: exact, by a tree, or approximate.

The exact search is one GEMM per block of queries and tile of rows, and a compiled pass that keeps
what may be among the ``k`` nearest and measures it again. Memory is bounded by the blocks, whatever
the number of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import BallTree, KDTree
from sklearn.utils.extmath import row_norms

from . import _core
from .rows import core_rows
from .threads import Workers, row_blocks

ALGORITHMS = ("exact", "tree", "approximate")

_KINDS = {np.dtype(np.float32): _core.NearestFloat32, np.dtype(np.float64): _core.NearestFloat64}

QUERIES_PER_BLOCK = 256
ROWS_PER_TILE = 4096
NUMBERS_PER_SPARSE_BLOCK = 1 << 22
# Products are taken about the rows' mean if that lies farther from the origin than this many times
# the rows' root mean squared distance from it: they lose digits otherwise.
FAR_FROM_ORIGIN = 4.0
WIDEST_KD_TREE = 15


@dataclass(frozen=True)
class Neighbors:
    """Each query's nearest rows, nearest first, and their squared distances."""

    indices: np.ndarray
    distances: np.ndarray

    def first(self, k: int) -> Neighbors:
        """The ``k`` nearest of them."""
        return Neighbors(
            np.ascontiguousarray(self.indices[:, :k]), np.ascontiguousarray(self.distances[:, :k])
        )


class Search(Protocol):
    """Finds the nearest of the rows it was made with."""

    def query(self, X: Any, k: int, workers: Workers) -> Neighbors:
        """The ``k`` nearest rows of each row of ``X`` (stored like the rows)."""
        ...


def make_search(algorithm: str, X: Any, k: int, seed: int) -> Search:
    """Prepare the search among rows ``X``, for ``k`` neighbours or a few more.

    Parameters
    ----------
    algorithm : {"exact", "tree", "approximate"}
    X : ndarray or CSR of shape (n_rows, n_features)
    k : int
    seed : int
        Used by the approximate index alone.
    """
    if algorithm == "exact":
        return ExactSearch(X)
    if algorithm == "tree":
        return TreeSearch(X)
    return ApproximateSearch(X, k, seed)


class ExactSearch:
    """Exact search; equal distances are ordered by the row's index.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.neighbors import ExactSearch
    >>> from hyperlocal.threads import Workers
    >>> found = ExactSearch(np.array([[0.0], [3.0], [1.0]])).query(np.array([[0.9]]), 2, Workers())
    >>> found.indices.tolist(), found.distances.round(2).tolist()
    ([[2, 0]], [[0.01, 0.81]])
    """

    def __init__(self, X: Any):
        self.X = X
        self._origin: np.ndarray | None = None
        self._centred = X
        if not sp.issparse(X):
            self._centre(X)
        norms = row_norms(self._centred, squared=True)
        self._half_norms = norms * X.dtype.type(0.5)
        self._longest = float(np.sqrt(norms.max()))

    def _centre(self, X: np.ndarray) -> None:
        mean = X.mean(axis=0, dtype=np.float64)
        away = float(mean @ mean)
        spread = float(np.mean(row_norms(X, squared=True), dtype=np.float64)) - away
        if away > FAR_FROM_ORIGIN**2 * max(spread, 0.0):
            self._origin = mean.astype(X.dtype)
            self._centred = X - self._origin

    def query(self, X: Any, k: int, workers: Workers) -> Neighbors:
        """The ``k`` nearest rows of each row of ``X``."""
        n_queries, dtype = X.shape[0], self.X.dtype
        found = Neighbors(np.empty((n_queries, k), np.int32), np.empty((n_queries, k), dtype))
        rows, queries = core_rows(self.X), core_rows(X)
        # Products of d features are off by at most d roundings of |x||v|, whatever their order.
        rounding = (X.shape[1] + 16) * float(np.finfo(dtype).eps) * self._longest

        def search_block(block: tuple[int, int]) -> None:
            begin, end = block
            points = self._about_origin(X[begin:end])
            lengths = row_norms(points).astype(np.float64) + self._longest
            slack = (2 * rounding * lengths).astype(dtype)
            search = _KINDS[dtype](end - begin, k)
            for first, last in row_blocks(self.X.shape[0], ROWS_PER_TILE):
                products = self._products(points, first, last)
                search.add(products, self._half_norms[first:last], slack)
            search.finish(
                rows, queries, begin, found.indices[begin:end], found.distances[begin:end]
            )

        workers.map(search_block, row_blocks(n_queries, self._block_size()))
        return found

    def _about_origin(self, X: Any) -> Any:
        if sp.issparse(X):
            return X.toarray()
        return X if self._origin is None else X - self._origin

    def _products(self, points: np.ndarray, first: int, last: int) -> np.ndarray:
        tile = self._centred[first:last]
        if sp.issparse(tile):
            return np.ascontiguousarray((tile @ points.T).T)
        return points @ tile.T

    def _block_size(self) -> int:
        if not sp.issparse(self.X):
            return QUERIES_PER_BLOCK
        return max(1, min(QUERIES_PER_BLOCK, NUMBERS_PER_SPARSE_BLOCK // self.X.shape[1]))


class TreeSearch:
    """Search by a k-d tree, or by a ball tree above 15 features; for few features.

    Where more rows than fit are equally far, the tree decides which of them are found.
    """

    def __init__(self, X: Any):
        if sp.issparse(X):
            raise ValueError("algorithm='tree' needs dense rows; use algorithm='exact'.")
        self._tree = (KDTree if X.shape[1] <= WIDEST_KD_TREE else BallTree)(X)

    def query(self, X: Any, k: int, workers: Workers) -> Neighbors:
        """The ``k`` nearest rows of each row of ``X``."""
        blocks = list(row_blocks(X.shape[0], QUERIES_PER_BLOCK))
        found = workers.map(lambda block: self._tree.query(X[slice(*block)], k), blocks)
        distances = np.concatenate([part[0] for part in found])
        indices = np.concatenate([part[1] for part in found])
        return _ordered(indices, distances**2, X.dtype)


class ApproximateSearch:
    """Search in a graph of neighbours (pynndescent): for millions of rows."""

    def __init__(self, X: Any, k: int, seed: int):
        try:
            from pynndescent import NNDescent
        except ImportError as error:
            raise ImportError(
                "algorithm='approximate' needs pynndescent: "
                "pip install 'hyperlocal[approximate]', or use algorithm='exact' or 'tree'."
            ) from error
        n_neighbors = min(X.shape[0], max(30, k + 1))
        self._index = NNDescent(X, n_neighbors=n_neighbors, random_state=seed)
        self._index.prepare()

    def query(self, X: Any, k: int, workers: Workers) -> Neighbors:
        """About the ``k`` nearest rows of each row of ``X``."""
        indices, distances = self._index.query(X, k=k)
        return _ordered(indices, distances**2, X.dtype)


def _ordered(indices: np.ndarray, distances: np.ndarray, dtype: Any) -> Neighbors:
    """Nearest first, equal distances by the row's index."""
    order = np.lexsort((indices, distances), axis=1)
    return Neighbors(
        np.take_along_axis(indices, order, axis=1).astype(np.int32),
        np.take_along_axis(distances, order, axis=1).astype(dtype),
    )


def without_self(found: Neighbors, own: np.ndarray) -> Neighbors:
    """Leave each query's own row out of its neighbours, or else the farthest one.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.neighbors import Neighbors, without_self
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
