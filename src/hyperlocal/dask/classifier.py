"""The Dask estimators of classes: scores, probabilities and accuracy."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if

from ..estimators.probabilities import loss_is_log
from ..estimators.tasks import Classification
from .base import DaskEstimator
from .collections import is_lazy
from .lazy import accuracy
from .targets import ClassFacts, ClassTarget


@dataclass(eq=False, repr=False)
class DaskClassifier(ClassifierMixin, DaskEstimator):
    """Base of the classifiers that are trained on a Dask cluster."""

    _task = Classification()
    _is_numeric = False

    _: KW_ONLY
    loss: str = "squared_hinge"
    multi_class: str = "ovr"
    class_weight: Any = None

    def decision_function(self, X: Any) -> Any:
        """Scores of rows; lazy for Dask collections, computed for anything else.

        Parameters
        ----------
        X : Dask array or dataframe, or {array-like, CSR} of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        Dask array or dataframe, or ndarray
            Of shape (n_rows,) for two classes, else (n_rows, n_classes).
        """
        return self._apply("decision_function", X)

    @available_if(loss_is_log)
    def predict_proba(self, X: Any) -> Any:
        """Compute class probabilities (``loss="log"``).

        Parameters
        ----------
        X : Dask array or dataframe, or rows in memory
            Rows.

        Returns
        -------
        Dask array or dataframe, or ndarray, of shape (n_rows, n_classes)
            The probabilities; lazy if the rows are.
        """
        return self._apply("predict_proba", X)

    @available_if(loss_is_log)
    def predict_log_proba(self, X: Any) -> Any:
        """Compute logarithms of class probabilities (``loss="log"``).

        Parameters
        ----------
        X : Dask array or dataframe, or rows in memory
            Rows.

        Returns
        -------
        Dask array or dataframe, or ndarray, of shape (n_rows, n_classes)
            The logarithms; lazy if the rows are.
        """
        return self._apply("predict_log_proba", X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy: the share of rows that are predicted correctly.

        Parameters
        ----------
        X : Dask array or dataframe, or {array-like, CSR} of shape (n_rows, n_features)
            Rows.
        y : Dask array or series, or array-like of shape (n_rows,)
            Their labels.
        sample_weight : Dask array or series, or array-like of shape (n_rows,), default=None
            Weights of rows.

        Returns
        -------
        float
            In [0, 1].
        """
        local = self._fitted()
        if not is_lazy(X):
            return float(local.score(X, y, sample_weight))
        return accuracy(local, X, y, sample_weight)

    def _target(self, facts: list[ClassFacts]) -> ClassTarget:
        return ClassTarget.of(facts, self.class_weight)
