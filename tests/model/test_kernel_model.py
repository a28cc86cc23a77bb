"""Tests of hyperlocal.model.kernel_model: gated kernel SVMs against sums written out."""

import numpy as np
import pytest
import scipy.sparse as sp

from hyperlocal.gates.coupling import code_matrix
from hyperlocal.gates.gate import Gate
from hyperlocal.kernels import Kernel
from hyperlocal.maps.base import FeatureMap
from hyperlocal.model.kernel_model import make_kernel_model
from hyperlocal.runtime.threads import Workers
from reference.problems import TOLERANCE, every_storage, make_rows
from reference.rows import written_out

KERNEL = Kernel("rbf", gamma=0.3)


def make_model(X, n_neighbors=1, shared=False):
    """A model with random dual variables on half of the rows."""
    rng = np.random.default_rng(0)
    gate = Gate(rng.normal(size=(4, 5)).astype(X.dtype), n_neighbors, "soft", 0.5)
    with Workers(1) as workers:
        row_gate = code_matrix(gate.encode(X, workers), 4)
    coef = rng.normal(size=(X.shape[0], 2)) * (np.arange(X.shape[0]) % 2)[:, None]
    intercept = rng.normal(size=2 if shared else (4, 2))
    model = make_kernel_model(FeatureMap(5), gate, KERNEL, X, row_gate, coef, intercept)
    return model, row_gate.toarray(), coef


@every_storage
@pytest.mark.parametrize("n_neighbors", [1, 3])
@pytest.mark.parametrize("shared", [True, False])
def test_scores(dtype, storage, n_neighbors, shared):
    """``Σ_i (γ(x)·g_i) k(x, x_i) a_i + b(x)``, in blocks of any size, on any number of threads."""
    X = make_rows(dtype, storage)
    model, gate, coef = make_model(X, n_neighbors, shared)
    rows = written_out(X).astype(float)
    bias = model.intercept if shared else gate @ model.intercept
    expected = (gate @ gate.T * KERNEL.values(rows, rows)) @ coef + bias
    for n_jobs, size in ((1, 1 << 20), (2, 50)):
        with Workers(n_jobs) as workers:
            scores = model.scores(X, workers, values_per_block=size)
        assert scores.dtype == dtype
        tolerance = TOLERANCE[dtype]
        np.testing.assert_allclose(scores, expected, rtol=tolerance, atol=10 * tolerance)


@every_storage
def test_rows_with_dual_variables_are_the_support(dtype, storage):
    """Other rows are left out."""
    X = make_rows(dtype, storage)
    model, gate, coef = make_model(X)
    assert not sp.issparse(model.support)
    np.testing.assert_array_equal(model.support, written_out(X)[1::2])
    by_anchor = (model.shares, model.members, model.starts)
    stored = sp.csc_array(by_anchor, shape=(20, 4)).toarray()
    np.testing.assert_array_equal(stored, gate[1::2])
    np.testing.assert_array_equal(model.dual_coef, coef[1::2])


def test_without_support_the_score_is_the_intercept():
    """A model of one label has no support vectors."""
    X = make_rows()
    gate, intercept = Gate(X[:2], 1, "hard"), np.array([1.0, -1.0])
    model = make_kernel_model(
        FeatureMap(5), gate, KERNEL, X, np.ones((40, 2)), np.zeros((40, 2)), intercept
    )
    with Workers(1) as workers:
        scores = model.scores(X, workers)
    np.testing.assert_array_equal(scores, np.tile(intercept, (40, 1)))


@every_storage
@pytest.mark.parametrize("n_neighbors", [1, 3])
def test_weights_are_those_of_rows(dtype, storage, n_neighbors):
    """No weights for all rows, but exact ones at each row, and along paths with the gate fixed."""
    X = make_rows(dtype, storage)
    model, *_ = make_model(X, n_neighbors)
    assert not hasattr(model, "coef")
    with Workers(1) as workers:
        [block] = model.local_rows(X, workers)
        np.testing.assert_allclose(
            block.scores, model.scores(X, workers), atol=10 * TOLERANCE[dtype]
        )
        reference = written_out(X)[:1]
        [weights] = model.path_weights(X, reference, workers)
        change = np.einsum("ncd,nd->nc", weights, written_out(X) - reference)
        assert np.isfinite(change).all()
        assert not change[0].any()
