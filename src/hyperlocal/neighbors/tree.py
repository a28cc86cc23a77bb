"""Search by a tree, for few features."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import BallTree, KDTree

from ..runtime.threads import Workers, row_blocks
from .base import Neighbors, SavedAsRows, ordered

WIDEST_KD_TREE = 15
QUERIES_PER_BLOCK = 256


class TreeSearch(SavedAsRows):
    """Search by a k-d tree, or by a ball tree above 15 features.

    Where more rows than fit are equally far, the tree decides which of them are found.
    """

    def _prepare(self, workers: Workers) -> None:
        if sp.issparse(self.X):
            raise ValueError("algorithm='tree' needs dense rows; use algorithm='exact'.")
        self._tree = (KDTree if self.X.shape[1] <= WIDEST_KD_TREE else BallTree)(self.X)

    def query(self, X: Any, k: int, workers: Workers) -> Neighbors:
        """The ``k`` nearest rows of each row of ``X``."""
        blocks = row_blocks(X.shape[0], QUERIES_PER_BLOCK)
        found = workers.map(lambda block: self._tree.query(X[slice(*block)], k), blocks)
        distances = np.concatenate([part[0] for part in found])
        indices = np.concatenate([part[1] for part in found])
        return ordered(indices, distances**2, X.dtype)
