"""Tests of hyperlocal.estimators.kernel_pegasos: kernels, and other solvers of the same problem."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from estimators.data import make_data
from hyperlocal.linear import KernelPegasosSVC, PegasosSVC


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_linear_kernel_is_linear_pegasos():
    """With a linear kernel, scores are those of linear Pegasos with the same seed."""
    X, y = make_data(3)
    kernel = KernelPegasosSVC(0.2, kernel="linear", max_iter=5, tol=0.0, random_state=0).fit(X, y)
    linear = PegasosSVC(0.2, random_state=0)
    for _ in range(5):  # fit would keep the best epoch's weights, not the last one's
        linear.partial_fit(X, y, classes=[0, 1, 2])
    scores = linear.decision_function(X)
    np.testing.assert_allclose(kernel.decision_function(X), scores, atol=1e-8)
    assert kernel.objective_ == pytest.approx(linear.objective_, rel=1e-9)


def test_it_approaches_libsvm():
    """With many epochs the scores come close to those of LIBSVM, whose intercept is free."""
    X, y = make_data(n_rows=200)
    svc = SVC(C=1.0, gamma=0.2).fit(X, y)
    model = KernelPegasosSVC(gamma=0.2, tol=0.05, random_state=0).fit(X, y)
    assert model.duality_gap_ <= 0.05 * model.objective_
    assert (model.predict(X) == svc.predict(X)).mean() > 0.97


@pytest.mark.parametrize("kind", ["chi2", "intersection"])
def test_histogram_kernels(kind):
    """Kernels of histograms classify histograms."""
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    X = rng.dirichlet(np.ones(6), 120) + 0.5 * np.eye(6)[3 * y]
    assert KernelPegasosSVC(kernel=kind, random_state=0).fit(X, y).score(X, y) > 0.9
    with pytest.raises(ValueError, match="Negative values"):
        KernelPegasosSVC(kernel=kind).fit(X - 1, y)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (lambda a, b: a[:, :1] - b[:, :1].T, "symmetric"),
        (lambda a, b: np.full((len(a), len(b)), np.inf), "NaN or infinity"),
        (lambda a, b: np.ones((len(a), 2)), "shape"),
    ],
)
def test_bad_functions_are_refused(kernel, message):
    """A kernel function that is none raises a clear error."""
    with pytest.raises(ValueError, match=message):
        KernelPegasosSVC(kernel=kernel).fit(*make_data())


def test_bad_matrices_are_refused():
    """A kernel matrix must be square, symmetric, finite; predictions need all training rows."""
    X, y = make_data()
    K = rbf_kernel(X)
    model = KernelPegasosSVC(kernel="precomputed", random_state=0)
    skew = K.copy()
    skew[3, 5] += 0.5
    broken = K.copy()
    broken[3, 5] = np.nan
    for bad, message in [(K[:, :50], "square"), (skew, "symmetric"), (broken, "NaN")]:
        with pytest.raises(ValueError, match=message):
            model.fit(bad, y)
    with pytest.raises(ValueError, match="features"):
        model.fit(K, y).predict(K[:, :50])
