"""The map that an estimator's ``feature_map`` argument names."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.kernel_approximation import Nystroem

from ..data.arguments import check_choice
from .additive import AdditiveKernelMap
from .base import BiasOnlyMap, FeatureMap
from .piecewise import PiecewiseMap
from .quadratic import ROWS_FOR_PRINCIPAL_AXES, QuadraticMap
from .transformer import TransformerMap

FEATURE_MAPS = (
    "auto", None, "identity", "bias_only", "quadratic", "piecewise", "piecewise_quadratic",
    "additive_chi2", "intersection", "nystroem",
)  # fmt: skip
# "auto": quadratic local models on the input up to this many features, else on principal axes.
WIDEST_QUADRATIC_INPUT = 64
# at most so many, each with at least that share of the variance. The features stay beside them.
N_PRINCIPAL_AXES = 40
LEAST_SHARE = 0.005
# Of rows that are mostly zeros, as indicators of categories are, one model has all products of so
# many features: 33,000, most of them zero.
WIDEST_SPARSE_INPUT = 256
# Wide rows with a smaller share of numbers that are not zero are read faster as CSR (measured with
# 128 and 784 features, two and ten classes: from a third to a sixth).
LEAST_DENSE = 0.2
NYSTROEM_COMPONENTS = 100


def check_feature_map(feature_map: Any) -> None:
    """Raise unless ``feature_map`` is a known name, a map or a transformer."""
    if isinstance(feature_map, FeatureMap):
        return
    if isinstance(feature_map, str) or feature_map is None:
        check_choice("feature_map", feature_map, FEATURE_MAPS)
    elif isinstance(feature_map, type) or not (
        hasattr(feature_map, "fit") and hasattr(feature_map, "transform")
    ):
        raise TypeError(
            f"feature_map must be one of {list(FEATURE_MAPS)} or a transformer, "
            f"not {feature_map!r}."
        )


def make_feature_map(
    feature_map: Any,
    X: Any,
    rng: np.random.Generator,
    n_rows: int | None = None,
    *,
    is_local: bool = True,
) -> FeatureMap:
    """The unfitted map that an estimator's ``feature_map`` argument names, for rows like ``X``.

    If ``X`` is a sample, ``n_rows`` is the number of all rows. ``is_local`` tells whether there are
    several models.
    """
    if isinstance(feature_map, FeatureMap):
        return copy(feature_map)
    if feature_map == "auto":
        return _automatic_map(X, n_rows, is_local)
    if feature_map is None or feature_map == "identity":
        return _linear_map(X)
    if feature_map == "bias_only":
        return BiasOnlyMap()
    if feature_map == "quadratic":
        return QuadraticMap(is_sparse=has_few_products(X))
    if isinstance(feature_map, str) and feature_map.startswith("piecewise"):
        return _piecewise_map(feature_map, X, n_rows)
    if feature_map == "additive_chi2":
        return TransformerMap(AdditiveKernelMap("chi2"))
    if feature_map == "intersection":
        return TransformerMap(AdditiveKernelMap("intersection"))
    if feature_map == "nystroem":
        return TransformerMap(nystroem_of(X, rng))
    return TransformerMap(feature_map)


def _piecewise_map(feature_map: str, X: Any, n_rows: int | None) -> FeatureMap:
    if sp.issparse(X):
        raise ValueError(f"feature_map={feature_map!r} needs dense rows; use 'auto' or None.")
    if feature_map == "piecewise":
        return PiecewiseMap(FeatureMap())
    pieces = PiecewiseMap(FeatureMap()).fit(X, None, np.ones(X.shape[0]), np.random.default_rng(0))
    return PiecewiseMap(_quadratic_map(pieces.n_features_out, n_rows or X.shape[0]))


def _automatic_map(X: Any, n_rows: int | None, is_local: bool) -> FeatureMap:
    """Products of indicators make one model as rich as local models are, which stay linear then."""
    few_products = has_few_products(X)
    if few_products and not is_local:
        return QuadraticMap(rescale=True, n_rows=n_rows, is_sparse=True)
    if few_products or sp.issparse(X):
        return _linear_map(X)
    return _quadratic_map(X.shape[1], n_rows)


def _linear_map(X: Any) -> FeatureMap:
    is_wide = X.shape[1] > WIDEST_QUADRATIC_INPUT
    return FeatureMap(is_sparse=is_wide and float(_counts(X).mean()) < LEAST_DENSE * X.shape[1])


def has_few_products(X: Any) -> bool:
    """Whether rows have no more products than dense rows of few features, most of them zero."""
    width = X.shape[1]
    if width > WIDEST_SPARSE_INPUT or (width <= WIDEST_QUADRATIC_INPUT and not sp.issparse(X)):
        return False
    counts = _counts(X)
    few = min(WIDEST_QUADRATIC_INPUT, width / 2)
    return bool(np.square(counts.astype(np.float64)).mean() <= few**2)


def _counts(X: Any) -> np.ndarray:
    """How many numbers are not zero, in each of some rows."""
    sample = X[:ROWS_FOR_PRINCIPAL_AXES]
    return np.diff(sample.indptr) if sp.issparse(X) else np.count_nonzero(sample, axis=1)


def _quadratic_map(width: int, n_rows: int | None) -> FeatureMap:
    n_axes = None if width <= WIDEST_QUADRATIC_INPUT else N_PRINCIPAL_AXES
    return QuadraticMap(
        n_axes, rescale=True, n_rows=n_rows, keep_features=True, least_share=LEAST_SHARE
    )


def nystroem_of(X: Any, rng: np.random.Generator) -> Nystroem:
    """Similarities to some training rows."""
    sample = X[:ROWS_FOR_PRINCIPAL_AXES]
    variance = (
        sample.multiply(sample).mean() - sample.mean() ** 2 if sp.issparse(X) else sample.var()
    )
    return Nystroem(
        gamma=1 / (X.shape[1] * float(variance) or 1),
        n_components=min(NYSTROEM_COMPONENTS, X.shape[0]),
        random_state=int(rng.integers(np.iinfo(np.int32).max)),
    )
