"""Pieces of features between quantiles: functions of single features that bend there."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from ..data.rows import ROWS_PER_BLOCK
from ..runtime.threads import Workers, row_blocks
from .base import FeatureMap
from .composed import ComposedMap
from .plain import Step, scaling
from .quadratic import QuadraticMap, sampled_rows

# Of 4, 8 and 16 pieces, 8 have the least mean error over ten tables of 800 training rows, by test
# folds: 20.1 % against 20.5 and 20.7 for sums, 19.7 against 20.3 and 19.7 with products.
N_PIECES = 8


class PiecewiseMap(ComposedMap):
    """Each feature, and how much of each of its pieces a row has passed; then another map of these.

    A piece ``[a, b]`` lies between two quantiles of a feature, or between two of its values if it
    has few. Its number is ``(x − a) / (b − a)``, not less than 0 and not more than 1, minus ½. A
    linear model of all pieces is a sum of functions of single features, each a line with bends at
    the quantiles: what trees do with thresholds. Features of two values have no pieces.

    Parameters
    ----------
    inner : FeatureMap
        The map of features and pieces; the identity gives the sum of functions.
    n_pieces : int
        Of each feature.
    """

    def __init__(self, inner: FeatureMap, n_pieces: int = N_PIECES):
        self.inner, self.n_pieces = inner, n_pieces

    def fit(self, X: Any, y: Any, sample_weight: np.ndarray, rng: np.random.Generator) -> Any:
        """Find the quantiles on a sample of rows, and fit the inner map."""
        super().fit(X, y, sample_weight, rng)
        sample, weights = sampled_rows(X, sample_weight, rng)
        bounds = [knots_of(values, weights, self.n_pieces) for values in sample.T]
        counts = [len(knots) - 1 for knots in bounds]
        self.columns = np.repeat(np.arange(X.shape[1]), counts)
        self.starts = np.concatenate([knots[:-1] for knots in bounds])
        self.widths = np.concatenate([np.diff(knots) for knots in bounds])
        # The identity learns the number of features alone.
        given = sample if type(self.inner) is FeatureMap else X
        self.inner = copy(self.inner).fit(self.changed(given), y, sample_weight, rng)
        return self

    @property
    def name(self) -> str:
        """The argument ``feature_map`` that makes such a map."""
        return "piecewise_quadratic" if isinstance(self.inner, QuadraticMap) else "piecewise"

    def changed(self, X: np.ndarray) -> np.ndarray:
        """Features, and beside them their pieces, made block by block."""
        n_rows, width = X.shape
        out = np.empty((n_rows, width + len(self.columns)), X.dtype)
        for begin, end in row_blocks(n_rows, ROWS_PER_BLOCK):
            out[begin:end, :width] = X[begin:end]
            passed = out[begin:end, width:]
            np.clip(self._positions(X[begin:end]), 0, 1, out=passed)
            passed -= X.dtype.type(0.5)
        return out

    def _positions(self, X: np.ndarray) -> np.ndarray:
        starts, widths = (part.astype(X.dtype, copy=False) for part in (self.starts, self.widths))
        return (X[:, self.columns] - starts) / widths

    def pull_back(self, X: np.ndarray, coef: np.ndarray) -> tuple[np.ndarray, Any]:
        """The slopes of the pieces that the row is in, and what the others add."""
        changed, positions = self.changed(X), self._positions(X)
        local, shift = self.inner.pull_back(changed, coef)
        inside = (positions >= 0) & (positions < 1)
        slopes = self._summed(local, inside / self.widths)
        rest = np.einsum("ncp,np->nc", local, changed) - np.einsum("ncp,np->nc", slopes, X)
        return slopes, shift + rest

    def _summed(self, local: np.ndarray, factors: np.ndarray) -> np.ndarray:
        """Weights of features plus those of their pieces times factors, one of each per piece."""
        slopes = local[..., : self.n_features_in].copy()
        if len(self.columns):
            features, first = np.unique(self.columns, return_index=True)
            pieces = local[..., self.n_features_in :] * factors.astype(local.dtype)[:, None]
            slopes[..., features] += np.add.reduceat(pieces, first, axis=-1)
        return slopes

    # ---- along a line from a reference to a row ------------------------------------------------

    @property
    def feature_factors(self) -> np.ndarray | None:
        """None: inner numbers are not features times factors."""
        return None

    def path_weights(
        self, weights: np.ndarray, X: np.ndarray, reference: np.ndarray, workers: Workers
    ) -> np.ndarray:
        """What a feature and its pieces add between the two points, over their distance."""
        at, start = self.changed(X), self.changed(reference)
        local = self.inner.path_weights(weights, at, start, workers)
        change = (X - reference)[:, self.columns]
        passed = (at - start)[:, self.n_features_in :]
        secants = np.divide(passed, change, out=np.zeros_like(passed), where=change != 0)
        return self._summed(local, secants)

    def plain(self) -> list[Step]:
        """Features beside clipped pieces, then the inner map."""
        own = scaling(np.ones(self.n_features_in))
        pieces = [
            Step("columns", {"columns": self.columns}),
            scaling(1 / self.widths, -self.starts / self.widths),
            Step("clip"),
            scaling(1.0, -0.5),
        ]
        branches = [[own], pieces] if len(self.columns) else [[own]]
        return [Step("beside", {"branches": branches}), *self.inner.plain()]


def knots_of(values: np.ndarray, weights: np.ndarray, n_pieces: int) -> np.ndarray:
    """The bounds of the pieces of a feature: its values if they are few, or quantiles of them.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.maps.piecewise import knots_of
    >>> knots_of(np.array([3.0, 1.0, 2.0, 1.0]), np.ones(4), 8)
    array([1., 2., 3.])
    >>> knots_of(np.arange(101.0), np.ones(101), 4)
    array([  0.,  25.,  50.,  75., 100.])
    >>> knots_of(np.array([0.0, 1.0, 1.0]), np.ones(3), 8)
    array([0.])
    >>> knots_of(np.array([0.0, 1e-310, 2e-310]), np.ones(3), 8)
    array([0.])
    """
    order = np.argsort(values, kind="stable")
    values, passed = values[order], np.cumsum(weights[order])
    distinct = np.unique(values)
    if len(distinct) > n_pieces + 1:
        shares = np.linspace(0, 1, n_pieces + 1) * passed[-1]
        distinct = np.unique(values[np.minimum(np.searchsorted(passed, shares), len(values) - 1)])
    # Products of closer values vanish, and their inverses overflow.
    apart = np.diff(distinct, prepend=-np.inf) >= np.sqrt(np.finfo(distinct.dtype).tiny)
    distinct = distinct[apart].astype(np.float64)
    return distinct[: None if len(distinct) > 2 else 1]
