"""Tests of hyperlocal.maps.quadratic: products of pairs, of features or of principal components."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA

from hyperlocal.maps.quadratic import QuadraticMap, principal_axes
from maps.fitting import fitted, indicators, named, read_rows
from reference.problems import TOLERANCE, every_storage, make_rows
from reference.rows import written_out


@every_storage
def test_quadratic_map(dtype, storage):
    """The quadratic map holds all products of pairs."""
    X = make_rows(dtype, storage)
    np.testing.assert_allclose(
        read_rows(named("quadratic", X), X), written_out(X, True), rtol=TOLERANCE[dtype]
    )


@every_storage
def test_without_products_rows_are_left(dtype, storage):
    """A quadratic map without its products is the rows."""
    X = make_rows(dtype, storage)
    linear = named("quadratic", X).without_products
    assert linear.n_features_out == X.shape[1]
    np.testing.assert_array_equal(read_rows(linear, X), written_out(X))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("keep_features", [False, True])
def test_weights_on_principal_axes_pulled_back(dtype, keep_features):
    """Weights on products of principal components are stated on the input's own features."""
    X = make_rows(dtype, n_features=9) + np.asarray(2, dtype)
    feature_map = fitted(QuadraticMap(n_axes=3, keep_features=keep_features), X)
    coef = np.random.default_rng(0).standard_normal((40, 2, feature_map.n_features_out))
    local, shift = feature_map.pull_back(X, coef.astype(dtype))
    scores = np.einsum("ncp,np->nc", coef, read_rows(feature_map, X).astype(float))
    explained = np.einsum("nci,ni->nc", local.astype(float), X.astype(float)) + shift
    np.testing.assert_allclose(explained, scores, atol=1000 * TOLERANCE[dtype])


@pytest.mark.parametrize("widest_covariance", [1500, 4], ids=["eigenvectors", "randomized"])
def test_principal_axes_are_those_of_pca(widest_covariance):
    """Mean and axes are those of PCA up to sign, the largest entry positive."""
    X = make_rows(n_rows=200, n_features=8) * np.arange(1, 9) + 3
    mean, axes = principal_axes(
        X, np.ones(200), 3, np.random.default_rng(0), widest_covariance=widest_covariance
    )
    pca = PCA(3).fit(X)
    np.testing.assert_allclose(mean, pca.mean_)
    np.testing.assert_allclose(np.abs(axes), np.abs(pca.components_), atol=1e-4)
    np.testing.assert_array_equal(axes.max(axis=1), np.abs(axes).max(axis=1))


def test_principal_axes_of_wide_sparse_rows():
    """Above a width the axes come from a randomized decomposition; they are the same."""
    X, rng = sp.csr_array(make_rows()), np.random.default_rng(0)
    exact, randomized = (
        principal_axes(X, np.ones(40), 2, rng, widest_covariance=widest)[1] for widest in (9, 1)
    )
    np.testing.assert_allclose(randomized, exact, atol=1e-6)


def test_rows_are_stored_as_principal_components():
    """They are those of PCA up to sign."""
    X = make_rows(n_rows=200, n_features=8) * np.arange(1, 9) + 3
    feature_map = fitted(QuadraticMap(n_axes=3), X)
    components = PCA(3).fit_transform(X)
    np.testing.assert_allclose(np.abs(feature_map.stored(X)), np.abs(components), atol=1e-3)


def test_features_are_kept_beside_products():
    """The map is √2 times components and centered features, then the components' products."""
    X = make_rows(n_rows=50, n_features=6)
    feature_map = fitted(QuadraticMap(n_axes=2, keep_features=True), X)
    alone = fitted(QuadraticMap(n_axes=2), X)
    phi, products = read_rows(feature_map, X), read_rows(alone, X)
    assert phi.shape[1] == feature_map.n_features_out == 2 + 6 + 3
    np.testing.assert_allclose(phi[:, :2], products[:, :2])
    np.testing.assert_allclose(phi[:, 2:8], np.sqrt(2) * (X - X.mean(axis=0)), atol=1e-12)
    np.testing.assert_allclose(phi[:, 8:], products[:, 2:])


