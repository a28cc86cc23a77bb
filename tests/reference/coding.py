"""Exact distances, nearest anchors, and the weights of each coding.

The weight functions take one row: its nearest anchors ``V`` (k × d, nearest first), the squared
distances to them, and the sharpness ``beta``.
"""

import clarabel
import numpy as np
import scipy.sparse as sp

from hyperlocal.gates.codes import LOCALITY, RIDGE, Codes


def squared_distances(phi, anchors):
    """``‖x_i − v_j‖²`` by differences."""
    return np.array([[np.sum((x - v) ** 2) for v in anchors] for x in phi]).reshape(
        len(phi), len(anchors)
    )


def encode(phi, anchors, k, coding, beta=1.0):
    """Codes of all rows; of two anchors at the same distance, the first comes first."""
    phi, anchors = np.asarray(phi, np.float64), np.asarray(anchors, np.float64)
    all_distances = squared_distances(phi, anchors)
    order = np.argsort(all_distances, axis=1, kind="stable")[:, :k]
    distances = np.take_along_axis(all_distances, order, axis=1)
    weights = [
        WEIGHTS[coding](x, anchors[nearest], d, beta)
        for x, nearest, d in zip(phi, order, distances, strict=True)
    ]
    return Codes(order.astype(np.int32), np.array(weights).reshape(len(phi), k), distances)


def hard(x, V, distances, beta):
    """All weight on the nearest anchor."""
    return np.eye(len(V))[0]


def soft(x, V, distances, beta):
    """``γ_j ∝ exp(−β d_j)``."""
    scores = np.exp(-beta * (distances - distances.min()))
    return scores / scores.sum()


def inverse_distance(x, V, distances, beta):
    """``γ_j ∝ 1/√d_j``; a row on an anchor belongs to it alone."""
    on_anchor = distances == 0
    shares = on_anchor.astype(float) if on_anchor.any() else 1 / np.sqrt(distances)
    return shares / shares.sum()


def gram_matrix(x, V):
    """``G_ij = (v_i − x)·(v_j − x)``: ``‖x − Σ γ_j v_j‖² = γᵀGγ`` where ``Σγ = 1``."""
    return (V - x) @ (V - x).T


def reconstruction_penalty(x, V, distances, beta, coding):
    """What LLE and LLC add to the diagonal of the Gram matrix."""
    penalty = np.full(len(V), RIDGE)
    if coding == "llc":
        penalty += LOCALITY * np.exp(beta * (distances - distances.max())) ** 2
    scale = np.trace(gram_matrix(x, V)) / len(V)
    return penalty * (scale if scale > 0 else 1.0)


def _reconstruction(x, V, distances, beta, coding):
    penalty = reconstruction_penalty(x, V, distances, beta, coding)
    z = np.linalg.solve(gram_matrix(x, V) + np.diag(penalty), np.ones(len(V)))
    return z / z.sum()


def lle(x, V, distances, beta):
    """``min γᵀGγ + ridge ‖γ‖²``, ``Σγ = 1``."""
    return _reconstruction(x, V, distances, beta, "lle")


def llc(x, V, distances, beta):
    """``min γᵀGγ + Σ_j penalty_j γ_j²``, ``Σγ = 1``, farther anchors dearer."""
    return _reconstruction(x, V, distances, beta, "llc")


def lcc_objective(x, V, distances, gamma):
    """``‖x − Σγ_j v_j‖² + μ Σ |γ_j| d_j``."""
    return float(np.sum((x - gamma @ V) ** 2) + LOCALITY * np.abs(gamma) @ distances)


def lcc(x, V, distances, beta):
    """Minimise :func:`lcc_objective` with ``Σγ = 1`` as a quadratic program, ``γ = γ⁺ − γ⁻``."""
    k = len(V)
    split = np.hstack([np.eye(k), -np.eye(k)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    solver = clarabel.DefaultSolver(
        sp.csc_matrix(np.triu(2 * split.T @ gram_matrix(x, V) @ split)),
        LOCALITY * np.concatenate([distances, distances]),
        sp.csc_matrix(np.vstack([split.sum(axis=0), -np.eye(2 * k)])),
        np.concatenate([[1.0], np.zeros(2 * k)]),
        [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * k)],
        settings,
    )
    return split @ np.asarray(solver.solve().x)


WEIGHTS = {
    "hard": hard,
    "soft": soft,
    "inverse_distance": inverse_distance,
    "lle": lle,
    "llc": llc,
    "lcc": lcc,
}
