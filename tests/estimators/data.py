"""Small data and models for the tests of estimators."""

from itertools import product

import numpy as np
import pytest
from sklearn.datasets import make_classification

from hyperlocal import LocallyLinearSVC, SupervisedAnchorSVC
from hyperlocal.papers import LocalCodingSVC

every_classifier = pytest.mark.parametrize(
    "Classifier", [LocallyLinearSVC, LocalCodingSVC, SupervisedAnchorSVC]
)


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


def make_stripes(n_rows=400, seed=0):
    """A stripe along the middle of a long strip: k-means' anchors lie across it, and do not see."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n_rows, 2)) * [2, 1]
    return X, (np.abs(X[:, 1]) < 0.5).astype(int)


# Couplings of classes and losses of linear models.
every_coupling = pytest.mark.parametrize(
    ("multi_class", "loss"),
    [*product(["ovr", "crammer_singer"], ["hinge", "squared_hinge"]), ("ovr", "log")],
)

# What the other classifiers have too: nothing is chosen on held-out rows, no global intercept.
PLAIN = {"C": 3.0, "global_intercept": False}


def model(**options):
    """A small model with a seed."""
    small = {"n_neighbors": 3, "n_anchors": 8, "random_state": 0}
    return LocallyLinearSVC(**{**small, **PLAIN, **options})


def precise(**options):
    """A model whose scores are determined to some six digits."""
    return model(tol=1e-9, max_iter=50_000, **options)


def feed(fitted, X, y, n_batches, n_passes=1, **options):
    """Feed rows batch by batch."""
    for _ in range(n_passes):
        for rows in np.array_split(np.arange(len(y)), n_batches):
            fitted.partial_fit(X[rows], y[rows], **options)
    return fitted


class Recorder:
    """A scikit-learn callback that keeps a log, and acts at an epoch."""

    def __init__(self, act_at=None, act=lambda: True):
        self.act_at, self.act, self.log = act_at, act, []

    def setup(self, estimator, context):
        self.log.append("setup")

    def teardown(self, estimator, context):
        self.log.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.log.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context):
        self.log.append(f"end {context.task_name}")
        return self.act() if self.log.count("end epoch") == self.act_at else None


def interrupt():
    """Ctrl-C."""
    raise KeyboardInterrupt


# A search that is small and quick.
SEARCH = {"n_anchors": (1, 6), "Cs": (0.3, 3.0), "relevance": None, "random_state": 0}
