"""Codes that couple clusters while they are trained.

A one-hot gate makes clusters independent. Two linear changes of variables couple them again. Both
change only the codes that are seen in training; weights are changed back afterwards, so that
prediction is by the plain gate:

- a penalty on differences of neighboring clusters' weights (:func:`smoothing_matrix`);
- a global model that the models of all clusters are pulled to (:func:`with_global_model`).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..runtime.threads import Workers
from .codes import Codes, encode

# Clusters that a cluster is smoothed with: its nearest ones, and those whose nearest it is.
NEIGHBORS_TO_SMOOTH = 4


def smoothing_matrix(centers: np.ndarray, smoothing: float) -> np.ndarray:
    """``A = (I + sL)^(-1/2)``, L the Laplacian of the graph of neighboring clusters.

    With ``Θ = A U``, ``½‖U‖² = ½ tr Θ'(I + sL)Θ = ½ Σ_k ‖θ_k‖² + s/2 Σ_{k~l} ‖θ_k − θ_l‖²``.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.gates.coupling import smoothing_matrix
    >>> A = smoothing_matrix(np.array([[0.0], [1.0]]), smoothing=1.5)
    >>> np.linalg.inv(A @ A).round(6)
    array([[ 2.5, -1.5],
           [-1.5,  2.5]])
    """
    n_clusters = len(centers)
    n_nearest = min(NEIGHBORS_TO_SMOOTH + 1, n_clusters)
    with Workers(1) as workers:
        nearest = encode(centers, centers, n_nearest, "hard", workers).anchors
    linked = np.zeros((n_clusters, n_clusters), bool)
    linked[np.arange(n_clusters)[:, None], nearest] = True
    linked |= linked.T
    np.fill_diagonal(linked, False)
    laplacian = np.diag(linked.sum(axis=1).astype(float)) - linked
    curvatures, axes = np.linalg.eigh(np.eye(n_clusters) + smoothing * laplacian)
    return (axes / np.sqrt(np.maximum(curvatures, 1.0))) @ axes.T


def smoothed(codes: Codes, mixing: np.ndarray) -> Codes:
    """Codes ``γ' = γ A``: every cluster is active at every row."""
    n_rows, n_clusters = len(codes.anchors), len(mixing)
    mixing = mixing.astype(codes.weights.dtype)
    weights = np.zeros((n_rows, n_clusters), codes.weights.dtype)
    for anchors, gate in zip(codes.anchors.T, codes.weights.T, strict=True):
        weights += gate[:, None] * mixing[anchors]
    anchors = np.tile(np.arange(n_clusters, dtype=np.int32), (n_rows, 1))
    return Codes(anchors, weights, np.zeros_like(weights))


def smoothed_weights(weights: np.ndarray, mixing: np.ndarray) -> np.ndarray:
    """``Θ = A U`` of weights ``U`` that were trained with :func:`smoothed` codes.

    The block of a global intercept, after those of the clusters, stays as it is.
    """
    own, rest = weights[: len(mixing)], weights[len(mixing) :]
    return np.concatenate([np.tensordot(mixing.astype(weights.dtype), own, axes=1), rest])


def with_global_model(codes: Codes, n_clusters: int, weight: float) -> Codes:
    """Codes with one anchor more, number ``n_clusters``, that is always active with one weight."""
    n_rows = len(codes.anchors)
    column = np.full((n_rows, 1), n_clusters, np.int32)
    always = np.full((n_rows, 1), weight, codes.weights.dtype)
    return Codes(
        np.hstack([codes.anchors, column]),
        np.hstack([codes.weights, always]),
        np.hstack([codes.distances, np.zeros_like(always)]),
    )


def code_matrix(codes: Codes, n_clusters: int) -> sp.csr_array:
    """Codes written out, ``(n_rows, n_clusters)``, in double precision.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.gates.codes import Codes
    >>> from hyperlocal.gates.coupling import code_matrix
    >>> weights = np.array([[0.75, 0.25]])
    >>> code_matrix(Codes(np.array([[2, 0]]), weights, weights), 3).toarray()
    array([[0.25, 0.  , 0.75]])
    """
    n_rows, n_active = codes.anchors.shape
    starts = np.arange(0, n_rows * n_active + 1, n_active)
    values = codes.weights.ravel().astype(np.float64)
    return sp.csr_array((values, codes.anchors.ravel(), starts), shape=(n_rows, n_clusters))
