"""The chain with anchors that are learned: what classes and values have in common."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

from sklearn.base import BaseEstimator

from ..data.arguments import check_auto, check_flag
from ..data.labelled import LabelledRows
from ..model.chain_settings import ChainSettings
from ..model.local_model import LocalModel
from ..solvers.anchor_learning import AnchorLearner, AnchorSchedule, Outcome, RecodedRows
from ..solvers.result import SolverResult
from ..solvers.training import Training
from .chain import FitCall, LastFit


@dataclass(eq=False, repr=False)
class LearnedAnchorsMixin(BaseEstimator):
    """Anchors learned with the weights; for a ChainFitting, which comes after it."""

    n_anchors: Any = "auto"
    _: KW_ONLY
    n_neighbors: int = 8
    beta: Any = "auto"
    anchors: Any = "kmeans"
    feature_map: Any = None
    code_on: Any = "input"
    normalize: bool = True
    C: float = 3.0
    loss: str = "squared_hinge"
    anchor_epochs: Any = "auto"
    anchor_step: Any = "auto"
    keep_if_better: bool = True
    max_iter: int = 1000
    tol: float = 1e-3
    intercept_scaling: float = 1.0
    n_jobs: int | None = None
    random_state: Any = None
    warm_start: bool = False
    verbose: int = 0

    def _settings(self) -> ChainSettings:
        # Only the soft coding has a gradient with respect to the anchors.
        return ChainSettings.of(self, coding="soft", global_intercept=False)

    def _checked_arguments(self) -> tuple[ChainSettings, Training]:
        check_flag("keep_if_better", self.keep_if_better)
        check_auto("anchor_epochs", self.anchor_epochs, integer=True, inclusive=True)
        check_auto("anchor_step", self.anchor_step, inclusive=True)
        return super()._checked_arguments()

    def _schedule(self) -> AnchorSchedule:
        return AnchorSchedule(
            self.anchor_epochs, self.anchor_step, keep_if_better=bool(self.keep_if_better)
        )

    def _most_epochs(self, data: LabelledRows) -> int:
        return self._schedule().most_epochs + 4 * self.max_iter

    def _train(
        self, chain: LocalModel, call: FitCall, last: LastFit | None
    ) -> tuple[LocalModel, SolverResult]:
        """Train anchors and weights; returns the chain with the learned anchors."""
        outcome, result = self._learn(self._learner(chain, call), chain, last)
        # Only now: an interrupted fit must not set some of them.
        self.initial_anchors_ = chain.gate.anchors
        self.best_epoch_ = outcome.n_epochs
        self.anchors_learned_ = outcome.n_epochs > 0
        self._keep_outcome(outcome)
        return replace(chain, gate=outcome.gate), result

    def _learn(
        self, learner: AnchorLearner, chain: LocalModel, last: LastFit | None
    ) -> tuple[Outcome, SolverResult]:
        alpha = None if last is None else last.alpha_for(learner.rows.problem(chain.gate))
        return learner.learn(alpha)

    def _learner(self, chain: LocalModel, call: FitCall) -> AnchorLearner:
        rows = RecodedRows(chain, call.training, call.data, call.workers)
        return AnchorLearner(rows, self._schedule(), call.rng, call.monitor)
