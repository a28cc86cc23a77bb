"""A model of features that are multiplied by factors first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..maps.base import FeatureMap
from ..runtime.threads import Workers
from .explanation import LocalRows
from .local_model import LocalModel


@dataclass(frozen=True)
class ScaledModel:
    """Scores and explanations in the features as given, of a model of ``x * scale``.

    Attributes
    ----------
    model : LocalModel
    scale : ndarray of shape (n_features,)
    """

    model: LocalModel
    scale: np.ndarray

    @property
    def feature_map(self) -> FeatureMap:
        """The model's own map."""
        return self.model.feature_map

    @property
    def n_columns(self) -> int:
        """Columns of scores."""
        return self.model.n_columns

    @property
    def n_features_in(self) -> int:
        """Features of a row."""
        return len(self.scale)

    @property
    def dtype(self) -> np.dtype:
        """Precision of the scores."""
        return self.model.dtype

    def scores(self, X: Any, workers: Workers) -> np.ndarray:
        """Scores of rows, ``(n_rows, n_columns)``."""
        return self.model.scores(self._scaled(X), workers)

    def local_rows(self, X: Any, workers: Workers) -> Iterator[LocalRows]:
        """The linear model at each row; weights on the input's features include the factors."""
        begin = 0
        for block in self.model.local_rows(self._scaled(X), workers):
            rows = X[begin : begin + len(block.coef)]
            begin += len(block.coef)
            if not self.feature_map.explains_input:
                yield block
                continue
            values = rows.toarray() if sp.issparse(rows) else rows
            yield replace(block, coef=block.coef * self.scale, values=values)

    def path_weights(
        self, X: Any, references: np.ndarray, workers: Workers
    ) -> Iterator[np.ndarray]:
        """Gradients averaged on the way from each reference to rows."""
        factors = self.scale if self.feature_map.attributes_input else 1
        for weights in self.model.path_weights(self._scaled(X), self._scaled(references), workers):
            yield weights * factors

    def _scaled(self, X: Any) -> Any:
        if not sp.issparse(X):
            return X * self.scale
        # A product of sparse matrices would not have its indices in order, as the core requires.
        return sp.csr_array((X.data * self.scale[X.indices], X.indices, X.indptr), shape=X.shape)
