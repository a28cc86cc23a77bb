"""PegasosSVC: the linear SVM by stochastic sub-gradient steps."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from ..data.arguments import check_choice
from ..data.checks import (
    PENALTIES_NEED_SCALES,
    check_batch,
    warn_about_scales,
)
from ..data.labelled import LabelledRows, merge_equal_rows
from ..model.losses import LOSSES
from ..model.multiclass import column_targets, n_columns, scaled_to_one
from ..runtime.threads import Workers
from ..solvers.pegasos import PegasosProblem
from .base import LabelledFitting, LinearAttributes, LocalClassifier, LocalEstimator
from .explained import ExplainMixin
from .pegasos_base import PegasosEstimator, PegasosRun, PegasosTraining
from .probabilities import ProbabilityMixin


@dataclass(eq=False, repr=False)
class PegasosSVC(
    PegasosEstimator,
    LabelledFitting,
    ProbabilityMixin,
    LinearAttributes,
    LocalClassifier,
    LocalEstimator,
    ExplainMixin,
):
    """Linear support vector classifier, trained by Pegasos.

    Minimizes ``λ/2‖w‖² + (1/N) Σ_i ℓ_i``, ``λ = 1/(CN)``, by steps of length ``1/(λt)`` against the
    sub-gradient of a few random rows. The step size needs no tuning, and a good solution takes
    about ``1/λ`` steps, however many rows there are.

    Parameters
    ----------
    C : float, default=1.0
        Strength of the loss; 1, because that is the default of scikit-learn's ``LinearSVC``:
        ``λ = 1/(C Σ_i s_i)`` for sample weights ``s_i``, those of its first batch in
        ``partial_fit``. The larger, the more steps are needed.
    loss : {"hinge", "squared_hinge", "log"}, default="hinge"
        The hinge by default, because it is the loss of the paper. "log" gives ``predict_proba``.
        The squared hinge takes implicit steps, by the slack that remains after the step, since its
        slope has no bound.
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
        The constant feature; the intercept is penalized like the weights. 0: no intercept.
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
    penalty_ : float
        ``λ``.
    model_ : LocalModel
        What prediction needs.
    history_ : list of (epoch, objective, NaN)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

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
    >>> from hyperlocal.linear import PegasosSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = PegasosSVC(multi_class="crammer_singer", random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    C: float = 1.0
    _: KW_ONLY
    loss: str = "hinge"
    multi_class: str = "ovr"
    batch_size: int = 1
    sampling: str = "permutation"
    project: bool = False
    average: bool = True
    max_iter: int = 1000
    tol: float | None = 1e-3
    intercept_scaling: float = 1.0
    class_weight: Any = None
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    def _fit_rows(self, data: LabelledRows) -> None:
        warn_about_scales(data.X, PENALTIES_NEED_SCALES)
        data = merge_equal_rows(data)
        self._solve(data, PegasosTraining.of(self))
        self._keep_background(data)
        self.classes_ = data.classes

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> PegasosSVC:
        """Visit the rows of a batch once; step ``t`` continues from the last call or fit.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            Labels.
        classes : array-like, default=None
            All labels there will be; needed at the first call, unless ``fit`` came before.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of the rows; one by default.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._check_arguments()
        first = not hasattr(self, "model_")
        data = check_batch(self, X, y, classes, sample_weight)
        if first:
            warn_about_scales(data.X, PENALTIES_NEED_SCALES)
        data = merge_equal_rows(data)
        if not first:
            data = data.astype(self.model_.dtype)
        self._visit(data, PegasosTraining.of(self))
        self.classes_ = data.classes
        return self

    def _log_probabilities(self, scores: np.ndarray) -> np.ndarray:
        if self.multi_class != "multinomial":
            return super()._log_probabilities(scores)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros_like(scores), scores])
        return scaled_to_one(scores)

    def _check_arguments(self) -> None:
        PegasosTraining.of(self)
        self._check_common()
        check_choice("loss", self.loss, LOSSES)
        check_choice("multi_class", self.multi_class, ("ovr", "crammer_singer", "multinomial"))
        if self.multi_class == "crammer_singer" and self.loss == "log":
            raise ValueError(
                "multi_class='crammer_singer' is a margin loss; use loss='hinge' or "
                "'squared_hinge', or multi_class='multinomial' with loss='log'."
            )
        if self.multi_class == "multinomial" and self.loss != "log":
            raise ValueError("multi_class='multinomial' needs loss='log'.")

    def _problem(
        self, data: LabelledRows, run: PegasosRun, training: PegasosTraining, workers: Workers
    ) -> PegasosProblem:
        n_classes, joint = len(data.classes), self.multi_class != "ovr"
        return PegasosProblem(
            **run.problem_parts(data, training, workers), n_columns=n_columns(n_classes, joint),
            coupling=self.multi_class if joint else "one_vs_rest",
            target=column_targets(data.target, n_classes, joint), loss=self.loss,
        )  # fmt: skip
