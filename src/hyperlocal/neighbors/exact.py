"""Exact search: one matrix product per block of queries and tile of rows.

A compiled pass keeps the rows that may be among the ``k`` nearest and measures them again. Memory
is bounded by the blocks, whatever the number of rows. Of rows that nearly lie in a subspace, such
as images, only the part within it is multiplied; what lies outside is bounded.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import _core
from ..data.rows import core_rows, take_rows
from ..runtime.threads import Workers, row_blocks
from .base import Neighbors, SavedAsRows
from .keys import Keys
from .subspace import USUAL_RULE, Subspace, SubspaceRule

QUERIES_PER_BLOCK = 256
FEWEST_QUERIES_PER_BLOCK = 16
ROWS_PER_TILE = 4096
NUMBERS_PER_SPARSE_BLOCK = 1 << 22


class ExactSearch(SavedAsRows):
    """Exact search; equal distances are ordered by the row's index.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_rows, n_features)
    workers : Workers, default=None
        Prepare the search.
    rule : SubspaceRule
        For which rows a subspace is looked for. Results do not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.neighbors.exact import ExactSearch
    >>> from hyperlocal.runtime.threads import Workers
    >>> found = ExactSearch(np.array([[0.0], [3.0], [1.0]])).query(np.array([[0.9]]), 2, Workers())
    >>> found.indices.tolist(), found.distances.round(2).tolist()
    ([[2, 0]], [[0.01, 0.81]])
    """

    def __init__(self, X: Any, workers: Workers | None = None, *, rule: SubspaceRule = USUAL_RULE):
        self._rule = rule
        super().__init__(X, workers)

    def _prepare(self, workers: Workers) -> None:
        self._keys = Keys(self.X, workers)
        self._subspace = Subspace.found_in(self._keys, workers, self._rule)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._rule = USUAL_RULE
        super().__setstate__(state)

    @property
    def uses_subspace(self) -> bool:
        """Whether the rows nearly lie in a subspace, in which they are searched."""
        return self._subspace is not None

    def query(
        self,
        X: Any,
        k: int,
        workers: Workers,
        *,
        rows_per_tile: int = ROWS_PER_TILE,
        queries_per_block: int = QUERIES_PER_BLOCK,
    ) -> Neighbors:
        """The ``k`` nearest rows of each row of ``X``."""
        sizes = {"rows_per_tile": rows_per_tile, "queries_per_block": queries_per_block}
        if self._subspace is None:
            return scan(self.X, self._keys, X, k, workers, **sizes)[0]
        found, is_sure = scan(self.X, self._subspace, X, k, workers, **sizes)
        unsure = np.flatnonzero(~is_sure)
        if len(unsure):
            again, _ = scan(self.X, self._keys, take_rows(X, unsure), k, workers, **sizes)
            found.replace(unsure, again)
        return found


def scan(
    rows: Any,
    keys: Keys | Subspace,
    X: Any,
    k: int,
    workers: Workers,
    *,
    rows_per_tile: int = ROWS_PER_TILE,
    queries_per_block: int = QUERIES_PER_BLOCK,
) -> tuple[Neighbors, np.ndarray]:
    """The nearest of the rows whose keys are small, and whether they surely are the nearest."""
    n_queries, dtype = X.shape[0], rows.dtype
    found, is_sure = Neighbors.empty(n_queries, k, dtype), np.empty(n_queries, bool)
    among, queries = core_rows(rows), core_rows(X)

    def search_block(block: tuple[int, int]) -> None:
        begin, end = block
        points = keys.points(X[begin:end])
        search = _core.nearest_rows(among, queries, begin, end, k)
        for first, last in row_blocks(rows.shape[0], rows_per_tile):
            products = _products(points.values, keys.rows[first:last])
            search.add(products, keys.half_norms[first:last], points.slack)
        distances, bounds = found.distances[begin:end], np.empty(end - begin, dtype)
        search.finish(found.indices[begin:end], distances, bounds)
        is_sure[begin:end] = points.farthest_key(distances[:, -1]) < bounds

    workers.map(
        search_block, row_blocks(n_queries, _block_size(rows, n_queries, queries_per_block))
    )
    return found, is_sure


def _block_size(rows: Any, n_queries: int, most: int) -> int:
    # Few queries are cut too, so that they occupy all threads.
    size = min(most, max(FEWEST_QUERIES_PER_BLOCK, n_queries // 8))
    if not sp.issparse(rows):
        return size
    return max(1, min(size, NUMBERS_PER_SPARSE_BLOCK // rows.shape[1]))


def _products(points: np.ndarray, rows: Any) -> np.ndarray:
    if sp.issparse(rows):
        return np.ascontiguousarray((rows @ points.T).T)
    return points @ rows.T


def nearest_of_lists(
    rows: Any, queries: Any, lists: np.ndarray, k: int, workers: Workers
) -> Neighbors:
    """The ``k`` nearest among each query's own list of rows, in which some may stand twice.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.neighbors.exact import nearest_of_lists
    >>> from hyperlocal.runtime.threads import Workers
    >>> rows, lists = np.array([[0.0], [3.0], [1.0]]), np.array([[1, 0, 1]], np.int32)
    >>> nearest_of_lists(rows, np.array([[0.9]]), lists, 2, Workers()).indices.tolist()
    [[0, 1]]
    """
    n_queries = queries.shape[0]
    found = Neighbors.empty(n_queries, k, rows.dtype)
    among, points = core_rows(rows), core_rows(queries)

    def search_block(block: tuple[int, int]) -> None:
        part = slice(*block)
        _core.nearest_of_lists(
            among, points, *block, lists[part], found.indices[part], found.distances[part]
        )

    workers.map(search_block, row_blocks(n_queries, FEWEST_QUERIES_PER_BLOCK))
    return found
