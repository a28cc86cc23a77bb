"""Tests of the epochs of hyperlocal.solvers.dual: compiled steps and checks against a reference."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperlocal import _core
from reference import dual as reference
from reference.lifting import scores as reference_scores
from reference.problems import (
    DTYPES,
    STORAGES,
    assert_feasible,
    compiled_dual,
    dual_arrays,
    every_hinge,
    every_map,
    every_problem,
    every_storage,
    full_matrix,
    make_problem,
    make_written_out,
)

CLOSE = {"float32": {"rtol": 2e-3, "atol": 2e-3}, "float64": {"rtol": 1e-8, "atol": 1e-8}}


def run_epochs(problem, Z, n_epochs, bounds):
    """The compiled epochs beside the reference, from the same state, in the same order."""
    arrays = dual_arrays(problem)
    core = compiled_dual(problem, arrays)
    arrays.bounds[:] = bounds
    costs = problem.costs.astype(float)
    start = dual_arrays(problem)
    expected = reference.Epoch(start.weights, start.alpha, start.active, start.reports)
    rng = np.random.default_rng(0)
    for _ in range(n_epochs):
        order = rng.permutation(problem.lifted.n_rows)
        arrays.reports[:] = [0.0, 0.0, -np.inf, np.inf]
        core.epoch(order, 0, problem.n_columns, arrays.reports)
        given = (Z, problem.target, costs, problem.loss, expected.weights, expected.alpha)
        if problem.crammer_singer:
            expected = reference.crammer_singer_epoch(*given, expected.active, order, bounds)
        else:
            expected = reference.epoch(*given, expected.active, order, arrays.bounds)
    return arrays, expected


def assert_reports(reports, expected, problem):
    if problem.crammer_singer and problem.loss == "hinge":
        # Which gradients count depends on whether a variable is at its bound to the last bit.
        reports, expected = reports[:, :2], expected[:, :2]
    np.testing.assert_allclose(reports, expected, **CLOSE[str(problem.lifted.dtype)])


@every_storage
@every_map
@every_problem
def test_epochs_equal_the_reference(dtype, storage, quadratic, loss, crammer_singer, n_columns):
    """Three epochs visit, step and report as the slow reference does, without shrinking."""
    problem, Z = make_written_out(
        dtype, storage, quadratic, normalize=quadratic, n_rows=25, n_features=4, loss=loss,
        crammer_singer=crammer_singer, n_columns=n_columns, C=0.7, weighted=True,
    )  # fmt: skip
    arrays, expected = run_epochs(problem, Z, 3, (np.inf, -np.inf))
    np.testing.assert_allclose(arrays.alpha, expected.alpha, **CLOSE[dtype])
    np.testing.assert_allclose(arrays.weights, expected.weights, **CLOSE[dtype])
    assert_reports(arrays.reports, expected.reports, problem)
    assert arrays.active.all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("storage", STORAGES)
@every_hinge
@pytest.mark.parametrize("crammer_singer", [False, True])
def test_shrinking_equals_the_reference(dtype, storage, loss, crammer_singer):
    """With bounds on gradients the same variables are switched off."""
    problem = make_problem(n_rows=40, loss=loss, crammer_singer=crammer_singer, C=0.5, dtype=dtype,
                           storage=storage, noise=0.2)  # fmt: skip
    Z = full_matrix(problem.lifted)
    arrays, expected = run_epochs(problem, Z, 4, (0.15, -0.15))
    flags = slice(0, 1) if crammer_singer else slice(None)
    np.testing.assert_array_equal(arrays.active[:, flags], expected.active[:, flags])
    assert 0 < np.mean(arrays.active[:, flags] == 0) < 1
    np.testing.assert_allclose(arrays.alpha, expected.alpha, **CLOSE[dtype])
    assert_reports(arrays.reports, expected.reports, problem)


@pytest.mark.parametrize("dtype", DTYPES)
@every_problem
def test_checks_equal_the_reference(dtype, loss, crammer_singer, n_columns):
    """The full check sums losses and gaps, and chooses active variables, as the reference does."""
    problem = make_problem(n_rows=30, dtype=dtype, loss=loss, crammer_singer=crammer_singer,
                           n_columns=n_columns, weighted=True)  # fmt: skip
    bounds = (0.1, -0.1)
    arrays, _ = run_epochs(problem, full_matrix(problem.lifted), 2, bounds)
    scores = problem.lifted.scores(arrays.weights)
    losses, gaps = (np.zeros(len(arrays.bounds)) for _ in range(2))
    core = compiled_dual(problem, arrays)
    for begin, end in [(0, 11), (11, 30)]:
        core.check(begin, end, scores[begin:end], losses, gaps)
    given = (scores.astype(float), problem.target, problem.costs.astype(float), loss)
    alpha = arrays.alpha.astype(float)
    if crammer_singer:
        expected = reference.crammer_singer_check(*given, alpha, bounds)
        active = arrays.active[:, 0]
    else:
        expected = reference.check(*given, alpha, arrays.bounds)
        active = arrays.active
    np.testing.assert_allclose(losses, np.atleast_1d(expected[0]), rtol=1e-9)
    np.testing.assert_allclose(gaps, np.atleast_1d(expected[1]), rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(active, expected[2])


@every_hinge
@given(
    scores=st.lists(st.floats(-5, 5), min_size=2, max_size=6),
    q=st.floats(0.01, 10),
    cost=st.floats(0.01, 10),
    data=st.data(),
)
def test_a_row_of_crammer_singer_reaches_its_optimum(loss, scores, q, cost, data):
    """One visit solves a row's sub-problem exactly, and keeps its variables feasible."""
    n_columns = len(scores)
    truth = data.draw(st.integers(0, n_columns - 1))
    # One feature, one anchor: weights are the scores over √q.
    rows = _core.rows(np.full((1, 1), np.sqrt(q)))
    lifted = _core.lifted(rows, np.zeros((1, 1), np.int32), np.ones((1, 1)), 1, 0.0)
    core = _core.dual_problem(
        lifted, np.array([truth], np.int32), np.array([cost]), np.array([q]), n_columns,
        getattr(_core.Loss, loss), True,
    )  # fmt: skip
    weights = np.zeros((1, n_columns, 2))
    weights[0, :, 0] = np.array(scores) / np.sqrt(q)
    alpha, active = np.zeros((1, n_columns)), np.ones((1, n_columns), np.uint8)
    bounds, reports = np.array([[np.inf, -np.inf]]), np.zeros((1, 4))
    state = _core.dual_state(core, weights, alpha, active, bounds)
    state.epoch(np.array([0]), 0, n_columns, reports)
    expected = reference.best_row(loss, np.array(scores), np.zeros(n_columns), truth, q, cost)
    np.testing.assert_allclose(alpha[0], expected, atol=1e-8 * (1 + np.abs(expected).max()))
    assert_feasible(alpha, np.array([truth]), np.array([cost]), loss)


def test_reference_scores_are_the_lifted_scores():
    """The reference's matrix and the solver's rows are the same rows."""
    problem = make_problem()
    weights = np.random.default_rng(0).standard_normal((6, 3, 6))
    expected = reference_scores(full_matrix(problem.lifted), weights)
    np.testing.assert_allclose(problem.lifted.scores(weights), expected, atol=1e-12)
