"""MagKmeans: clusters that contain rows of all classes (Cheng, Tan and Jin 2007).

    min_{Z, v} Σ_ij s_i Z_ij ‖x_i − v_j‖² + R Σ_jc |Σ_i s_i Z_ij Y_ic|,   Σ_j Z_ij = 1

``Y_ic = 1[y_i = c] − 1/n_classes``: for two classes the penalty is ``R |Σ_i Z_ij y_i|`` with
``y = ±1``. The penalty is the maximum of linear ones, ``max_{|u_jc| ≤ R} u_jc Σ_i s_i Z_ij Y_ic``.
For given prices ``u`` every row takes the cluster of least ``‖x_i − v_j‖² + Σ_c u_jc Y_ic``: a
cluster with too many rows of a class gets a higher price for that class, at most R. Steps on the
prices (a subgradient) and Lloyd's steps on the centers alternate; the best clusters found are
returned.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.rows import core_rows, take_rows
from ..runtime.threads import Workers, row_blocks
from .anchors import choose_anchors, rows_to_sample
from .codes import PRODUCTS_PER_BLOCK, encode

N_STEPS = 40


def balanced_clusters(
    X: Any,
    target: np.ndarray,
    n_classes: int,
    sample_weight: np.ndarray,
    n_anchors: Any,
    balance: float,
    rng: np.random.Generator,
    workers: Workers,
    *,
    sample_rows: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Centers and the cluster of each row; clusters without rows are left out.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_rows, n_features)
    target : ndarray of shape (n_rows,)
        Class of each row, 0 … n_classes-1.
    n_classes : int
    sample_weight : ndarray of shape (n_rows,)
    n_anchors : int or "auto"
    balance : float
        ``R`` in units of the rows' mean squared distance to their k-means center; 0 is k-means.
    rng : numpy Generator
    workers : Workers
    sample_rows : int, optional
        How many rows at most are used to find centers and prices; by default as many as for
        k-means.

    Returns
    -------
    centers : ndarray of shape (n_clusters, n_features)
    cluster : ndarray of shape (n_rows,)
    """
    centers = choose_anchors(X, sample_weight, "kmeans", n_anchors, rng, workers)
    prices = np.zeros((n_classes, len(centers)))
    if balance > 0 and len(centers) > 1:
        n_wanted = rows_to_sample(len(centers)) if sample_rows is None else sample_rows
        sample = _sample(X, target, sample_weight, n_wanted, rng)
        centers, prices = _search(*sample, centers, n_classes, balance, workers)
    cluster = cheapest_clusters(X, target, centers, prices, workers)
    used, cluster = np.unique(cluster, return_inverse=True)
    cluster = cluster.astype(np.int32)
    if not prices.any():
        return np.ascontiguousarray(centers[used]), cluster
    sums, masses = np.zeros((len(used), X.shape[1])), np.zeros(len(used))
    core_rows(X).group_sums(cluster, sample_weight, sums, masses)
    return np.ascontiguousarray(sums / masses[:, None], dtype=X.dtype), cluster


def _sample(
    X: Any, target: np.ndarray, sample_weight: np.ndarray, n_wanted: int, rng: np.random.Generator
) -> tuple[Any, np.ndarray, np.ndarray]:
    if X.shape[0] <= n_wanted:
        return X, target, sample_weight
    chosen = np.sort(rng.choice(X.shape[0], n_wanted, replace=False))
    return take_rows(X, chosen), target[chosen], sample_weight[chosen]


def _search(
    X: Any,
    target: np.ndarray,
    weights: np.ndarray,
    centers: np.ndarray,
    n_classes: int,
    balance: float,
    workers: Workers,
) -> tuple[np.ndarray, np.ndarray]:
    """The centers and prices, among those of all steps, whose clusters are the best."""
    distances = encode(X, centers, 1, "hard", workers).distances[:, 0]
    typical = float(np.average(distances, weights=weights))
    prices = np.zeros((n_classes, len(centers)))
    rows = core_rows(X)
    best, best_objective = (centers, prices), np.inf
    for step in range(1, N_STEPS + 1):
        cluster = cheapest_clusters(X, target, centers, prices, workers)
        counts = np.zeros((n_classes, len(centers)))
        np.add.at(counts, (target, cluster), weights)
        surplus = counts - counts.mean(axis=0)  # Σ_i s_i Z_ij Y_ic
        sums, masses = np.zeros(centers.shape), np.zeros(len(centers))
        rows.group_sums(cluster, weights, sums, masses)
        filled = masses > 0
        # Σ ‖x − mean‖² is Σ ‖x‖², which is always the same, minus the means' share.
        spread = -float((sums[filled] ** 2 / masses[filled, None]).sum())
        objective = spread + balance * typical * float(np.abs(surplus).sum())
        if objective < best_objective:
            best, best_objective = (centers, prices), objective
        share = surplus / np.maximum(masses, weights.sum() / len(centers))
        prices = prices + typical / np.sqrt(step) * share
        prices = np.clip(prices, -balance * typical, balance * typical)
        centers = centers.copy()
        centers[filled] = sums[filled] / masses[filled, None]
    return best


def cheapest_clusters(
    X: Any, target: np.ndarray, centers: np.ndarray, prices: np.ndarray, workers: Workers
) -> np.ndarray:
    """The cluster of least squared distance plus price, row by row."""
    origin = np.zeros_like(centers[0]) if sp.issparse(X) else centers.mean(axis=0)
    centered = centers - origin
    # Σ_c u_jc Y_ic = u_jy − mean_c u_jc: one price per cluster for each class.
    base = np.einsum("ij,ij->i", centered, centered) + (prices - prices.mean(axis=0))
    base = base.astype(X.dtype)
    transposed = np.ascontiguousarray(-2 * centered.T)
    cluster = np.empty(X.shape[0], np.int32)

    def fill(block: tuple[int, int]) -> None:
        begin, end = block
        rows = X[begin:end] if sp.issparse(X) else X[begin:end] - origin
        costs = rows @ transposed
        costs += base[target[begin:end]]
        cluster[begin:end] = costs.argmin(axis=1)

    size = max(256, PRODUCTS_PER_BLOCK // len(centers))
    workers.map(fill, row_blocks(X.shape[0], size))
    return cluster
