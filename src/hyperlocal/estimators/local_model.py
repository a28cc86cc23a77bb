"""A fitted local model: scores, labels, probabilities, and exact explanations of them.

Whatever fitted it left a gate, a code space, a feature map and weights ``(m, c, p + 1)``; the rest
follows from ``f_c(x) = Σ_j γ_j(x) (w_jc · φ(x) + b_jc)``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..code_space import CodeSpace
from ..coding import Codes
from ..features import FeatureMap
from ..gates import Gate
from ..inspection import Explanation
from ..lifting import LiftedRows
from ..threads import Workers, row_blocks
from ..validation import check_rows

ROWS_PER_PREDICTION_BLOCK = 32_768
NUMBERS_PER_EXPLANATION_BLOCK = 1 << 22


def _loss_is_log(estimator: Any) -> bool:
    if estimator.loss != "log":
        raise AttributeError("predict_proba needs loss='log'.")
    return True


class LocalModel(ClassifierMixin, BaseEstimator):
    """Prediction and explanation by a gate, a feature map and weights."""

    _gate: Gate
    _feature_map: FeatureMap
    _code_space: CodeSpace
    _bias: float
    _shared_bias: bool = False
    _unit_rows: bool
    _weights: np.ndarray

    def _lift_rows(self, X: Any, workers: Workers) -> LiftedRows:
        return self._lift(X, self._encode(X, workers), workers)

    def _encode(self, X: Any, workers: Workers) -> Codes:
        return self._gate.encode(self._code_space.transform(X, self._feature_map), workers)

    def _lift(self, X: Any, codes: Codes, workers: Workers) -> LiftedRows:
        return self._lift_stored(self._feature_map.stored(X), codes, workers)

    def _lift_stored(
        self, stored: Any, codes: Codes, workers: Workers, row_norms: np.ndarray | None = None
    ) -> LiftedRows:
        return LiftedRows(
            self._feature_map.rows(stored), codes, self._gate.n_anchors,
            self._bias, self._unit_rows, workers,
            is_dense=not sp.issparse(stored), row_norms=row_norms, shared_bias=self._shared_bias,
        )  # fmt: skip

    # ---- prediction ----------------------------------------------------------------------------

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of rows.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,) for two classes, else (n_rows, n_classes)
        """
        X = self._check_fitted_rows(X)
        scores = np.empty((X.shape[0], self._weights.shape[1]), self._weights.dtype)
        with Workers(self.n_jobs) as workers:
            for begin, end in row_blocks(X.shape[0], ROWS_PER_PREDICTION_BLOCK):
                lifted = self._lift_rows(X[begin:end], workers)
                scores[begin:end] = lifted.scores(self._weights)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """Predicted class labels of rows."""
        scores = self.decision_function(X)
        chosen = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[chosen]

    @available_if(_loss_is_log)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities (``loss="log"``); one-vs-rest probabilities are scaled to sum to one.

        The most probable class is always the predicted one.
        """
        scores = self.decision_function(X)
        with np.errstate(over="ignore"):  # exp of a large score is infinite: a probability of 0
            probabilities = 1 / (1 + np.exp(-scores))
        if probabilities.ndim == 1:
            return np.column_stack([1 - probabilities, probabilities])
        # Where all classes underflow, the largest score still wins.
        tiny = np.finfo(probabilities.dtype).tiny
        least = np.where(scores == scores.max(axis=1, keepdims=True), 2 * tiny, tiny)
        probabilities = np.maximum(probabilities, least)
        return probabilities / probabilities.sum(axis=1, keepdims=True)

    def _check_fitted_rows(self, X: Any) -> Any:
        check_is_fitted(self, "classes_")
        X = check_rows(self, X, reset=False)
        return X.astype(self._weights.dtype, copy=False)

    # ---- explanation ---------------------------------------------------------------------------

    def local_coef(self, X: Any) -> np.ndarray:
        """The exact weight vector at each row: ``local_coef(x)·x + local_intercept(x) = f(x)``.

        In the input's features for the identity and quadratic maps, else in the mapped features.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_columns, n_features)
            One column per class, or one column for two classes.
        """
        blocks = [coef for coef, _ in self._local_models(X)]
        return np.concatenate(blocks)

    def local_intercept(self, X: Any) -> np.ndarray:
        """The exact intercept at each row, ``(n_rows, n_columns)``; see :meth:`local_coef`."""
        blocks = [intercept for _, intercept in self._local_models(X)]
        return np.concatenate(blocks)

    def explain(self, row: Any) -> Explanation:
        """Contributions of each feature to the scores of one row; they add up exactly.

        Parameters
        ----------
        row : array-like of shape (n_features,) or (1, n_features)
            A row of a DataFrame too.

        Returns
        -------
        Explanation
            Print it to read it.
        """
        if hasattr(row, "to_frame"):  # a pandas Series keeps its feature names
            row = row.to_frame().T
        elif not sp.issparse(row) and np.ndim(row) == 1:
            row = np.asarray(row).reshape(1, -1)
        X = self._check_fitted_rows(row)
        if X.shape[0] != 1:
            raise ValueError(f"explain takes one row, not {X.shape[0]}; explain them one by one.")
        ((coef, intercept),) = self._local_models_of(X)
        values = X if self._feature_map.explains_input else self._feature_map.mapped(X)
        values = values.toarray()[0] if sp.issparse(values) else values[0]
        contributions = coef[0] * values
        scores = contributions.sum(axis=1) + intercept[0]
        best = int(scores[0] > 0) if len(scores) == 1 else int(scores.argmax())
        anchors, anchor_weights = self._active_models(X, best)
        return Explanation(
            prediction=self.classes_[best],
            classes=self.classes_[1:] if len(scores) == 1 else self.classes_,
            contributions=contributions,
            intercepts=intercept[0],
            scores=scores,
            feature_names=self._feature_map.feature_names(self._input_names()),
            anchors=anchors,
            anchor_weights=anchor_weights,
        )

    def _active_models(self, X: Any, best: int) -> tuple[np.ndarray, np.ndarray]:
        """The models that speak for class ``best`` at the one row of ``X``, and how loudly."""
        with Workers(self.n_jobs) as workers:
            codes = self._encode(X, workers)
        return codes.anchors[0], codes.weights[0]

    def _input_names(self) -> np.ndarray:
        default = np.array([f"x{i}" for i in range(self.n_features_in_)], dtype=object)
        return getattr(self, "feature_names_in_", default)

    def _local_models(self, X: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        return self._local_models_of(self._check_fitted_rows(X))

    def _local_models_of(self, X: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Weights and intercepts of blocks of rows, ``Σ_j γ_j W_j`` pulled back to the input."""
        # Pulling back quadratic weights needs a d × d matrix per row and class.
        per_row = self._weights.shape[1] * max(1, 2 * self._feature_map.n_features_out)
        size = max(1, NUMBERS_PER_EXPLANATION_BLOCK // per_row)
        for begin, end in row_blocks(X.shape[0], size):
            rows = X[begin:end]
            with Workers(self.n_jobs) as workers:
                coef, intercept = self._models_at(rows, workers)
            coef, shift = self._feature_map.pull_back(rows, coef)
            yield coef, intercept + shift

    def _models_at(self, X: Any, workers: Workers) -> tuple[np.ndarray, np.ndarray]:
        """Weights on φ(x) and intercepts at rows."""
        return self._lift_rows(X, workers).local_models(self._weights)

    # ---- fitted attributes ---------------------------------------------------------------------

    @property
    def anchors_(self) -> np.ndarray:
        """Anchors, ``(n_anchors, width of what is coded)``."""
        return self._gate.anchors

    @property
    def beta_(self) -> float:
        """Sharpness of the soft coding."""
        return self._gate.beta

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the local models, ``(n_anchors, n_columns, p)``."""
        return self._weights[..., :-1]

    @property
    def intercept_(self) -> np.ndarray:
        """Intercepts of the local models, ``(n_anchors, n_columns)``."""
        return self._weights[..., -1] * self._weights.dtype.type(self._bias)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
