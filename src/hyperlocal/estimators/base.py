"""What estimators share once they are fitted: predictions and explanations from ``model_``.

An estimator *has* a model: a :class:`~hyperlocal.model.LocalModel`, or another object that gives
scores and the linear model at a row. These classes turn it into scikit-learn's methods.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ..data.arguments import check_n_jobs, check_number
from ..data.checks import check_labelled_rows, check_rows
from ..model.explaining import ExplainedModel
from ..model.local_model import LocalModel
from ..model.multiclass import as_decisions, predicted_codes
from ..model.target_scale import TargetScale
from ..runtime.progress import CallbackSupportMixin, with_callbacks
from ..runtime.stamp import stamped
from ..runtime.threads import Workers
from ..solvers.result import SolverResult


def check_common(estimator: BaseEstimator) -> None:
    """Raise unless the arguments that every estimator has make sense."""
    check_n_jobs(estimator.n_jobs)
    if not isinstance(estimator.verbose, bool):
        check_number("verbose", estimator.verbose, integer=True, inclusive=True)


class LabelledFitting(CallbackSupportMixin):
    """``fit`` of the classifiers that are no chain: the checks, then a subclass's own steps."""

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit to training rows.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)
            Rows; float32 stays float32. Standardized features are best. For
            ``kernel="precomputed"`` the kernel values between all training rows.
        y : array-like of shape (n_rows,)
            Class labels.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of rows; a row of weight two counts as the row twice.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._check_arguments()
        data = check_labelled_rows(self, X, y, sample_weight, self.class_weight)
        self._fit_rows(data)
        return self


class LocalClassifier(ClassifierMixin):
    """Classes from ``_row_scores``, those of a :class:`LocalEstimator` or of the class itself."""

    classes_: np.ndarray

    def decision_function(self, X: Any) -> np.ndarray:
        """Score rows.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)
            For ``kernel="precomputed"`` the kernel values with all training rows.

        Returns
        -------
        ndarray of shape (n_rows,) for two classes, else (n_rows, n_classes)
            A score per class; the largest one's is predicted. With two classes, that of the second.
        """
        return as_decisions(self._row_scores(X))

    def predict(self, X: Any) -> np.ndarray:
        """Predict the class labels of rows.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            The labels.
        """
        codes = predicted_codes(self._row_scores(X))
        return self.classes_[codes]


class LocalRegressor(RegressorMixin):
    """Values from the scores of a :class:`LocalEstimator`, which comes after it."""

    target_scale_: TargetScale
    quantiles_: np.ndarray | None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def predict(self, X: Any) -> np.ndarray:
        """Predicted values of rows, in the units of ``y``.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,), (n_rows, n_targets), (n_rows, n_quantiles) or \
(n_rows, n_targets, n_quantiles)
            Where several quantiles were requested, they are sorted, so that they do not cross.
        """
        scores = self._row_scores(X)
        levels = () if self.quantiles_ is None else self.quantiles_.shape
        return self.target_scale_.shaped(scores, levels)


@stamped
class LocalEstimator(BaseEstimator):
    """Scores from a fitted ``model_``."""

    model_: Any
    n_features_in_: int

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _row_scores(self, X: Any) -> np.ndarray:
        """Scores of rows, ``(n_rows, n_columns)``."""
        X = self._checked_rows(X)
        with Workers(self.n_jobs) as workers:
            return self._explained_model().scores(X, workers)

    def _explained_model(self) -> ExplainedModel:
        """The model that takes checked rows; ``model_`` unless something comes before it."""
        return self.model_

    def _checked_rows(self, X: Any) -> Any:
        """Rows in the precision of the model."""
        check_is_fitted(self)
        X = check_rows(self, X, reset=False)
        return X.astype(self.model_.dtype, copy=False)

    def _forget(self) -> None:
        """Delete the last fit, so that an interrupted fit leaves no model."""
        if hasattr(self, "model_"):
            del self.model_

    def _check_common(self) -> None:
        check_common(self)

    def _record(self, result: SolverResult, advice: str) -> None:
        """Fitted attributes of a solver's run, and a warning where it did not converge."""
        self.n_iter_ = result.n_iter
        self.objective_ = result.objective
        self.duality_gap_ = result.duality_gap
        self.history_ = result.history
        if not (result.converged or result.stopped):
            warnings.warn(advice, ConvergenceWarning, stacklevel=4)


class ChainAttributes:
    """Fitted attributes of estimators whose ``model_`` is a :class:`LocalModel`."""

    model_: LocalModel

    @property
    def anchors_(self) -> np.ndarray:
        """Anchors, ``(n_anchors, width of what is coded)``."""
        return self.model_.anchors

    @property
    def beta_(self) -> float:
        """Sharpness of the soft coding."""
        return self.model_.gate.beta

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the local models, ``(n_anchors, n_columns, p)``."""
        return self.model_.coef

    @property
    def intercept_(self) -> np.ndarray:
        """Intercepts of the local models, ``(n_anchors, n_columns)``."""
        return self.model_.intercept


class LinearAttributes:
    """Fitted attributes of estimators whose ``model_`` is one linear model."""

    model_: LocalModel

    @property
    def coef_(self) -> np.ndarray:
        """Weights, ``(n_columns, n_features)``: a column per class, or one for two classes."""
        return self.model_.coef[0]

    @property
    def intercept_(self) -> np.ndarray:
        """Intercepts, ``(n_columns,)``."""
        return self.model_.intercept[0]
