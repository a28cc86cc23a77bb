"""Small data for the tests of estimators."""

import numpy as np
from sklearn.datasets import make_classification


def make_data(n_classes=2, *, n_rows=90, n_features=5, dtype=np.float64, seed=0):
    """Standardised rows of overlapping classes, and labels 0, 1, …"""
    X, y = make_classification(
        n_rows,
        n_features,
        n_informative=min(4, n_features),
        n_redundant=0,
        n_classes=n_classes,
        n_clusters_per_class=1,
        class_sep=1.2,
        random_state=seed,
    )
    return ((X - X.mean(axis=0)) / X.std(axis=0)).astype(dtype), y


def make_ring(n_rows=300, seed=0):
    """A disc inside a ring: no linear model beats chance by much."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % 2
    radius, angle = np.sqrt(rng.uniform(0, 1, n_rows)) + 1.2 * y, rng.uniform(0, 2 * np.pi, n_rows)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), y
