"""Which training rows are nearest to a query: exact, by a tree, or approximate.

The exact search is one GEMM per block of queries and tile of rows, and a compiled pass that keeps
what may be among the ``k`` nearest and measures it again. Memory is bounded by the blocks, whatever
the number of rows. Of rows that nearly lie in a subspace, such as images, only the part within it
is multiplied; what lies outside is bounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import BallTree, KDTree
from sklearn.utils.extmath import row_norms

from .. import _core
from ..data.rows import core_rows, squared_lengths, take_rows
from ..runtime.threads import Workers, row_blocks

ALGORITHMS = ("exact", "tree", "approximate")

QUERIES_PER_BLOCK = 256
FEWEST_QUERIES_PER_BLOCK = 16
ROWS_PER_TILE = 4096
NUMBERS_PER_SPARSE_BLOCK = 1 << 22
# Products are taken about the rows' mean if that lies farther from the origin than this many times
# the rows' root mean squared distance from it: they lose digits otherwise.
FAR_FROM_ORIGIN = 4.0
WIDEST_KD_TREE = 15
# Of the approximate index: neighbours of a row in its graph, whatever the number asked for (more
# cost far more to find and find little more), and how much farther than the k-th it looks.
NEIGHBORS_IN_GRAPH = 30
EPSILON_OF_GRAPH = 0.2
# A subspace is looked for where products are most of the work and its axes are found within a
# second, from a sample of rows. It pays if few principal axes hold all but a share of the variance.
FEWEST_ROWS_FOR_SUBSPACE = 20_000
FEATURES_FOR_SUBSPACE = range(128, 1_025)
ROWS_TO_FIND_SUBSPACE = 2_000
SHARE_OUTSIDE = 0.05
LARGEST_SHARE_OF_AXES = 0.4
# Rows are measured up to so many times the typical r_x r_v beyond the k-th bound: enough for nearly
# all queries on MNIST, where 1 leaves every fifth one to be searched for again.
REACH = 1.3


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


def make_search(algorithm: str, X: Any, seed: int, workers: Workers) -> Search:
    """Prepare the search among rows ``X``.

    Parameters
    ----------
    algorithm : {"exact", "tree", "approximate"}
    X : ndarray or CSR of shape (n_rows, n_features)
    seed : int
        Used by the approximate index alone.
    workers : Workers
    """
    if algorithm == "exact":
        return ExactSearch(X, workers)
    if algorithm == "tree":
        return TreeSearch(X)
    return ApproximateSearch(X, seed, workers)


class _SavedAsRows:
    """A search whose file holds its rows alone; the rest is made again, the same, as it is loaded.

    So files stay small, and hold no types of others.
    """

    X: Any

    def __init__(self, X: Any):
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        return {"X": self.X}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["X"])  # type: ignore[misc]


class ExactSearch(_SavedAsRows):
    """Exact search; equal distances are ordered by the row's index.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.neighbors.search import ExactSearch
    >>> from hyperlocal.runtime.threads import Workers
    >>> found = ExactSearch(np.array([[0.0], [3.0], [1.0]])).query(np.array([[0.9]]), 2, Workers())
    >>> found.indices.tolist(), found.distances.round(2).tolist()
    ([[2, 0]], [[0.01, 0.81]])
    """

    def __init__(self, X: Any, workers: Workers | None = None):
        workers = workers or Workers(1)
        self.X = X
        self._keys = _Keys(X, workers)
        self._subspace = _Subspace.found_in(self._keys, workers)

    def query(self, X: Any, k: int, workers: Workers) -> Neighbors:
        """The ``k`` nearest rows of each row of ``X``."""
        if self._subspace is None:
            return self._scan(self._keys, X, k, workers)[0]
        found, is_sure = self._scan(self._subspace, X, k, workers)
        unsure = np.flatnonzero(~is_sure)
        if len(unsure):
            again, _ = self._scan(self._keys, take_rows(X, unsure), k, workers)
            found.indices[unsure], found.distances[unsure] = again.indices, again.distances
        return found

    def _scan(
        self, keys: _Keys | _Subspace, X: Any, k: int, workers: Workers
    ) -> tuple[Neighbors, np.ndarray]:
        """The nearest of the rows whose keys are small, and whether they surely are the nearest."""
        n_queries, dtype = X.shape[0], self.X.dtype
        found = Neighbors(np.empty((n_queries, k), np.int32), np.empty((n_queries, k), dtype))
        is_sure = np.empty(n_queries, bool)
        rows, queries = core_rows(self.X), core_rows(X)

        def search_block(block: tuple[int, int]) -> None:
            begin, end = block
            points = keys.points(X[begin:end])
            search = _core.nearest_rows(rows, queries, begin, end, k)
            for first, last in row_blocks(self.X.shape[0], ROWS_PER_TILE):
                products = _products(points.values, keys.rows[first:last])
                search.add(products, keys.half_norms[first:last], points.slack)
            distances, bounds = found.distances[begin:end], np.empty(end - begin, dtype)
            search.finish(found.indices[begin:end], distances, bounds)
            is_sure[begin:end] = points.farthest_key(distances[:, -1]) < bounds

        workers.map(search_block, row_blocks(n_queries, self._block_size(n_queries)))
        return found, is_sure

    def _block_size(self, n_queries: int) -> int:
        # Few queries are cut too, so that they occupy all threads.
        size = min(QUERIES_PER_BLOCK, max(FEWEST_QUERIES_PER_BLOCK, n_queries // 8))
        if not sp.issparse(self.X):
            return size
        return max(1, min(size, NUMBERS_PER_SPARSE_BLOCK // self.X.shape[1]))


@dataclass(frozen=True)
class _Points:
    """Queries as their products with rows need them.

    ``slack`` is what keys may differ by and rows still be worth measuring; ``rounding`` the part of
    it that is rounding error.
    """

    values: np.ndarray
    squared_norms: np.ndarray
    slack: np.ndarray
    rounding: np.ndarray

    def farthest_key(self, squared_distances: np.ndarray) -> np.ndarray:
        """The largest key that a row at such a distance may have."""
        return 0.5 * (squared_distances - self.squared_norms) + self.rounding


class _Keys:
    """Half the squared distance less half the query's squared norm, ``½ v·v − x·v``: ranks rows."""

    def __init__(self, X: Any, workers: Workers):
        self.rows, self._origin = X, None
        if not sp.issparse(X):
            self._centre(X)
        norms = squared_lengths(self.rows, workers)
        self.half_norms = norms * X.dtype.type(0.5)
        self._longest = float(np.sqrt(norms.max()))

    def _centre(self, X: np.ndarray) -> None:
        sample = _sampled(X)
        mean = sample.mean(axis=0, dtype=np.float64)
        away = float(mean @ mean)
        spread = float(np.mean(row_norms(sample, squared=True), dtype=np.float64)) - away
        if away > FAR_FROM_ORIGIN**2 * max(spread, 0.0):
            self._origin = mean.astype(X.dtype)
            self.rows = X - self._origin

    def points(self, X: Any) -> _Points:
        """Queries, and how far the difference of two keys may be off."""
        values = X.toarray() if sp.issparse(X) else X
        if self._origin is not None:
            values = values - self._origin
        squared_norms = row_norms(values, squared=True)
        # Products of d features are off by at most d roundings of |x||v|, whatever their order.
        unit = relative_rounding(values) * self._longest
        lengths = np.sqrt(squared_norms).astype(np.float64) + self._longest
        slack = (2 * unit * lengths).astype(values.dtype)
        return _Points(values, squared_norms, slack, slack)


