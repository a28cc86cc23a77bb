"""Settings of a chain that are chosen automatically: C, relevance, and the number of models."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ..data.arguments import check_choice
from ..model.chain_settings import ChainSettings
from ..selection.automatic import DEFAULT_COST, parameters_of
from ..selection.chain_choice import choose_chain
from ..selection.relevance import (
    check_relevance,
    is_wanted,
    with_given_relevance,
    with_relevance,
)
from ..selection.scale import SCALES, standardizing_map
from ..selection.trials import Choice
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
    relevance: Any = "auto"
    scale: Any = "auto"
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
        parameters = parameters_of(self.model_, self._settings())
        before = self.model_.input_map
        scale = None if before is None or before.unit is None else "standard"
        return parameters | {"C": self.C_, "relevance": self.relevance_, "scale": scale}

    @property
    def relevance_(self) -> np.ndarray | None:
        """What features are multiplied by before everything else; None for features as given."""
        before = self.model_.input_map
        if before is None or (before.is_diagonal and np.all(before.factors == 1)):
            return None
        return before.factors

    @property
    def _is_automatic(self) -> bool:
        return isinstance(self.C, str) and self.C == "auto"

    def _checked_arguments(self) -> tuple[ChainSettings, Training]:
        check_relevance(self.relevance)
        check_choice("scale", self.scale, SCALES)
        return super()._checked_arguments()

    def _training(self, settings: ChainSettings) -> Training:
        training = super()._training(settings)
        return replace(training, C=DEFAULT_COST) if self._is_automatic else training

    def _chosen(
        self, settings: ChainSettings, call: FitCall, *, by_newton: bool = True
    ) -> tuple[ChainSettings, Training]:
        training, data = call.training, call.data
        settings = replace(settings, before=standardizing_map(data, self.scale))
        settings = with_given_relevance(settings, self.relevance, data)
        given = (training, data, call.rng, call.workers)
        if not self._is_automatic:
            choice = Choice(settings, training.C)
            if is_wanted(self.relevance):
                choice = with_relevance(choice, self.relevance, *given)
            return choice.settings, training
        choice = choose_chain(
            settings, self.relevance, *given, by_newton=by_newton,
            # Stochastic gradient converges slowly on rows of different lengths.
            normalize_linear=self.normalize and self.solver == "sgd",
        )  # fmt: skip
        return choice.settings, replace(training, C=choice.C)
