"""Prediction intervals from the residuals of rows that a model was not trained on.

Split conformal prediction with residuals divided by a local scale, by groups of rows. A part of the
held-out rows gives the scale of each anchor, ``s_j``; that of a row is ``σ(x) = Σ_j γ_j(x) s_j``.
The scales are the most likely ones if the size of a residual is distributed exponentially around
``σ(x)``: averages of averages would be too even. The others give, for the rows nearest to each
anchor, the quantile ``q`` of ``|y − f(x)| / σ(x)``. If rows are exchangeable, ``f(x) ± q σ(x)``
covers a new value with at least the probability that was requested, near each anchor, whatever the
model. Anchors with few rows share one quantile.

Anchors are those of the model, if it has few enough; otherwise new ones are placed among the first
rows, where the model measures distances.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.rows import take_rows
from ..gates.codes import Codes
from ..gates.gate import Gate
from ..gates.levels import LevelsGate, fit_levels
from ..runtime.threads import Workers

# The scales are means and need fewer rows than the quantiles.
SHARE_FOR_SCALES = 1 / 3
# An anchor's scale counts so many rows of the mean size besides its own.
PRIOR_ROWS = 2.0
# Updates of the scales; they change by a percent or two after these.
N_UPDATES = 30
# Anchors to be placed have so many of the first rows each, and those of a model at least so many.
ROWS_PER_ANCHOR, FEWEST_ROWS_PER_ANCHOR = 30, 10
NEW_GATE = (8, "soft", "auto")
# The quantile of a group is too high by up to one over its rows, in probability.
FEWEST_ROWS_PER_GROUP = 40


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
        shares, found = _shares(codes, n_anchors), np.abs(residuals)
        overall = found.mean(axis=0)
        overall = np.where(overall > 0, overall, 1.0)
        found = found / overall
        sizes = np.ones((n_anchors, residuals.shape[1]))
        for _ in range(N_UPDATES):  # those of nonnegative factors for the divergence Σ r/σ + log σ
            sigma = shares @ sizes
            wanted = shares.T @ (found / sigma**2) + PRIOR_ROWS / sizes**2
            sizes *= wanted / (shares.T @ (1 / sigma) + PRIOR_ROWS / sizes)
        return cls(overall * sizes)

    def at(self, codes: Codes) -> np.ndarray:
        """``σ`` of rows, ``(n_rows, n_targets)``."""
        return _shares(codes, len(self.sizes)) @ self.sizes


@dataclass(frozen=True)
class Conformal:
    """The sizes of residuals on held-out rows.

    Attributes
    ----------
    gate : Gate
    scales : LocalScales
    group_of : ndarray of shape (n_anchors,)
        The group of the rows nearest to each anchor.
    sizes : tuple of ndarray of shape (n_rows, n_targets)
        ``|y − f(x)| / σ(x)`` of each group, in ascending order; the last are those of all rows.
    """

    gate: Gate
    scales: LocalScales
    group_of: np.ndarray
    sizes: tuple[np.ndarray, ...]

    @classmethod
    def of(
        cls,
        residuals: np.ndarray,
        space: Any,
        gate: Gate,
        rng: np.random.Generator,
        workers: Workers,
    ) -> Conformal:
        """From residuals of held-out rows, ``(n_rows, n_targets)``, divided at random.

        Parameters
        ----------
        residuals : ndarray of shape (n_rows, n_targets)
        space : ndarray or CSR
            What the gate measures distances on.
        gate : Gate
            That of the model.
        rng : numpy Generator
        workers : Workers
        """
        order = rng.permutation(len(residuals))
        n_first = int(SHARE_FOR_SCALES * len(residuals))
        first, others = order[:n_first], order[n_first:]
        few_enough = 1 < gate.n_anchors <= n_first / FEWEST_ROWS_PER_ANCHOR
        if not few_enough or isinstance(gate, LevelsGate):
            number = max(1, n_first // ROWS_PER_ANCHOR)
            rows = take_rows(space, first)
            gate = fit_levels(
                rows, np.ones(n_first), "kmeans", number, NEW_GATE, rng, workers, n_rows=n_first
            )
        codes = gate.encode(space, workers)
        scales = LocalScales.of(residuals[first], codes.take(first), gate.n_anchors)
        codes = codes.take(others)
        sizes, nearest = np.abs(residuals[others]) / scales.at(codes), codes.anchors[:, 0]
        counts = np.bincount(nearest, minlength=gate.n_anchors)
        own = np.flatnonzero(counts >= FEWEST_ROWS_PER_GROUP)
        group_of = np.full(gate.n_anchors, len(own))
        group_of[own] = np.arange(len(own))
        groups = [sizes[group_of[nearest] == number] for number in range(len(own) + 1)]
        return cls(gate, scales, group_of, tuple(np.sort(one, axis=0) for one in (*groups, sizes)))

    def half_widths(self, space: Any, coverage: float, workers: Workers) -> np.ndarray:
        """``q σ(x)`` of rows, ``(n_rows, n_targets)``."""
        codes = self.gate.encode(space, workers)
        of_all = _quantile(self.sizes[-1], coverage)
        if of_all is None:
            needed = int(np.ceil(coverage / (1 - coverage) / (1 - SHARE_FOR_SCALES))) + 2
            raise ValueError(
                f"coverage={coverage:g} needs at least {needed} rows in calibrate; lower coverage "
                "or give more rows."
            )
        found = [_quantile(group, coverage) for group in self.sizes[:-1]]
        factors = np.stack([of_all if one is None else one for one in found])
        return factors[self.group_of[codes.anchors[:, 0]]] * self.scales.at(codes)


def _quantile(sizes: np.ndarray, coverage: float) -> np.ndarray | None:
    """Of each target, with one new row counted; None if the rows are too few for it."""
    place = int(np.ceil((len(sizes) + 1) * coverage))
    return sizes[place - 1] if place <= len(sizes) else None


def _shares(codes: Codes, n_anchors: int) -> sp.csr_array:
    """``|γ|`` of rows, scaled to sum to one, ``(n_rows, n_anchors)``."""
    sizes = np.abs(codes.weights.astype(np.float64))
    total = sizes.sum(axis=1, keepdims=True)
    shares = np.divide(sizes, total, out=np.full_like(sizes, 1 / sizes.shape[1]), where=total > 0)
    starts = np.arange(0, shares.size + 1, shares.shape[1])
    return sp.csr_array(
        (shares.ravel(), codes.anchors.ravel(), starts), shape=(len(shares), n_anchors)
    )
