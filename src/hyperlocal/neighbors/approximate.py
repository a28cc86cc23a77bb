"""Approximate search in a graph of neighbors, for millions of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.rows import take_rows
from ..runtime.threads import Workers
from .base import Neighbors, ordered
from .exact import ExactSearch

# Neighbors of a row in the graph, whatever the number asked for (more cost far more to find and
# find little more), and how much farther than the k-th the search looks.
NEIGHBORS_IN_GRAPH = 30
EPSILON_OF_GRAPH = 0.2


class ApproximateSearch:
    """Search in the index of pynndescent.

    Where the graph leads to fewer rows than asked for, the query is searched for exactly.

    Attributes
    ----------
    index : pynndescent.NNDescent
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
        self.X = X
        self.index = NNDescent(
            X, n_neighbors=n_neighbors, random_state=seed, n_jobs=workers.n_threads
        )
        self.index.prepare()

    def query(self, X: Any, k: int, workers: Workers) -> Neighbors:
        """About the ``k`` nearest rows of each row of ``X``."""
        indices, distances = self.index.query(X, k=k, epsilon=EPSILON_OF_GRAPH)
        found = ordered(indices, distances**2, X.dtype)
        lost = np.flatnonzero((indices < 0).any(axis=1))
        if len(lost):
            found.replace(lost, ExactSearch(self.X, workers).query(take_rows(X, lost), k, workers))
        return found
