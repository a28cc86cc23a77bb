"""Lower bounds of keys from products within a subspace, for rows that nearly lie in one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import row_norms

from ..runtime.threads import Workers, row_blocks
from .keys import Keys, Points, relative_rounding, sampled_rows

ROWS_PER_BLOCK = 256
SHARE_OUTSIDE = 0.05
LARGEST_SHARE_OF_AXES = 0.4
# Rows are measured up to so many times the typical r_x r_v beyond the k-th bound: enough for nearly
# all queries on MNIST, where with 1 every fifth one has to be searched for again.
REACH = 1.3


@dataclass(frozen=True)
class SubspaceRule:
    """For which rows a subspace is looked for.

    By default, where products are most of the work and the axes are found within a second.
    """

    fewest_rows: int = 20_000
    fewest_features: int = 128
    most_features: int = 1_024

    def allows(self, n_rows: int, n_features: int) -> bool:
        """Whether rows of this number and width are among them."""
        enough_rows = n_rows >= self.fewest_rows
        return enough_rows and self.fewest_features <= n_features <= self.most_features


USUAL_RULE = SubspaceRule()


class Subspace:
    """Bounds of the keys from below, by products within a subspace.

    About the rows' mean, with ``P`` the projection onto the subspace and ``r`` the length of what
    lies outside it, ``x·v`` is at most ``Px·Pv + r_x r_v``. Rows within a typical ``r_x r_v`` of
    the k-th smallest bound are measured; where the k-th distance shows that this was not far
    enough, the query has to be searched for again.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_axes + 1)
        ``Pv``, and ``r_v`` as the last column.
    half_norms : ndarray of shape (n_rows,)
    """

    def __init__(self, keys: Keys, mean: np.ndarray, axes: np.ndarray, workers: Workers):
        self._keys, self._mean, self._axes = keys, mean, axes
        X = keys.rows
        self.rows = np.empty((X.shape[0], len(axes) + 1), X.dtype)
        self.half_norms = np.empty(X.shape[0], X.dtype)

        def split_block(block: tuple[int, int]) -> None:
            begin, end = block
            self.half_norms[begin:end] = self._split(X[begin:end], self.rows[begin:end])

        workers.map(split_block, row_blocks(X.shape[0], ROWS_PER_BLOCK))
        self.half_norms *= X.dtype.type(0.5)
        self._reach = REACH * self.rows[:, -1].mean()

    @classmethod
    def found_in(cls, keys: Keys, workers: Workers, rule: SubspaceRule) -> Subspace | None:
        """The subspace of the leading principal axes, if few of them hold nearly all variance."""
        X = keys.rows
        if sp.issparse(X) or not rule.allows(*X.shape):
            return None
        sample = sampled_rows(X)
        mean = sample.mean(axis=0)
        sample = sample - mean
        values, vectors = np.linalg.eigh(sample.T @ sample)
        outside = np.cumsum(values)  # of the first axes, the smallest first
        n_axes = int(np.count_nonzero(outside > SHARE_OUTSIDE * outside[-1]))
        if not 0 < n_axes <= LARGEST_SHARE_OF_AXES * X.shape[1]:
            return None
        return cls(keys, mean, np.ascontiguousarray(vectors[:, -n_axes:].T), workers)

    def points(self, X: np.ndarray) -> Points:
        """Queries within the subspace, and the length of what lies outside."""
        points = self._keys.points(X)
        values = np.empty((X.shape[0], len(self._axes) + 1), X.dtype)
        squared_norms = self._split(points.values, values)
        rounding = 3 * points.slack  # of projections, their products and the axes
        slack = rounding + values[:, -1] * self._reach
        return Points(values, squared_norms, slack, rounding)

    def _split(self, X: np.ndarray, out: np.ndarray) -> np.ndarray:
        """Write parts within and the length of what lies outside; return squared norms."""
        X = X - self._mean
        squared_norms = row_norms(X, squared=True)
        out[:, :-1] = X @ self._axes.T
        outside = squared_norms - row_norms(out[:, :-1], squared=True)
        # Rounded upwards, so that it bounds.
        outside = np.maximum(outside, 0) + 2 * relative_rounding(X) * squared_norms
        out[:, -1] = np.sqrt(outside)
        return squared_norms
