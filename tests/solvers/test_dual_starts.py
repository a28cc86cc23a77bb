"""Tests of hyperlocal.solvers.dual: warm starts, threads and seeds."""

import numpy as np
import pytest
import scipy.sparse as sp

from hyperlocal.runtime.threads import Workers
from hyperlocal.solvers import Problem, dual
from reference.problems import (
    every_problem,
    every_storage,
    make_lifted,
    make_problem,
    make_rows,
)
from solvers.dual_solves import best_objective, solve_by_epochs

# Warm starts --------------------------------------------------------------------------------------


@every_problem
def test_warm_starts_are_faster(solve, loss, crammer_singer, n_columns):
    """From the solution of a nearby problem the same objective takes fewer epochs."""
    options = {"loss": loss, "crammer_singer": crammer_singer, "n_columns": n_columns}
    before, problem = (make_problem(C=C, n_rows=80, **options) for C in (1.0, 1.02))
    cold = solve(problem, tol=1e-7)
    warm = solve(problem, tol=1e-7, alpha=solve(before, tol=1e-7).alpha)
    assert warm.n_iter < cold.n_iter
    assert warm.objective == pytest.approx(cold.objective, rel=1e-6)


@every_problem
def test_a_solution_stays_a_solution(solve, loss, crammer_singer, n_columns):
    """Started from its own solution a solver stops at once."""
    problem = make_problem(loss=loss, crammer_singer=crammer_singer, n_columns=n_columns)
    first = solve(problem, tol=1e-6)
    again = solve(problem, tol=1e-5, alpha=first.alpha)
    assert again.converged
    assert again.n_iter <= 2
    assert again.objective == pytest.approx(first.objective, rel=1e-4)


@every_problem
@pytest.mark.parametrize("C", [0.02, 50.0])
def test_a_start_from_another_cost(solve, loss, crammer_singer, n_columns, C):
    """Variables of a problem with other costs, out of bounds here, lead to the right optimum."""
    options = {"loss": loss, "crammer_singer": crammer_singer, "n_columns": n_columns}
    start = solve(make_problem(C=1.0, **options), tol=1e-5).alpha
    problem = make_problem(C=C, **options)
    found = solve(problem, tol=1e-7, max_iter=100_000, alpha=start)
    assert found.converged  # so no objective is lower by more than the gap
    assert found.duality_gap >= -1e-12 * found.objective
    assert found.objective <= best_objective(problem) * (1 + 1e-5)  # scipy may stop early


@every_problem
def test_a_start_from_other_labels(solve, loss, crammer_singer, n_columns):
    """Variables of other labels for the same rows lead to the right optimum."""
    options = {"loss": loss, "crammer_singer": crammer_singer, "n_columns": n_columns}
    problem = make_problem(**options)
    flipped = np.roll(problem.target, 1)
    other = Problem(problem.lifted, flipped, problem.costs, n_columns, loss, crammer_singer)
    found = solve(problem, tol=1e-7, alpha=solve(other, tol=1e-5).alpha)
    assert found.converged
    assert found.objective == pytest.approx(best_objective(problem), rel=1e-5)


def test_a_start_is_not_changed(solve):
    """The caller's dual variables stay as they were."""
    problem = make_problem()
    alpha = solve(problem, tol=1e-1).alpha
    kept = alpha.copy()
    solve(problem, tol=1e-6, alpha=alpha)
    np.testing.assert_array_equal(alpha, kept)


# Threads and seeds --------------------------------------------------------------------------------


@every_storage
@every_problem
def test_threads_do_not_change_a_bit(dtype, storage, loss, crammer_singer, n_columns):
    """One and two threads give the same weights, variables and history."""
    X = make_rows(dtype, storage, n_rows=300)
    results = []
    for n_jobs in (1, 2):
        with Workers(n_jobs) as workers:
            lifted = make_lifted(X, workers=workers, normalize=True)
            problem = make_problem(lifted, loss=loss, crammer_singer=crammer_singer,
                                   n_columns=n_columns)  # fmt: skip
            results.append(solve_by_epochs(problem, tol=1e-3, max_iter=60))
    one, two = results
    np.testing.assert_array_equal(one.weights, two.weights)
    np.testing.assert_array_equal(one.alpha, two.alpha)
    assert one.history == two.history


def test_the_seed_decides_the_path_not_the_end():
    """Equal seeds give equal bits; other seeds the same objective."""
    problem = make_problem()
    first, same, other = (solve_by_epochs(problem, tol=1e-8, seed=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.weights, same.weights)
    assert not np.array_equal(first.weights, other.weights)
    assert first.objective == pytest.approx(other.objective, rel=1e-7)


def test_sparse_and_dense_rows_agree(solve):
    """The same rows in both storages lead to the same weights."""
    X = make_rows()
    dense, sparse = (solve(make_problem(make_lifted(rows))) for rows in (X, sp.csr_array(X)))
    np.testing.assert_allclose(dense.weights, sparse.weights, atol=1e-4)


@every_problem
def test_scores_are_shown_at_full_checks(solve, loss, crammer_singer, n_columns):
    """What is shown last are the scores of the result, of each row once."""
    problem = make_problem(
        make_lifted(), loss=loss, crammer_singer=crammer_singer, n_columns=n_columns
    )
    shown = np.full((problem.lifted.n_rows, n_columns), np.nan)

    def see_scores(begin, end, scores):
        shown[begin:end] = scores

    result = solve(problem, tol=1e-4, see_scores=see_scores)
    np.testing.assert_allclose(shown, problem.lifted.scores(result.weights), rtol=1e-12)


@every_problem
def test_first_variables_are_those_of_the_first_epochs(loss, crammer_singer, n_columns):
    """They are what the solver has after as many epochs; a monitor is called and may stop."""
    problem = make_problem(
        make_lifted(), loss=loss, crammer_singer=crammer_singer, n_columns=n_columns
    )
    seen = []

    def monitor(number, **facts):
        seen.append(number)
        return number == 2

    options = {"n_epochs": 3, "rng": np.random.default_rng(0)}
    found = dual.first_variables(problem, **options)
    expected = solve_by_epochs(problem, tol=1e-30, max_iter=3).alpha
    np.testing.assert_array_equal(found, expected)
    dual.first_variables(problem, **options, monitor=monitor)
    assert seen == [1, 2]
