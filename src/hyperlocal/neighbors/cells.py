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

QUERIES_PER_BLOCK = 256
# Fewer points are one cell: all of them are measured.
FEWEST_POINTS_TO_DIVIDE = 256
# With these, 99 % of held-out rows of USPS and LETTER find the nearest of the centers that cover
# the others. Half as many probes find it for 96 %.
CELLS_PER_ROOT = 2.0
N_PROBES = 8


class CellSearch:
    """Search among dense points in the nearest cells of a partition of them.

    Parameters
    ----------
    X : ndarray of shape (n_points, n_features)
    workers : Workers

    Attributes
    ----------
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

    def __init__(self, X: np.ndarray, workers: Workers):
        self.X = X
        self.centers = _cell_centers(X, workers)
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
            self._core.nearest(rows, *block, N_PROBES, found.indices[part], found.distances[part])

        workers.map(search_block, row_blocks(n_queries, QUERIES_PER_BLOCK))
        return found

    def _pack(self) -> None:
        self._core = _core.cells(self.X, self._cells, self.centers)

    def __getstate__(self) -> dict[str, Any]:
        return {"X": self.X, "cells": self._cells, "centers": self.centers}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.X, self._cells, self.centers = state["X"], state["cells"], state["centers"]
        self._pack()


def _cell_centers(X: np.ndarray, workers: Workers) -> np.ndarray:
    n_points = X.shape[0]
    n_cells = 1
    if n_points >= FEWEST_POINTS_TO_DIVIDE:
        n_distinct = len(np.unique(row_keys(X)))
        n_cells = min(round(CELLS_PER_ROOT * math.sqrt(n_points)), n_distinct)
    rng = np.random.default_rng(0)
    return choose_anchors(X, np.ones(n_points), "kmeans", n_cells, rng, workers)
