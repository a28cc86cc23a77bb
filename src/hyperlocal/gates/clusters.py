"""Clusters as gates: k-means, given centers, or the clusters of a scikit-learn clusterer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from ..data.rows import core_rows
from ..maps.plain import NotPlain, Step
from ..runtime.threads import Workers
from .anchors import check_anchors, choose_anchors
from .codes import Codes, encode
from .gate import Gate, check_gate, fit_gate


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
        raise NotPlain("clusters found by a clusterer cannot be exported; use anchors='kmeans'.")


@dataclass(frozen=True)
class ClusterSettings:
    """How rows are clustered, and which clusters are active at a row.

    Attributes
    ----------
    n_anchors : int or "auto"
    anchors : {"kmeans", "random"}, array of centers, or clusterer with ``fit`` and ``predict``
    coding : str
        "hard" is one-hot; other codings weigh the ``n_neighbors`` nearest clusters.
    n_neighbors : int
    beta : float or "auto"
    """

    n_anchors: Any = "auto"
    anchors: Any = "kmeans"
    coding: str = "hard"
    n_neighbors: int = 8
    beta: Any = "auto"

    def check(self) -> None:
        """Raise unless the settings make sense, alone and together."""
        # Where there are fewer clusters than n_neighbors, all are active.
        check_gate("auto", "kmeans", self.n_neighbors, self.coding, self.beta)
        if not is_clusterer(self.anchors):
            _check_places(self.anchors)
            check_anchors(self.n_anchors, self.anchors)
        elif self.n_anchors != "auto":
            raise ValueError(
                "a clusterer knows its number of clusters; leave n_anchors at 'auto' when anchors "
                "is a clusterer."
            )

    def fit(
        self, X: Any, sample_weight: np.ndarray, rng: np.random.Generator, workers: Workers
    ) -> Gate:
        """A gate over clusters that have rows; empty ones are left out."""
        gate = self._one_hot(X, sample_weight, rng, workers)
        if self.coding == "hard":
            return gate
        return fit_gate(
            X, sample_weight, gate.anchors, self.n_neighbors, self.coding, self.beta, rng, workers
        )

    def _one_hot(
        self, X: Any, sample_weight: np.ndarray, rng: np.random.Generator, workers: Workers
    ) -> Gate:
        if is_clusterer(self.anchors):
            return _fit_clusterer(X, sample_weight, self.anchors)
        centers = choose_anchors(
            X, sample_weight, self.anchors, self.n_anchors, rng, workers, careful=True
        )
        nearest = encode(X, centers, 1, "hard", workers).anchors[:, 0]
        return Gate(np.ascontiguousarray(centers[np.unique(nearest)]), 1, "hard")


def is_clusterer(anchors: Any) -> bool:
    """Whether ``anchors`` is an object that clusters rows."""
    return not isinstance(anchors, type) and hasattr(anchors, "fit") and hasattr(anchors, "predict")


def _check_places(anchors: Any) -> None:
    if isinstance(anchors, str) or anchors is None:
        return  # as for every gate
    if isinstance(anchors, type) or sp.issparse(anchors) or np.ndim(anchors) != 2:
        raise TypeError(
            "anchors must be 'kmeans', 'random', a dense 2-D array with one center per row, or a "
            f"clusterer with fit and predict, not {anchors!r}."
        )


def _fit_clusterer(X: Any, sample_weight: np.ndarray, clusterer: Any) -> ClustererGate:
    clusterer = clone(clusterer)
    weighted = has_fit_parameter(clusterer, "sample_weight")
    clusterer.fit(X, **({"sample_weight": sample_weight} if weighted else {}))
    labels, position = np.unique(np.asarray(clusterer.predict(X)), return_inverse=True)
    sums, masses = np.zeros((len(labels), X.shape[1])), np.zeros(len(labels))
    core_rows(X).group_sums(position.astype(np.int32), sample_weight, sums, masses)
    means = np.ascontiguousarray(sums / masses[:, None], dtype=X.dtype)
    return ClustererGate(means, 1, "hard", clusterer=clusterer, labels=labels)
