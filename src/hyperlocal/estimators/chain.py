"""The chain: how a locally linear model is fitted.

    rows → anchors → gate → feature map → lifted rows → solver → weights

:meth:`ChainFitting.fit` has it from top to bottom. What depends on the kind of ``y`` is in a
:class:`~hyperlocal.estimators.tasks.Task`; ``chain_classifier.py`` and ``chain_regressor.py`` are
the chain with either. A subclass gives its settings and, if its gate is learned, its training.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ..data.arguments import check_flag, make_generator
from ..data.labelled import LabelledRows
from ..model.chain_settings import ChainSettings
from ..model.local_model import LocalModel
from ..model.problem import Problem
from ..runtime.progress import EpochMonitor, Monitor, with_callbacks
from ..runtime.threads import Workers
from ..solvers.coordinates import start_in_coordinates
from ..solvers.result import SolverResult
from ..solvers.sgd import SgdState
from ..solvers.training import SOLVERS, Training
from .tasks import Target, Task

# A warm start reuses gate and map if these are unchanged; with C="auto" all that was chosen.
CHAIN_PARAMETERS = {"relevance", "scale", *(field.name for field in fields(ChainSettings))}
GATE_PARAMETERS = CHAIN_PARAMETERS - {"normalize", "intercept_scaling"}
CHOICE_PARAMETERS = CHAIN_PARAMETERS | {"C", "loss", "multi_class", "epsilon", "quantiles"}


class ChainFitting(BaseEstimator):
    """How models ``f_c(x) = Σ_j γ_j(x) (w_jc · φ(x) + b_jc)`` are fitted; for a LocalEstimator."""

    _task: Task
    _last: LastFit

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit to training rows.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)
            Rows; float32 stays float32. Standardized features are best.
        y : array-like of shape (n_rows,)
            Class labels, or values; those of a regression may have several columns.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of rows. A weight of two is the same as the row twice: bitwise up to 16,384
            rows, within the solver's tolerance above.

        Returns
        -------
        self
            The fitted estimator.
        """
        settings, training = self._checked_arguments()
        data, target = self._task.rows(self, X, y, sample_weight)
        rng = make_generator(self.random_state)
        last = self._continued_fit(data, target)
        with (
            Workers(self.n_jobs) as workers,
            EpochMonitor(self, self._most_epochs(data), self.verbose) as monitor,
        ):
            call = FitCall(training, data, rng, workers, monitor)
            if last is None:
                self._forget()
                chain, training = self._new_chain(settings, call)
            elif self._is_automatic:
                chain, training = self.model_, replace(training, C=self.C_)
            else:
                chain = settings.relifted(self.model_)
            chain, result = self._train(chain, replace(call, training=training), last)
        self._keep(chain, training, result, target, data.X.shape[0], data.total_weight)
        self._keep_background(data)
        return self

    # ---- the steps of fit, of which subclasses may replace some --------------------------------

    def _settings(self) -> ChainSettings:
        """The settings of gate and map."""
        return ChainSettings.of(self)

    @property
    def _is_automatic(self) -> bool:
        """Whether C and what is left to "auto" are chosen on held-out rows."""
        return False

    def _solvers(self) -> tuple[str, ...]:
        return SOLVERS

    def _most_epochs(self, data: LabelledRows) -> int:
        return self.max_iter

    def _checked_arguments(self) -> tuple[ChainSettings, Training]:
        settings = self._settings()
        settings.check()
        training = self._training(settings)
        training.check(self._solvers())
        check_flag("warm_start", self.warm_start)
        self._check_common()
        return settings, training

    def _training(self, settings: ChainSettings) -> Training:
        # Stochastic gradient does not penalize intercepts, unless local models have nothing else.
        return Training(
            self.C, **self._task.loss(self), solver=self.solver, tol=self.tol,
            max_iter=self.max_iter, penalize_intercept=settings.is_bias_only,
        )  # fmt: skip

    def _new_chain(self, settings: ChainSettings, call: FitCall) -> tuple[LocalModel, Training]:
        """A chain without weights, fitted to rows, and the training with its C."""
        (own_rng,) = call.rng.spawn(1)  # the gate gets the same numbers as with a given C
        settings, training = self._chosen(settings, replace(call, rng=own_rng))
        return settings.fit(call.data, call.rng, call.workers), training

    def _chosen(
        self, settings: ChainSettings, call: FitCall, *, by_newton: bool = True
    ) -> tuple[ChainSettings, Training]:
        """Settings and training with everything chosen that is left to choose: here nothing."""
        return settings, call.training

    def _train(
        self, chain: LocalModel, call: FitCall, last: LastFit | None
    ) -> tuple[LocalModel, SolverResult]:
        """Train the weights; returns the chain unchanged."""
        training = call.training
        problem = training.problem(chain, call.data, call.workers)
        if last is None:
            alpha = start_in_coordinates(chain, call.data, problem, training, call.rng)
            return chain, training.solve(problem, call.rng, call.monitor, alpha=alpha)
        weights, alpha = self._task.start_weights(self, problem), last.alpha_for(problem)
        return chain, training.solve(problem, call.rng, call.monitor, alpha=alpha, weights=weights)

    def _continued_fit(self, data: LabelledRows, target: Target) -> LastFit | None:
        """The last fit, if a warm start reuses its gate and starts from its weights."""
        is_reused = (
            bool(self.warm_start)
            and hasattr(self, "model_")
            and self.model_.dtype == data.X.dtype
            and self._task.is_unchanged(self, target)
            and self.model_.n_features_in == data.X.shape[1]
            and _are_equal(self._last.parameters, self._gate_parameters())
        )
        return self._last if is_reused else None

    def _gate_parameters(self) -> dict[str, Any]:
        names = CHOICE_PARAMETERS if self._is_automatic else GATE_PARAMETERS
        parameters = self.get_params(deep=True).items()
        return {name: value for name, value in parameters if name.split("__")[0] in names}

    def _keep(
        self,
        chain: LocalModel,
        training: Training,
        result: SolverResult,
        target: Target,
        n_rows: int,
        total_weight: float,
    ) -> None:
        """Set the fitted attributes, all at once: an interrupted fit sets none."""
        alpha = result.alpha if self.warm_start else None
        n_visits, lambda_ = result.n_iter * n_rows, 1.0 / (training.C * total_weight)
        self._last = LastFit(self._gate_parameters(), alpha, n_visits, lambda_)
        self.C_ = training.C
        self._task.keep(self, chain, result.weights, target)
        self._record(result, training.advice(result))

    def take_over(
        self,
        chain: LocalModel,
        training: Training,
        result: SolverResult,
        target: Target,
        n_rows: int,
        *,
        feature_names: Sequence[str] | None = None,
    ) -> Any:
        """Become the fitted estimator of a model that was trained elsewhere, as on a cluster.

        Parameters
        ----------
        chain, training, result : LocalModel, Training and SolverResult
            The model, how it was trained, and what the solver returned.
        target, n_rows, feature_names : Target, int and sequence of str or None
            What is predicted, the number of training rows, and names of the columns.

        Returns
        -------
        self
            The fitted estimator.
        """
        self.n_features_in_ = chain.n_features_in
        if feature_names is not None:
            self.feature_names_in_ = np.array(feature_names, dtype=object)
        self._keep(chain, training, result, target, n_rows, n_rows)
        return self


