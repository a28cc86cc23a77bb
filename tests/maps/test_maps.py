"""Tests of hyperlocal.maps: what the maps compute, and weights pulled back to the input."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import AdditiveChi2Sampler, Nystroem
from sklearn.metrics.pairwise import additive_chi2_kernel
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from hyperlocal.maps import quadratic as features
from hyperlocal.maps.additive import AdditiveKernelMap
from hyperlocal.maps.base import BiasOnlyMap, FeatureMap
from hyperlocal.maps.named import FEATURE_MAPS, check_feature_map, make_feature_map
from hyperlocal.maps.quadratic import QuadraticMap
from hyperlocal.maps.transformer import TransformerMap
from reference.problems import TOLERANCE, every_storage, make_rows, stored
from reference.rows import written_out


def fitted(feature_map, X, weights=None, seed=0):
    weights = np.ones(X.shape[0]) if weights is None else weights
    return feature_map.fit(X, None, weights, np.random.default_rng(seed))


def named(name, X, seed=0):
    return fitted(make_feature_map(name, X, np.random.default_rng(seed)), X, seed=seed)


def positive_rows(n_rows=40, n_features=6, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(0, 1, (n_rows, n_features)) * (rng.random((n_rows, n_features)) < 0.8)


def read_rows(feature_map, X):
    """φ as the solvers read it."""
    rows = feature_map.rows(feature_map.stored(X))
    out = np.empty((X.shape[0], rows.width), X.dtype)
    rows.gather(np.arange(X.shape[0]), out)
    return out


# Additive kernels ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_chi2_map_is_that_of_scikit_learn(dtype, convert):
    """The χ² map has the columns of AdditiveChi2Sampler at the same sampling."""
    X = positive_rows().astype(dtype)
    sampler = AdditiveChi2Sampler(sample_steps=2, sample_interval=0.6)
    phi = written_out(AdditiveKernelMap("chi2").fit_transform(convert(X)))
    expected = sampler.fit_transform(X)

    def in_order(columns):
        return columns[:, np.lexsort(np.round(columns, 4))]

    np.testing.assert_allclose(in_order(phi), in_order(expected), atol=TOLERANCE[dtype])


def additive_kernel(kernel, X):
    pairs = X[:, None], X[None]
    if kernel == "intersection":
        return np.minimum(*pairs).sum(axis=2)
    total = pairs[0] + pairs[1]
    return (2 * pairs[0] * pairs[1] / np.where(total > 0, total, 1)).sum(axis=2)


def test_the_kernel_of_the_chi2_map():
    """The kernel that is approximated is 2xy/(x+y), scikit-learn's χ² up to a linear part."""
    X = positive_rows()
    sums = X.sum(axis=1)
    expected = 0.5 * (sums[:, None] + sums + additive_chi2_kernel(X))
    np.testing.assert_allclose(additive_kernel("chi2", X), expected)


@pytest.mark.parametrize(("kernel", "error"), [("chi2", 0.02), ("intersection", 0.05)])
def test_products_approximate_the_kernel(kernel, error):
    """φ(x)·φ(y) is close to the kernel, relative to the largest product."""
    X = np.random.default_rng(0).uniform(0.1, 1, (40, 6))
    phi = AdditiveKernelMap(kernel).fit_transform(X)
    exact = additive_kernel(kernel, X)
    assert np.abs(phi @ phi.T - exact).mean() < error * exact.max()


@pytest.mark.parametrize("kernel", ["chi2", "intersection"])
def test_the_map_is_homogeneous(kernel):
    """Products scale with the rows: φ(sx)·φ(sy) = s φ(x)·φ(y)."""
    X = positive_rows()
    phi, scaled = (AdditiveKernelMap(kernel).fit_transform(rows) for rows in (X, 7.5 * X))
    np.testing.assert_allclose(scaled @ scaled.T, 7.5 * phi @ phi.T, atol=1e-10)


@pytest.mark.parametrize("kernel", ["chi2", "intersection"])
@given(x=arrays(np.float64, (3, 4), elements=st.floats(-100, 100)))
def test_the_map_is_odd(kernel, x):
    """φ(−x) = −φ(x), and φ(0) = 0."""
    phi = AdditiveKernelMap(kernel).fit(x)
    np.testing.assert_array_equal(phi.transform(-x), -phi.transform(x))
    np.testing.assert_array_equal(phi.transform(np.zeros_like(x)), 0)


