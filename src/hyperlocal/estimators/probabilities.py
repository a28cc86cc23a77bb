"""Class probabilities of estimators that can be trained with the log loss."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from ..model.multiclass import log_probabilities


def loss_is_log(estimator: Any) -> bool:
    """Whether an estimator is trained with the log loss; else raise, for ``available_if``."""
    if estimator.loss != "log":
        raise AttributeError("predict_proba needs loss='log', and so does predict_log_proba.")
    return True


class ProbabilityMixin:
    """Probabilities from the scores of ``decision_function``."""

    @available_if(loss_is_log)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities (``loss="log"``); one-vs-rest probabilities are scaled to sum to one.

        No class is more probable than the predicted one.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Probabilities.
        """
        return np.exp(self.predict_log_proba(X))

    @available_if(loss_is_log)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Compute logarithms of class probabilities (``loss="log"``); finite where those are zero.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Logarithms of probabilities.
        """
        return self._log_probabilities(self.decision_function(X))  # type: ignore[attr-defined]

    def _log_probabilities(self, scores: np.ndarray) -> np.ndarray:
        return log_probabilities(scores)
