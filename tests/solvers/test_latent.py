"""Tests of hyperlocal.solvers.latent: closed-form gates, compiled epochs against the reference."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hyperlocal import _core
from hyperlocal.data.rows import core_rows
from hyperlocal.solvers import latent
from reference import latent as reference
from reference.problems import every_storage, make_rows
from reference.rows import written_out

CLOSE = {"float32": {"rtol": 2e-3, "atol": 2e-4}, "float64": {"rtol": 1e-9, "atol": 1e-11}}
every_exponent = pytest.mark.parametrize("q", [1.0, 1.5, 2.0, 3.0, 6.0])
numbers = arrays(
    np.float64,
    st.tuples(st.integers(1, 11)),
    elements=st.integers(-(10**6), 10**6).map(lambda thousandths: thousandths / 1000),
)


def score_and_gate(z, q):
    """Score and gate of one class by the compiled pass."""
    padded = np.full((1, 1, -(-len(z) // 8) * 8), np.nan)  # what is beyond the models is not read
    padded[0, 0, : len(z)] = z
    score = np.empty((1, 1))
    _core.latent_scores(padded, len(z), q, True, score)
    return score[0, 0], padded[0, 0, : len(z)]


# Scores and gates ---------------------------------------------------------------------------------


@given(z=numbers, q=st.sampled_from([1.0, 1.25, 2.0, 3.0, 11.0]))
def test_the_best_gate(z, q):
    """``‖β‖_p = 1`` and ``β·z = ‖[z]_+‖_q``, unless no product is positive."""
    score, beta = score_and_gate(z, q)
    if not (z > 0).any():
        assert score == 0
        assert not beta.any()
        return
    p = np.inf if q == 1 else q / (q - 1)
    np.testing.assert_allclose(np.linalg.norm(beta, p), 1, rtol=1e-9)
    np.testing.assert_allclose(beta @ z, score, rtol=1e-9)
    np.testing.assert_allclose(score, np.linalg.norm(np.maximum(z, 0), q), rtol=1e-9)
    assert (beta >= 0).all()


@given(z=numbers, seed=st.integers(0, 99))
def test_no_gate_is_better(z, seed):
    """No mix within the ball scores higher than the closed form."""
    score, _ = score_and_gate(z, 3.0)
    mix = np.random.default_rng(seed).random(len(z)) + 1e-3
    assert mix / np.linalg.norm(mix, 1.5) @ z <= score * (1 + 1e-9) + 1e-9


@given(z=st.floats(-10, 10))
def test_one_model_without_limit_is_its_positive_part(z):
    """p = ∞ with one model scores ``[w·x]_+``."""
    assert score_and_gate(np.array([z]), 1.0)[0] == max(z, 0)


def test_large_products_do_not_overflow():
    """Powers are taken of ratios."""
    score, beta = score_and_gate(np.array([1e200, 5e199, -1.0]), 3.0)
    assert np.isfinite(score)
    assert np.isfinite(beta).all()


# Epochs -------------------------------------------------------------------------------------------


@every_storage
@every_exponent
@pytest.mark.parametrize("n_models", [1, 5, 8])
def test_epochs_equal_the_reference(dtype, storage, q, n_models):
    """Two epochs step, shrink and restart classes of score zero as the slow reference does."""
    X = make_rows(dtype, storage, n_rows=30)
    rng = np.random.default_rng(0)
    weights = np.zeros((6, 3, 8), dtype)
    weights[..., :n_models] = 0.3 * rng.standard_normal((6, 3, n_models))
    target = rng.integers(0, 3, 30).astype(np.int32)
    costs = rng.uniform(0.5, 1.5, 30).astype(dtype)
    expected = weights[..., :n_models].astype(float)
    for epoch in range(2):
        order = rng.permutation(30)
        given = (q, 0.05, 0.2, 30 * epoch, 60, order, 17 + epoch)
        core = _core.latent_problem(core_rows(X), target, costs, n_models, *given[:2])
        loss = core.epoch(weights, weights.copy(), *given[2:])
        expected, expected_loss = reference.epoch(written_out(X), target, costs, expected, *given)
        np.testing.assert_allclose(loss, expected_loss, rtol=1e-3)
    np.testing.assert_allclose(weights[..., :n_models], expected, **CLOSE[dtype])
    assert not weights[..., n_models:].any()


def make_problem(storage="dense", q=3.0, n_classes=3):
    X = make_rows("float64", storage, n_rows=60)
    rng = np.random.default_rng(5)
    target = rng.integers(0, n_classes, 60).astype(np.int32)
    return latent.LatentProblem(X, target, np.ones(60), n_classes, q)


def run(problem, alpha=1e-4, n_epochs=20, **options):
    rng = np.random.default_rng(0)
    return latent.solve(problem, n_models=6, alpha=alpha, n_epochs=n_epochs, rng=rng, **options)


def test_sparse_rows_train_like_dense_rows():
    """CSR rows give the weights that dense rows give, but for rounding."""
    dense, sparse = (run(make_problem(storage)).weights for storage in ("dense", "csr"))
    np.testing.assert_allclose(dense, sparse, atol=1e-8)


def test_training_lowers_the_loss():
    """The loss falls from epoch to epoch, on the whole."""
    history = run(make_problem(), n_epochs=60).history
    assert history[-1][1] < 0.7 * history[0][1]


def test_a_huge_penalty_leaves_nothing():
    """Weights shrink towards zero, never through it."""
    weights = run(make_problem(), alpha=1e6).weights
    assert np.isfinite(weights).all()
    assert np.abs(weights).max() < 1e-3


def test_a_monitor_stops_a_run():
    """A run ends with the epoch at which the monitor asks to stop."""
    result = run(make_problem(), monitor=lambda number, loss: number == 3)
    assert (result.n_iter, result.stopped, len(result.history)) == (3, True, 3)
