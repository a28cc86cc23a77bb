"""Names of losses and the primal objective that all solvers minimise.

``P(W) = ½‖W‖² + Σ_i C s_i ℓ_i``: one-vs-rest sums ``ℓ(y_ic f_c(x_i))`` over the columns ``c``;
Crammer–Singer has ``ℓ(f_y(x_i) − max_{r≠y} f_r(x_i))``.
"""

from __future__ import annotations

import numpy as np

LOSSES = ("squared_hinge", "hinge", "log")


def loss_values(loss: str, margins: np.ndarray) -> np.ndarray:
    """ℓ of each margin."""
    if loss == "log":
        return np.logaddexp(0, -margins)
    slack = np.maximum(0, 1 - margins)
    return slack if loss == "hinge" else slack * slack


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
    >>> from hyperlocal.losses import is_correct
    >>> is_correct(np.array([[0.5], [0.5]]), np.array([0, -1])).tolist()
    [True, False]
    """
    if scores.shape[1] == 1:
        return (scores[:, 0] > 0) == (target == 0)
    return scores.argmax(axis=1) == target


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
