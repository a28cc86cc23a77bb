"""Tests of hyperlocal.estimators.kernel_expansion: scores are sums over the support."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from estimators.data import make_data
from hyperlocal.linear import KernelPegasosSVC


def test_a_precomputed_kernel_is_the_kernel():
    """A matrix of Gaussian values gives what the Gaussian kernel gives; zero weights drop rows."""
    X, y = make_data(n_rows=120)
    K = rbf_kernel(X, gamma=0.2)
    weights = np.ones(120)
    weights[::7] = 0
    by_matrix = KernelPegasosSVC(kernel="precomputed", tol=1e-2, max_iter=400, random_state=0)
    by_matrix.fit(K, y, weights)
    by_rows = KernelPegasosSVC(gamma=0.2, tol=1e-2, max_iter=400, random_state=0)
    by_rows.fit(X, y, weights)
    assert not set(by_matrix.support_) & set(range(0, 120, 7))
    # Merged rows stand in another order, so visits differ, but not where they lead.
    scores = by_matrix.decision_function(K)
    np.testing.assert_allclose(scores, by_rows.decision_function(X), atol=0.1)
    expansion = K[:, by_matrix.support_] @ by_matrix.dual_coef_[0] + by_matrix.intercept_[0]
    np.testing.assert_allclose(scores, expansion)
    np.testing.assert_array_equal(X[by_rows.support_], by_rows.support_vectors_)


def test_the_support_has_the_rows_with_counts():
    """Rows that never violated their margin are no part of the model; equal rows are in it once."""
    X, y = make_data()
    X, y = np.vstack([X, X]), np.concatenate([y, y])
    model = KernelPegasosSVC(random_state=0).fit(X, y)
    assert len(model.support_) < 90
    assert (model.dual_coef_ != 0).any(axis=0).all()
    assert (model.support_ < 90).all()
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])


@pytest.mark.parametrize("kernel", ["chi2", "intersection"])
def test_kernels_of_histograms_are_explained(kernel):
    """The references that are kept are histograms too."""
    rng = np.random.default_rng(0)
    X = np.maximum(rng.normal(size=(100, 5)), 0)
    model = KernelPegasosSVC(kernel=kernel, tol=1, random_state=0).fit(X, X[:, 0] > X[:, 1])
    found = model.explain(X[:20])
    total = found.references + found.contributions.sum(axis=2) + found.remainders
    np.testing.assert_allclose(total[:, 0], model.decision_function(X[:20]), atol=1e-9)
    assert np.abs(found.remainders).max() < 0.01 * np.abs(found.contributions).max()
