"""Fitted maps, and what solvers read of them."""

import numpy as np

from hyperlocal.maps.named import make_feature_map


def fitted(feature_map, X, weights=None, seed=0):
    """A map fitted to rows."""
    weights = np.ones(X.shape[0]) if weights is None else weights
    return feature_map.fit(X, None, weights, np.random.default_rng(seed))


def named(name, X, seed=0, *, is_local=True):
    """The map of that name, fitted."""
    rng = np.random.default_rng(seed)
    return fitted(make_feature_map(name, X, rng, is_local=is_local), X, seed=seed)


def indicators(n_rows=50, n_columns=8, n_values=10, seed=0, dtype="float64"):
    """Categories as indicators: dense rows, most of them zeros."""
    values = np.random.default_rng(seed).integers(0, n_values, (n_rows, n_columns))
    return np.eye(n_values, dtype=dtype)[values].reshape(n_rows, -1)


def positive_rows(n_rows=40, n_features=6, seed=0):
    """Rows between zero and one, with some zeros."""
    rng = np.random.default_rng(seed)
    return rng.uniform(0, 1, (n_rows, n_features)) * (rng.random((n_rows, n_features)) < 0.8)


def read_rows(feature_map, X):
    """φ as the solvers read it."""
    rows = feature_map.rows(feature_map.stored(X))
    out = np.empty((X.shape[0], rows.width), X.dtype)
    rows.gather(np.arange(X.shape[0]), out)
    return out