class _Subspace:
    """Bounds of the keys from below, by products within a subspace.

    About the rows' mean, with ``P`` the projection onto it and ``r`` the length of what lies
    outside, ``x·v`` is at most ``Px·Pv + r_x r_v``. Rows within a typical ``r_x r_v`` of the k-th
    smallest bound are measured; where the k-th distance shows that this was not far enough, the
    query is searched for again.
    """

    def __init__(self, keys: _Keys, mean: np.ndarray, axes: np.ndarray, workers: Workers):
        self._keys, self._mean, self._axes = keys, mean, axes
        X = keys.rows
        self.rows = np.empty((X.shape[0], len(axes) + 1), X.dtype)
        self.half_norms = np.empty(X.shape[0], X.dtype)

        def split_block(block: tuple[int, int]) -> None:
            begin, end = block
            self.half_norms[begin:end] = self._split(X[begin:end], self.rows[begin:end])

        workers.map(split_block, row_blocks(X.shape[0], QUERIES_PER_BLOCK))
        self.half_norms *= X.dtype.type(0.5)
        self._reach = REACH * self.rows[:, -1].mean()

    @classmethod
    def found_in(cls, keys: _Keys, workers: Workers) -> _Subspace | None:
        """The subspace of the leading principal axes, if few of them hold nearly all variance."""
        X = keys.rows
        n_rows, n_features = X.shape
        if sp.issparse(X) or n_rows < FEWEST_ROWS_FOR_SUBSPACE:
            return None
        if n_features not in FEATURES_FOR_SUBSPACE:
            return None
        sample = _sampled(X)
        mean = sample.mean(axis=0)
        sample = sample - mean
        values, vectors = np.linalg.eigh(sample.T @ sample)
        outside = np.cumsum(values)  # of the first axes, the smallest first
        n_axes = int(np.count_nonzero(outside > SHARE_OUTSIDE * outside[-1]))
        if not 0 < n_axes <= LARGEST_SHARE_OF_AXES * n_features:
            return None
        return cls(keys, mean, np.ascontiguousarray(vectors[:, -n_axes:].T), workers)

    def points(self, X: np.ndarray) -> _Points:
        """Queries within the subspace, and the length of what lies outside."""
        points = self._keys.points(X)
        values = np.empty((X.shape[0], len(self._axes) + 1), X.dtype)
        squared_norms = self._split(points.values, values)
        rounding = 3 * points.slack  # of projections, their products and the axes
        slack = rounding + values[:, -1] * self._reach
        return _Points(values, squared_norms, slack, rounding)

    def _split(self, X: np.ndarray, out: np.ndarray) -> np.ndarray:
        """Write parts within and the length of what lies outside; return squared norms."""
        X = X - self._mean
        squared_norms = row_norms(X, squared=True)
        out[:, :-1] = X @ self._axes.T
        outside = squared_norms - row_norms(out[:, :-1], squared=True)
        # Rounded upwards, so that it bounds.
        outside = np.maximum(outside, 0) + 2 * relative_rounding(X) * squared_norms
        out[:, -1] = np.sqrt(outside)
        return squared_norms


