"""Predictions of a fitted model for Dask collections: partition by partition, when computed."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd

from ..data.checks import check_sample_weight
from ..model.target_scale import as_targets, joined_moments, moments
from .collections import row_parts


def apply_lazily(model: Any, method: str, X: Any) -> Any:
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
        columns = list(getattr(model, "classes_", range(example.shape[1])))
        meta = pd.DataFrame(example, columns=columns).iloc[:0]
    # Before 2025.5 or so, map_partitions hands a delayed argument on as it is.
    parts = [dask.delayed(_call_on_frame)(part, sent, method, meta) for part in X.to_delayed()]
    return dd.from_delayed(parts, meta=meta, divisions=X.divisions, verify_meta=False)


def _apply_to_array(model: Any, method: str, X: Any, empty: np.ndarray) -> Any:
    if X.ndim != 2:
        raise ValueError(f"X must have rows and columns, but it has {X.ndim} dimension(s).")
    X = X.rechunk({1: -1})
    is_column = empty.ndim == 1
    shape = {"drop_axis": 1} if is_column else {"chunks": (X.chunks[0], empty.shape[1])}
    return X.map_blocks(_call, model, method, empty, dtype=empty.dtype, meta=empty, **shape)


def _example_row(model: Any) -> pd.DataFrame:
    names = getattr(model, "feature_names_in_", None)
    return pd.DataFrame(np.zeros((1, model.n_features_in_)), columns=names)


def _call(X: Any, model: Any, method: str, empty: np.ndarray) -> np.ndarray:
    return getattr(model, method)(X) if X.shape[0] else empty


def _call_on_frame(X: Any, model: Any, method: str, meta: Any) -> Any:
    if not len(X):
        return meta
    values = getattr(model, method)(X)
    if values.ndim == 1:
        return pd.Series(values, index=X.index, name=meta.name, dtype=meta.dtype)
    return pd.DataFrame(values, index=X.index, columns=meta.columns)


def accuracy(model: Any, X: Any, y: Any, sample_weight: Any) -> float:
    """The share of rows of a Dask collection that are predicted correctly."""
    right, total = np.sum(_of_parts(_n_right, model, X, y, sample_weight), axis=0)
    return float(right / total)


def explained_variance(model: Any, X: Any, y: Any, sample_weight: Any) -> float:
    """R² of the values of a Dask collection, the mean over targets."""
    facts = _of_parts(_moments_of, model, X, y, sample_weight)
    masses, centers, spreads, errors = map(np.array, zip(*facts, strict=True))
    _, spread = joined_moments(centers, spreads, masses)
    mean_errors = errors.sum(axis=0) / masses.sum()
    # Of constant values, as scikit-learn's: one where all are right, zero otherwise.
    left = np.divide(mean_errors, spread**2, out=np.sign(mean_errors), where=spread > 0)
    return float(np.mean(1 - left))


def _of_parts(count: Any, model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, ...]:
    """What a function finds in each partition that has rows."""
    sent = dask.delayed(model, traverse=False)
    parts = row_parts(X, y, sample_weight, n_parts=1)
    found = dask.compute(*(dask.delayed(_counted)(count, sent, *part) for part in parts))
    found = tuple(one for one in found if one is not None)
    if not found:
        raise ValueError("X has no rows to score (rows of weight zero do not count).")
    return found


def _counted(count: Any, model: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    if not X.shape[0]:
        return None
    labels, weights = np.asarray(y), check_sample_weight(sample_weight, X.shape[0], all_rows=False)
    if len(labels) != X.shape[0]:
        raise ValueError(f"a partition of y has {len(labels)} rows; that of X has {X.shape[0]}.")
    return count(model.predict(X), labels, weights) if weights.any() else None


def _n_right(predicted: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> Any:
    return float(weights[labels == predicted].sum()), float(weights.sum())


def _moments_of(predicted: np.ndarray, values: np.ndarray, weights: np.ndarray) -> Any:
    errors = weights @ (as_targets(values) - as_targets(predicted)) ** 2
    return float(weights.sum()), *moments(as_targets(values), weights), errors
