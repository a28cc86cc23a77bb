"""The chain: how a locally linear classifier is fitted.

    rows → anchors → gate → feature map → lifted rows → solver → weights

A subclass gives its settings and, if its gate is learned too, how it is trained. All else is here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from ..data.arguments import check_choice, check_flag, make_generator
from ..data.checks import check_known_classes, check_labelled_rows, warn_about_scales
from ..data.labelled import LabelledRows, merge_equal_rows
from ..model.local_model import ChainSettings, LocalModel
from ..model.multiclass import joined_columns, separate_columns
from ..model.problem import Problem
from ..runtime.progress import CallbackSupportMixin, EpochMonitor, Monitor, with_callbacks
from ..runtime.threads import Workers
from ..selection.automatic import DEFAULT_COST, choose
from ..selection.relevance import COST, RELEVANCES, with_relevance
from ..solvers import sgd
from ..solvers.result import SolverResult
from ..solvers.sgd import SgdState
from ..solvers.training import SOLVERS, Training
from .base import ChainAttributes, LocalClassifier
from .explained import ExplainMixin
from .probabilities import ProbabilityMixin
from .streaming import fit_to_stream

# A warm start reuses the gate and the map of the last fit if these are unchanged; with C="auto" it
# reuses what was chosen, which depends on all of them.
LIFT_PARAMETERS = ("normalize", "intercept_scaling")
GATE_PARAMETERS = (
    "relevance",
    *(field.name for field in fields(ChainSettings) if field.name not in LIFT_PARAMETERS),
)
CHOICE_PARAMETERS = (*GATE_PARAMETERS, *LIFT_PARAMETERS, "C", "loss", "multi_class")


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
    """

    parameters: dict[str, Any]
    alpha: np.ndarray | None
    n_visits: int
    lambda_: float

    def alpha_for(self, problem: Problem) -> np.ndarray | None:
        """The dual variables, if they have the shape of the problem."""
        shape = (problem.lifted.n_rows, problem.n_columns)
        return self.alpha if self.alpha is not None and self.alpha.shape == shape else None


@dataclass(frozen=True)
class FitCall:
    """Everything that one call of ``fit`` or ``partial_fit`` uses."""

    training: Training
    data: LabelledRows
    rng: np.random.Generator
    workers: Workers
    monitor: Monitor | None = None


@dataclass
class OnlineState:
    """State of ``partial_fit`` between calls."""

    sgd: SgdState
    rng: np.random.Generator


def _solver_is_sgd(estimator: Any) -> bool:
    if estimator.solver != "sgd":
        raise AttributeError("partial_fit needs solver='sgd'.")
    return True


