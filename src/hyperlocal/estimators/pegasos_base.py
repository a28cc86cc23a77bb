"""What a classifier and a regressor trained by Pegasos share: λ, the schedule, the state."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..data.arguments import check_choice, check_flag, check_n_jobs, check_number, make_generator
from ..data.labelled import LabelledRows
from ..runtime.progress import CallbackSupportMixin, EpochMonitor
from ..runtime.threads import Workers
from ..solvers import SolverResult, pegasos
from ..solvers.pegasos import PegasosProblem, PegasosState
from ..solvers.visits import SAMPLINGS, sampled_orders

# What a fresh fit must not find from an earlier one.
FITTED_STATE = ("classes_", "regularization_", "_weights", "_state", "_stream_rng")


def check_regularization(regularization: Any) -> None:
    """Raise unless λ is "auto" or a positive number."""
    if isinstance(regularization, str):
        check_choice("regularization", regularization, ["auto"])
    else:
        check_number("regularization", regularization)


def lambda_of(regularization: Any, sample_weight: np.ndarray) -> float:
    """λ as a number: "auto" is one over the rows' weight, C = 1 in the terms of other SVMs."""
    return 1 / float(sample_weight.sum()) if regularization == "auto" else float(regularization)


class PegasosEstimator(CallbackSupportMixin):
    """What a classifier and a regressor trained by Pegasos share."""

    _state: PegasosState
    _stream_rng: np.random.Generator
    _rows_seen: int
    _weight_seen: float
    _projects = False

    def _check_schedule(self) -> None:
        check_regularization(self.regularization)
        check_number("batch_size", self.batch_size, integer=True, above=1, inclusive=True)
        check_choice("sampling", self.sampling, SAMPLINGS)
        check_flag("average", self.average)
        check_number("max_iter", self.max_iter, integer=True, above=1, inclusive=True)
        if self.tol is not None:
            check_number("tol", self.tol, inclusive=True)
        check_number("intercept_scaling", self.intercept_scaling, inclusive=True)
        check_n_jobs(self.n_jobs)
        if not isinstance(self.verbose, bool):
            check_number("verbose", self.verbose, integer=True, inclusive=True)

    def _forget(self) -> None:
        """Drop the last fit: should this one be interrupted, no half of it remains in use."""
        for name in FITTED_STATE:
            self.__dict__.pop(name, None)
        self._rows_seen, self._weight_seen = 0, 0.0

    def _costs(self, data: LabelledRows) -> np.ndarray:
        """Sample weights over their mean, so far as rows have been seen."""
        self._rows_seen += data.X.shape[0]
        self._weight_seen += float(data.sample_weight.sum())
        return (data.sample_weight * (self._rows_seen / self._weight_seen)).astype(data.X.dtype)

    def _shared_parts(self, data: LabelledRows, workers: Workers) -> dict[str, Any]:
        if self.regularization != "auto" or not hasattr(self, "regularization_"):
            self.regularization_ = lambda_of(self.regularization, data.sample_weight)
        return {
            "X": data.X,
            "costs": self._costs(data),
            "lambda_": self.regularization_,
            "bias": float(self.intercept_scaling),
            "workers": workers,
        }

    def _solve(self, problem: PegasosProblem) -> SolverResult:
        """All epochs of a fit."""
        self._state = PegasosState.start(problem, bool(self.average))
        monitor = EpochMonitor(self, self.max_iter, self.verbose)
        try:
            return pegasos.solve(
                problem, self._state, sampling=self.sampling, batch_size=int(self.batch_size),
                project=self._projects, tol=self.tol, max_iter=self.max_iter,
                rng=make_generator(self.random_state), monitor=monitor.epoch,
            )  # fmt: skip
        finally:
            monitor.close()

    def _continue(self, problem: PegasosProblem) -> SolverResult:
        """One epoch over a batch of ``partial_fit``."""
        if not hasattr(self, "_state"):
            self._state = PegasosState.start(problem, bool(self.average))
        if not hasattr(self, "_stream_rng"):
            self._stream_rng = make_generator(self.random_state)
        order = next(sampled_orders(problem.n_rows, self.sampling, self._stream_rng))
        pegasos.run_epoch(
            problem, self._state, order, batch_size=int(self.batch_size), project=self._projects
        )
        weights = self._state.weights
        batches = self.n_iter_ + 1 if hasattr(self, "_weights") else 1
        objective = problem.objective(weights)
        return SolverResult(weights[None], batches, objective, np.nan, True)

    def _take(self, result: SolverResult) -> None:
        if not np.isfinite(result.objective):
            raise ValueError(
                f"Pegasos overflowed in {result.weights.dtype}: its first steps have the length "
                "1/regularization. Raise regularization or scale the features."
            )
        self._weights = result.weights
        self._bias, self._unit_rows = float(self.intercept_scaling), False
        self.n_iter_ = result.n_iter
        self.t_ = self._state.steps
        self.objective_ = result.objective
        self.history_ = result.history
        if not (result.converged or result.stopped):
            warnings.warn(
                f"Pegasos was stopped after {result.n_iter} epochs before the objective settled "
                f"to tol={self.tol:g}; raise max_iter, tol or regularization.",
                ConvergenceWarning,
                stacklevel=4,
            )
