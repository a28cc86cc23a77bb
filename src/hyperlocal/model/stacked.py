"""Stacked models: the scores of a model are features of the next.

The last model of a stack is an ordinary :class:`LocalModel`; its map holds the model before it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..maps.base import FeatureMap
from ..maps.plain import Step, scaling
from ..runtime.threads import Workers
from .local_model import LocalModel


def first_map(feature_map: FeatureMap) -> FeatureMap:
    """The map of the first model of a stack; a map that is not stacked is that map."""
    return feature_map.first if isinstance(feature_map, StackedMap) else feature_map


def n_models_before(feature_map: FeatureMap) -> int:
    """How many models give scores to a map; none to a map that is not stacked."""
    if not isinstance(feature_map, StackedMap):
        return 0
    return n_models_before(feature_map.before.feature_map) + 1


class StackedMap(FeatureMap):
    """The features that the first model sees, and the scores of the model before.

    ``φ(x) = [μ(x), scale · f(x)]``, with the map ``μ`` of the first model of the stack and the
    scores ``f`` of the model before.

    Parameters
    ----------
    before : LocalModel
        Trained; its own map may be stacked too.
    scale : float
        Makes scores comparable to the features.

    Attributes
    ----------
    first : FeatureMap
        ``μ``, the map of the first model of the stack.
    """

    def __init__(self, before: LocalModel, scale: float):
        super().__init__(before.n_features_in)
        self.before = before
        self.scale = scale
        self.first = first_map(before.feature_map)
        self.explains_input = self.first.explains_input

    @property
    def n_features_out(self) -> int:
        """Features of the first map, and a score per column."""
        return self.first.n_features_out + self.before.n_columns

    def joined(self, features: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """``[μ(x), scale · f(x)]`` of what the first map gives and of scores."""
        return np.hstack([features, scores * features.dtype.type(self.scale)])

    def stored(self, X: Any) -> np.ndarray:
        """The features and the scores of rows."""
        return self.stored_with(X, Workers(1))

    def stored_with(self, X: Any, workers: Workers) -> np.ndarray:
        """The same; the models before are evaluated in turn, each by threads."""
        below = self.before.feature_map.stored_with(X, workers)
        lifted = self.before.lift_stored(below, self.before.encode(X, workers), workers)
        features = below[:, : self.first.n_features_out]
        return self.joined(features, lifted.scores(self.before.weights))

    def mapped(self, X: Any) -> Any:
        """The features of the first map: scores are no features of an explanation."""
        return self.first.mapped(X)

    def pull_back(self, X: Any, coef: np.ndarray) -> tuple[np.ndarray, Any]:
        """Weights on earlier scores as weights on the features below, and these on the input.

        ``a·μ + b·f`` with ``f = W [μ, …] + i`` at a row is ``(a + bW)·[μ, …] + b·i``.
        """
        width = self.first.n_features_out
        on_scores = coef[..., width:] * coef.dtype.type(self.scale)
        local, intercept = self.before.lift(X, Workers(1)).local_models(self.before.weights)
        below = on_scores @ local
        below[..., :width] += coef[..., :width]
        coef, shift = self.before.feature_map.pull_back(X, below)
        return coef, shift + np.einsum("ncs,ns->nc", on_scores, intercept)

    @property
    def attributes_input(self) -> bool:
        """Whether the first map does."""
        return self.first.attributes_input

    def path_weights(
        self, weights: np.ndarray, X: np.ndarray, reference: np.ndarray, workers: Workers
    ) -> np.ndarray:
        """Weights on earlier scores as weights on features, by the path of the model before."""
        width = self.first.n_features_out
        on_scores = weights[..., width:] * self.scale
        rows, start = (one.astype(self.before.dtype, copy=False) for one in (X, reference))
        before = next(self.before.path_weights(rows, start, workers))
        return self.first.path_weights(weights[..., :width], X, reference, workers) + (
            on_scores @ before
        )

    def feature_names(self, names: np.ndarray) -> np.ndarray:
        """Those of the first map."""
        return self.first.feature_names(names)

    def plain(self) -> list[Step]:
        """The features of the first map beside the scaled scores of the model before."""
        scores = [self.before.plain(), scaling(self.scale)]
        return [Step("beside", {"branches": [self.first.plain(), scores]})]
