"""The searches by name."""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp

from ..runtime.threads import Workers
from .base import Search
from .cells import CellSearch
from .exact import ExactSearch
from .tree import TreeSearch

ALGORITHMS = ("exact", "tree", "approximate")


def make_search(algorithm: str, X: Any, seed: int, workers: Workers) -> Search:
    """Prepare the search among rows ``X``.

    Parameters
    ----------
    algorithm : {"exact", "tree", "approximate"}
        The approximate one is for dense rows that have clusters; others are searched exactly.
    X : ndarray or CSR of shape (n_rows, n_features)
    seed : int
        Used by the approximate index alone.
    workers : Workers
    """
    if algorithm == "approximate" and not sp.issparse(X):
        search = CellSearch(X, workers, seed).probe_enough(seed, workers)
        # Where so many cells have to be searched, the exact search is as fast.
        return search if search.n_probes <= len(search.centers) / 4 else ExactSearch(X, workers)
    return (TreeSearch if algorithm == "tree" else ExactSearch)(X, workers)
