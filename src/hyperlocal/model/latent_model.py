"""Latent locally linear models (ML3): what prediction and explanation need of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import _core
from ..data.checks import check_values
from ..maps.base import FeatureMap
from ..maps.linear import InputMap
from ..maps.plain import Step
from ..runtime.threads import Workers, row_blocks
from .explanation import LocalRows
from .local_model import NUMBERS_PER_EXPLANATION_BLOCK
from .paths import averaged_gradients

ROWS_PER_PREDICTION_BLOCK = 4_096
NUMBERS_PER_BLOCK = 1 << 21


@dataclass(frozen=True)
class LatentModel:
    """``s_c(x) = ‖[W_c x]_+‖_q``, the score of the best mix of a class's linear models.

    Attributes
    ----------
    stored : ndarray of shape (n_features + 1, n_classes, n_anchors with padding)
        The linear models, their constants last; :attr:`weights` are they without padding.
    n_anchors : int
        Linear models per class.
    exponent : float
        ``q``.
    """

    stored: np.ndarray
    n_anchors: int
    exponent: float

    def pulled_back(self, before: InputMap) -> LatentModel:
        """The same scores from rows that are not yet mapped by ``before``, which has a center."""
        coef = before.pull_back(np.moveaxis(self.stored[:-1], 0, -1))
        intercept = self.stored[-1] - coef @ before.center
        stored = np.concatenate([np.moveaxis(coef, -1, 0), intercept[None]])
        return replace(self, stored=np.ascontiguousarray(stored, dtype=self.stored.dtype))

    @property
    def n_columns(self) -> int:
        """Columns of scores: one per class; for two classes their difference."""
        n_classes = self.stored.shape[1]
        return 1 if n_classes == 2 else n_classes

    @property
    def n_features_in(self) -> int:
        """Features of a row."""
        return len(self.stored) - 1

    @property
    def feature_map(self) -> FeatureMap:
        """The identity: models see rows as they are."""
        return FeatureMap(self.n_features_in)

    @property
    def dtype(self) -> np.dtype:
        """Precision of the scores."""
        return self.stored.dtype

    @property
    def weights(self) -> np.ndarray:
        """The linear models, ``(n_anchors, n_classes, n_features + 1)``, as a view."""
        return self.stored[..., : self.n_anchors].transpose(2, 1, 0)

    @property
    def coef(self) -> np.ndarray:
        """Weights of the models on features, ``(n_anchors, n_classes, n_features)``."""
        return self.weights[..., :-1]

    @property
    def intercept(self) -> np.ndarray:
        """Intercepts of the models, ``(n_anchors, n_classes)``."""
        return self.weights[..., -1]

    def plain(self) -> Step:
        """The models as one plain step from rows to scores, for export."""
        return Step("latent", {"weights": self.weights, "exponent": float(self.exponent)})

    def class_scores(self, X: Any) -> np.ndarray:
        """``s_c`` of rows, ``(n_rows, n_classes)``."""
        products = self._products(X)
        scores = np.empty(products.shape[:2], products.dtype)
        _core.latent_scores(products, self.n_anchors, self.exponent, False, scores)
        return scores

    def best_gates(self, X: Any) -> np.ndarray:
        """The best mix ``β`` of each class's models, ``(n_rows, n_classes, with padding)``."""
        gates = self._products(X)
        scores = np.empty(gates.shape[:2], gates.dtype)
        _core.latent_scores(gates, self.n_anchors, self.exponent, True, scores)
        return gates

    def _products(self, X: Any) -> np.ndarray:
        n_features, n_classes, n_stored = X.shape[1], *self.stored.shape[1:]
        products = X @ self.stored[:-1].reshape(n_features, n_classes * n_stored)
        products += self.stored[-1].ravel()
        return products.reshape(X.shape[0], n_classes, n_stored)

    def scores(
        self, X: Any, workers: Workers, *, rows_per_block: int = ROWS_PER_PREDICTION_BLOCK
    ) -> np.ndarray:
        """Scores of rows, ``(n_rows, n_columns)``; raises where values are not finite."""
        scores = np.empty((X.shape[0], self.n_columns), self.dtype)

        def fill(block: tuple[int, int]) -> None:
            rows = X[slice(*block)]
            check_values(rows)
            scores[slice(*block)] = self._columns(self.class_scores(rows))

        size = min(rows_per_block, NUMBERS_PER_BLOCK // self.stored[0].size)
        workers.map(fill, row_blocks(X.shape[0], max(1, size)))
        return scores

    def local_rows(
        self, X: Any, workers: Workers, *, numbers_per_block: int = NUMBERS_PER_EXPLANATION_BLOCK
    ) -> Iterator[LocalRows]:
        """The linear model at each row, ``Σ_m β_m W_cm``, in row blocks."""
        width, n_classes, n_stored = self.stored.shape
        size = max(1, numbers_per_block // (n_classes * max(width, n_stored)))
        for begin, end in row_blocks(X.shape[0], size):
            yield self._local_rows(X[begin:end])

    def _local_rows(self, X: Any) -> LocalRows:
        gates = self.best_gates(X)
        local = np.empty((*gates.shape[:2], len(self.stored)), gates.dtype)
        for c in range(gates.shape[1]):
            np.matmul(gates[:, c], self.stored[:, c].T, out=local[:, c])
        local = self._columns(local)
        values = X.toarray() if sp.issparse(X) else X

        def active(best: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
            # They add up to the score of their class; with two classes the decision function is
            # the difference of two such scores.
            for i, c in enumerate(best):
                models = np.flatnonzero(gates[i, c])
                own, gate = self.weights[models, c], gates[i, c, models]
                yield models, gate, gate * (own[:, :-1] @ values[i] + own[:, -1])

        return LocalRows(local[..., :-1], local[..., -1], values, active)

    def path_weights(
        self, X: Any, references: np.ndarray, workers: Workers
    ) -> Iterator[np.ndarray]:
        """Gradients averaged on the way from each reference to rows.

        The gradient is the weight vector at the row: the best mix is a maximum.
        """
        rows = X.toarray() if sp.issparse(X) else X

        def gradients(points: np.ndarray) -> np.ndarray:
            return self._local_rows(points.astype(self.dtype, copy=False)).coef

        return averaged_gradients(gradients, rows, references)

    def _columns(self, by_class: np.ndarray) -> np.ndarray:
        """Columns of numbers per class: two classes have one, the difference."""
        return by_class[:, 1:] - by_class[:, :1] if self.n_columns == 1 else by_class
