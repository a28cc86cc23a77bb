"""Tests of hyperlocal.estimators.neighborhood_classifier: added rows, candidate classes."""

import numpy as np
import pytest
import scipy.sparse as sp

from estimators.data import make_data
from hyperlocal import NeighborhoodSVC


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
