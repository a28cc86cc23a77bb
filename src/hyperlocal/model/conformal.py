"""Prediction intervals from the residuals of rows that a model was not trained on.

Split conformal prediction with residuals divided by a local scale. A part of the held-out rows
gives the scale of each anchor, ``s_j``, the mean size of the residuals near it; the scale of a row
is that of its active anchors, ``σ(x) = Σ_j |γ_j(x)| s_j / Σ_j |γ_j(x)|``. The others give the
quantile ``q`` of ``|y − f(x)| / σ(x)``. If rows are exchangeable, ``f(x) ± q σ(x)`` covers a new
value with at least the probability that was requested, whatever the model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..gates.codes import Codes

# The scales are means and need fewer rows than the quantile.
SHARE_FOR_SCALES = 1 / 3
# The scale of an anchor counts the mean of all rows as so many rows near it.
PRIOR_ROWS = 2.0


@dataclass(frozen=True)
class LocalScales:
    """The size of residuals near each anchor.

    Attributes
    ----------
    sizes : ndarray of shape (n_anchors, n_targets)
    """

    sizes: np.ndarray

    @classmethod
    def of(cls, residuals: np.ndarray, codes: Codes, n_anchors: int) -> LocalScales:
        """From residuals, ``(n_rows, n_targets)``."""
        # Squares: a row counts for its nearest anchors, since σ(x) is averaged over anchors again.
        shares, sizes = _shares(codes) ** 2, np.abs(residuals)
        mass = np.bincount(codes.anchors.ravel(), shares.ravel(), n_anchors)
        overall = np.maximum(sizes.mean(axis=0), np.finfo(float).tiny)
        sums = np.zeros((n_anchors, residuals.shape[1]))
        np.add.at(sums, codes.anchors, shares[:, :, None] * sizes[:, None, :])
        return cls((sums + PRIOR_ROWS * overall) / (mass + PRIOR_ROWS)[:, None])

    def at(self, codes: Codes) -> np.ndarray:
        """``σ`` of rows, ``(n_rows, n_targets)``."""
        return np.einsum("nk,nkt->nt", _shares(codes), self.sizes[codes.anchors])


@dataclass(frozen=True)
class Conformal:
    """The sizes of residuals on held-out rows.

    Attributes
    ----------
    scales : LocalScales
    sizes : ndarray of shape (n_rows, n_targets)
        ``|y − f(x)| / σ(x)`` in ascending order.
    """

    scales: LocalScales
    sizes: np.ndarray

    @classmethod
    def of(
        cls, residuals: np.ndarray, codes: Codes, n_anchors: int, rng: np.random.Generator
    ) -> Conformal:
        """From residuals of held-out rows, ``(n_rows, n_targets)``, divided at random."""
        order = rng.permutation(len(residuals))
        n_first = int(SHARE_FOR_SCALES * len(residuals))
        first, others = order[:n_first], order[n_first:]
        scales = LocalScales.of(residuals[first], codes.take(first), n_anchors)
        sizes = np.abs(residuals[others]) / scales.at(codes.take(others))
        return cls(scales, np.sort(sizes, axis=0))

    def half_widths(self, codes: Codes, coverage: float) -> np.ndarray:
        """``q σ(x)`` of rows, ``(n_rows, n_targets)``."""
        place = int(np.ceil((len(self.sizes) + 1) * coverage))
        if place > len(self.sizes):
            needed = int(np.ceil(coverage / (1 - coverage) / (1 - SHARE_FOR_SCALES))) + 2
            raise ValueError(
                f"coverage={coverage:g} needs at least {needed} rows in calibrate; lower coverage "
                "or give more rows."
            )
        return self.sizes[place - 1] * self.scales.at(codes)


def _shares(codes: Codes) -> np.ndarray:
    """``|γ|`` of rows, scaled to sum to one."""
    sizes = np.abs(codes.weights.astype(np.float64))
    total = sizes.sum(axis=1, keepdims=True)
    return np.divide(sizes, total, out=np.full_like(sizes, 1 / sizes.shape[1]), where=total > 0)