class ChainClassifier(
    CallbackSupportMixin, ProbabilityMixin, ChainAttributes, LocalClassifier, ExplainMixin
):
    """Base of the classifiers ``f_c(x) = Σ_j γ_j(x) (w_jc · φ(x) + b_jc)``."""

    _last: LastFit
    _online: OnlineState | None

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit to training rows.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)
            Rows; float32 stays float32. Standardized features are best.
        y : array-like of shape (n_rows,)
            Class labels.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of rows. A weight of two is the same as the row twice: bitwise up to 16,384
            rows, within the solver's tolerance above.

        Returns
        -------
        self
        """
        settings, training = self._checked_arguments()
        data = check_labelled_rows(self, X, y, sample_weight, self.class_weight)
        warn_about_scales(data.X)
        data = merge_equal_rows(data)
        rng = make_generator(self.random_state)
        last = self._continued_fit(data)
        with (
            Workers(self.n_jobs) as workers,
            EpochMonitor(self, self._most_epochs(data), self.verbose) as monitor,
        ):
            if last is None:
                self._forget()
                (own_rng,) = rng.spawn(1)  # the gate gets the same numbers as with a given C
                settings, training = self._chosen(settings, training, data, own_rng, workers)
                chain = settings.fit(data, rng, workers)
            elif self._candidates(settings):
                chain, training = self.model_, replace(training, C=self.C_)
            else:
                chain = settings.relifted(self.model_)
            call = FitCall(training, data, rng, workers, monitor)
            chain, result = self._train(chain, call, last)
        self._online = None
        self._keep(chain, training, result, data.classes, data.X.shape[0], data.total_weight)
        self._keep_background(data)
        return self

    def _fit_stream(self, stream: Iterable[Any], classes: Any, block_rows: Any, folder: Any) -> Any:
        """``fit_stream`` of the classifiers that have it."""
        settings, training = self._checked_arguments()
        self._forget()
        found = fit_to_stream(
            self, settings, self._chosen, training, stream, classes,
            block_rows=block_rows, folder=folder,
        )  # fmt: skip
        self._online = None
        size = (found.n_rows, found.total_weight)
        self._keep(found.chain, found.training, found.result, found.classes, *size)
        return self

    @available_if(_solver_is_sgd)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """Visit the rows of a batch once (``solver="sgd"``).

        The first batch determines the anchors (unless they are given), ``beta``, the first step
        size, and ``λ = 1/Σ_i C s_i`` over its rows; the schedule is that of ``fit``. After ``fit``,
        training continues from the fitted model.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
        classes : array-like, default=None
            All labels of all batches; required at the first call, unless ``fit`` was called before.
        sample_weight : array-like of shape (n_rows,), default=None

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from hyperlocal import LocallyLinearSVC
        >>> rng = np.random.default_rng(0)
        >>> model = LocallyLinearSVC(solver="sgd", random_state=0)
        >>> for _ in range(5):
        ...     X = rng.standard_normal((200, 2))
        ...     model = model.partial_fit(X, X[:, 0] * X[:, 1] > 0, classes=[False, True])
        >>> model.predict([[1.0, 1.0], [1.0, -1.0]])
        array([ True, False])
        """
        settings, training = self._checked_arguments()
        first = not hasattr(self, "model_")
        data = self._checked_batch(X, y, classes, sample_weight, first)
        online = None if first else self._online
        rng = make_generator(self.random_state) if online is None else online.rng
        with Workers(self.n_jobs) as workers:
            if first:
                (own_rng,) = rng.spawn(1)  # the gate gets the same numbers as with a given C
                settings, training = self._chosen(settings, training, data, own_rng, workers)
                chain = settings.fit(data, rng, workers)
            else:
                chain, data = self.model_, data.astype(self.model_.dtype)
                training = replace(training, C=self.C_)
            problem = training.problem(chain, data, workers)
            call = FitCall(training, data, rng, workers)
            if first:
                state = self._first_state(chain, problem, call)
            else:
                state = self._resumed_state(problem) if online is None else online.sgd
            chain, objective = self._visit_batch(chain, problem, state, call)
        n_batches = 1 if first else self.n_iter_ + 1
        result = SolverResult(state.average, n_batches, objective, np.nan, True)
        self._online = OnlineState(state, rng)
        self._keep(chain, training, result, data.classes, data.X.shape[0], data.total_weight)
        return self

    def take_over(
        self,
        chain: LocalModel,
        training: Training,
        result: SolverResult,
        classes: np.ndarray,
        n_rows: int,
        *,
        feature_names: Sequence[str] | None = None,
    ) -> Any:
        """Become the fitted estimator of a model that was trained elsewhere, as on a cluster.

        Parameters
        ----------
        chain : LocalModel
        training : Training
        result : SolverResult
        classes : ndarray of shape (n_classes,)
        n_rows : int
            Rows that it was trained on.
        feature_names : sequence of str, optional

        Returns
        -------
        self
        """
        self.n_features_in_ = chain.n_features_in
        if feature_names is not None:
            self.feature_names_in_ = np.array(feature_names, dtype=object)
        self._online = None
        self._keep(chain, training, result, classes, n_rows, n_rows)
        return self

    # ---- hooks of subclasses -------------------------------------------------------------------

    def _settings(self) -> ChainSettings:
        """How gate and map are made."""
        return ChainSettings.of(self)

    def _candidates(self, settings: ChainSettings) -> list[ChainSettings]:
        """The chains among which ``C="auto"`` chooses; none where C is a number."""
        return []

    def _relevance(self) -> str | None:
        """How features are scaled by relevance."""
        return None

    def _solvers(self) -> tuple[str, ...]:
        return SOLVERS

    def _most_epochs(self, data: LabelledRows) -> int:
        return self.max_iter

    def _train(
        self, chain: LocalModel, call: FitCall, last: LastFit | None
    ) -> tuple[LocalModel, SolverResult]:
        """Train the weights; returns the chain unchanged."""
        training = call.training
        problem = training.problem(chain, call.data, call.workers)
        if last is None:
            return chain, training.solve(problem, call.rng, call.monitor)
        weights = separate_columns(self.model_.weights, problem.n_columns)
        start = {"alpha": last.alpha_for(problem), "weights": weights}
        return chain, training.solve(problem, call.rng, call.monitor, **start)

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
        weights, last = separate_columns(self.model_.weights, problem.n_columns), self._last
        return SgdState(
            weights.copy(), weights.copy(), last.n_visits, last.lambda_, 1 / last.lambda_
        )

    # ---- the steps of fit ----------------------------------------------------------------------

    def _checked_arguments(self) -> tuple[ChainSettings, Training]:
        settings = self._settings()
        settings.check()
        # Stochastic gradient does not penalize intercepts, unless local models have nothing else.
        C = DEFAULT_COST if self._candidates(settings) else self.C
        training = Training(
            C, self.loss, self.multi_class, self.solver, self.tol, self.max_iter,
            penalize_intercept=settings.is_bias_only,
        )  # fmt: skip
        training.check(self._solvers())
        check_flag("warm_start", self.warm_start)
        check_choice("relevance", self._relevance(), RELEVANCES)
        self._check_common()
        return settings, training

    def _chosen(
        self,
        settings: ChainSettings,
        training: Training,
        data: LabelledRows,
        rng: np.random.Generator,
        workers: Workers,
        *,
        by_newton: bool = True,
    ) -> tuple[ChainSettings, Training]:
        """Settings and training with C and scales of features chosen, if that is wanted."""
        first = replace(training, C=COST) if self._candidates(settings) else training
        settings = with_relevance(settings, self._relevance(), first, data, rng, workers)
        candidates = self._candidates(settings)
        if not candidates:
            return settings, training
        choice = choose(candidates, training, data, rng, workers, by_newton=by_newton)
        return choice.settings, replace(training, C=choice.C)

    def _checked_batch(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, first: bool
    ) -> LabelledRows:
        known = check_known_classes(classes, None if first else self.classes_)
        if isinstance(self.class_weight, str):
            raise ValueError(
                "class_weight='balanced' would balance each batch by itself in partial_fit; give a "
                "dict of weights."
            )
        data = check_labelled_rows(
            self, X, y, sample_weight, self.class_weight, classes=known, reset=first
        )
        if first:
            warn_about_scales(data.X)
        return merge_equal_rows(data)

    def _continued_fit(self, data: LabelledRows) -> LastFit | None:
        """The last fit, if a warm start reuses its gate and starts from its weights."""
        is_reused = (
            bool(self.warm_start)
            and hasattr(self, "model_")
            and self.model_.dtype == data.X.dtype
            and np.array_equal(self.classes_, data.classes)
            and self.model_.n_features_in == data.X.shape[1]
            and _are_equal(self._last.parameters, self._gate_parameters())
        )
        return self._last if is_reused else None

    def _gate_parameters(self) -> dict[str, Any]:
        names = CHOICE_PARAMETERS if self._candidates(self._settings()) else GATE_PARAMETERS
        parameters = self.get_params(deep=True).items()
        return {name: value for name, value in parameters if name.split("__")[0] in names}

    def _keep(
        self,
        chain: LocalModel,
        training: Training,
        result: SolverResult,
        classes: np.ndarray,
        n_rows: int,
        total_weight: float,
    ) -> None:
        """Set the fitted attributes, all at once: an interrupted fit sets none."""
        alpha = result.alpha if self.warm_start else None
        n_visits, lambda_ = result.n_iter * n_rows, 1.0 / (training.C * total_weight)
        self._last = LastFit(self._gate_parameters(), alpha, n_visits, lambda_)
        self.C_ = training.C
        self.model_ = chain.trained(joined_columns(result.weights, len(classes)))
        self.classes_ = classes
        self._record(result, training.advice(result))


def _are_equal(old: dict[str, Any], new: dict[str, Any]) -> bool:
    return old.keys() == new.keys() and all(
        old[name] is new[name] or np.array_equal(old[name], new[name]) for name in new
    )