@every_storage
@pytest.mark.parametrize("kernel", ["chi2", "intersection"])
@pytest.mark.parametrize("n_steps", [1, 2, 3])
def test_additive_map_of_every_storage(dtype, storage, kernel, n_steps):
    """Sparse rows stay sparse, the dtype stays, and there are 2n − 1 parts per feature."""
    X = make_rows(dtype, storage)
    phi = AdditiveKernelMap(kernel, n_steps).fit(X)
    out = phi.transform(X)
    assert out.dtype == X.dtype
    assert out.shape == (40, 5 * (2 * n_steps - 1))
    assert len(phi.get_feature_names_out()) == out.shape[1]
    expected = AdditiveKernelMap(kernel, n_steps).fit_transform(written_out(X))
    np.testing.assert_allclose(written_out(out), expected, atol=TOLERANCE[dtype])
    if storage == "csr":
        assert out.nnz <= X.nnz * (2 * n_steps - 1)


def test_feature_names_of_the_additive_map():
    """Names say which feature and which wave a column holds."""
    phi = AdditiveKernelMap().fit(np.zeros((1, 2)))
    expected = ["x0_0", "x1_0", "x0_cos1", "x1_cos1", "x0_sin1", "x1_sin1"]
    assert phi.get_feature_names_out().tolist() == expected


def test_unknown_additive_kernel():
    """An unknown kernel is refused by name."""
    with pytest.raises(ValueError, match="kernel must be one of"):
        AdditiveKernelMap("gauss").fit(np.zeros((1, 2)))


# What solvers read --------------------------------------------------------------------------------


@every_storage
@pytest.mark.parametrize("name", [None, "identity", "quadratic", "additive_chi2", "intersection"])
def test_mapped_rows_are_what_solvers_read(dtype, storage, name):
    """φ written out for coding is φ as the core reads it, of the width that the map states."""
    X = make_rows(dtype, storage)
    feature_map = named(name, X)
    phi = read_rows(feature_map, X)
    assert phi.shape[1] == feature_map.n_features_out
    np.testing.assert_array_equal(written_out(feature_map.mapped(X)), phi)


@every_storage
def test_quadratic_map(dtype, storage):
    """The quadratic map holds all products of pairs."""
    X = make_rows(dtype, storage)
    np.testing.assert_allclose(
        read_rows(named("quadratic", X), X), written_out(X, True), rtol=TOLERANCE[dtype]
    )


@every_storage
def test_bias_only_map(dtype, storage):
    """The map of no features has rows of width zero."""
    X = make_rows(dtype, storage)
    feature_map = named("bias_only", X)
    assert read_rows(feature_map, X).shape == (40, 0)
    assert feature_map.n_features_out == 0
    coef, shift = feature_map.pull_back(X, np.empty((40, 3, 0), dtype))
    np.testing.assert_array_equal(coef, np.zeros((40, 3, 5)))
    assert np.all(shift == 0)


def test_nystroem_map_uses_the_scale_of_the_rows():
    """Nyström's γ is one over features times variance, also for sparse rows."""
    X = make_rows(n_rows=60)
    for rows in (X, sp.csr_array(X)):
        feature_map = named("nystroem", rows)
        assert feature_map.transformer.gamma == pytest.approx(1 / (5 * X.var()))
        assert feature_map.n_features_out == 60
    assert np.isfinite(named("nystroem", np.ones((4, 2))).transformer.gamma)


# Weights pulled back ------------------------------------------------------------------------------


