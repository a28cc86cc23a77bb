"""What is automatic in a chain: C, relevance of features, and whether one model does better."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ..model.local_model import ChainSettings, LocalModel


class AutomaticChain(BaseEstimator):
    """The hooks of the chain for ``C="auto"`` and ``relevance``, and what they chose."""

    model_: LocalModel

    @property
    def global_intercept_(self) -> np.ndarray:
        """The intercept that is added to all scores, ``(n_columns,)``."""
        return self.model_.global_intercept

    @property
    def relevance_(self) -> np.ndarray | None:
        """What features are multiplied by before everything else; None for features as given."""
        before = self.model_.input_map
        return None if before is None else before.factors

    def _relevance(self) -> str | None:
        return self.relevance

    def _candidates(self, settings: ChainSettings) -> list[ChainSettings]:
        return automatic_candidates(settings, self.C, self.solver)


def automatic_candidates(settings: ChainSettings, C: Any, solver: str) -> list[ChainSettings]:
    """The chains among which ``C="auto"`` chooses, from simple to rich; none for a given C."""
    if not (isinstance(C, str) and C == "auto"):
        return []
    is_automatic = all(
        isinstance(value, str) and value == default
        for value, default in (
            (settings.n_anchors, "auto"), (settings.feature_map, "auto"),
            (settings.anchors, "kmeans"), (settings.code_on, "input"),
        )
    )  # fmt: skip
    # Rows as they are, so that the first candidate is what any linear model fits; but stochastic
    # gradient converges slowly on rows of different lengths.
    normalize = settings.normalize and solver == "sgd"
    linear = replace(settings, n_anchors=1, feature_map=None, normalize=normalize, before=None)
    return [linear, settings] if is_automatic else [settings]
