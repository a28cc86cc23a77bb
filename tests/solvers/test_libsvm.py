"""Tests of hyperlocal.solvers.libsvm: kernel SVMs by LIBSVM on a Gram matrix."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import linear_kernel
from sklearn.svm import SVC

from hyperlocal.model.multiclass import signed_labels
from hyperlocal.solvers import libsvm
from reference.problems import make_rows


def labelled_rows(n_classes=2, seed=0):
    X = make_rows(n_rows=60, seed=seed)
    noisy = X[:, 0] + 0.5 * np.random.default_rng(seed).normal(size=60)
    return X, np.searchsorted(np.linspace(-0.5, 0.5, n_classes - 1), noisy)


@pytest.mark.parametrize("name", ["rbf", "poly"])
def test_named_kernels_are_those_of_libsvm(name):
    """The same scores as ``SVC`` with the kernel of that name."""
    X, y = labelled_rows()
    kernel = libsvm.make_kernel(name, 0.3, 2, X)
    costs = np.random.default_rng(0).uniform(0.5, 2, 60)
    found = libsvm.solve(libsvm.gram_matrix(kernel, X), signed_labels(y, 2), costs, 1e-8)
    expected = SVC(C=1.0, kernel=name, gamma=0.3, degree=2, coef0=1, tol=1e-8)
    expected.fit(X, y, sample_weight=costs)
    scores = libsvm.gram_matrix(kernel, X) @ found.coef + found.intercept
    np.testing.assert_allclose(scores[:, 0], expected.decision_function(X), atol=1e-5)
    np.testing.assert_array_equal(np.flatnonzero(found.coef), np.sort(expected.support_))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_gap_is_small(n_classes):
    """Primal and dual objective meet."""
    X, y = labelled_rows(n_classes)
    found = libsvm.solve(linear_kernel(X, X), signed_labels(y, n_classes), np.ones(60), 1e-7)
    assert -1e-9 < found.duality_gap < 1e-3 * found.objective
    np.testing.assert_allclose(found.coef.sum(axis=0), 0, atol=1e-9)


def test_a_column_of_one_label():
    """Where all rows have one label, that is the score, without support vectors."""
    X, _ = labelled_rows()
    labels = np.column_stack([np.ones(60), -np.ones(60)])
    found = libsvm.solve(linear_kernel(X, X), labels, np.ones(60), 1e-3)
    np.testing.assert_array_equal(found.intercept, [1, -1])
    assert not found.coef.any()


def test_single_precision_rows_have_a_gram_matrix_in_double_precision():
    """Values of float32 rows are computed in float64, by any kernel."""
    X = labelled_rows()[0].astype(np.float32)
    for name in ("rbf", "poly", lambda A, B: A @ B.T):
        kernel = libsvm.make_kernel(name, 0.3, 3, X)
        gram = libsvm.gram_matrix(kernel, X)
        assert gram.dtype == np.float64
        np.testing.assert_allclose(gram, kernel.values(X, X), rtol=1e-4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("chi2", "scale", 3, "hinge"), "kernel must be one of"),
        (("rbf", "local", 3, "hinge"), "gamma"),
        (("rbf", "scale", 3, "log"), "kernel='rbf' needs loss='hinge'"),
    ],
    ids=str,
)
def test_bad_arguments(arguments, message):
    """Arguments that make no sense are named."""
    with pytest.raises(ValueError, match=message):
        libsvm.check_kernel(*arguments)


def test_another_name_for_gamma():
    """An error names the estimator's own parameter."""
    with pytest.raises(ValueError, match="kernel_gamma must be"):
        libsvm.check_kernel("rbf", -1.0, 3, "hinge", gamma_name="kernel_gamma")


def test_too_many_rows():
    """Above a stated number of rows there is an error that says what to do."""
    libsvm.check_size(10_000, "X")
    with pytest.raises(ValueError, match="X has 10001 rows, more than 10000; use kernel='linear'"):
        libsvm.check_size(10_001, "X")
