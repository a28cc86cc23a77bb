"""Tests of hyperlocal.estimators.neighborhood_base: fits."""

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
