"""Tests of hyperlocal.maps.landmarks: where landmarks are, and projections on them."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA

from hyperlocal.maps.landmarks import (
    LandmarkMap,
    check_landmarks,
    check_projections,
    choose_landmarks,
)
from hyperlocal.runtime.threads import Workers
from reference.problems import TOLERANCE, every_storage, make_rows


def chosen(X, kind, n_landmarks="auto", seed=0):
    with Workers(1) as workers:
        rng = np.random.default_rng(seed)
        return choose_landmarks(X, np.ones(X.shape[0]), kind, n_landmarks, rng, workers)


def fitted_map(X, projection="linear", gamma="auto", marks=None):
    marks = chosen(X, "random") if marks is None else marks
    rng = np.random.default_rng(0)
    return LandmarkMap(marks, projection, gamma).fit(X, None, np.ones(X.shape[0]), rng)


def dense(X):
    return X.toarray() if sp.issparse(X) else X


# Landmarks ----------------------------------------------------------------------------------------


@every_storage
@pytest.mark.parametrize("kind", ["random", "pca", "kmeans"])
def test_landmarks_are_as_many_as_features(dtype, storage, kind):
    """ "auto" is the number of features, or of rows if there are fewer."""
    X = make_rows(dtype, storage)
    marks = chosen(X, kind)
    assert marks.shape == (5, 5)
    assert marks.dtype == X.dtype
    assert len(chosen(X[:3], kind)) <= 3
    assert len(chosen(X, kind, 2)) == 2


@every_storage
def test_random_landmarks_are_rows(dtype, storage):
    """Random landmarks are distinct training rows."""
    X = make_rows(dtype, storage)
    marks = chosen(X, "random", 20)
    assert len(np.unique(marks, axis=0)) == 20
    assert all((dense(X) == mark).all(axis=1).any() for mark in marks)


def test_equal_rows_are_one_landmark():
    """ "auto" counts distinct rows."""
    X = np.repeat(np.eye(3, 8), 5, axis=0)
    assert len(chosen(X, "random")) == 3


def test_pca_landmarks_are_orthonormal_axes():
    """Principal axes of dense rows; those about the origin of sparse ones."""
    X = make_rows()
    axes = chosen(X, "pca", 3)
    np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-12)
    expected = PCA(3).fit(X).components_
    np.testing.assert_allclose(np.abs(np.sum(axes * expected, axis=1)), 1, atol=1e-9)
    about_origin = np.linalg.svd(X)[2][:3]
    axes = chosen(sp.csr_array(X), "pca", 3)
    np.testing.assert_allclose(np.abs(np.sum(axes * about_origin, axis=1)), 1, atol=1e-9)


def test_given_landmarks():
    """An array is used as it is, in the rows' dtype."""
    X = make_rows("float32")
    marks = chosen(X, np.eye(5)[:2])
    assert marks.dtype == np.float32
    np.testing.assert_array_equal(marks, np.eye(5)[:2])
    with pytest.raises(ValueError, match="landmarks have 4 columns, but X has 5"):
        chosen(X, np.eye(4))
    with pytest.raises(ValueError, match="n_landmarks=3 but 5 landmarks are given"):
        chosen(X, np.eye(5), 3)


@pytest.mark.parametrize(
    ("name", "arguments", "error"),
    [
        ("n_landmarks", (0, "random", "linear", "auto"), ValueError),
        ("n_landmarks", (1.5, "random", "linear", "auto"), TypeError),
        ("n_landmarks", ("all", "random", "linear", "auto"), ValueError),
        ("landmarks", (3, "best", "linear", "auto"), ValueError),
        ("landmarks", (3, None, "linear", "auto"), ValueError),
        ("landmarks", (3, [1, 2], "linear", "auto"), TypeError),
        ("landmarks", (3, sp.eye_array(3), "linear", "auto"), TypeError),
        ("projection", (3, "random", "poly", "auto"), ValueError),
        ("gamma", (3, "random", "rbf", 0), ValueError),
        ("gamma", (3, "random", "rbf", "wide"), ValueError),
        ("gamma", (3, "random", "rbf", None), TypeError),
    ],
    ids=str,
)
def test_bad_arguments(name, arguments, error):
    """Arguments that make no sense are named."""
    with pytest.raises(error, match=name):
        check_landmarks(*arguments)


# Projections --------------------------------------------------------------------------------------


@every_storage
@pytest.mark.parametrize("projection", ["linear", "rbf"])
def test_projections(dtype, storage, projection):
    """``x · l`` or ``exp(−γ‖x − l‖²)``, in blocks of any size."""
    X = make_rows(dtype, storage, n_rows=600)
    marks = np.random.default_rng(0).normal(size=(7, 5)).astype(dtype)
    feature_map = fitted_map(X, projection, 0.4, marks)
    if projection == "linear":
        expected = dense(X).astype(float) @ marks.T.astype(float)
    else:
        expected = np.exp(-0.4 * ((dense(X)[:, None].astype(float) - marks) ** 2).sum(axis=2))
    projected = feature_map.stored(X)
    assert projected.dtype == X.dtype
    assert feature_map.n_features_out == 7
    tolerance = 10 * TOLERANCE[dtype]
    np.testing.assert_allclose(projected, expected, rtol=tolerance, atol=tolerance)
    in_blocks = feature_map.stored(X, numbers_per_block=1)
    np.testing.assert_allclose(in_blocks, projected, atol=tolerance)


@every_storage
def test_automatic_gamma(dtype, storage):
    """γ is one over the median squared distance between rows and landmarks, on a sample of rows."""
    X = make_rows(dtype, storage)
    marks = chosen(X, "random")
    distances = ((dense(X)[:, None] - marks) ** 2).sum(axis=2)
    median = np.quantile(distances, 0.5, method="inverted_cdf")
    gamma = fitted_map(X, "rbf", marks=marks).gamma
    assert gamma == pytest.approx(1 / median, rel=1e-4)
    # Each row 100 times is more than the sample holds; a quarter is above the spread over samples.
    rows = np.tile(np.arange(X.shape[0]), 100)
    assert fitted_map(X[rows], "rbf", marks=marks).gamma == pytest.approx(gamma, rel=0.25)
    assert fitted_map(np.ones((4, 2)), "rbf").gamma == 1


def test_projections_that_overflow():
    """Squares that are not finite raise, with the remedy."""
    check_projections(np.full((2, 3), 1e18, np.float32))
    with pytest.raises(ValueError, match="overflow in float32; scale the features"):
        check_projections(np.full((2, 3), 1e30, np.float32))


def test_weights_on_projections_are_weights_on_the_input():
    """Linear projections are traced back to the input's features, the RBF is not."""
    X = make_rows()
    linear, rbf = fitted_map(X), fitted_map(X, "rbf")
    coef = np.random.default_rng(0).normal(size=(40, 3, 5))
    pulled, shift = linear.pull_back(X, coef)
    assert shift == 0
    np.testing.assert_allclose(
        np.einsum("ncd,nd->nc", pulled, X), np.einsum("ncl,nl->nc", coef, linear.stored(X))
    )
    assert linear.explains_input
    assert not rbf.explains_input
    assert rbf.pull_back(X, coef)[0] is coef
    assert list(rbf.feature_names(np.array(["a"])))[:2] == ["landmark0", "landmark1"]
