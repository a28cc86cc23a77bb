"""Tests of hyperlocal.maps.additive: finite maps of additive kernels."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.kernel_approximation import AdditiveChi2Sampler
from sklearn.metrics.pairwise import additive_chi2_kernel

from hyperlocal.maps.additive import AdditiveKernelMap
from maps.fitting import positive_rows
from reference.problems import TOLERANCE, every_storage, make_rows
from reference.rows import written_out


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
