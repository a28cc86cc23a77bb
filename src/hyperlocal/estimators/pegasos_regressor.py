"""PegasosRegressor: linear support vector regression by stochastic sub-gradient steps."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from ..data.arguments import check_number
from ..data.checks import PENALTIES_NEED_SCALES, check_valued_rows, warn_about_scales
from ..data.labelled import LabelledRows, merge_equal_rows
from ..runtime.progress import with_callbacks
from ..runtime.threads import Workers
from ..solvers.pegasos import PegasosProblem
from .base import LocalEstimator
from .explained import ExplainMixin
from .pegasos_base import PegasosEstimator, PegasosRun, PegasosTraining


@dataclass(eq=False, repr=False)
class PegasosRegressor(PegasosEstimator, RegressorMixin, LocalEstimator, ExplainMixin):
    """Linear support vector regression, trained by Pegasos.

    Minimizes ``λ/2‖w‖² + (1/N) Σ_i max(0, |y_i − w·x_i − b| − ε)``, ``λ = 1/(CN)``: residuals up to
    ``ε`` cost nothing, and the gradient of an outlier is no larger than that of any other row.

    Parameters
    ----------
    C : float, default=1.0
        Strength of the loss; 1, because that is the default of scikit-learn's ``LinearSVR``:
        ``λ = 1/(C Σ_i s_i)`` for sample weights ``s_i``, those of the first batch in
        ``partial_fit``.
    epsilon : float, default=0.0
        Half the width of the tube, in units of ``y``; 0, because that is the default of
        ``LinearSVR``.
    batch_size : int, default=1
        Rows per step.
    sampling : {"permutation", "fixed_permutation", "replacement"}, default="permutation"
    average : bool, default=True
        Return an average of the iterates instead of the last.
    max_iter : int, default=1000
        The most epochs.
    tol : float or None, default=1e-3
        Share by which three epochs in a row must lower the objective to go on.
    intercept_scaling : float, default=1.0
        The constant feature; the intercept is penalized like the weights.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seeds whatever is drawn.
    verbose : int, default=0
        All as in :class:`PegasosSVC`. Standardize ``y`` where its scale is far from one.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : float
    objective_ : float
    n_iter_ : int
    t_ : int
    penalty_ : float
        ``λ``.
    model_ : LocalModel
    history_ : list of (epoch, objective, NaN)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    See Also
    --------
    PegasosSVC : Classes instead of values.
    LocallyLinearSVR : Local models of values.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.linear import PegasosRegressor
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> model = PegasosRegressor(random_state=0).fit(X, X @ [2.0, -1.0] + 0.5)
    >>> np.round(model.coef_, 1).tolist()
    [2.0, -1.0]
    """

    C: float = 1.0
    _: KW_ONLY
    epsilon: float = 0.0
    batch_size: int = 1
    sampling: str = "permutation"
    average: bool = True
    max_iter: int = 1000
    tol: float | None = 1e-3
    intercept_scaling: float = 1.0
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> PegasosRegressor:
        """Fit to training rows.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            Values to predict.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of the rows; one by default.

        Returns
        -------
        self
            The fitted estimator.
        """
        training = self._checked_arguments()
        data = check_valued_rows(self, X, y, sample_weight)
        warn_about_scales(data.X, PENALTIES_NEED_SCALES)
        data = merge_equal_rows(data)
        self._solve(data, training)
        self._keep_background(data)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> PegasosRegressor:
        """Visit the rows of a batch once; step ``t`` continues from the last call or fit.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)
            The rows.
        y : array-like of shape (n_rows,)
            Values.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of the rows; one by default.

        Returns
        -------
        self
            The fitted estimator.
        """
        training = self._checked_arguments()
        first = not hasattr(self, "model_")
        data = check_valued_rows(self, X, y, sample_weight, reset=first)
        if first:
            warn_about_scales(data.X, PENALTIES_NEED_SCALES)
        data = merge_equal_rows(data)
        if not first:
            dtype = self.model_.dtype
            data = replace(data.astype(dtype), classes=data.classes.astype(dtype, copy=False))
        self._visit(data, training)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predict the values of rows.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            The values.
        """
        return self._row_scores(X)[:, 0]

    @property
    def coef_(self) -> np.ndarray:
        """Weights, ``(n_features,)``."""
        return self.model_.coef[0, 0]

    @property
    def intercept_(self) -> float:
        """The intercept."""
        return float(self.model_.intercept[0, 0])

    def _checked_arguments(self) -> PegasosTraining:
        training = PegasosTraining.of(self)
        self._check_common()
        check_number("epsilon", self.epsilon, inclusive=True)
        return training

    def _problem(
        self, data: LabelledRows, run: PegasosRun, training: PegasosTraining, workers: Workers
    ) -> PegasosProblem:
        return PegasosProblem(
            **run.problem_parts(data, training, workers), n_columns=1, coupling="regression",
            values=data.classes[data.target], epsilon=float(self.epsilon),
        )  # fmt: skip
