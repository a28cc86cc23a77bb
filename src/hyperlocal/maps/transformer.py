"""Any scikit-learn transformer as a feature map."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_array

from ..data.rows import canonical, take_rows, well_formed
from ..runtime.threads import Workers
from .backwards import can_go_back, weights_before
from .base import FeatureMap
from .plain import Step, plain_steps


class TransformerMap(FeatureMap):
    """Any scikit-learn transformer as a map; explanations are about its output features."""

    explains_input = False

    def __init__(self, transformer: Any):
        self.transformer = transformer

    def fit(self, X: Any, y: Any, sample_weight: np.ndarray, rng: np.random.Generator) -> Any:
        """Fit a clone of the transformer."""
        super().fit(X, y, sample_weight, rng)
        self.transformer = clone(self.transformer).fit(X, y)
        self._width = self.stored(take_rows(X, np.arange(1))).shape[1]
        return self

    @property
    def n_features_out(self) -> int:
        """Width of the transformer's output."""
        return self._width

    def stored(self, X: Any) -> Any:
        """The transformer's output in the dtype of the rows."""
        return transformed(self.transformer, X, "feature_map")

    def feature_names(self, names: np.ndarray) -> np.ndarray:
        """The transformer's own names, or φ0, φ1, …"""
        try:
            return np.asarray(self.transformer.get_feature_names_out(names), dtype=object)
        except (AttributeError, NotImplementedError, ValueError):
            return np.array([f"φ{i}" for i in range(self._width)], dtype=object)

    @property
    def attributes_input(self) -> bool:
        """Whether the transformer has a plain form that can be followed backwards."""
        return can_go_back(self.transformer)

    def path_weights(
        self, weights: np.ndarray, X: np.ndarray, reference: np.ndarray, workers: Workers
    ) -> np.ndarray:
        """Through the transformer, where possible."""
        if not self.attributes_input:
            return weights
        return weights_before(self.transformer, weights, X, reference)

    def plain(self) -> list[Step]:
        """The transformer's own plain form."""
        return plain_steps(self.transformer)


def transformed(transformer: Any, X: Any, argument: str) -> Any:
    """Output of a user's transformer, checked, in the dtype of ``X``."""
    out = well_formed(transformer.transform(X), f"the output of {argument}")
    out = check_array(
        out, accept_sparse="csr", dtype=X.dtype, order="C", input_name=f"output of {argument}"
    )
    if out.shape[0] != X.shape[0]:
        raise ValueError(f"{argument} turned {X.shape[0]} rows into {out.shape[0]}.")
    return canonical(out)
