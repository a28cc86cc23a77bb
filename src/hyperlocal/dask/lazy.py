"""Predictions of a fitted model for Dask collections: partition by partition, when computed."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import numpy as np
import pandas as pd
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..data.checks import check_sample_weight
from ..estimators.chain_classifier import ChainClassifier
from ..estimators.probabilities import loss_is_log
from .collections import is_lazy, row_parts


class LazyClassifier(ClassifierMixin):
    """Predictions of a fitted model: lazy for Dask collections, at once for rows in memory."""

    _local: ChainClassifier

    def decision_function(self, X: Any) -> Any:
        """Score rows; lazy for Dask collections, computed for anything else.

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

    def predict(self, X: Any) -> Any:
        """Predict the class labels of rows.

        Parameters
        ----------
        X : Dask array or dataframe, or rows in memory
            The rows.

        Returns
        -------
        Dask array or series, or ndarray, of shape (n_rows,)
            The labels; lazy if the rows are.
        """
        return self._apply("predict", X)

    @available_if(loss_is_log)
    def predict_proba(self, X: Any) -> Any:
        """Compute class probabilities (``loss="log"``).

        Parameters
        ----------
        X : Dask array or dataframe, or rows in memory
            The rows.

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
            The rows.

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

    @property
    def anchors_(self) -> np.ndarray:
        """Anchors, ``(n_anchors, width of what is coded)``."""
        return self._fitted().anchors_

    @property
    def beta_(self) -> float:
        """Sharpness of the soft coding."""
        return self._fitted().beta_

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the local models, ``(n_anchors, n_columns, p)``."""
        return self._fitted().coef_

    @property
    def intercept_(self) -> np.ndarray:
        """Intercepts of the local models, ``(n_anchors, n_columns)``."""
        return self._fitted().intercept_

    def _fitted(self) -> ChainClassifier:
        check_is_fitted(self)
        return self._local

    def _apply(self, method: str, X: Any) -> Any:
        local = self._fitted()
        return apply_lazily(local, method, X) if is_lazy(X) else getattr(local, method)(X)


def apply_lazily(model: ChainClassifier, method: str, X: Any) -> Any:
    """Call a method of a fitted model on every partition of a Dask array or dataframe.

    The type of the result is that of the method's result for one row, so an empty partition gives
    the same type as any other.
    """
    example = getattr(model, method)(_example_row(model))
    sent = dask.delayed(model, traverse=False)
    if isinstance(X, da.Array):
        return _apply_to_array(sent, method, X, example[:0])
    if example.ndim == 1:
        meta = pd.Series(example, name=method).iloc[:0]
    else:
        meta = pd.DataFrame(example, columns=list(model.classes_)).iloc[:0]
    return X.map_partitions(_call_on_frame, sent, method, meta, meta=meta)


def _apply_to_array(model: Any, method: str, X: Any, empty: np.ndarray) -> Any:
    if X.ndim != 2:
        raise ValueError(f"X must have rows and columns, but it has {X.ndim} dimension(s).")
    X = X.rechunk({1: -1})
    is_column = empty.ndim == 1
    shape = {"drop_axis": 1} if is_column else {"chunks": (X.chunks[0], empty.shape[1])}
    return X.map_blocks(_call, model, method, empty, dtype=empty.dtype, meta=empty, **shape)


def _example_row(model: ChainClassifier) -> pd.DataFrame:
    names = getattr(model, "feature_names_in_", None)
    return pd.DataFrame(np.zeros((1, model.n_features_in_)), columns=names)


def _call(X: Any, model: ChainClassifier, method: str, empty: np.ndarray) -> np.ndarray:
    return getattr(model, method)(X) if X.shape[0] else empty


def _call_on_frame(X: Any, model: ChainClassifier, method: str, meta: Any) -> Any:
    if not len(X):
        return meta
    values = getattr(model, method)(X)
    if values.ndim == 1:
        return pd.Series(values, index=X.index, name=meta.name, dtype=meta.dtype)
    return pd.DataFrame(values, index=X.index, columns=meta.columns)


def accuracy(model: ChainClassifier, X: Any, y: Any, sample_weight: Any) -> float:
    """The share of rows of a Dask collection that are predicted correctly."""
    sent = dask.delayed(model, traverse=False)
    parts = row_parts(X, y, sample_weight, n_parts=1)
    counts = [dask.delayed(_n_right)(sent, *part) for part in parts]
    right, total = np.sum(dask.compute(*counts), axis=0)
    if not total:
        raise ValueError("X has no rows to score (rows of weight zero do not count).")
    return float(right / total)


def _n_right(model: ChainClassifier, X: Any, y: Any, sample_weight: Any) -> tuple[float, float]:
    if not X.shape[0]:
        return 0.0, 0.0
    labels, weights = np.asarray(y), check_sample_weight(sample_weight, X.shape[0], all_rows=False)
    if len(labels) != X.shape[0]:
        raise ValueError(f"a partition of y has {len(labels)} rows; that of X has {X.shape[0]}.")
    return float(weights[labels == model.predict(X)].sum()), float(weights.sum())
