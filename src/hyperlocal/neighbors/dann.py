"""DANN: a metric for each query, from the classes of the rows around it.

With ``W`` and ``B`` the covariances within and between the classes of a pool of near rows, weighted
by nearness, the metric is ``W^{-1/2} (W^{-1/2} B W^{-1/2} + ε I) W^{-1/2}``: neighborhoods shrink
across the boundary of the classes and stretch along it (Hastie and Tibshirani 1996).
"""

from __future__ import annotations

import numpy as np

# ε: how round neighborhoods stay.
ROUNDNESS = 1.0
# Added to W, relative to its mean diagonal: few rows leave directions without variance.
RIDGE = 1e-2


def dann_rows(
    pools: np.ndarray, queries: np.ndarray, target: np.ndarray, n_classes: int
) -> np.ndarray:
    """Pools of rows about their queries, mapped so that distances are those of the local metrics.

    Parameters
    ----------
    pools : ndarray of shape (n_queries, n_pool, n_features)
        Rows near each query, the farthest last.
    queries : ndarray of shape (n_queries, n_features)
    target : ndarray of shape (n_queries, n_pool)
        Classes of the rows.
    n_classes : int

    Returns
    -------
    ndarray of shape (n_queries, n_pool, n_features)
        ``M (x − q)`` with ``MᵀM`` the local metric.
    """
    X = pools - queries[:, None]
    weights = _nearness(X)
    within, between = _scatter(X, weights, target, n_classes)
    return X @ _roots(within, between).transpose(0, 2, 1)


def _nearness(X: np.ndarray) -> np.ndarray:
    """Tricube weights that vanish beyond the farthest row; they sum to one."""
    distances = np.sqrt(np.einsum("qpd,qpd->qp", X, X))
    reach = distances.max(axis=1, keepdims=True)
    share = np.divide(distances, reach, out=np.zeros_like(distances), where=reach > 0)
    weights = (1 - share**3) ** 3 + 1e-3  # the farthest rows count too, if there are no others
    return weights / weights.sum(axis=1, keepdims=True)


def _scatter(
    X: np.ndarray, weights: np.ndarray, target: np.ndarray, n_classes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Covariances within and between classes, ``(n_queries, n_features, n_features)`` each."""
    shares = weights[..., None] * (target[..., None] == np.arange(n_classes))
    mass = shares.sum(axis=1)
    sums = shares.transpose(0, 2, 1) @ X
    centers = np.divide(sums, mass[..., None], out=np.zeros_like(sums), where=mass[..., None] > 0)
    mean = sums.sum(axis=1, keepdims=True)
    total = (X * weights[..., None]).transpose(0, 2, 1) @ X - mean.transpose(0, 2, 1) @ mean
    away = centers - mean
    between = (away * mass[..., None]).transpose(0, 2, 1) @ away
    return total - between, between


def _roots(within: np.ndarray, between: np.ndarray) -> np.ndarray:
    """``M = (W^{-1/2} B W^{-1/2} + ε I)^{1/2} W^{-1/2}``."""
    n_features = within.shape[1]
    scale = np.trace(within, axis1=1, axis2=2) / n_features
    ridge = np.where(scale > 0, RIDGE * scale, 1.0)[:, None, None]
    sphere = _power(within + ridge * np.eye(n_features), -0.5)
    return _power(sphere @ between @ sphere + ROUNDNESS * np.eye(n_features), 0.5) @ sphere


def _power(matrices: np.ndarray, exponent: float) -> np.ndarray:
    values, vectors = np.linalg.eigh(matrices)
    values = np.maximum(values, np.finfo(values.dtype).tiny)
    return (vectors * (values**exponent)[:, None]) @ vectors.transpose(0, 2, 1)
