"""Tests of LocalCodingSVC and LocalCoder."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC

from estimators.data import PLAIN, make_data, make_ring
from hyperlocal import LocallyLinearSVC
from hyperlocal.papers import LocalCodingSVC
from hyperlocal.preprocessing import LocalCoder

CODINGS = ["soft", "inverse_distance", "lle", "llc", "lcc", "hard"]


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_linear_svm_on_codes(coding, n_classes):
    """It is LIBLINEAR on the codes of LocalCoder, without a bias."""
    X, y = make_data(n_classes)
    options = {"n_anchors": 8, "n_neighbors": 3, "coding": coding, "random_state": 0}
    local = LocalCodingSVC(normalize=False, tol=1e-9, max_iter=50_000, C=0.5, **options).fit(X, y)
    codes = LocalCoder(anchors=local.anchors_, beta=local.beta_, n_neighbors=3, coding=coding)
    Z = codes.fit_transform(X)
    linear = LinearSVC(C=0.5, dual=True, fit_intercept=False, tol=1e-9, max_iter=1_000_000)
    linear.fit(Z, y)
    np.testing.assert_allclose(local.intercept_.T, linear.coef_, atol=1e-4)
    np.testing.assert_array_equal(local.predict(X), linear.predict(Z))


def test_it_is_the_bias_only_map():
    """LocalCodingSVC is LocallyLinearSVC with ``feature_map="bias_only"``."""
    X, y = make_data(3)
    coding = LocalCodingSVC(10, random_state=0).fit(X, y)
    linear = LocallyLinearSVC(10, feature_map="bias_only", random_state=0, **PLAIN).fit(X, y)
    np.testing.assert_array_equal(coding.decision_function(X), linear.decision_function(X))
    assert coding.coef_.shape == (10, 3, 0)
    assert coding.intercept_.shape == (10, 3)


def test_values_at_anchors_are_interpolated():
    """With hard codes every row scores the value at its nearest anchor."""
    X, y = make_data()
    fitted = LocalCodingSVC(coding="hard", normalize=False, random_state=0).fit(X, y)
    nearest = ((X[:, None] - fitted.anchors_) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_allclose(fitted.decision_function(X), fitted.intercept_[nearest, 0])


def test_more_anchors_bend_more():
    """Enough anchors learn a disc in a ring; explanations are all intercept."""
    X, y = make_ring()
    fitted = LocalCodingSVC(60, random_state=0).fit(X, y)
    assert fitted.score(*make_ring(seed=1)) > 0.95
    assert not fitted.local_coef(X).any()
    np.testing.assert_allclose(fitted.local_intercept(X)[:, 0], fitted.decision_function(X))


@pytest.mark.parametrize("solver", ["dual", "sgd", "qp"])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_solver_learns_codes(solver, loss, convert, dtype):
    """All solvers and losses serve biases alone, in the input's dtype."""
    X, y = make_data(3, dtype=dtype)
    fitted = LocalCodingSVC(10, solver=solver, loss=loss, max_iter=5000, random_state=0)
    scores = fitted.fit(convert(X), y).decision_function(convert(X))
    assert scores.dtype == dtype
    assert fitted.score(convert(X), y) > 0.7


def test_a_feature_map_is_no_argument():
    """There is no map to choose, and no bias to leave out."""
    with pytest.raises(TypeError, match="feature_map"):
        LocalCodingSVC(feature_map="quadratic")
    with pytest.raises(ValueError, match="intercept_scaling must be positive"):
        LocalCodingSVC(intercept_scaling=0).fit(*make_data())
    with pytest.raises(ValueError, match="code_on='features' needs a feature map"):
        LocalCodingSVC(code_on="features").fit(*make_data())
