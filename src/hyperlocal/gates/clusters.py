"""Clusters as one-hot gates, and the codes that couple clusters while they are trained.

A one-hot gate makes clusters independent. Two linear changes of variables couple them again, and
both are only a change of the codes seen in training; weights are changed back afterwards, so that
prediction is by the plain gate:

- a penalty on differences of neighbouring clusters' weights (:func:`smoothing_matrix`);
- a global model that all clusters are pulled to (:func:`with_global_model`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import check_array
from sklearn.utils.validation import has_fit_parameter

from ..data.arguments import check_choice, check_number
from ..data.rows import FLOATS, core_rows
from ..maps.plain import NotPlain, Step
from ..runtime.threads import Workers
from .anchors import choose_anchors
from .codes import Codes, encode
from .gate import Gate

CLUSTERS = ("kmeans",)
# Clusters that a cluster is smoothed with: its nearest ones, and those whose nearest it is.
NEIGHBOURS_TO_SMOOTH = 4


def check_clusters(n_clusters: Any, clusters: Any) -> None:
    """Raise unless the arguments that describe clusters make sense together."""
    if isinstance(n_clusters, str):
        check_choice("n_clusters", n_clusters, ["auto"])
    else:
        check_number("n_clusters", n_clusters, integer=True, above=1, inclusive=True)
    if isinstance(clusters, str) or clusters is None:
        check_choice("clusters", clusters, CLUSTERS)
    elif _is_clusterer(clusters):
        if n_clusters != "auto":
            raise ValueError(
                "a clusterer knows its number of clusters; leave n_clusters at 'auto' when "
                "clusters is a clusterer."
            )
    elif isinstance(clusters, type) or sp.issparse(clusters) or np.ndim(clusters) != 2:
        raise TypeError(
            "clusters must be 'kmeans', a 2-D array with one centre per row, or a clusterer with "
            f"fit and predict, not {clusters!r}."
        )


def _is_clusterer(clusters: Any) -> bool:
    return (
        not isinstance(clusters, type) and hasattr(clusters, "fit") and hasattr(clusters, "predict")
    )


@dataclass(frozen=True)
class ClustererGate(Gate):
    """One-hot by a fitted clusterer's ``predict``; ``anchors`` are the means of its clusters.

    A row in a cluster that had no training rows goes to the nearest mean.
    """

    clusterer: Any = None
    labels: np.ndarray = field(default_factory=lambda: np.empty(0))

    def encode(self, X: Any, workers: Workers, n_reserves: int = 0) -> Codes:
        """Code the rows of ``X``."""
        codes = super().encode(X, workers, n_reserves)
        predicted = np.asarray(self.clusterer.predict(X))
        position = np.clip(np.searchsorted(self.labels, predicted), 0, len(self.labels) - 1)
        known = self.labels[position] == predicted
        codes.anchors[known, 0] = position[known]
        return codes

    def plain(self) -> Step:
        """Raise: a clusterer may be anything."""
        raise NotPlain("clusters found by a clusterer cannot be exported; use clusters='kmeans'.")


def fit_clusters(
    X: Any,
    sample_weight: np.ndarray,
    clusters: Any,
    n_clusters: Any,
    rng: np.random.Generator,
    workers: Workers,
) -> Gate:
    """A one-hot gate over clusters that have rows; empty ones are left out.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_rows, n_features)
    sample_weight : ndarray of shape (n_rows,)
    clusters : "kmeans", array of centres, or clusterer with ``fit`` and ``predict``
    n_clusters : int or "auto"
    rng : numpy Generator
    workers : Workers

    Returns
    -------
    Gate
    """
    if _is_clusterer(clusters):
        return _fit_clusterer(X, sample_weight, clusters)
    if not isinstance(clusters, str):
        centres = _given_centres(clusters, n_clusters, X)
    else:
        centres = choose_anchors(
            X, sample_weight, clusters, n_clusters, rng, workers,
            argument="n_clusters", careful=True,
        )  # fmt: skip
    nearest = encode(X, centres, 1, "hard", workers).anchors[:, 0]
    return Gate(np.ascontiguousarray(centres[np.unique(nearest)]), 1, "hard")


def _fit_clusterer(X: Any, sample_weight: np.ndarray, clusterer: Any) -> ClustererGate:
    clusterer = clone(clusterer)
    weighted = has_fit_parameter(clusterer, "sample_weight")
    clusterer.fit(X, **({"sample_weight": sample_weight} if weighted else {}))
    labels, position = np.unique(np.asarray(clusterer.predict(X)), return_inverse=True)
    sums, masses = np.zeros((len(labels), X.shape[1])), np.zeros(len(labels))
    core_rows(X).group_sums(position.astype(np.int32), sample_weight, sums, masses)
    means = np.ascontiguousarray(sums / masses[:, None], dtype=X.dtype)
    return ClustererGate(means, 1, "hard", clusterer=clusterer, labels=labels)


def _given_centres(clusters: Any, n_clusters: Any, X: Any) -> np.ndarray:
    centres = check_array(clusters, dtype=list(FLOATS), order="C", input_name="clusters")
    if centres.shape[1] != X.shape[1]:
        raise ValueError(
            f"clusters have {centres.shape[1]} columns, but X has {X.shape[1]} features."
        )
    if n_clusters != "auto" and n_clusters != len(centres):
        raise ValueError(
            f"n_clusters={n_clusters} but {len(centres)} centres are given; leave n_clusters at "
            "'auto' when clusters is an array."
        )
    return np.ascontiguousarray(centres, dtype=X.dtype)


# ---- coupled clusters ----------------------------------------------------------------------------


def smoothing_matrix(centres: np.ndarray, smoothing: float) -> np.ndarray:
    """``A = (I + sL)^(-1/2)``, L the Laplacian of the graph of neighbouring clusters.

    With ``Θ = A U``, ``½‖U‖² = ½ tr Θ'(I + sL)Θ = ½ Σ_k ‖θ_k‖² + s/2 Σ_{k~l} ‖θ_k − θ_l‖²``.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.gates.clusters import smoothing_matrix
    >>> A = smoothing_matrix(np.array([[0.0], [1.0]]), smoothing=1.5)
    >>> np.linalg.inv(A @ A).round(6)
    array([[ 2.5, -1.5],
           [-1.5,  2.5]])
    """
    n_clusters = len(centres)
    n_nearest = min(NEIGHBOURS_TO_SMOOTH + 1, n_clusters)
    with Workers(1) as workers:
        nearest = encode(centres, centres, n_nearest, "hard", workers).anchors
    linked = np.zeros((n_clusters, n_clusters), bool)
    linked[np.arange(n_clusters)[:, None], nearest] = True
    linked |= linked.T
    np.fill_diagonal(linked, False)
    laplacian = np.diag(linked.sum(axis=1).astype(float)) - linked
    curvatures, axes = np.linalg.eigh(np.eye(n_clusters) + smoothing * laplacian)
    return (axes / np.sqrt(np.maximum(curvatures, 1.0))) @ axes.T


def smoothed(codes: Codes, mixing: np.ndarray) -> Codes:
    """Codes ``γ' = γ A``: every cluster speaks at every row."""
    n_rows, n_clusters = len(codes.anchors), len(mixing)
    mixing = mixing.astype(codes.weights.dtype)
    weights = np.zeros((n_rows, n_clusters), codes.weights.dtype)
    for anchors, gate in zip(codes.anchors.T, codes.weights.T, strict=True):
        weights += gate[:, None] * mixing[anchors]
    anchors = np.tile(np.arange(n_clusters, dtype=np.int32), (n_rows, 1))
    return Codes(anchors, weights, np.zeros_like(weights))


def with_global_model(codes: Codes, n_clusters: int, weight: float) -> Codes:
    """Codes with one anchor more, number ``n_clusters``, that is always on with one weight."""
    n_rows = len(codes.anchors)
    column = np.full((n_rows, 1), n_clusters, np.int32)
    always = np.full((n_rows, 1), weight, codes.weights.dtype)
    return Codes(
        np.hstack([codes.anchors, column]),
        np.hstack([codes.weights, always]),
        np.hstack([codes.distances, np.zeros_like(always)]),
    )
