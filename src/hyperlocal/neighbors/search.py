"""The searches by name."""

from __future__ import annotations

from typing import Any

from ..runtime.threads import Workers
from .approximate import ApproximateSearch
from .base import Search
from .exact import ExactSearch
from .tree import TreeSearch

ALGORITHMS = ("exact", "tree", "approximate")


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
    if algorithm == "approximate":
        return ApproximateSearch(X, seed, workers)
    return (ExactSearch if algorithm == "exact" else TreeSearch)(X, workers)
