"""What a solver is given."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import _core
from ..runtime.threads import row_blocks
from .lifting import LiftedRows
from .losses import loss_sum

NUMBERS_PER_NORM_BLOCK = 1 << 15


@dataclass(frozen=True)
class Problem:
    """``min ½‖W‖² + Σ_i costs_i ℓ_i`` over lifted rows.

    Attributes
    ----------
    lifted : LiftedRows
    target : ndarray of int32, shape (n_rows,)
        The column in which a row is positive, -1 for none (two classes share one column).
    costs : ndarray of the rows' dtype, shape (n_rows,)
        ``C`` times the sample weight.
    n_columns : int
        Columns of weights: one per class, or one for two classes.
    loss : {"hinge", "squared_hinge", "log"}
    crammer_singer : bool
        One joint margin per row instead of one per column.
    """

    lifted: LiftedRows
    target: np.ndarray
    costs: np.ndarray
    n_columns: int
    loss: str
    crammer_singer: bool = False

    @property
    def core_loss(self) -> _core.Loss:
        """The loss as the compiled core names it."""
        return getattr(_core.Loss, self.loss)

    @property
    def labels(self) -> np.ndarray:
        """±1 per row and column."""
        positive = self.target[:, None] == np.arange(self.n_columns)
        return np.where(positive, 1, -1).astype(self.costs.dtype)

    def signed(self, alpha: np.ndarray) -> np.ndarray:
        """What multiplies the lifted rows in the weights: ``α_ic y_ic``, or Crammer–Singer's α."""
        if self.crammer_singer:
            return alpha
        signed = -alpha
        rows = np.flatnonzero(self.target >= 0)
        signed[rows, self.target[rows]] *= -1
        return signed

    def objective(self, weights: np.ndarray, *, penalize_intercept: bool = True) -> float:
        """The primal objective, in double precision sums."""
        return half_norm(weights, penalize_intercept=penalize_intercept) + self.losses(weights)

    def losses(self, weights: np.ndarray) -> float:
        """``Σ_i costs_i ℓ_i``."""
        scores = self.lifted.scores(weights)
        return loss_sum(scores, self.target, self.costs, self.loss, self.crammer_singer)


def half_norm(weights: np.ndarray, *, penalize_intercept: bool = True) -> float:
    """``½‖W‖²``, with or without the weights of the biases."""
    penalized = weights if penalize_intercept else weights[..., :-1]
    return 0.5 * float(squared_norms_by_column(penalized).sum())


def squared_norms_by_column(weights: np.ndarray) -> np.ndarray:
    """``‖W_c‖²`` for each column, summed in double precision."""
    norms = np.zeros(weights.shape[1])
    per_anchor = max(1, weights[:1].size)
    # Some anchors at a time: no double copy of all weights.
    for begin, end in row_blocks(len(weights), max(1, NUMBERS_PER_NORM_BLOCK // per_anchor)):
        blocks = weights[begin:end].astype(np.float64)
        norms += np.einsum("jcv,jcv->c", blocks, blocks)
    return norms
