"""What is automatic in a chain: C, relevance of features, and whether one model does better."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ..model.local_model import ChainSettings, LocalModel
from ..selection.automatic import candidates_of, parameters_of


class AutomaticChain(BaseEstimator):
    """The hooks of the chain for ``C="auto"`` and ``relevance``, and what they chose."""

    model_: LocalModel

    @property
    def global_intercept_(self) -> np.ndarray:
        """The intercept that is added to all scores, ``(n_columns,)``."""
        return self.model_.global_intercept

    @property
    def chosen_(self) -> dict[str, Any]:
        """Parameters that fit such a model without a choice."""
        return parameters_of(self.model_, self._settings()) | {"C": self.C_}

    @property
    def relevance_(self) -> np.ndarray | None:
        """What features are multiplied by before everything else; None for features as given."""
        before = self.model_.input_map
        return None if before is None else before.factors

    def _relevance(self) -> str | None:
        return self.relevance

    def _candidates(self, settings: ChainSettings) -> list[ChainSettings]:
        if not (isinstance(self.C, str) and self.C == "auto"):
            return []
        # Stochastic gradient converges slowly on rows of different lengths.
        return candidates_of(settings, self.normalize and self.solver == "sgd")