def _sampled(X: np.ndarray) -> np.ndarray:
    """Rows spread over all of them, enough to know where they lie and how they vary."""
    return X[:: -(-X.shape[0] // ROWS_TO_FIND_SUBSPACE)]


def relative_rounding(X: np.ndarray) -> float:
    """How far a product of rows may be off, relative to their lengths."""
    return (X.shape[1] + 16) * float(np.finfo(X.dtype).eps)


def _products(points: np.ndarray, rows: Any) -> np.ndarray:
    if sp.issparse(rows):
        return np.ascontiguousarray((rows @ points.T).T)
    return points @ rows.T


class TreeSearch(_SavedAsRows):
    """Search by a k-d tree, or by a ball tree above 15 features; for few features.

    Where more rows than fit are equally far, the tree decides which of them are found.
    """

    def __init__(self, X: Any):
        if sp.issparse(X):
            raise ValueError("algorithm='tree' needs dense rows; use algorithm='exact'.")
        self.X = X
        self._tree = (KDTree if X.shape[1] <= WIDEST_KD_TREE else BallTree)(X)

    def query(self, X: Any, k: int, workers: Workers) -> Neighbors:
        """The ``k`` nearest rows of each row of ``X``."""
        blocks = list(row_blocks(X.shape[0], QUERIES_PER_BLOCK))
        found = workers.map(lambda block: self._tree.query(X[slice(*block)], k), blocks)
        distances = np.concatenate([part[0] for part in found])
        indices = np.concatenate([part[1] for part in found])
        return _ordered(indices, distances**2, X.dtype)


class ApproximateSearch:
    """Search in a graph of neighbours (pynndescent): for millions of rows.

    Where the graph leads to fewer rows than asked for, the query is searched for exactly.
    """

    def __init__(self, X: Any, seed: int, workers: Workers):
        try:
            from pynndescent import NNDescent
        except ImportError as error:
            raise ImportError(
                "algorithm='approximate' needs pynndescent: "
                "pip install 'hyperlocal[approximate]', or use algorithm='exact' or 'tree'."
            ) from error
        n_neighbors = min(X.shape[0], NEIGHBORS_IN_GRAPH)
        self._X = X
        self._index = NNDescent(
            X, n_neighbors=n_neighbors, random_state=seed, n_jobs=workers.n_threads
        )
        self._index.prepare()

    def query(self, X: Any, k: int, workers: Workers) -> Neighbors:
        """About the ``k`` nearest rows of each row of ``X``."""
        indices, distances = self._index.query(X, k=k, epsilon=EPSILON_OF_GRAPH)
        found = _ordered(indices, distances**2, X.dtype)
        lost = np.flatnonzero((indices < 0).any(axis=1))
        if len(lost):
            exact = ExactSearch(self._X, workers).query(take_rows(X, lost), k, workers)
            found.indices[lost], found.distances[lost] = exact.indices, exact.distances
        return found


def nearest_of_lists(
    rows: Any, queries: Any, lists: np.ndarray, k: int, workers: Workers
) -> Neighbors:
    """The ``k`` nearest among each query's own list of rows, in which some may stand twice.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.neighbors.search import nearest_of_lists
    >>> from hyperlocal.runtime.threads import Workers
    >>> rows, lists = np.array([[0.0], [3.0], [1.0]]), np.array([[1, 0, 1]], np.int32)
    >>> nearest_of_lists(rows, np.array([[0.9]]), lists, 2, Workers()).indices.tolist()
    [[0, 1]]
    """
    n_queries = queries.shape[0]
    found = Neighbors(np.empty((n_queries, k), np.int32), np.empty((n_queries, k), rows.dtype))
    among, asked = core_rows(rows), core_rows(queries)

    def search_block(block: tuple[int, int]) -> None:
        part = slice(*block)
        _core.nearest_of_lists(
            among, asked, *block, lists[part], found.indices[part], found.distances[part]
        )

    workers.map(search_block, row_blocks(n_queries, FEWEST_QUERIES_PER_BLOCK))
    return found


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
    >>> from hyperlocal.neighbors.search import Neighbors, without_self
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
