"""SDCASVC: the linear SVM by dual coordinate ascent, with its duality gap."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.checks import PENALTIES_NEED_SCALES
from ..data.labelled import LabelledRows
from ..runtime.threads import Workers
from ..solvers import SolverResult
from .base import LocallyLinearClassifier
from .linear import LinearModel


class SDCASVC(LinearModel, LocallyLinearClassifier):
    """Linear support vector classifier, trained by stochastic dual coordinate ascent.

    ``min ½‖w‖² + C Σ_i s_i ℓ_i`` in its dual, one variable after the other in random order, until
    the duality gap certifies the solution. It is :class:`LocallyLinearSVC` with a single anchor
    that always speaks, and runs on the same solver.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses against ``½‖w‖²``; ``1/(λN)`` in the terms of Pegasos.
    loss : {"hinge", "squared_hinge", "log"}, default="hinge"
        "log" gives ``predict_proba``.
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
        One problem per class against the rest, or one joint problem.
    max_iter : int, default=1000
        The most epochs.
    tol : float, default=1e-3
        Duality gap at which to stop, relative to the objective.
    intercept_scaling : float, default=1.0
        The constant feature; the intercept is penalised like the weights. 0: no intercept.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes; they multiply the weights of the class's rows.
    n_jobs : int or None, default=None
        Threads, over classes. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seeds the order of visits.
    warm_start : bool, default=False
        Go on from the dual variables of the last fit.
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
        The representer form: ``coef_ = dual_coef_ @ X[support_]``, that is ``Σ_i α_i y_i x_i``.
    objective_, dual_objective_, duality_gap_ : float
        Primal minus dual is the gap: how far above the optimum the objective can be at most.
    n_iter_ : int
        Epochs run.
    history_ : list of (epoch, objective, duality gap)
    classes_ : ndarray of shape (n_classes,)
    n_samples_fit_ : int
        Rows of the training data.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    See Also
    --------
    PegasosSVC : The same problem in its primal.
    LocallyLinearSVC : Many linear models, mixed by a gate.

    References
    ----------
    S. Shalev-Shwartz and T. Zhang. Stochastic dual coordinate ascent methods for regularized loss
    minimization. JMLR 14, 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import scale
    >>> from hyperlocal import SDCASVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SDCASVC(random_state=0).fit(scale(X), y)
    >>> bool(model.duality_gap_ <= 1e-3 * model.objective_)
    True
    """

    # What a linear SVM is among the locally linear ones.
    n_anchors, n_neighbors, coding, beta = 1, 1, "hard", 1.0
    anchors, feature_map, code_on, normalize = "kmeans", None, "input", False
    solver = "dual"
    _why_scales_matter = PENALTIES_NEED_SCALES

    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: str = "hinge",
        multi_class: str = "ovr",
        max_iter: int = 1000,
        tol: float = 1e-3,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
    ):
        self.C = C
        self.loss = loss
        self.multi_class = multi_class
        self.max_iter = max_iter
        self.tol = tol
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose

    @property
    def dual_objective_(self) -> float:
        """The dual objective: a lower bound of the optimum."""
        return self.objective_ - self.duality_gap_

    def _fit_gate(self, data: LabelledRows, rng: np.random.Generator, workers: Workers) -> None:
        self._make_linear(data.X.shape[1])
        self._made_from = self._gate_arguments()

    def _keep_duals(self, result: SolverResult, data: LabelledRows) -> None:
        signed = result.alpha
        assert signed is not None
        if self.multi_class == "ovr":
            # Two classes share one column, in which the second is positive.
            columns = np.arange(len(data.classes))[-signed.shape[1] :]
            signed = np.where(data.target[:, None] == columns, signed, -signed)
        elif signed.shape[1] == 2:
            signed = signed[:, 1:] - signed[:, :1]
        signed = data.spread(signed)
        self.n_samples_fit_ = signed.shape[0]
        self.support_ = np.flatnonzero(signed.any(axis=1))
        self.dual_coef_ = np.ascontiguousarray(signed[self.support_].T)
