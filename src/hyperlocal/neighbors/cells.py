"""The nearest few of many points, searched for in a few cells of a partition.

k-means divides the points into cells. For a query, the points of the cells with the nearest centers
are measured, which are a small part of all points; now and then the nearest point lies in another
cell.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import _core
from ..data.labelled import row_keys
from ..data.rows import core_rows
from ..gates.anchors import choose_anchors
from ..gates.codes import encode
from ..runtime.threads import Workers, row_blocks
from .base import Neighbors
from .exact import ExactSearch

QUERIES_PER_BLOCK = 256
# Fewer points are one cell: all of them are measured.
FEWEST_POINTS_TO_DIVIDE = 256
# With these, 99 % of held-out rows of USPS and LETTER find the nearest of the centers that cover
# the others. Half as many probes find it for 96 %.
CELLS_PER_ROOT = 2.0
N_PROBES = 8
# Where more neighbors are asked for than a few, the number of probes is found by trial.
SAMPLED_QUERIES = 256
SAMPLED_NEIGHBORS = 100
SHARE_TO_FIND = 0.99
ROUNDING = 1e-5


class CellSearch:
    """Search among dense points in the nearest cells of a partition of them.

    Parameters
    ----------
    X : ndarray of shape (n_points, n_features)
    workers : Workers
    seed : int
        Places the cells.

    Attributes
    ----------
    n_probes : int
        In how many cells a query is searched for.
    X : ndarray of shape (n_points, n_features)
    centers : ndarray of shape (n_cells, n_features)
        Means of the cells.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.neighbors.cells import CellSearch
    >>> from hyperlocal.runtime.threads import Workers
    >>> search = CellSearch(np.array([[0.0], [3.0], [1.0]]), Workers())
    >>> search.query(np.array([[0.9]]), 2, Workers()).indices.tolist()
    [[2, 0]]
    """

    def __init__(self, X: np.ndarray, workers: Workers, seed: int = 0):
        self.X = X
        self.n_probes = N_PROBES
        self.centers = _cell_centers(X, seed, workers)
        nearest = encode(X, self.centers, 1, "hard", workers)
        self._cells = np.ascontiguousarray(nearest.anchors[:, 0])
        self._pack()

    def query(self, X: np.ndarray, k: int, workers: Workers) -> Neighbors:
        """About the ``k`` nearest points of each row of ``X``."""
        n_queries = X.shape[0]
        found = Neighbors.empty(n_queries, k, X.dtype)
        rows = core_rows(X)

        def search_block(block: tuple[int, int]) -> None:
            part = slice(*block)
            self._core.nearest(
                rows, *block, self.n_probes, found.indices[part], found.distances[part]
            )

        workers.map(search_block, row_blocks(n_queries, QUERIES_PER_BLOCK))
        return found

    def probe_enough(self, seed: int, workers: Workers) -> CellSearch:
        """Search in so many cells that nearly all neighbors of some of the points are found."""
        n_points = self.X.shape[0]
        queries = self.X[np.random.default_rng(seed).permutation(n_points)[:SAMPLED_QUERIES]]
        k = min(n_points, SAMPLED_NEIGHBORS)
        farthest = ExactSearch(self.X, workers).query(queries, k, workers).distances[:, -1:]
        while self.n_probes < len(self.centers):
            distances = self.query(queries, k, workers).distances
            if (distances <= farthest * (1 + ROUNDING)).mean() >= SHARE_TO_FIND:
                break
            self.n_probes *= 2
        return self

    def _pack(self) -> None:
        self._core = _core.cells(self.X, self._cells, self.centers)

    def __getstate__(self) -> dict[str, Any]:
        names = {"X": self.X, "cells": self._cells, "centers": self.centers}
        return {**names, "n_probes": self.n_probes}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.X, self._cells, self.centers = state["X"], state["cells"], state["centers"]
        self.n_probes = state.get("n_probes", N_PROBES)
        self._pack()


def _cell_centers(X: np.ndarray, seed: int, workers: Workers) -> np.ndarray:
    n_points = X.shape[0]
    n_cells = 1
    if n_points >= FEWEST_POINTS_TO_DIVIDE:
        n_distinct = len(np.unique(row_keys(X)))
        n_cells = min(round(CELLS_PER_ROOT * math.sqrt(n_points)), n_distinct)
    rng = np.random.default_rng(seed)
    return choose_anchors(X, np.ones(n_points), "kmeans", n_cells, rng, workers)
