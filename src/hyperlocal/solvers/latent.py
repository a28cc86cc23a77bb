"""Training of latent locally linear models (ML3): single-row SGD with closed-form gates.

The problem is stated in ``cpp/latent.hpp``. Each epoch is a convex problem: the true class's gates
are those of the weights at its start (the concave-convex procedure). Visits depend on each other,
so training runs on one thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.extmath import row_norms

from .. import _core
from ..data.rows import core_rows
from ..runtime.progress import Monitor
from .loop import Epochs
from .visits import repeated_order

STRIDE = 8  # models are padded with zeros to a multiple of this
INITIAL_SPREAD = 0.1


@dataclass(frozen=True)
class LatentProblem:
    """Rows, labels and weights.

    Attributes
    ----------
    X : ndarray or csr_array of shape (n_rows, n_features)
    target : ndarray of int32, shape (n_rows,)
        Class of each row.
    costs : ndarray of X's dtype, shape (n_rows,)
        Weights of rows, one on average.
    n_classes : int
    q : float
        The dual exponent of ``‖β‖_p ≤ 1``: ``1/p + 1/q = 1``.
    """

    X: Any
    target: np.ndarray
    costs: np.ndarray
    n_classes: int
    q: float


@dataclass
class LatentResult:
    """Trained weights, ``(n_features + 1, n_classes, models with padding)``."""

    weights: np.ndarray
    n_iter: int
    objective: float
    stopped: bool
    history: list[tuple[int, float]]


def solve(
    problem: LatentProblem,
    *,
    n_models: int,
    alpha: float,
    n_epochs: int,
    n_passes: int = 1,
    rng: np.random.Generator,
    monitor: Monitor | None = None,
) -> LatentResult:
    """Visit all rows in random order, again and again, with steps that fall to zero.

    Parameters
    ----------
    problem : LatentProblem
    n_models : int
        Linear models per class.
    alpha : float
        Weight of ``½‖W‖²`` against the mean loss.
    n_epochs : int
    n_passes : int
        Visits of each row in an epoch.
    rng : numpy Generator
    monitor : Monitor, optional
        Called after each epoch with the mean ``loss``.

    Returns
    -------
    LatentResult
    """
    n_rows, n_features = problem.X.shape
    n_visits = n_passes * n_rows
    squared_length = 1 + float(np.mean(row_norms(problem.X, squared=True), dtype=np.float64))
    shape = (n_features + 1, problem.n_classes, -(-n_models // STRIDE) * STRIDE)
    weights = np.zeros(shape, problem.X.dtype)
    spread = INITIAL_SPREAD / np.sqrt(squared_length)
    weights[..., :n_models] = rng.normal(0, spread, (*shape[:2], n_models))
    core = _core.latent_problem(
        core_rows(problem.X), problem.target, problem.costs, n_models, problem.q, alpha
    )
    # With alpha below, no step shrinks the weights to less than nothing.
    step = 1 / (squared_length + alpha)
    history: list[tuple[int, float]] = []
    epochs = Epochs(n_epochs, monitor)
    for number in epochs:
        loss = core.epoch(
            weights, weights.copy(), step, (number - 1) * n_visits, n_epochs * n_visits,
            repeated_order(n_rows, n_passes, rng), int(rng.integers(2**63)),
        )  # fmt: skip
        history.append((number, loss / n_visits))
        epochs.report(loss=loss / n_visits)
    penalty = 0.5 * alpha * float(np.sum(np.square(weights, dtype=np.float64)))
    objective = history[-1][1] + penalty
    return LatentResult(weights, epochs.number, objective, epochs.stopped, history)