def test_features_are_kept_only_beside_components():
    """Without principal axes products are taken of the features themselves."""
    X = make_rows()
    kept = fitted(QuadraticMap(keep_features=True), X)
    np.testing.assert_array_equal(read_rows(kept, X), read_rows(fitted(QuadraticMap(), X), X))


def test_axes_of_little_variance_are_left_out():
    """An axis needs its share of the variance of all features."""
    X = make_rows(n_rows=400, n_features=4) * np.array([10.0, 5.0, 1.0, 0.1])
    axes = [fitted(QuadraticMap(n_axes=4, least_share=share), X).axes for share in (0, 0.005, 0.1)]
    assert [len(one) for one in axes] == [4, 3, 2]


def test_principal_axes_of_weighted_rows():
    """Integer weights and repeated rows give the same axes."""
    X = make_rows(n_rows=100, n_features=6) * np.arange(1, 7)
    weights = np.random.default_rng(0).integers(1, 4, 100)
    weighted = fitted(QuadraticMap(n_axes=3), X, weights.astype(float))
    repeated = fitted(QuadraticMap(n_axes=3), np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.axes, repeated.axes, atol=1e-9)
    np.testing.assert_allclose(weighted.mean, repeated.mean, atol=1e-12)


def test_principal_axes_only_where_rows_vary():
    """Few features, or few rows about their mean, have few axes."""
    assert len(fitted(QuadraticMap(n_axes=40), make_rows(n_rows=7, n_features=9)).axes) == 6
    assert len(fitted(QuadraticMap(n_axes=40), make_rows()).axes) == 5


def test_principal_axes_from_a_sample():
    """Of many rows a random sample is enough."""
    X = make_rows(n_rows=4000, n_features=4) * np.array([9, 3, 1, 1])
    full, some = (
        principal_axes(X, np.ones(4000), 2, np.random.default_rng(0), most_rows=most_rows)[1]
        for most_rows in (4000, 2000)
    )
    assert (full != some).any()
    np.testing.assert_allclose(some, full, atol=0.1)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("n_axes", [None, 3])
def test_gradients_are_central_differences(storage, n_axes):
    """``∂(a·φ(x))/∂x``, for weights of each row and column."""
    X = make_rows(n_features=5)
    feature_map = fitted(QuadraticMap(n_axes, rescale=True), X)
    coef = np.random.default_rng(0).standard_normal((40, 2, feature_map.n_features_out))
    found = feature_map.gradients(feature_map.stored(storage(X)), coef)
    for i, step in enumerate(1e-5 * np.eye(5)):
        change = (feature_map.mapped(X + step) - feature_map.mapped(X - step)) / 2e-5
        np.testing.assert_allclose(found[..., i], np.einsum("ncp,np->nc", coef, change), atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sparse_storage_changes_nothing(dtype):
    """Dense rows stored as CSR have the same map, products, gradients and weights."""
    X = indicators(dtype=dtype)
    maps = [fitted(QuadraticMap(rescale=True, is_sparse=is_sparse), X) for is_sparse in (0, 1)]
    coef = np.random.default_rng(0).standard_normal((50, 2, maps[0].n_features_out)).astype(dtype)
    found = [
        (
            read_rows(one, X), one.products(X, X[:5]), one.pull_back(X, coef)[0], one.inner_rows(X),
            one.gradients(one.stored(X), coef), one.slopes(one.inner_rows(X)[:3], coef[:4]),
        )
        for one in maps
    ]  # fmt: skip
    for dense, sparse in zip(*found, strict=True):
        np.testing.assert_allclose(dense, sparse, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


def test_numbers_that_are_read():
    """All of dense rows; of sparse ones the products of what is not zero."""
    X = indicators()
    dense, sparse = (fitted(QuadraticMap(is_sparse=is_sparse), X) for is_sparse in (False, True))
    assert dense.row_length(dense.stored(X)) == 80 * 83 // 2
    assert sparse.row_length(sparse.stored(X)) == 8 + 8 * 9 // 2
    assert sparse.row_length(sparse.stored(X[:0])) == 0
    assert np.count_nonzero(read_rows(sparse, X), axis=1).max() == 44
