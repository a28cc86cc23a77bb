"""Tests of hyperlocal.export.sizes: the numbers each kind of model needs in order to predict."""

import pickle
import threading
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from hyperlocal import LocallyLinearSVC
from hyperlocal.export.sizes import count_numbers
from hyperlocal.papers import LatentLocallyLinearSVC, LocalCodingSVC, LocalDeepSVC


def own_numbers(model):
    return model.anchors_.size + model.coef_.size + model.intercept_.size


def test_size_of_linear_svm():
    """A linear SVM stores a weight per class and feature, and an intercept per class."""
    X, y = load_iris(return_X_y=True)
    assert count_numbers(LinearSVC().fit(X, y)) == 3 * (4 + 1)


def test_size_of_kernel_svm():
    """A kernel SVM stores its support vectors, two coefficients for each, and three intercepts."""
    X, y = load_iris(return_X_y=True)
    model = SVC().fit(X, y)
    n_vectors = len(model.support_vectors_)
    assert count_numbers(model) == n_vectors * 4 + 2 * n_vectors + 3
    in_sparse = count_numbers(SVC().fit(sparse.csr_array(X), y))
    assert in_sparse > count_numbers(model)  # indices are numbers too


@pytest.mark.parametrize(
    "make", [LocalCodingSVC, partial(LocallyLinearSVC, feature_map=None, C=1.0)]
)
def test_size_of_locally_linear_svm(make):
    """Anchors and local models are counted; what a warm start needs is not."""
    X, y = load_iris(return_X_y=True)
    cold, warm = (make(warm_start=w, random_state=0).fit(X, y) for w in (False, True))
    assert len(pickle.dumps(warm)) > len(pickle.dumps(cold))
    assert count_numbers(warm) == count_numbers(cold) == own_numbers(cold)


def test_size_of_feature_map():
    """The arrays of a feature map count: here the mean and the principal axes of wide rows."""
    X, y = np.random.default_rng(0).normal(size=(60, 70)), np.arange(60) % 2
    model = LocallyLinearSVC(feature_map="auto", C=3.0, random_state=0).fit(X, y)
    n_axes = len(model.model_.feature_map.axes)
    assert count_numbers(model) == own_numbers(model) + 70 + n_axes * 70


def test_size_of_the_transformer_that_codes():
    """A transformer before the gate is needed to predict, so its arrays count."""
    X, y = load_iris(return_X_y=True)
    scaler = StandardScaler().fit(X)
    model = LocallyLinearSVC(feature_map=None, code_on=StandardScaler(), random_state=0).fit(X, y)
    in_scaler = scaler.mean_.size + scaler.scale_.size + scaler.var_.size
    assert count_numbers(model) >= own_numbers(model) + in_scaler


def test_size_of_learned_gates():
    """Trees of gates store routes, gates and weights; latent models their weights."""
    X, y = load_iris(return_X_y=True)
    tree = LocalDeepSVC(2, C=10.0, max_iter=1).fit(X, y)
    assert count_numbers(tree) == 3 * (3 + 7 + 7) * 5
    assert count_numbers(LatentLocallyLinearSVC(6, C=10.0).fit(X, y)) == 6 * 3 * 5


def test_size_of_trees():
    """Boosted trees store at least several numbers for each of their leaves."""
    X, y = load_iris(return_X_y=True)
    small, large = (
        count_numbers(HistGradientBoostingClassifier(max_iter=n).fit(X, y)) for n in (5, 50)
    )
    assert small > 5 * 3 * 2
    assert large > 5 * small


def test_size_counts_each_array_once():
    """An array held twice is counted once; a record counts its fields; random states do not."""
    model = DummyClassifier()
    model.one = model.two = np.zeros(7)
    model.records = np.zeros(5, dtype=[("left", int), ("right", int)])
    model.rng = np.random.RandomState(0)
    assert count_numbers(model) == 7 + 5 * 2


def test_size_of_the_unknown():
    """A model that cannot be looked into has no size."""
    model = DummyClassifier()
    model.lock = threading.Lock()
    assert count_numbers(model) is None
