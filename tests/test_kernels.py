"""Tests of hyperlocal.kernels: values, gamma, and what is refused."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import chi2_kernel, polynomial_kernel, rbf_kernel

from hyperlocal import kernels
from hyperlocal.kernels import Kernel, check_precomputed, fit_kernel
from reference.problems import TOLERANCE, every_storage, stored

A = np.random.default_rng(0).random((7, 4)) * (np.random.default_rng(1).random((7, 4)) < 0.7)
B = np.random.default_rng(2).random((5, 4))
EXPECTED = {
    "linear": A @ B.T,
    "poly": polynomial_kernel(A, B, degree=2, gamma=0.5, coef0=1.5),
    "rbf": rbf_kernel(A, B, gamma=0.5),
    "chi2": chi2_kernel(A, B, gamma=0.5),
    "intersection": np.minimum(A[:, None], B[None]).sum(axis=2),
}


@every_storage
@pytest.mark.parametrize("kind", EXPECTED)
@pytest.mark.parametrize("widest", [4096, 0])
def test_values(monkeypatch, dtype, storage, kind, widest):
    """Every kernel has its values for every storage, and a constant may be added."""
    monkeypatch.setattr(kernels, "WIDEST_WRITTEN_OUT", widest)
    kernel = Kernel(kind, gamma=0.5, degree=2, coef0=1.5, constant=0.25)
    values = kernel(stored(A, dtype, storage), stored(B, dtype, storage))
    assert values.dtype == dtype
    assert isinstance(values, np.ndarray)
    np.testing.assert_allclose(values, EXPECTED[kind] + 0.25, rtol=10 * TOLERANCE[dtype])


def test_gaussian_distances_keep_their_digits():
    """Rows far from zero, in single precision, still have the right Gaussian kernel."""
    X = (A + 1000).astype(np.float32)
    kernel = fit_kernel("rbf", 1.0, 3, 1.0, X)
    np.testing.assert_allclose(kernel(X, X), rbf_kernel(X.astype(float), gamma=1.0), atol=1e-3)


@pytest.mark.parametrize("storage", ["dense", "csr"])
def test_gamma_scale(storage):
    """ "scale" is scikit-learn's; χ² has 1; constant rows have 1."""
    X = stored(A, "float64", storage)
    assert fit_kernel("rbf", "scale", 3, 1.0, X).gamma == pytest.approx(1 / (4 * A.var()))
    assert fit_kernel("chi2", "scale", 3, 1.0, X).gamma == 1
    assert fit_kernel("rbf", "scale", 3, 1.0, X * 0).gamma == 1


def test_functions():
    """A function of two sets of rows is a kernel; what it returns is checked."""
    kernel = fit_kernel(lambda a, b: (a @ b.T) ** 2, 1.0, 3, 1.0, A)
    np.testing.assert_allclose(kernel(A, B), (A @ B.T) ** 2)
    for bad, message in [
        (lambda a, b: a @ b.T + np.arange(len(b)), "symmetric"),
        (lambda a, b: np.full((len(a), len(b)), np.nan), "NaN"),
        (lambda a, b: np.ones(len(a)), "shape"),
        (lambda a, b: np.ones((len(b), 3)), "shape"),
    ]:
        with pytest.raises(ValueError, match=message):
            fit_kernel(bad, 1.0, 3, 1.0, A)


def test_histograms_are_not_negative():
    """Kernels of histograms refuse negative features."""
    for kind in ("chi2", "intersection"):
        with pytest.raises(ValueError, match="Negative values"):
            fit_kernel(kind, 1.0, 3, 1.0, A - 1)


def test_precomputed_matrices():
    """A kernel matrix of training rows is square, symmetric and dense."""
    K = A @ A.T
    check_precomputed(K)
    skew = K.copy()
    skew[0, 6] += 0.1
    for bad, message in [
        (K[:, :4].copy(), "square"), (skew, "symmetric"), (sp.csr_array(K), "dense"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=message):
            check_precomputed(bad)
