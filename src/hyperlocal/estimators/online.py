"""Online training by stochastic gradient: ``partial_fit`` of the chain."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ..data.arguments import make_generator
from ..data.labelled import LabelledRows
from ..model.local_model import LocalModel
from ..model.problem import Problem
from ..runtime.threads import Workers
from ..solvers import sgd
from ..solvers.result import SolverResult
from ..solvers.sgd import SgdState
from .chain import FitCall, LastFit
from .tasks import Target


def solver_is_sgd(estimator: BaseEstimator) -> bool:
    if estimator.solver != "sgd":
        raise AttributeError("partial_fit needs solver='sgd'.")
    return True


class OnlineFitting(BaseEstimator):
    """Visits of batches, one after the other; for a ChainFitting, which comes after it."""

    _last: LastFit

    def _visit_rows(self, data: LabelledRows, target: Target) -> Any:
        """``partial_fit`` of checked rows."""
        settings, training = self._checked_arguments()
        first = not hasattr(self, "model_")
        online = None if first else self._last.online
        rng = make_generator(self.random_state) if online is None else online[1]
        with Workers(self.n_jobs) as workers:
            if first:
                chain, training = self._new_chain(settings, FitCall(training, data, rng, workers))
            else:
                chain, data = self.model_, data.astype(self.model_.dtype)
                training = replace(training, C=self.C_)
            problem = training.problem(chain, data, workers)
            call = FitCall(training, data, rng, workers)
            if first:
                state = self._first_state(chain, problem, call)
            else:
                state = self._resumed_state(problem) if online is None else online[0]
            chain, objective = self._visit_batch(chain, problem, state, call)
        n_batches = 1 if first else self.n_iter_ + 1
        result = SolverResult(state.average, n_batches, objective, np.nan, True)
        self._keep(chain, training, result, target, data.X.shape[0], data.total_weight)
        self._last = replace(self._last, online=(state, rng))
        return self

    def _first_state(self, chain: LocalModel, problem: Problem, call: FitCall) -> SgdState:
        """The state before the first batch."""
        penalize = call.training.penalize_intercept
        return sgd.start_state(problem, call.rng, penalize_intercept=penalize)

    def _visit_batch(
        self, chain: LocalModel, problem: Problem, state: SgdState, call: FitCall
    ) -> tuple[LocalModel, float]:
        """Visit each row once; returns the chain and the objective over the batch."""
        penalize = call.training.penalize_intercept
        sgd.run_epoch(problem, state, call.rng, penalize_intercept=penalize)
        return chain, problem.objective(state.average, penalize_intercept=penalize)

    def _resumed_state(self, problem: Problem) -> SgdState:
        """The state from which stochastic gradient continues after ``fit``."""
        weights, last = self._task.start_weights(self, problem), self._last
        return SgdState(
            weights.copy(), weights.copy(), last.n_visits, last.lambda_, 1 / last.lambda_
        )
