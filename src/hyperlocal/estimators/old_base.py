"""How locally linear classifiers with a fixed gate are fitted: the chain.

    rows → anchors → gate → feature map → lifted rows → solver → weights

A subclass gives its arguments and, where it differs, its feature map or its solver.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if

from ..data.arguments import check_choice, check_flag, check_n_jobs, check_number, make_generator
from ..data.checks import (
    DISTANCES_NEED_SCALES,
    check_known_classes,
    check_labelled_rows,
    warn_about_scales,
)
from ..data.labelled import LabelledRows, merge_equal_rows
from ..gates.anchors import choose_anchors
from ..gates.code_on import CodeOn, check_code_on
from ..gates.gate import check_gate, fit_gate
from ..maps.named import check_feature_map, make_feature_map
from ..model.lifting import LiftedRows
from ..model.losses import LOSSES
from ..runtime.progress import CallbackSupportMixin, EpochMonitor, with_callbacks
from ..runtime.threads import Workers
from ..solvers import Problem, SolverResult, dual, qp, sgd
from .old_local_model import LocalModel

SOLVERS = ("dual", "sgd", "qp")
MULTI_CLASS = ("ovr", "crammer_singer")
# What gate and feature map are made from: a warm start keeps them only while these stay.
GATE_ARGUMENTS = (
    "n_anchors", "n_neighbors", "coding", "beta", "anchors", "feature_map", "bias_only", "code_on",
)  # fmt: skip
# What a fresh fit must not find from an earlier one.
FITTED_STATE = (
    "classes_", "_weights", "_alpha", "_sgd_state", "_stream_rng", "initial_anchors_",
)  # fmt: skip


def _solver_is_sgd(estimator: Any) -> bool:
    if estimator._solver() != "sgd":
        raise AttributeError(f"partial_fit needs {estimator._solver_argument}='sgd'.")
    return True


class LocallyLinearClassifier(CallbackSupportMixin, LocalModel):
    """Base of the classifiers ``f_c(x) = Σ_j γ_j(x) (w_jc · φ(x) + b_jc)`` with a fixed gate γ."""

    # The argument that names the solver, and its values.
    _solver_argument = "solver"
    _solvers: tuple[str, ...] = SOLVERS
    _why_scales_matter = DISTANCES_NEED_SCALES
    _made_from: dict[str, Any]
    _visits: int
    _lambda: float
    _sgd_state: sgd.SgdState
    _stream_rng: np.random.Generator

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit to training rows.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)
            Rows; float32 stays float32. Standardised features are best.
        y : array-like of shape (n_rows,)
            Class labels.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of rows; a weight of two is the same as the row twice (to the last bit up to
            16,384 rows, to the solver's tolerance above).

        Returns
        -------
        self
        """
        self._check_arguments()
        data = check_labelled_rows(self, X, y, sample_weight, self.class_weight)
        warn_about_scales(data.X, self._why_scales_matter)
        data = merge_equal_rows(data)
        rng = make_generator(self.random_state)
        keep = self._can_continue(data)
        with Workers(self.n_jobs) as workers:
            if not keep:
                self._forget()
                self._fit_gate(data, rng, workers)
            self._fix_lifting()
            monitor = EpochMonitor(self, self._most_epochs(data), self.verbose)
            try:
                result = self._train(data, rng, workers, monitor, keep)
            finally:
                monitor.close()
        self._remember_schedule(result, data.X.shape[0], float(data.sample_weight.sum()))
        self._take(result, data.classes)
        self._keep_duals(result, data)
        return self

    @available_if(_solver_is_sgd)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """Visit the rows of a batch once (``solver="sgd"``).

        The first batch places the anchors (unless they are given), finds ``beta`` and the first
        step size, and sets ``λ = 1/Σ_i C s_i`` over its rows; the schedule is that of ``fit``.
        After ``fit``, training goes on from the fitted model.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
        classes : array-like, default=None
            All labels there will be; needed at the first call, unless ``fit`` came before.
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
        self._check_arguments()
        first = not hasattr(self, "classes_")
        known = check_known_classes(classes, None if first else self.classes_)
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' would balance each batch by itself in partial_fit; give a "
                "dict of weights."
            )
        data = check_labelled_rows(
            self, X, y, sample_weight, self.class_weight, classes=known, reset=first
        )
        if first:
            warn_about_scales(data.X, self._why_scales_matter)
            self._forget()
        data = merge_equal_rows(data)
        if not hasattr(self, "_stream_rng"):
            self._stream_rng = make_generator(self.random_state)
        rng = self._stream_rng
        with Workers(self.n_jobs) as workers:
            if first:
                self._fit_gate(data, rng, workers)
                self._fix_lifting()
            else:
                data = _cast(data, self._weights.dtype)
            problem = self._problem(self._lift_rows(data.X, workers), data)
            if first:
                self._sgd_state = self._first_state(problem, data, rng)
            elif not hasattr(self, "_sgd_state"):
                self._sgd_state = self._resumed_state(problem)
            objective = self._visit_batch(problem, data, rng)
        batches = 1 if first else self.n_iter_ + 1
        self._take(SolverResult(self._sgd_state.average, batches, objective, np.nan, True), known)
        return self

    def _first_state(
        self, problem: Problem, data: LabelledRows, rng: np.random.Generator
    ) -> sgd.SgdState:
        """Where a stream starts."""
        return sgd.start_state(problem, rng, penalize_intercept=self._penalizes_intercept())

    def _visit_batch(self, problem: Problem, data: LabelledRows, rng: np.random.Generator) -> float:
        """Go on by stochastic gradient; returns the objective over the batch."""
        penalize = self._penalizes_intercept()
        sgd.run_epoch(problem, self._sgd_state, rng, penalize_intercept=penalize)
        return problem.objective(self._sgd_state.average, penalize_intercept=penalize)

    def _resumed_state(self, problem: Problem) -> sgd.SgdState:
        """The state of a run that arrived at the fitted weights."""
        weights = self._weights_for(problem)
        t0 = 1.0 / self._lambda
        return sgd.SgdState(weights.copy(), weights.copy(), self._visits, self._lambda, t0)

    def _remember_schedule(self, result: SolverResult, n_rows: int, total_weight: float) -> None:
        """What ``partial_fit`` needs to go on from a fit."""
        self.__dict__.pop("_sgd_state", None)
        self._visits = result.n_iter * n_rows
        self._lambda = 1.0 / (self.C * total_weight)

    def _weights_for(self, problem: Problem) -> np.ndarray:
        """The last weights, with as many columns as the problem has."""
        if self._weights.shape[1] == problem.n_columns:
            return self._weights
        # Two classes trained jointly: each gets half of the difference of their scores.
        half = self._weights * self._weights.dtype.type(0.5)
        return np.concatenate([-half, half], axis=1)

    def _check_arguments(self) -> None:
        check_gate(self.n_anchors, self.anchors, self.n_neighbors, self.coding, self.beta)
        check_feature_map(self._feature_map_argument())
        check_code_on(self.code_on)
        check_number("C", self.C)
        check_number("tol", self.tol, inclusive=True)
        check_number("max_iter", self.max_iter, integer=True, above=1, inclusive=True)
        check_number("intercept_scaling", self.intercept_scaling, inclusive=True)
        check_flag("normalize", self.normalize)
        check_flag("warm_start", self.warm_start)
        check_n_jobs(self.n_jobs)
        if not isinstance(self.verbose, bool):
            check_number("verbose", self.verbose, integer=True, inclusive=True)
        check_choice("loss", self.loss, LOSSES)
        check_choice(self._solver_argument, self._solver(), self._solvers)
        check_choice("multi_class", self.multi_class, MULTI_CLASS)
        if self.loss == "log" and self._solver() == "qp":
            raise ValueError("solver='qp' cannot use loss='log'; use solver='dual' or 'sgd'.")
        if self.loss == "log" and self.multi_class == "crammer_singer":
            raise ValueError(
                "multi_class='crammer_singer' is a margin loss; use loss='hinge' or "
                "'squared_hinge', or multi_class='ovr' with loss='log'."
            )
        if self.intercept_scaling == 0 and self._feature_map_argument() == "bias_only":
            raise ValueError("intercept_scaling must be positive where local models are biases.")

    def _feature_map_argument(self) -> Any:
        return self.feature_map

    def _penalizes_intercept(self) -> bool:
        """Stochastic gradient leaves biases free, unless they are all there is."""
        return self._feature_map_argument() == "bias_only"

    def _solver(self) -> str:
        return getattr(self, self._solver_argument)

    def _most_epochs(self, data: LabelledRows) -> int:
        return self.max_iter

    def _forget(self) -> None:
        """Drop the last fit: should this one be interrupted, no half of it remains in use."""
        for name in FITTED_STATE:
            self.__dict__.pop(name, None)

    def _fit_gate(self, data: LabelledRows, rng: np.random.Generator, workers: Workers) -> None:
        """Feature map, anchors and gate, each from the training rows."""
        y = data.classes[data.target]
        n_rows = data.n_represented
        feature_map = make_feature_map(self._feature_map_argument(), data.X, rng, n_rows)
        self._feature_map = feature_map.fit(data.X, y, data.sample_weight, rng)
        self._code_space = CodeOn(self.code_on).fit(data.X, y)
        space = self._code_space.transform(data.X, self._feature_map)
        anchors = choose_anchors(
            space, data.sample_weight, self.anchors, self.n_anchors, rng, workers, n_rows=n_rows
        )
        self._gate = fit_gate(
            space, data.sample_weight, anchors, self.n_neighbors, self.coding, self.beta,
            rng, workers,
        )  # fmt: skip
        self._made_from = self._gate_arguments()

    def _gate_arguments(self) -> dict[str, Any]:
        arguments = self.get_params(deep=True).items()
        return {name: value for name, value in arguments if name.split("__")[0] in GATE_ARGUMENTS}

    def _fix_lifting(self) -> None:
        """Keep what prediction needs, so that ``set_params`` acts at the next fit only."""
        self._bias, self._unit_rows = float(self.intercept_scaling), bool(self.normalize)

    def _problem(self, lifted: LiftedRows, data: LabelledRows, C: float | None = None) -> Problem:
        target, n_columns = data.target, self._n_columns_for(data.classes)
        if n_columns == 1:
            target = np.where(target == 1, 0, -1).astype(np.int32)
        # A cost must not vanish in single precision: the dual divides by it.
        tiny = np.finfo(lifted.dtype).tiny
        C = self._cost() if C is None else C
        costs = np.maximum(C * data.sample_weight, tiny).astype(lifted.dtype)
        return Problem(lifted, target, costs, n_columns, self.loss, self._is_joint())

    def _is_joint(self) -> bool:
        """Whether all classes are trained as one problem."""
        return bool(self.multi_class == "crammer_singer")

    def _n_columns_for(self, classes: np.ndarray) -> int:
        """One column of weights per class, or one for two classes that are not trained jointly."""
        return 1 if len(classes) == 2 and not self._is_joint() else len(classes)

    def _cost(self) -> float:
        """``C`` as the problem sees it."""
        return self.C

    def _train(
        self,
        data: LabelledRows,
        rng: np.random.Generator,
        workers: Workers,
        monitor: EpochMonitor,
        keep: bool,
    ) -> SolverResult:
        """Lift the rows by the fitted gate and solve."""
        problem = self._problem(self._lift_rows(data.X, workers), data)
        return self._solve(problem, rng, monitor, keep)

    def _solve(
        self, problem: Problem, rng: np.random.Generator, monitor: EpochMonitor, keep: bool
    ) -> SolverResult:
        if self._solver() == "qp":
            return qp.solve(problem, tol=self.tol, max_iter=self.max_iter)
        options: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter, "rng": rng}
        options["monitor"] = monitor.epoch
        if self._solver() == "sgd":
            start = self._weights_for(problem) if keep else None
            return sgd.solve(
                problem, start=start, penalize_intercept=self._penalizes_intercept(), **options
            )
        return dual.solve(problem, alpha=self._last_alpha(problem) if keep else None, **options)

    def _last_alpha(self, problem: Problem) -> np.ndarray | None:
        """The dual variables of the last fit, if they fit the problem."""
        alpha = getattr(self, "_alpha", None)
        fits = alpha is not None and alpha.shape == (problem.lifted.n_rows, problem.n_columns)
        return alpha if fits else None

    def _can_continue(self, data: LabelledRows) -> bool:
        """Whether a warm start keeps the gate and the weights of the last fit."""
        return (
            bool(self.warm_start)
            and hasattr(self, "_weights")
            and self._weights.dtype == data.X.dtype
            and np.array_equal(self.classes_, data.classes)
            and self._feature_map.n_features_in == data.X.shape[1]
            and _equal_arguments(self._made_from, self._gate_arguments())
        )

    def _take(self, result: SolverResult, classes: np.ndarray) -> None:
        weights = result.weights
        if len(classes) == 2 and weights.shape[1] == 2:
            # Two classes trained jointly: the difference of their scores decides.
            weights = np.ascontiguousarray(weights[:, 1:] - weights[:, :1])
        self._weights = weights
        self.classes_ = classes
        self.n_iter_ = result.n_iter
        self.objective_ = result.objective
        self.duality_gap_ = result.duality_gap
        self.history_ = result.history
        self.__dict__.pop("_alpha", None)
        if self.warm_start and result.alpha is not None:
            self._alpha = result.alpha
        if not (result.converged or result.stopped):
            warnings.warn(self._advice(result), ConvergenceWarning, stacklevel=4)

    def _keep_duals(self, result: SolverResult, data: LabelledRows) -> None:
        """For models that tell their dual variables; others forget them."""

    def _advice(self, result: SolverResult) -> str:
        if self._solver() == "sgd":
            return (
                f"SGD was stopped after {result.n_iter} epochs before the objective settled to "
                f"tol={self.tol:g}; raise max_iter or tol."
            )
        share = result.duality_gap / result.objective if result.objective else np.nan
        unit = "iterations" if self._solver() == "qp" else "epochs"
        return (
            f"stopped after {result.n_iter} {unit} at a relative duality gap of {share:.1e}, above "
            f"tol={self.tol:g}; raise max_iter or tol, lower C, or scale the features."
        )


def _cast(data: LabelledRows, dtype: Any) -> LabelledRows:
    X = data.X.astype(dtype, copy=False)
    return LabelledRows(X, data.target, data.classes, data.sample_weight)


def _equal_arguments(old: dict[str, Any], new: dict[str, Any]) -> bool:
    return old.keys() == new.keys() and all(
        old[name] is new[name] or np.array_equal(old[name], new[name]) for name in new
    )
