"""Names of losses and the primal objective that all solvers minimize.

``P(W) = ½‖W‖² + Σ_i C s_i ℓ_i``: one-vs-rest sums ``ℓ(y_ic f_c(x_i))`` over the columns ``c``;
Crammer–Singer has ``ℓ(f_y(x_i) − max_{r≠y} f_r(x_i))``.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias

import numpy as np
from scipy.special import xlogy

from ..runtime.threads import row_blocks
from .multiclass import predicted_codes

LOSSES = ("squared_hinge", "hinge", "log")
SMOOTH_LOSSES = ("squared_hinge", "log")
# So many that their numbers, in double precision, stay in the nearer caches.
ROWS_PER_BLOCK = 1 << 13


class SmoothLoss(Protocol):
    """A loss that is not known by a name."""

    def values(self, margins: np.ndarray) -> np.ndarray:
        """ℓ of each margin."""

    def pulls(self, margins: np.ndarray) -> np.ndarray:
        """``−ℓ'``."""

    def curvatures(self, margins: np.ndarray) -> np.ndarray:
        """``ℓ''``."""


MarginLoss: TypeAlias = str | SmoothLoss


def loss_values(loss: MarginLoss, margins: np.ndarray) -> np.ndarray:
    """ℓ of each margin."""
    if not isinstance(loss, str):
        return loss.values(margins)
    if loss == "log":
        return np.logaddexp(0, -margins)
    slack = np.maximum(0, 1 - margins)
    return slack if loss == "hinge" else slack * slack


def pulls(loss: MarginLoss, margins: np.ndarray) -> np.ndarray:
    """``−ℓ'`` of each margin: what a dual variable is at the optimum, over its cost."""
    if not isinstance(loss, str):
        return loss.pulls(margins)
    if loss == "log":
        with np.errstate(over="ignore"):  # exp of a large margin is infinite: a slope of 0
            return 1 / (1 + np.exp(margins))
    slack = np.maximum(0, 1 - margins)
    return 2 * slack if loss == "squared_hinge" else (slack > 0).astype(margins.dtype)


def curvatures(loss: MarginLoss, margins: np.ndarray) -> np.ndarray:
    """``ℓ''`` of each margin, of a loss that has one (the squared hinge has, but for a corner)."""
    if not isinstance(loss, str):
        return loss.curvatures(margins)
    if loss == "log":
        wrong = pulls(loss, margins)
        return wrong * (1 - wrong)
    return 2.0 * (margins < 1)


def conjugate_sums(
    alpha: np.ndarray, target: np.ndarray, costs: np.ndarray, loss: str, crammer_singer: bool
) -> np.ndarray:
    """``Σ_i C_i ℓ*(−α_i/C_i)`` of each column; of the rows' own column for Crammer–Singer.

    The dual objective is minus these, minus half the squared norm of the weights.
    """
    if crammer_singer:
        alpha = alpha[np.arange(len(target)), target][:, None]
    alpha, costs = alpha.astype(np.float64), costs.astype(np.float64)[:, None]
    if loss == "log":
        share = np.clip(alpha / costs, 0, 1)
        return (costs * (xlogy(share, share) + xlogy(1 - share, 1 - share))).sum(axis=0)
    sums = -alpha.sum(axis=0)
    if loss == "squared_hinge":
        sums += np.einsum("ic,ic->c", alpha, alpha / (4 * costs))
    return sums


def conjugates_along(
    start: np.ndarray,
    end: np.ndarray,
    target: np.ndarray,
    costs: np.ndarray,
    loss: str,
    crammer_singer: bool,
) -> np.ndarray:
    """:func:`conjugate_sums` at the start, half way, and at the end of a straight path.

    For hinge losses they lie on a parabola, whose coefficients take one pass over the variables.
    """
    if loss == "log":
        path = (start, start + 0.5 * (end - start), end)
        return np.array(
            [conjugate_sums(alpha, target, costs, loss, crammer_singer) for alpha in path]
        )
    if crammer_singer:
        own = np.arange(len(target)), target
        start, end = start[own][:, None], end[own][:, None]
    powers = np.zeros((3, start.shape[1]))  # of how far along the path
    for first, last in row_blocks(len(start), ROWS_PER_BLOCK):
        begin = start[first:last].astype(np.float64)
        change = end[first:last] - begin
        powers[0] -= begin.sum(axis=0)
        powers[1] -= change.sum(axis=0)
        if loss == "squared_hinge":
            share = 0.25 / costs[first:last, None].astype(np.float64)
            powers[0] += np.einsum("ic,ic,ic->c", begin, begin, share)
            powers[1] += np.einsum("ic,ic,ic->c", begin, change, 2 * share)
            powers[2] += np.einsum("ic,ic,ic->c", change, change, share)
    return np.vander([0.0, 0.5, 1.0], increasing=True) @ powers


def margins(scores: np.ndarray, target: np.ndarray, crammer_singer: bool) -> np.ndarray:
    """Margins of all rows: ``(n, c)`` one-vs-rest, ``(n, 1)`` for Crammer–Singer.

    ``target`` holds the column in which a row is positive, -1 for none.
    """
    n_columns = scores.shape[1]
    positive = target[:, None] == np.arange(n_columns)
    if not crammer_singer:
        return np.where(positive, scores, -scores)
    rival = np.where(positive, -np.inf, scores).max(axis=1)
    return (scores[positive] - rival)[:, None]


def is_correct(scores: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Whether each row's largest score (or its sign, for one column) is that of its target.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.model.losses import is_correct
    >>> is_correct(np.array([[0.5], [0.5]]), np.array([0, -1])).tolist()
    [True, False]
    """
    own = target + 1 if scores.shape[1] == 1 else target
    return predicted_codes(scores) == own


def loss_sum(
    scores: np.ndarray, target: np.ndarray, costs: np.ndarray, loss: str, crammer_singer: bool
) -> float:
    """``Σ_i C_i ℓ_i`` in double precision."""
    values = loss_values(loss, margins(scores.astype(np.float64), target, crammer_singer))
    return float(costs.astype(np.float64) @ values.sum(axis=1))


def multinomial_losses(scores: np.ndarray, target: np.ndarray) -> np.ndarray:
    """``log Σ_c exp(f_c) − f_y`` of each row."""
    largest = scores.max(axis=1)
    spread = np.exp(scores - largest[:, None]).sum(axis=1)
    return np.log(spread) + largest - scores[np.arange(len(target)), target]


def epsilon_insensitive_losses(
    scores: np.ndarray, values: np.ndarray, epsilon: float
) -> np.ndarray:
    """``max(0, |y − f| − ε)`` of each row."""
    return np.maximum(0, np.abs(values - scores) - epsilon)