@every_storage
@pytest.mark.parametrize("kind", [FeatureMap, QuadraticMap])
def test_pulled_back_weights_give_the_same_scores(dtype, storage, kind):
    """w·φ(x) = pulled back(w)·x + shift."""
    X = make_rows(dtype, storage)
    feature_map = fitted(kind(), X)
    coef = np.random.default_rng(0).standard_normal((40, 3, feature_map.n_features_out))
    local, shift = feature_map.pull_back(X, coef.astype(dtype))
    scores = np.einsum("ncp,np->nc", coef, read_rows(feature_map, X).astype(float))
    explained = np.einsum("nci,ni->nc", local.astype(float), written_out(X)) + shift
    np.testing.assert_allclose(explained, scores, atol=100 * TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_weights_on_principal_axes_pulled_back(dtype):
    """Weights on products of principal components are stated on the input's own features."""
    X = make_rows(dtype, n_features=9) + np.asarray(2, dtype)
    feature_map = fitted(QuadraticMap(n_axes=3), X)
    coef = np.random.default_rng(0).standard_normal((40, 2, feature_map.n_features_out))
    local, shift = feature_map.pull_back(X, coef.astype(dtype))
    scores = np.einsum("ncp,np->nc", coef, read_rows(feature_map, X).astype(float))
    explained = np.einsum("nci,ni->nc", local.astype(float), X.astype(float)) + shift
    np.testing.assert_allclose(explained, scores, atol=1000 * TOLERANCE[dtype])


def test_names_of_maps_that_explain_the_input():
    """Identity and quadratic maps speak of the input's features."""
    names = np.array(["a", "b"], dtype=object)
    for feature_map in (FeatureMap(), QuadraticMap(), BiasOnlyMap()):
        assert feature_map.explains_input
        assert feature_map.feature_names(names) is names


# Principal axes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("widest", [1500, 4], ids=["eigenvectors", "randomized"])
def test_principal_axes_are_those_of_pca(widest, monkeypatch):
    """Axes and components are those of PCA up to sign, the largest entry positive."""
    monkeypatch.setattr(features, "WIDEST_COVARIANCE", widest)
    X = make_rows(n_rows=200, n_features=8) * np.arange(1, 9) + 3
    feature_map = fitted(QuadraticMap(n_axes=3), X)
    pca = PCA(3).fit(X)
    np.testing.assert_allclose(np.abs(feature_map.axes), np.abs(pca.components_), atol=1e-4)
    np.testing.assert_allclose(np.abs(feature_map.stored(X)), np.abs(pca.transform(X)), atol=1e-3)
    np.testing.assert_array_equal(
        feature_map.axes.max(axis=1), np.abs(feature_map.axes).max(axis=1)
    )


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


def test_principal_axes_from_a_sample(monkeypatch):
    """Of many rows a random sample is enough."""
    X = make_rows(n_rows=4000, n_features=4) * np.array([9, 3, 1, 1])
    full = fitted(QuadraticMap(n_axes=2), X)
    monkeypatch.setattr(features, "ROWS_FOR_PRINCIPAL_AXES", 2000)
    np.testing.assert_allclose(fitted(QuadraticMap(n_axes=2), X).axes, full.axes, atol=0.1)


# Transformers -------------------------------------------------------------------------------------


def test_any_transformer_is_a_map():
    """A transformer is cloned and fitted; φ is its output in the dtype of the rows."""
    X = make_rows("float32")
    scaler = StandardScaler()
    feature_map = fitted(TransformerMap(scaler), X)
    assert not hasattr(scaler, "mean_")
    assert not feature_map.explains_input
    phi = read_rows(feature_map, X)
    assert phi.dtype == np.float32
    np.testing.assert_allclose(phi, StandardScaler().fit_transform(X), atol=1e-6)


def test_a_transformer_with_sparse_output():
    """Sparse output is read as CSR rows."""
    X = np.array([[0.0], [1.0], [2.0], [1.0]])
    feature_map = fitted(TransformerMap(OneHotEncoder()), X)
    assert sp.issparse(feature_map.stored(X))
    np.testing.assert_array_equal(read_rows(feature_map, X), np.eye(3)[[0, 1, 2, 1]])


def test_names_of_a_transformer():
    """Explanations use the transformer's names, or φ0, φ1, … where it has none."""
    X = make_rows()
    own = fitted(TransformerMap(Nystroem(n_components=2, random_state=0)), X)
    assert own.feature_names(None).tolist() == ["nystroem0", "nystroem1"]
    none = fitted(TransformerMap(FunctionTransformer(lambda X: X[:, :2])), X)
    assert none.feature_names(None).tolist() == ["φ0", "φ1"]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda X: np.vstack([X, X]), "feature_map turned 1 rows into 2"),
        (lambda X: X * np.nan, "output of feature_map contains NaN"),
    ],
)
def test_a_transformer_that_breaks_rows(function, message):
    """Rows too many and non-finite output are refused by name."""
    with pytest.raises(ValueError, match=message):
        fitted(TransformerMap(FunctionTransformer(function)), make_rows())


# Arguments ----------------------------------------------------------------------------------------


def test_automatic_map():
    """Quadratic up to 64 features, on 40 principal axes beyond, identity for sparse rows."""
    rng = np.random.default_rng(0)
    narrow, wide = rng.standard_normal((50, 64)), rng.standard_normal((50, 65))
    assert named("auto", narrow).n_features_out == 64 * 67 // 2
    assert named("auto", wide).n_features_out == 40 * 43 // 2
    assert type(named("auto", stored(wide, "float64", "csr"))) is FeatureMap


@pytest.mark.parametrize("name", FEATURE_MAPS)
def test_every_name_makes_a_map(name):
    """Each documented name passes the check and gives a map that fits."""
    check_feature_map(name)
    X = positive_rows()
    assert read_rows(named(name, X), X).shape[0] == 40


def test_what_is_no_map_is_refused():
    """Unknown names and objects without transform raise an error that lists the choices."""
    with pytest.raises(ValueError, match="feature_map must be one of"):
        check_feature_map("cubic")
    with pytest.raises(TypeError, match=r"feature_map must be one of .* or a transformer"):
        check_feature_map(3)
    check_feature_map(StandardScaler())