@dataclass(frozen=True)
class FitCall:
    """Everything that one call of ``fit`` or ``partial_fit`` uses."""

    training: Training
    data: LabelledRows
    rng: np.random.Generator
    workers: Workers
    monitor: Monitor | None = None


@dataclass(frozen=True)
class LastFit:
    """The last fit, from which a warm start or ``partial_fit`` continues.

    Attributes
    ----------
    parameters : dict
        The parameters of gate and map.
    alpha : ndarray or None
        Dual variables, stored if ``warm_start`` is set.
    n_visits : int
        Rows visited, for the step size of stochastic gradient.
    lambda_ : float
        Its penalty per row.
    online : tuple of SgdState and numpy Generator, or None
        The state of ``partial_fit`` between calls.
    """

    parameters: dict[str, Any]
    alpha: np.ndarray | None
    n_visits: int
    lambda_: float
    online: tuple[SgdState, np.random.Generator] | None = None

    def alpha_for(self, problem: Problem) -> np.ndarray | None:
        """The dual variables, if they have the shape of the problem."""
        shape = (problem.lifted.n_rows, problem.n_columns)
        return self.alpha if self.alpha is not None and self.alpha.shape == shape else None


def _are_equal(old: dict[str, Any], new: dict[str, Any]) -> bool:
    return old.keys() == new.keys() and all(
        old[name] is new[name] or np.array_equal(old[name], new[name]) for name in new
    )
