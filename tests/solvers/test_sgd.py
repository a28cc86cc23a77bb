"""Tests of hyperlocal.solvers.sgd: compiled epochs against the reference, and where runs end."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperlocal.runtime.threads import Workers
from hyperlocal.solvers import dual, qp, sgd
from reference import sgd as reference
from reference.problems import (
    STORAGES,
    every_loss,
    every_map,
    every_storage,
    make_lifted,
    make_problem,
    make_rows,
    make_written_out,
    sgd_core,
    sgd_schedule,
)

NEVER = -1.0  # a tolerance that no epoch meets
CLOSE = {"float32": {"rtol": 1e-3, "atol": 1e-3}, "float64": {"rtol": 1e-9, "atol": 1e-9}}


def solve(problem, tol=1e-5, max_iter=200, seed=0, **options):
    rng = np.random.default_rng(seed)
    return sgd.solve(problem, tol=tol, max_iter=max_iter, rng=rng, **options)


# One epoch ----------------------------------------------------------------------------------------


@every_storage
@every_map
@every_loss
@pytest.mark.parametrize("decay_bias", [False, True])
def test_epochs_equal_the_reference(dtype, storage, quadratic, loss, crammer_singer, decay_bias):
    """Two epochs step, decay and average as the slow reference does."""
    problem, Z = make_written_out(
        dtype, storage, quadratic, normalize=True, n_rows=25, n_features=4, loss=loss,
        crammer_singer=crammer_singer, weighted=True,
    )  # fmt: skip
    lifted = problem.lifted
    weights = lifted.zero_weights(3)
    average = weights.copy()
    expected = (weights.astype(float), average.astype(float))
    rng = np.random.default_rng(0)
    for epoch in range(2):
        order = rng.permutation(25)[:22]
        schedule = (22 * epoch, 0.05, 30.0, 4, decay_bias)
        given = (problem.target, problem.costs)
        sgd_core(problem).epoch(
            weights, average, 22 * epoch, sgd_schedule(*schedule[1:]), order, 0, 3
        )
        expected = reference.epoch(Z, *given, loss, crammer_singer, *expected, *schedule, order)
    np.testing.assert_allclose(weights, expected[0], **CLOSE[dtype])
    np.testing.assert_allclose(average, expected[1], **CLOSE[dtype])


@every_storage
@pytest.mark.parametrize("decay_bias", [False, True])
def test_long_epochs_equal_the_reference(dtype, storage, decay_bias):
    """Also where weights decay to nothing at first, and early iterates leave the average."""
    problem, Z = make_written_out(dtype, storage, False, normalize=True, n_rows=50, n_features=4)
    weights, average = (problem.lifted.zero_weights(3) for _ in range(2))
    order = np.random.default_rng(0).integers(50, size=2000)
    schedule = (0.2, 3.0, 4, decay_bias)
    given = (problem.target, problem.costs, problem.loss, False, weights.copy(), average.copy())
    expected = reference.epoch(Z, *given, 0, *schedule, order)
    sgd_core(problem).epoch(weights, average, 0, sgd_schedule(*schedule), order, 0, 3)
    np.testing.assert_allclose(weights, expected[0], **CLOSE[dtype])
    np.testing.assert_allclose(average, expected[1], **CLOSE[dtype])


@every_storage
@pytest.mark.parametrize("n_columns", [1, 2, 4, 7, 8, 13, 22, 37])
def test_any_number_of_columns(dtype, storage, n_columns):
    """Columns of sparse rows lie in registers of several widths, or apart where they are few."""
    problem, Z = make_written_out(dtype, storage, False, normalize=True, n_columns=n_columns)
    weights, average = (problem.lifted.zero_weights(n_columns) for _ in range(2))
    order = np.random.default_rng(0).integers(40, size=200)
    schedule = (0.2, 3.0, 7, False)
    given = (problem.target, problem.costs, problem.loss, False, weights.copy(), average.copy())
    expected = reference.epoch(Z, *given, 0, *schedule, order)
    sgd_core(problem).epoch(weights, average, 0, sgd_schedule(*schedule), order, 0, n_columns)
    np.testing.assert_allclose(weights, expected[0], **CLOSE[dtype])
    np.testing.assert_allclose(average, expected[1], **CLOSE[dtype])


@pytest.mark.parametrize("n_columns", [3, 9])
def test_a_global_intercept_is_visited_alike(n_columns):
    """Dense and sparse rows move the weight of the global intercept by the same steps."""
    found = []
    for storage in STORAGES:
        problem = make_problem(storage=storage, n_columns=n_columns, offset=0.5)
        weights, average = (problem.lifted.zero_weights(n_columns) for _ in range(2))
        schedule = sgd_schedule(0.2, 3.0, 7, False)
        order = np.arange(100) % 40
        sgd_core(problem).epoch(weights, average, 0, schedule, order, 0, n_columns)
        found.append((weights, average))
        assert np.abs(weights[-1, :, -1]).min() > 0
    np.testing.assert_allclose(*found, rtol=1e-9, atol=1e-9)


def test_no_average_is_needed():
    """Without an average the weights take the same steps."""
    problem = make_problem()
    runs = []
    for average in (None, problem.lifted.zero_weights(3)):
        weights = problem.lifted.zero_weights(3)
        schedule = sgd_schedule(0.1, 5.0, 8, False)
        sgd_core(problem).epoch(weights, average, 0, schedule, np.arange(40), 0, 3)
        runs.append(weights)
    np.testing.assert_array_equal(*runs)


@given(cut=st.integers(1, 39), decay_bias=st.booleans(), storage=st.sampled_from(["dense", "csr"]))
def test_columns_are_independent(cut, decay_bias, storage):
    """One-vs-rest columns visited apart take the steps that they take together."""
    problem = make_problem(storage=storage)
    order = np.random.default_rng(cut).permutation(40)[:cut]
    core, visits = sgd_core(problem), (None, 0, sgd_schedule(0.1, 5.0, 8, decay_bias), order)
    together, apart = (problem.lifted.zero_weights(3) for _ in range(2))
    core.epoch(together, *visits, 0, 3)
    for columns in ((0, 1), (1, 3)):
        core.epoch(apart, *visits, *columns)
    np.testing.assert_array_equal(together, apart)


def test_the_average_forgets_the_start():
    """The first average is the first iterate, whatever it was filled with."""
    problem = make_problem()
    weights, average = problem.lifted.zero_weights(3), np.full((6, 3, 6), 1e6)
    schedule = sgd_schedule(0.1, 5.0, 40, False)
    sgd_core(problem).epoch(weights, average, 0, schedule, np.arange(40), 0, 3)
    np.testing.assert_allclose(average, weights, atol=1e-8)


# Where runs end -----------------------------------------------------------------------------------


@every_loss
@pytest.mark.parametrize("normalize", [False, True], ids=["papers", "unit"])
def test_it_approaches_the_dual(loss, crammer_singer, normalize):
    """With penalised biases it minimises what the dual solver minimises, to a percent."""
    problem = make_problem(loss=loss, crammer_singer=crammer_singer, n_rows=300, weighted=True,
                           normalize=normalize, C=0.3)  # fmt: skip
    best = dual.solve(problem, tol=1e-6, max_iter=5000, rng=np.random.default_rng(0)).objective
    found = solve(problem, tol=NEVER, max_iter=50, penalize_intercept=True)
    assert best * (1 - 1e-6) <= found.objective <= 1.01 * best


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("crammer_singer", [False, True])
def test_it_approaches_the_quadratic_program(loss, crammer_singer):
    """With free biases, as in the paper, it minimises the quadratic program with free biases."""
    problem = make_problem(loss=loss, crammer_singer=crammer_singer, n_rows=300, C=0.3)
    best = qp.solve(problem, tol=1e-8, max_iter=200, penalize_intercept=False).objective
    found = solve(problem, tol=NEVER, max_iter=50)
    assert best * (1 - 1e-6) <= found.objective <= 1.01 * best


@every_loss
@pytest.mark.parametrize("penalize_intercept", [False, True])
def test_what_is_reported_is_true(loss, crammer_singer, penalize_intercept):
    """The objective is that of the weights, the best of the history; there is no gap."""
    problem = make_problem(loss=loss, crammer_singer=crammer_singer)
    found = solve(problem, penalize_intercept=penalize_intercept)
    expected = problem.objective(found.weights, penalize_intercept=penalize_intercept)
    assert found.objective == pytest.approx(expected, rel=1e-12)
    assert math.isnan(found.duality_gap)
    assert [number for number, _, _ in found.history] == list(range(1, found.n_iter + 1))
    assert min(objective for _, objective, _ in found.history) == found.objective
    assert found.alpha is None


@every_storage
def test_every_storage_ends_at_the_same_objective(dtype, storage):
    """float32 and CSR rows lead to about the same objective as float64 and dense ones."""
    objectives = [
        solve(make_problem(make_lifted(make_rows(*kind, n_rows=200)), C=0.3)).objective
        for kind in [(dtype, storage), ("float64", "dense")]
    ]
    assert objectives[0] == pytest.approx(objectives[1], rel=1e-2)


def test_the_first_step_fits_any_scale():
    """Rows and costs of any scale find a first step that does not diverge."""
    for scale in (1e-3, 1.0, 1e3):
        for C in (1e-3, 1e3):
            problem = make_problem(make_lifted(scale * make_rows(n_rows=200)), C=C)
            zero = problem.objective(problem.lifted.zero_weights(3))
            found = solve(problem, max_iter=20, tol=0)
            assert np.isfinite(found.weights).all()
            assert found.objective < zero


# Stopping -----------------------------------------------------------------------------------------


def test_few_epochs_do_not_converge():
    """One epoch shows no progress to measure: the result says that it did not converge."""
    found = solve(make_problem(), max_iter=1)
    assert not found.converged
    assert found.n_iter == 1


def test_it_stops_when_the_objective_settles():
    """The last step of a converged run gains less than ``tol``."""
    found = solve(make_problem(n_rows=200), tol=1e-2)
    assert found.converged
    earlier = min(objective for _, objective, _ in found.history[:-1])
    assert earlier - found.objective <= 1e-2 * found.objective


def test_a_monitor_hears_of_every_epoch_and_can_stop():
    """The monitor gets number and objective, and ends the run by returning True."""
    seen = []

    def monitor(number, objective):
        seen.append((number, objective))
        return number == 3

    found = solve(make_problem(C=30.0), tol=NEVER, monitor=monitor)
    assert found.n_iter == 3
    assert found.stopped
    assert not found.converged
    assert seen == [(number, objective) for number, objective, _ in found.history]


# States -------------------------------------------------------------------------------------------


def test_a_start_is_used_and_not_changed():
    """Weights to start from are copied; from good ones the first epoch ends lower."""
    problem = make_problem(n_rows=200)
    start = solve(problem).weights
    kept = start.copy()
    warm = solve(problem, start=start, max_iter=1)
    np.testing.assert_array_equal(start, kept)
    assert warm.objective < solve(problem, max_iter=1).objective


def test_epochs_continue_where_the_last_ended():
    """Epochs one by one, as ``partial_fit`` runs them, are the epochs of a whole run."""
    problem = make_problem()
    rng = np.random.default_rng(0)
    state = sgd.start_state(problem, rng)
    for _ in range(4):
        sgd.run_epoch(problem, state, rng)
    whole = solve(problem, max_iter=4, tol=NEVER)
    assert state.visits == 4 * 40
    np.testing.assert_array_equal(state.average, whole.weights)


def test_the_schedule_starts_from_the_costs():
    """λ is one over the sum of costs; t0 is positive and finite."""
    problem = make_problem(weighted=True)
    state = sgd.start_state(problem, np.random.default_rng(0))
    assert state.lambda_ == pytest.approx(1 / problem.costs.sum())
    assert 0 < state.t0 < math.inf
    assert not state.weights.any()
    assert state.weights is not state.average


# Threads and seeds --------------------------------------------------------------------------------


@every_storage
@every_loss
def test_threads_do_not_change_a_bit(dtype, storage, loss, crammer_singer):
    """One and two threads give the same weights and history."""
    X = make_rows(dtype, storage, n_rows=200)
    results = []
    for n_jobs in (1, 2):
        with Workers(n_jobs) as workers:
            lifted = make_lifted(X, workers=workers)
            problem = make_problem(lifted, loss=loss, crammer_singer=crammer_singer)
            results.append(solve(problem, max_iter=4))
    one, two = results
    np.testing.assert_array_equal(one.weights, two.weights)
    assert [entry[1] for entry in one.history] == [entry[1] for entry in two.history]


def test_the_seed_decides():
    """Equal seeds give equal bits, other seeds others."""
    problem = make_problem()
    first, same, other = (solve(problem, seed=seed, max_iter=3).weights for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, same)
    assert not np.array_equal(first, other)
