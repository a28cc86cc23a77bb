"""SDCASVC: the linear SVM by dual coordinate ascent, with its duality gap."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from ..data.arguments import check_flag, check_number, make_generator
from ..data.checks import PENALTIES_NEED_SCALES, warn_about_scales
from ..data.labelled import LabelledRows, merge_equal_rows
from ..model.local_model import linear_model
from ..model.multiclass import joined_columns
from ..runtime.progress import EpochMonitor
from ..runtime.threads import Workers
from ..solvers.result import support_vectors
from ..solvers.training import Training
from .base import LabelledFitting, LinearAttributes, LocalClassifier, LocalEstimator
from .explained import ExplainMixin
from .probabilities import ProbabilityMixin


@dataclass(eq=False, repr=False)
class SDCASVC(
    LabelledFitting,
    ProbabilityMixin,
    LinearAttributes,
    LocalClassifier,
    LocalEstimator,
    ExplainMixin,
):
    """Linear support vector classifier, trained by stochastic dual coordinate ascent.

    Solves the dual of ``min ½‖w‖² + C Σ_i s_i ℓ_i``, one variable after the other in random order,
    until the duality gap is small enough. It is :class:`LocallyLinearSVC` with a single anchor that
    is always active, and uses the same solver.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses against ``½‖w‖²``; ``1/(λN)`` in the terms of Pegasos. It is 1 because
        that is the default of scikit-learn's ``LinearSVC``.
    loss : {"hinge", "squared_hinge", "log"}, default="hinge"
        The hinge by default, because it is that of the textbook SVM. "log" gives ``predict_proba``.
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
        One problem per class against all others, or one joint problem.
    max_iter : int, default=1000
        The most epochs.
    tol : float, default=1e-3
        Duality gap at which to stop, relative to the objective.
    intercept_scaling : float, default=1.0
        The constant feature; the intercept is penalized like the weights. 0: no intercept.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes; they multiply the weights of the class's rows.
    n_jobs : int or None, default=None
        Threads, over classes. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Determines the order of visits.
    warm_start : bool, default=False
        Start from the dual variables of the last fit.
    verbose : int, default=0
        1 writes a line to stderr now and then, 2 every epoch.

    Attributes
    ----------
    coef_ : ndarray of shape (n_columns, n_features)
        One column per class, or one for two classes.
    intercept_ : ndarray of shape (n_columns,)
    support_ : ndarray of shape (n_support,)
        Rows of the training data whose dual variables are not zero.
    dual_coef_ : ndarray of shape (n_columns, n_support)
        Dual form of the weights: ``coef_ = dual_coef_ @ X[support_]``, that is ``Σ_i α_i y_i x_i``.
    objective_, dual_objective_, duality_gap_ : float
        The gap is primal minus dual: an upper bound of the distance from the optimum.
    n_iter_ : int
        Epochs run.
    history_ : list of (epoch, objective, duality gap)
    classes_ : ndarray of shape (n_classes,)
    n_samples_fit_ : int
        Rows of the training data.
    model_ : LocalModel
        All that prediction needs.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    See Also
    --------
    PegasosSVC : The same problem, solved in the primal.
    LocallyLinearSVC : Many linear models, weighted by a gate.

    References
    ----------
    S. Shalev-Shwartz and T. Zhang. Stochastic dual coordinate ascent methods for regularized loss
    minimization. JMLR 14, 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import scale
    >>> from hyperlocal.linear import SDCASVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SDCASVC(random_state=0).fit(scale(X), y)
    >>> bool(model.duality_gap_ <= 1e-3 * model.objective_)
    True
    """

    C: float = 1.0
    _: KW_ONLY
    loss: str = "hinge"
    multi_class: str = "ovr"
    max_iter: int = 1000
    tol: float = 1e-3
    intercept_scaling: float = 1.0
    class_weight: Any = None
    n_jobs: int | None = None
    random_state: Any = None
    warm_start: bool = False
    verbose: int = 0

    def _fit_rows(self, data: LabelledRows) -> None:
        warn_about_scales(data.X, PENALTIES_NEED_SCALES)
        data = merge_equal_rows(data)
        training = self._training()
        rng = make_generator(self.random_state)
        alpha = self._continued_alpha(data)
        self._forget()
        chain = linear_model(data.X.shape[1], bias=float(self.intercept_scaling))
        with (
            Workers(self.n_jobs) as workers,
            EpochMonitor(self, self.max_iter, self.verbose) as monitor,
        ):
            problem = training.problem(chain, data, workers)
            if alpha is not None and alpha.shape[1] != problem.n_columns:
                alpha = None
            result = training.solve(problem, rng, monitor, alpha=alpha)
        self.model_ = chain.trained(joined_columns(result.weights, len(data.classes)))
        self.classes_ = data.classes
        self._keep_background(data)
        self._alpha = result.alpha if self.warm_start else None
        self.n_samples_fit_ = data.n_given
        self.support_, self.dual_coef_ = support_vectors(problem, result, data)
        self._record(result, training.advice(result))

    @property
    def dual_objective_(self) -> float:
        """The dual objective: a lower bound of the optimum."""
        return self.objective_ - self.duality_gap_

    def _training(self) -> Training:
        return Training(self.C, self.loss, self.multi_class, tol=self.tol, max_iter=self.max_iter)

    def _check_arguments(self) -> None:
        self._training().check()
        check_number("intercept_scaling", self.intercept_scaling, inclusive=True)
        check_flag("warm_start", self.warm_start)
        self._check_common()

    def _continued_alpha(self, data: LabelledRows) -> np.ndarray | None:
        """The dual variables of the last fit, if a warm start can use them."""
        is_reused = (
            bool(self.warm_start)
            and hasattr(self, "model_")
            and self._alpha is not None
            and self._alpha.dtype == data.X.dtype
            and len(self._alpha) == data.X.shape[0]
            and np.array_equal(self.classes_, data.classes)
            and self.model_.n_features_in == data.X.shape[1]
        )
        return self._alpha if is_reused else None
