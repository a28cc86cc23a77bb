"""What is automatic in a chain: C, relevance of features, and whether one model does better."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ..data.arguments import check_choice
from ..model.local_model import ChainSettings
from ..selection.automatic import DEFAULT_COST, candidates_of, choose, parameters_of
from ..selection.relevance import COST, RELEVANCES, with_relevance
from ..solvers.training import Training
from .chain import FitCall


@dataclass(eq=False, repr=False)
class AutomaticChain(BaseEstimator):
    """``C="auto"`` and ``relevance``, and what they chose; for a ChainFitting, which comes after.

    It replaces the steps of the chain that leave everything as it is given.
    """

    n_anchors: Any = "auto"
    _: KW_ONLY
    n_neighbors: int = 8
    coding: str = "soft"
    beta: Any = "auto"
    anchors: Any = "kmeans"
    feature_map: Any = "auto"
    code_on: Any = "input"
    normalize: bool = True
    C: Any = "auto"
    loss: str = "squared_hinge"
    solver: str = "dual"
    max_iter: int = 1000
    tol: float = 1e-3
    intercept_scaling: float = 1.0
    global_intercept: bool = True
    relevance: Any = None
    n_jobs: int | None = None
    random_state: Any = None
    warm_start: bool = False
    verbose: int = 0

    @property
    def global_intercept_(self) -> np.ndarray:
        """The intercept that is added to all scores, ``(n_columns,)``."""
        return self.model_.global_intercept

    @property
    def chosen_(self) -> dict[str, Any]:
        """Parameters that fit such a model without a choice."""
        found = {"C": self.C_, "relevance": self.relevance_}
        return parameters_of(self.model_, self._settings()) | found

    @property
    def relevance_(self) -> np.ndarray | None:
        """What features are multiplied by before everything else; None for features as given."""
        before = self.model_.input_map
        return None if before is None else before.factors

    @property
    def _is_automatic(self) -> bool:
        return isinstance(self.C, str) and self.C == "auto"

    def _checked_arguments(self) -> tuple[ChainSettings, Training]:
        if not isinstance(self.relevance, np.ndarray):
            check_choice("relevance", self.relevance, RELEVANCES)
        return super()._checked_arguments()

    def _training(self, settings: ChainSettings) -> Training:
        training = super()._training(settings)
        return replace(training, C=DEFAULT_COST) if self._is_automatic else training

    def _chosen(
        self, settings: ChainSettings, call: FitCall, *, by_newton: bool = True
    ) -> tuple[ChainSettings, Training]:
        training, on = call.training, (call.data, call.rng, call.workers)
        first = replace(training, C=COST) if self._is_automatic else training
        settings = with_relevance(settings, self.relevance, first, *on)
        if not self._is_automatic:
            return settings, training
        # Stochastic gradient converges slowly on rows of different lengths.
        candidates = candidates_of(settings, self.normalize and self.solver == "sgd")
        choice = choose(candidates, training, *on, by_newton=by_newton)
        return choice.settings, replace(training, C=choice.C)
