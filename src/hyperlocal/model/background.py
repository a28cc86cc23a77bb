"""Background rows: what contributions are measured from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.rows import feature_moments, take_rows

# With the mean and the variances of all rows, 8 rows give contributions as near to those of 128
# random rows as another 128 do, for linear and squared effects; 8 random rows are three times as
# far (benchmarks/explanations.py). The cost of explanations grows with their number.
N_REFERENCES = 8
# Wider rows have their mean alone: eight dense ones would be larger than the model.
WIDEST_WITH_SAMPLE = 1_024


@dataclass(frozen=True)
class Background:
    """Reference rows and their weights.

    Attributes
    ----------
    rows : ndarray of shape (n_references, n_features)
    weights : ndarray of shape (n_references,)
        They sum to one.
    """

    rows: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, rows: Any) -> Background:
        """Given rows, all of the same weight.

        Examples
        --------
        >>> import numpy as np
        >>> from hyperlocal.model.background import Background
        >>> Background.of(np.zeros((4, 2))).weights.tolist()
        [0.25, 0.25, 0.25, 0.25]
        """
        rows = rows.toarray() if sp.issparse(rows) else np.asarray(rows)
        return cls(rows, np.full(len(rows), 1 / len(rows)))

    @property
    def mean(self) -> np.ndarray:
        """The weighted mean of the rows."""
        return self.weights @ self.rows

    def nonnegative(self) -> Background:
        """The rows with features drawn together until none is below zero; means stay as they are.

        Examples
        --------
        >>> import numpy as np
        >>> from hyperlocal.model.background import Background
        >>> Background.of(np.array([[-1.0, 2.0], [3.0, 4.0]])).nonnegative().rows
        array([[0., 2.],
               [2., 4.]])
        """
        mean, lowest = np.maximum(self.mean, 0), self.rows.min(axis=0)
        share = np.divide(mean, mean - lowest, out=np.ones_like(mean), where=lowest < 0)
        rows = mean + (self.rows - self.mean) * share
        return Background(np.maximum(rows, 0).astype(self.rows.dtype), self.weights)


def summarize_rows(
    X: Any,
    sample_weight: np.ndarray | None = None,
    *,
    n_references: int = N_REFERENCES,
    widest_with_sample: int = WIDEST_WITH_SAMPLE,
) -> Background:
    """A few rows with the mean and the variances of all.

    Rows are drawn at random, always the same; then each feature is shifted and stretched so that
    its mean and its variance are those of all rows.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_rows, n_features)
    sample_weight : ndarray of shape (n_rows,), optional
    n_references : int
    widest_with_sample : int
        Where there are more features, the mean alone is returned.

    Returns
    -------
    Background

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.model.background import summarize_rows
    >>> X = np.arange(40.0).reshape(20, 2)
    >>> background = summarize_rows(X)
    >>> background.mean.round(6), background.rows.std(axis=0).round(2), X.std(axis=0).round(2)
    (array([19., 20.]), array([11.53, 11.53]), array([11.53, 11.53]))
    """
    shares = np.ones(X.shape[0]) if sample_weight is None else sample_weight.astype(np.float64)
    shares = shares / shares.sum()
    mean, spread = feature_moments(X, shares)
    n_references = min(n_references, int(np.count_nonzero(shares)))
    if X.shape[1] > widest_with_sample or n_references < 2:
        return Background(mean[None].astype(X.dtype), np.ones(1))
    chosen = np.random.default_rng(0).choice(
        X.shape[0], n_references, replace=False, p=shares, shuffle=False
    )
    rows = take_rows(X, np.sort(chosen))
    rows = (rows.toarray() if sp.issparse(rows) else rows).astype(np.float64)
    rows -= rows.mean(axis=0)
    own = rows.std(axis=0)
    rows *= np.divide(spread, own, out=np.zeros_like(own), where=own > 1e-12 * spread)
    return Background.of((mean + rows).astype(X.dtype))
