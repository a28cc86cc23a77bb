"""What a classifier and a regressor trained by Pegasos share: the schedule and the run."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from ..data.arguments import check_choice, check_flag, check_number, make_generator
from ..data.labelled import LabelledRows
from ..model.local_model import LocalModel, linear_model
from ..model.multiclass import joined_columns
from ..runtime.progress import CallbackSupportMixin, EpochMonitor, Monitor
from ..runtime.threads import Workers
from ..solvers import SolverResult, pegasos
from ..solvers.pegasos import PegasosProblem, PegasosState
from ..solvers.visits import SAMPLINGS, sampled_orders


def penalty_of(C: float, total_weight: float) -> float:
    """``λ``, the weight of ``½‖w‖²`` against the mean loss: ``1/(C Σ_i s_i)``."""
    return 1 / (C * total_weight)


@dataclass(frozen=True)
class PegasosTraining:
    """The parameters of these names, of either estimator."""

    C: float
    batch_size: int
    sampling: str
    average: bool
    max_iter: int
    tol: float | None
    intercept_scaling: float
    project: bool = False

    @classmethod
    def of(cls, estimator: Any) -> PegasosTraining:
        """Those of an estimator, checked."""
        names = [field.name for field in fields(cls) if hasattr(estimator, field.name)]
        training = cls(**{name: getattr(estimator, name) for name in names})
        training.check()
        return training

    def check(self) -> None:
        """Raise unless the parameters make sense."""
        check_number("C", self.C)
        check_number("batch_size", self.batch_size, integer=True, above=1, inclusive=True)
        check_choice("sampling", self.sampling, SAMPLINGS)
        check_flag("average", self.average)
        check_number("max_iter", self.max_iter, integer=True, above=1, inclusive=True)
        if self.tol is not None:
            check_number("tol", self.tol, inclusive=True)
        check_number("intercept_scaling", self.intercept_scaling, inclusive=True)
        check_flag("project", self.project)


@dataclass
class PegasosRun:
    """What the steps of ``fit`` and ``partial_fit`` carry on.

    Attributes
    ----------
    first_weight : float
        Sum of the sample weights of the first rows: of ``fit``, or of the first batch.
    n_rows, weight : int, float
        Rows seen so far, and the sum of their weights.
    n_iter : int
        Epochs, and batches of ``partial_fit``.
    state : PegasosState or None
    rng : numpy Generator or None
        Orders the rows of batches.
    """

    first_weight: float
    n_rows: int = 0
    weight: float = 0.0
    n_iter: int = 0
    state: PegasosState | None = None
    rng: np.random.Generator | None = None

    def problem_parts(
        self, data: LabelledRows, training: PegasosTraining, workers: Workers
    ) -> dict[str, Any]:
        """What the problems of classification and regression share."""
        self.n_rows += data.X.shape[0]
        self.weight += float(data.sample_weight.sum())
        costs = data.sample_weight * (self.n_rows / self.weight)  # 1 on average, so far
        return {
            "X": data.X,
            "costs": costs.astype(data.X.dtype),
            "lambda_": penalty_of(training.C, self.first_weight),
            "bias": float(training.intercept_scaling),
            "workers": workers,
        }

    def solve(
        self,
        problem: PegasosProblem,
        training: PegasosTraining,
        rng: np.random.Generator,
        monitor: Monitor,
    ) -> SolverResult:
        """All epochs of a fit."""
        self.state = PegasosState.start(problem, bool(training.average))
        result = pegasos.solve(
            problem, self.state, sampling=training.sampling, batch_size=int(training.batch_size),
            project=bool(training.project), tol=training.tol, max_iter=training.max_iter, rng=rng,
            monitor=monitor,
        )  # fmt: skip
        self.n_iter = result.n_iter
        return result

    def visit(
        self, problem: PegasosProblem, training: PegasosTraining, random_state: Any
    ) -> SolverResult:
        """One epoch over a batch of ``partial_fit``."""
        if self.state is None:
            self.state = PegasosState.start(problem, bool(training.average))
        if self.rng is None:
            self.rng = make_generator(random_state)
        order = next(sampled_orders(problem.n_rows, training.sampling, self.rng))
        pegasos.run_epoch(
            problem, self.state, order, batch_size=int(training.batch_size),
            project=bool(training.project),
        )  # fmt: skip
        self.n_iter += 1
        weights = self.state.weights
        return SolverResult(weights[None], self.n_iter, problem.objective(weights), np.nan, True)


class PegasosEstimator(CallbackSupportMixin, BaseEstimator):
    """The runs of an estimator trained by Pegasos; for a LocalEstimator, which comes after it."""

    model_: LocalModel
    _run: PegasosRun

    def _solve(self, data: LabelledRows, training: PegasosTraining) -> None:
        """Fit to rows, without what an earlier fit has left."""
        self._forget()
        run, rng = PegasosRun(float(data.sample_weight.sum())), make_generator(self.random_state)
        with (
            Workers(self.n_jobs) as workers,
            EpochMonitor(self, self.max_iter, self.verbose) as monitor,
        ):
            problem = self._problem(data, run, training, workers)
            result = run.solve(problem, training, rng, monitor)
        self._take(run, result, training)

    def _visit(self, data: LabelledRows, training: PegasosTraining) -> None:
        """Continue the last run, if there is one, by a batch."""
        is_first = not hasattr(self, "model_")
        run = PegasosRun(float(data.sample_weight.sum())) if is_first else self._run
        with Workers(self.n_jobs) as workers:
            problem = self._problem(data, run, training, workers)
            result = run.visit(problem, training, self.random_state)
        self._take(run, result, training)

    def _take(self, run: PegasosRun, result: SolverResult, training: PegasosTraining) -> None:
        assert run.state is not None
        weights = joined_columns(result.weights, result.weights.shape[1])
        if not np.isfinite(result.objective):
            raise ValueError(
                f"Pegasos overflowed in {weights.dtype}: its first steps have a length in "
                "proportion to C. Lower C or scale the features."
            )
        bias = float(training.intercept_scaling)
        self.model_ = linear_model(weights.shape[2] - 1, bias).trained(weights)
        self._run = run
        self.n_iter_, self.t_ = run.n_iter, run.state.steps
        self.penalty_ = penalty_of(training.C, run.first_weight)
        self.objective_, self.history_ = result.objective, result.history
        if not (result.converged or result.stopped):
            warnings.warn(
                f"Pegasos was stopped after {result.n_iter} epochs before the objective settled "
                f"to tol={self.tol:g}; raise max_iter or tol, or lower C.",
                ConvergenceWarning,
                stacklevel=5,
            )
