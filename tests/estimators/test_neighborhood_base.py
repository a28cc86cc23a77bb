"""Tests of hyperlocal.estimators.neighborhood_base: fits, added rows, candidate classes."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

from estimators.data import make_data
from hyperlocal import NeighborhoodSVC
from hyperlocal.papers import AdaptiveNeighborhoodSVC


def make_parts(n_classes=3, n_rows=240, **options):
    X, y = make_data(n_classes, n_rows=n_rows, **options)
    return X[::2], y[::2], X[1::2], y[1::2]


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_candidates_exclude_the_other_classes(kind):
    """Scores between two classes are those of a model of their rows; absent classes come last."""
    X, y, X_test, _ = make_parts(3)
    fitted = NeighborhoodSVC(len(X), gamma=0.5, tol=1e-8).fit(kind(X), y)
    scores = fitted.decision_between(kind(X_test), [[True, False, True]] * len(X_test))
    pair = NeighborhoodSVC(int((y != 1).sum()), gamma=0.5, tol=1e-8).fit(X[y != 1], y[y != 1])
    np.testing.assert_allclose(scores[:, 2], pair.decision_function(X_test), atol=1e-5)
    assert (scores[:, 1] <= scores.min(axis=1)).all()
    assert not hasattr(NeighborhoodSVC(cache_neighborhoods=True), "decision_between")


@pytest.mark.parametrize("algorithm", ["exact", "tree"])
def test_sparse_rows_are_taken_as_the_tags_say(algorithm):
    """The tag for sparse rows is true of both searches; a learned metric makes rows dense first."""
    X, y, X_test, _ = make_parts()
    fitted = AdaptiveNeighborhoodSVC(algorithm=algorithm, metric=TruncatedSVD(2))
    assert get_tags(fitted).input_tags.sparse
    fitted.fit(sp.csr_array(X), y).predict(sp.csr_array(X_test))
    plain = NeighborhoodSVC(algorithm=algorithm)
    assert get_tags(plain).input_tags.sparse == (algorithm != "tree")
    if algorithm == "tree":
        with pytest.raises(ValueError, match="algorithm='tree' needs dense rows"):
            plain.fit(sp.csr_array(X), y)
    else:
        plain.fit(sp.csr_array(X), y).predict(sp.csr_array(X_test))


def test_set_params_acts_at_the_next_fit():
    """A fitted model scores as it was fitted."""
    X, y, X_test, _ = make_parts()
    fitted = NeighborhoodSVC().fit(X, y)
    scores = fitted.decision_function(X_test)
    fitted.set_params(C=1e-3, gamma=9.0, kernel="linear", n_neighbors=1, cache_neighborhoods=True)
    np.testing.assert_array_equal(fitted.decision_function(X_test), scores)


def test_a_fresh_fit_replaces_the_last_one():
    """What belongs to other arguments is None again."""
    X, y, _, _ = make_parts()
    fitted = NeighborhoodSVC([3, 9], cache_neighborhoods=True).fit(X, y)
    fitted.set_params(n_neighbors=5, cache_neighborhoods=False).fit(X, y)
    assert fitted.centers_ is None
    assert fitted.leave_one_out_accuracy_ is None


def test_an_interrupted_fit_leaves_no_model():
    """Rows of another width and the model of the last fit are not mixed."""
    X, y, _, _ = make_parts()
    fitted = NeighborhoodSVC().fit(X, y).set_params(kernel="linear", algorithm="tree")
    with pytest.raises(ValueError, match="tree"):
        fitted.fit(sp.csr_array(X[:, :2]), y)
    with pytest.raises(NotFittedError):
        fitted.predict(X)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_adding_rows_is_fitting_all_of_them(kind):
    """``partial_fit`` in batches is ``fit`` on their union."""
    X, y, X_test, _ = make_parts(4)
    X[60:70] = X[:10]  # batches share rows
    y[60:70] = y[:10]
    whole = NeighborhoodSVC().fit(kind(X), y)
    parts = NeighborhoodSVC()
    for begin in range(0, 120, 40):
        parts.partial_fit(kind(X[begin : begin + 40]), y[begin : begin + 40], classes=range(4))
    assert parts.n_neighbors_ == whole.n_neighbors_
    np.testing.assert_array_equal(parts.decision_function(X_test), whole.decision_function(X_test))


def test_adding_rows_after_fit():
    """Rows join those of ``fit``; a first batch may hold one class only."""
    X, y, X_test, _ = make_parts(2)
    fitted = NeighborhoodSVC().fit(X[:60], y[:60]).partial_fit(X[60:], y[60:])
    whole = NeighborhoodSVC().fit(X, y)
    np.testing.assert_array_equal(fitted.predict(X_test), whole.predict(X_test))
    lonely = NeighborhoodSVC().partial_fit(X[:5], np.zeros(5, int), classes=[0, 1])
    assert not lonely.predict(X_test).any()


@pytest.mark.parametrize("options", [{"cache_neighborhoods": True}, {"n_neighbors": [3, 5]}])
def test_what_trains_at_fit_has_no_partial_fit(options):
    """Cached models and chosen sizes belong to all rows together."""
    assert not hasattr(NeighborhoodSVC(**options), "partial_fit")


def test_bad_batches():
    """Errors name what is missing."""
    X, y, _, _ = make_parts(3)
    with pytest.raises(ValueError, match="classes must be given"):
        NeighborhoodSVC().partial_fit(X, y)
    with pytest.raises(ValueError, match="at least two"):
        NeighborhoodSVC().partial_fit(X, y, classes=[1])
    with pytest.raises(ValueError, match="differ from those of the first call"):
        NeighborhoodSVC().fit(X, y).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="not in classes"):
        NeighborhoodSVC().partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="balanced"):
        NeighborhoodSVC(class_weight="balanced").partial_fit(X, y, classes=[0, 1, 2])
