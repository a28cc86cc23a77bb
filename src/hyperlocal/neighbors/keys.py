"""Keys that rank rows by their distance from a query, from one matrix product.

The key of row ``v`` for query ``x`` is half their squared distance less half the query's squared
norm: ``½ v·v − x·v``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import row_norms

from ..data.rows import squared_lengths
from ..runtime.threads import Workers

# Products are taken about the rows' mean if that lies farther from the origin than this many times
# the rows' root mean squared distance from it: they lose digits otherwise.
FAR_FROM_ORIGIN = 4.0
ROWS_TO_SAMPLE = 2_000


@dataclass(frozen=True)
class Points:
    """Queries as their products with rows need them.

    Attributes
    ----------
    values : ndarray of shape (n_queries, n_columns)
    squared_norms : ndarray of shape (n_queries,)
    slack : ndarray of shape (n_queries,)
        A row is measured unless its key exceeds the ``k``-th smallest by more than this.
    rounding : ndarray of shape (n_queries,)
        The part of the slack that is rounding error.
    """

    values: np.ndarray
    squared_norms: np.ndarray
    slack: np.ndarray
    rounding: np.ndarray

    def farthest_key(self, squared_distances: np.ndarray) -> np.ndarray:
        """The largest key that a row at such a distance may have."""
        return 0.5 * (squared_distances - self.squared_norms) + self.rounding


class Keys:
    """Keys by products over all features.

    Attributes
    ----------
    rows : ndarray or CSR of shape (n_rows, n_features)
        The rows, about their mean where that lies far from the origin.
    half_norms : ndarray of shape (n_rows,)
    """

    def __init__(self, X: Any, workers: Workers):
        self._origin = None if sp.issparse(X) else _far_mean(X)
        self.rows = X if self._origin is None else X - self._origin
        norms = squared_lengths(self.rows, workers)
        self.half_norms = norms * X.dtype.type(0.5)
        self._longest = float(np.sqrt(norms.max()))

    def points(self, X: Any) -> Points:
        """Queries, and how far the difference of two keys may be off."""
        values = X.toarray() if sp.issparse(X) else X
        if self._origin is not None:
            values = values - self._origin
        squared_norms = row_norms(values, squared=True)
        # Products of d features are off by at most d roundings of |x||v|, whatever their order.
        unit = relative_rounding(values) * self._longest
        lengths = np.sqrt(squared_norms).astype(np.float64) + self._longest
        slack = (2 * unit * lengths).astype(values.dtype)
        return Points(values, squared_norms, slack, slack)


def _far_mean(X: np.ndarray) -> np.ndarray | None:
    """The mean of the rows, if it lies far from the origin."""
    sample = sampled_rows(X)
    mean = sample.mean(axis=0, dtype=np.float64)
    away = float(mean @ mean)
    spread = float(np.mean(row_norms(sample, squared=True), dtype=np.float64)) - away
    return mean.astype(X.dtype) if away > FAR_FROM_ORIGIN**2 * max(spread, 0.0) else None


def sampled_rows(X: np.ndarray) -> np.ndarray:
    """Rows spread over all of them, enough to know where they lie and how they vary."""
    return X[:: -(-X.shape[0] // ROWS_TO_SAMPLE)]


def relative_rounding(X: np.ndarray) -> float:
    """How far a product of rows may be off, relative to their lengths."""
    return (X.shape[1] + 16) * float(np.finfo(X.dtype).eps)
