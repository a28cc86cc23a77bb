"""Training of latent locally linear models (ML3): single-row SGD with closed-form gates.

The problem is stated in ``cpp/latent.hpp``. Each epoch is a convex problem: the true class's gates
are those of the weights at its start (the concave-convex procedure). Visits depend on each other,
so training runs on one thread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.extmath import row_norms

from .. import _core
from ..data.rows import core_rows
from ..runtime.threads import row_blocks
from .visits import visit_order

NUMBERS_PER_BLOCK = 1 << 21
STRIDE = 8  # models are padded with zeros to a multiple of this
INITIAL_SPREAD = 0.1

Monitor = Callable[..., bool]


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
    monitor : callable, optional
        Called after each epoch as ``monitor(number, loss=…)``; returns whether to stop.

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
    number, stop = 0, False
    while number < n_epochs and not stop:
        loss = core.epoch(
            weights, weights.copy(), step, number * n_visits, n_epochs * n_visits,
            visit_order(n_rows, n_passes, rng), int(rng.integers(2**63)),
        )  # fmt: skip
        number += 1
        history.append((number, loss / n_visits))
        stop = monitor is not None and monitor(number, loss=history[-1][1])
    penalty = 0.5 * alpha * float(np.sum(np.square(weights, dtype=np.float64)))
    return LatentResult(weights, number, history[-1][1] + penalty, stop, history)


def class_scores(X: Any, weights: np.ndarray, n_models: int, q: float) -> np.ndarray:
    """Scores ``‖[W_c x]_+‖_q``, ``(n_rows, n_classes)``, in blocks of rows."""
    n_rows, (_, n_classes, n_stored) = X.shape[0], weights.shape
    scores = np.empty((n_rows, n_classes), weights.dtype)
    for begin, end in row_blocks(n_rows, max(1, NUMBERS_PER_BLOCK // (n_classes * n_stored))):
        products = _products(X[begin:end], weights)
        _core.latent_scores(products, n_models, q, False, scores[begin:end])
    return scores


def best_gates(X: Any, weights: np.ndarray, n_models: int, q: float) -> np.ndarray:
    """The best mix ``β`` of each class's models, ``(n_rows, n_classes, models with padding)``."""
    gates = _products(X, weights)
    _core.latent_scores(gates, n_models, q, True, np.empty(gates.shape[:2], gates.dtype))
    return gates


def _products(X: Any, weights: np.ndarray) -> np.ndarray:
    n_features, n_classes, n_stored = X.shape[1], *weights.shape[1:]
    products = X @ weights[:-1].reshape(n_features, n_classes * n_stored)
    products += weights[-1].ravel()
    return products.reshape(X.shape[0], n_classes, n_stored)
