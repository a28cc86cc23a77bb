"""A linear model: the local model whose one anchor always speaks."""

from __future__ import annotations

import numpy as np

from ..gates.code_on import CodeOn
from ..gates.gate import ConstantGate
from ..maps.base import FeatureMap
from .old_local_model import LocalModel


class LinearModel(LocalModel):
    """Scores ``f_c(x) = w_c · x + b_c``; prediction and explanation are those of local models."""

    def _make_linear(self, n_features: int) -> None:
        self._feature_map = FeatureMap()
        self._feature_map.n_features_in = n_features
        self._code_space = CodeOn()
        self._gate = ConstantGate()

    @property
    def coef_(self) -> np.ndarray:
        """Weights, ``(n_columns, n_features)``: a column per class, or one for two classes."""
        return self._weights[0, :, :-1]

    @property
    def intercept_(self) -> np.ndarray:
        """Intercepts, ``(n_columns,)``."""
        return self._weights[0, :, -1] * self._weights.dtype.type(self._bias)
