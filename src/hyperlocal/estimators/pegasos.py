"""PegasosSVC and PegasosRegressor: linear models by stochastic sub-gradient steps."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..losses import LOSSES
from ..progress import CallbackSupportMixin, EpochMonitor, with_callbacks
from ..solvers import SolverResult, pegasos
from ..solvers.pegasos import PegasosProblem, PegasosState
from ..threads import Workers
from ..validation import (
    LabelledRows,
    check_choice,
    check_flag,
    check_known_classes,
    check_labelled_rows,
    check_n_jobs,
    check_number,
    check_rows,
    check_valued_rows,
    make_generator,
    merge_equal_rows,
)
from .linear import LinearModel
from .local_model import _loss_is_log

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
        check_choice("sampling", self.sampling, pegasos.SAMPLINGS)
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
        order = next(pegasos.visit_orders(problem.n_rows, self.sampling, self._stream_rng))
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


class PegasosSVC(PegasosEstimator, LinearModel):
    """Linear support vector classifier, trained by Pegasos.

    Minimises ``λ/2‖w‖² + (1/N) Σ_i ℓ_i`` by steps of length ``1/(λt)`` against the sub-gradient of
    a few random rows. The step size needs no tuning, and a good solution takes about ``1/λ``
    steps, however many rows there are.

    Parameters
    ----------
    regularization : float or "auto", default="auto"
        ``λ``; ``1/(CN)`` in the terms of :class:`SDCASVC`. "auto" is one over the sum of the sample
        weights, C = 1; ``partial_fit`` then takes those of its first batch.
    loss : {"hinge", "squared_hinge", "log"}, default="hinge"
        "log" gives ``predict_proba``. The squared hinge takes implicit steps: it is pulled by the
        slack that is left after the step, since its slope has no bound.
    multi_class : {"ovr", "crammer_singer", "multinomial"}, default="ovr"
        One problem per class against the rest; one margin between the true class and its best
        rival (hinge losses); or multinomial logistic regression (``loss="log"``).
    batch_size : int, default=1
        Rows per step.
    sampling : {"permutation", "fixed_permutation", "replacement"}, default="permutation"
        Rows in a new random order every epoch, in the same one, or drawn one by one.
    project : bool, default=False
        Pull the weights back to the ball ``‖w‖² ≤ L(0)/λ`` after each step, where ``L(0)`` is the
        mean loss at zero (1 for the hinge); it holds the optimum.
    average : bool, default=True
        Return an average of the iterates in which iterate ``t`` weighs ``t³``, instead of the last.
    max_iter : int, default=1000
        The most epochs.
    tol : float or None, default=1e-3
        Stop when three epochs in a row, after the first ``1/λ`` steps, lower the objective by less
        than this share. None: run ``max_iter`` epochs.
    intercept_scaling : float, default=1.0
        The constant feature; the intercept is penalised like the weights. 0: no intercept.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes; they multiply the weights of the class's rows.
    n_jobs : int or None, default=None
        Threads: over classes (one-vs-rest) and rows to score. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seeds the order of visits.
    verbose : int, default=0
        1 writes a line to stderr now and then, 2 every epoch.

    Attributes
    ----------
    coef_ : ndarray of shape (n_columns, n_features)
        One column per class, or one for two classes.
    intercept_ : ndarray of shape (n_columns,)
    classes_ : ndarray of shape (n_classes,)
    objective_ : float
        ``λ/2‖w‖² + (1/N) Σ_i ℓ_i`` of the weights, which are those of the best epoch.
    n_iter_ : int
        Epochs run (batches given, for ``partial_fit``).
    t_ : int
        Steps made.
    regularization_ : float
        The ``λ`` that "auto" stands for.
    history_ : list of (epoch, objective, NaN)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)

    See Also
    --------
    SDCASVC : The same problem in its dual; usually faster to a precise solution.
    KernelPegasosSVC : Pegasos with kernels.

    References
    ----------
    S. Shalev-Shwartz, Y. Singer, N. Srebro and A. Cotter. Pegasos: primal estimated sub-gradient
    solver for SVM. Mathematical Programming 127, 2011.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hyperlocal import PegasosSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = PegasosSVC(multi_class="crammer_singer", random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    def __init__(
        self,
        regularization: Any = "auto",
        *,
        loss: str = "hinge",
        multi_class: str = "ovr",
        batch_size: int = 1,
        sampling: str = "permutation",
        project: bool = False,
        average: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.regularization = regularization
        self.loss = loss
        self.multi_class = multi_class
        self.batch_size = batch_size
        self.sampling = sampling
        self.project = project
        self.average = average
        self.max_iter = max_iter
        self.tol = tol
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> PegasosSVC:
        """Fit to training rows.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)
            Rows; float32 stays float32. Standardised features are best.
        y : array-like of shape (n_rows,)
            Class labels.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of rows.

        Returns
        -------
        self
        """
        self._check_arguments()
        data = check_labelled_rows(self, X, y, sample_weight, self.class_weight)
        data = merge_equal_rows(data)
        self._forget()
        with Workers(self.n_jobs) as workers:
            result = self._solve(self._problem(data, workers))
        self._take_classes(result, data)
        return self

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> PegasosSVC:
        """Visit the rows of a batch once; step ``t`` goes on where the last call, or fit, ended.

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
        """
        self._check_arguments()
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' would balance each batch by itself in partial_fit; give a "
                "dict of weights."
            )
        first = not hasattr(self, "classes_")
        known = check_known_classes(classes, None if first else self.classes_)
        data = check_labelled_rows(
            self, X, y, sample_weight, self.class_weight, classes=known, reset=first
        )
        data = merge_equal_rows(data)
        if first:
            self._forget()
        else:
            X = data.X.astype(self._weights.dtype, copy=False)
            data = LabelledRows(X, data.target, data.classes, data.sample_weight)
        with Workers(self.n_jobs) as workers:
            result = self._continue(self._problem(data, workers))
        self._take_classes(result, data)
        return self

    @available_if(_loss_is_log)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities (``loss="log"``); one-vs-rest ones are scaled to sum to one."""
        if self.multi_class != "multinomial":
            return super().predict_proba(X)
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros_like(scores), scores])
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        return shares / shares.sum(axis=1, keepdims=True)

    def _check_arguments(self) -> None:
        self._check_schedule()
        check_flag("project", self.project)
        check_choice("loss", self.loss, LOSSES)
        check_choice("multi_class", self.multi_class, ("ovr", "crammer_singer", "multinomial"))
        if self.multi_class == "crammer_singer" and self.loss == "log":
            raise ValueError(
                "multi_class='crammer_singer' is a margin loss; use loss='hinge' or "
                "'squared_hinge', or multi_class='multinomial' with loss='log'."
            )
        if self.multi_class == "multinomial" and self.loss != "log":
            raise ValueError("multi_class='multinomial' needs loss='log'.")
        self._projects = bool(self.project)

    def _problem(self, data: LabelledRows, workers: Workers) -> PegasosProblem:
        target, n_columns = data.target, len(data.classes)
        coupling = "one_vs_rest" if self.multi_class == "ovr" else self.multi_class
        if n_columns == 2 and coupling == "one_vs_rest":
            target, n_columns = np.where(target == 1, 0, -1).astype(np.int32), 1
        return PegasosProblem(
            **self._shared_parts(data, workers), n_columns=n_columns, coupling=coupling,
            target=target, loss=self.loss,
        )  # fmt: skip

    def _take_classes(self, result: SolverResult, data: LabelledRows) -> None:
        if result.weights.shape[1] == 2:
            # Two classes trained jointly: the difference of their scores decides.
            result.weights = np.ascontiguousarray(result.weights[:, 1:] - result.weights[:, :1])
        self._make_linear(data.X.shape[1])
        self._take(result)
        self.classes_ = data.classes


class PegasosRegressor(PegasosEstimator, RegressorMixin, BaseEstimator):
    """Linear support vector regression, trained by Pegasos.

    Minimises ``λ/2‖w‖² + (1/N) Σ_i max(0, |y_i − w·x_i − b| − ε)``: residuals up to ``ε`` cost
    nothing, and outliers pull no harder than any other row.

    Parameters
    ----------
    regularization : float or "auto", default="auto"
        ``λ``; ``1/(CN)`` in the terms of scikit-learn's ``LinearSVR``.
    epsilon : float, default=0.0
        Half the width of the tube, in units of ``y``.
    batch_size : int, default=1
    sampling : {"permutation", "fixed_permutation", "replacement"}, default="permutation"
    average : bool, default=True
    max_iter : int, default=1000
    tol : float or None, default=1e-3
    intercept_scaling : float, default=1.0
    n_jobs : int or None, default=None
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0
        All as in :class:`PegasosSVC`. Standardise ``y`` where its scale is far from one.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : float
    objective_ : float
    n_iter_ : int
    t_ : int
    regularization_ : float
    history_ : list of (epoch, objective, NaN)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal import PegasosRegressor
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> model = PegasosRegressor(random_state=0).fit(X, X @ [2.0, -1.0] + 0.5)
    >>> np.round(model.coef_, 1).tolist()
    [2.0, -1.0]
    """

    _weights: np.ndarray
    _bias: float

    def __init__(
        self,
        regularization: Any = "auto",
        *,
        epsilon: float = 0.0,
        batch_size: int = 1,
        sampling: str = "permutation",
        average: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        intercept_scaling: float = 1.0,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.regularization = regularization
        self.epsilon = epsilon
        self.batch_size = batch_size
        self.sampling = sampling
        self.average = average
        self.max_iter = max_iter
        self.tol = tol
        self.intercept_scaling = intercept_scaling
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> PegasosRegressor:
        """Fit to training rows.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            Values to predict.
        sample_weight : array-like of shape (n_rows,), default=None

        Returns
        -------
        self
        """
        self._check_arguments()
        data = merge_equal_rows(check_valued_rows(self, X, y, sample_weight))
        self._forget()
        with Workers(self.n_jobs) as workers:
            result = self._solve(self._problem(data, workers))
        self._take(result)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> PegasosRegressor:
        """Visit the rows of a batch once; step ``t`` goes on where the last call, or fit, ended."""
        self._check_arguments()
        first = not hasattr(self, "_weights")
        data = merge_equal_rows(check_valued_rows(self, X, y, sample_weight, reset=first))
        if first:
            self._forget()
        else:
            dtype = self._weights.dtype
            X, values = data.X.astype(dtype, copy=False), data.classes.astype(dtype, copy=False)
            data = LabelledRows(X, data.target, values, data.sample_weight)
        with Workers(self.n_jobs) as workers:
            result = self._continue(self._problem(data, workers))
        self._take(result)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predicted values of rows."""
        check_is_fitted(self, "_weights")
        X = check_rows(self, X, reset=False).astype(self._weights.dtype, copy=False)
        with Workers(self.n_jobs) as workers:
            return pegasos.affine_scores(X, self._weights[0], self._bias, workers)[:, 0]

    @property
    def coef_(self) -> np.ndarray:
        """Weights, ``(n_features,)``."""
        return self._weights[0, 0, :-1]

    @property
    def intercept_(self) -> float:
        """The intercept."""
        return float(self._weights[0, 0, -1] * self._bias)

    def _check_arguments(self) -> None:
        self._check_schedule()
        check_number("epsilon", self.epsilon, inclusive=True)

    def _problem(self, data: LabelledRows, workers: Workers) -> PegasosProblem:
        return PegasosProblem(
            **self._shared_parts(data, workers), n_columns=1, coupling="regression",
            values=data.classes[data.target], epsilon=float(self.epsilon),
        )  # fmt: skip

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
