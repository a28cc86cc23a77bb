"""Tests of hyperlocal.kernels: values, gamma, and what is refused."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import chi2_kernel, polynomial_kernel, rbf_kernel

from hyperlocal import NeighborhoodSVC
from hyperlocal.kernels import Kernel, check_kernel, check_precomputed, gamma_value, make_kernel
from hyperlocal.linear import KernelPegasosSVC
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
@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize("widest", [4096, 0])
def test_values(dtype, storage, name, widest):
    """Every kernel has its values for every storage, whether or not sparse rows are made dense."""
    kernel = Kernel(name, gamma=0.5, degree=2, coef0=1.5)
    values = kernel.values(
        stored(A, dtype, storage), stored(B, dtype, storage), widest_dense=widest
    )
    assert values.dtype == dtype
    assert isinstance(values, np.ndarray)
    tolerance = 10 * TOLERANCE[dtype]
    np.testing.assert_allclose(values, EXPECTED[name], rtol=tolerance, atol=tolerance)


def test_gaussian_distances_keep_their_digits():
    """Rows far from zero, in single precision, still have the right Gaussian kernel."""
    X = (A + 1000).astype(np.float32)
    kernel = make_kernel("rbf", 1.0, 3, 1.0, X)
    np.testing.assert_allclose(
        kernel.values(X, X), rbf_kernel(X.astype(float), gamma=1.0), atol=1e-3
    )


@pytest.mark.parametrize("storage", ["dense", "csr"])
def test_gamma(storage):
    """ "scale" and "auto" are scikit-learn's; χ² and constant rows have a scale of 1."""
    X = stored(A, "float64", storage)
    assert make_kernel("rbf", "scale", 3, 1.0, X).gamma == pytest.approx(1 / (4 * A.var()))
    assert gamma_value("scale", "chi2", X) == 1
    assert gamma_value("scale", "rbf", X * 0) == 1
    assert gamma_value("auto", "rbf", X) == 0.25
    assert gamma_value(3, "rbf", X) == 3.0


def test_functions():
    """A function of two sets of rows is a kernel; what it returns is checked."""
    kernel = make_kernel(lambda a, b: (a @ b.T) ** 2, 1.0, 3, 1.0, A)
    np.testing.assert_allclose(kernel.values(A, B), (A @ B.T) ** 2)
    for bad, message in [
        (lambda a, b: a @ b.T + np.arange(len(b)), "symmetric"),
        (lambda a, b: np.full((len(a), len(b)), np.nan), "NaN"),
        (lambda a, b: np.ones(len(a)), "shape"),
        (lambda a, b: np.ones((len(b), 3)), "shape"),
    ]:
        with pytest.raises(ValueError, match=message):
            make_kernel(bad, 1.0, 3, 1.0, A)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_array])
def test_functions_may_return_sparse_matrices(kind):
    """Products of sparse rows are sparse; the kernel makes them dense, in the dtype of the rows."""
    X, Z = (sp.csr_array(rows.astype(np.float32)) for rows in (A, B))
    kernel = make_kernel(lambda a, b: kind(a @ b.T), 1.0, 3, 1.0, X)
    values = kernel.values(X, Z)
    assert isinstance(values, np.ndarray)
    assert values.dtype == np.float32
    np.testing.assert_allclose(values, A @ B.T, rtol=1e-6)


@pytest.mark.parametrize(
    "fitted",
    [
        KernelPegasosSVC(kernel=lambda a, b: a @ b.T, max_iter=3, random_state=0),
        NeighborhoodSVC(kernel=lambda a, b: a @ b.T, tol=1e-10),
    ],
    ids=lambda fitted: type(fitted).__name__,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_sparse_values_in_estimators(fitted):
    """An estimator has the same scores whether its kernel returns sparse or dense values."""
    X, y = np.vstack([A, B]), np.arange(12) % 2
    dense = fitted.fit(X, y).decision_function(X)
    scores = fitted.fit(sp.csr_array(X), y).decision_function(sp.csr_array(X))
    np.testing.assert_allclose(scores, dense, rtol=1e-6, atol=1e-9)


def test_histograms_are_not_negative():
    """Kernels of histograms refuse negative features."""
    for kind in ("chi2", "intersection"):
        with pytest.raises(ValueError, match="Negative values"):
            make_kernel(kind, 1.0, 3, 1.0, A - 1)


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


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("cosine", "scale", 3), ValueError, "kernel must be one of"),
        ((None, "scale", 3), ValueError, "kernel"),
        ((dict, "scale", 3), ValueError, "kernel"),
        (("rbf", "local", 3), ValueError, "gamma"),
        (("rbf", -1.0, 3), ValueError, "gamma"),
        (("rbf", None, 3), TypeError, "gamma"),
        (("poly", "scale", 0), ValueError, "degree"),
        (("poly", "scale", 1.5), TypeError, "degree"),
        (("poly", "scale", 2, -1.0), ValueError, "coef0"),
    ],
    ids=str,
)
def test_bad_arguments(arguments, error, message):
    """An argument that makes no sense is named."""
    with pytest.raises(error, match=message):
        check_kernel(*arguments)
    check_kernel(np.dot, "auto", 3)
