"""Tests of hyperlocal.solvers.newton. That its solutions are right is tested with those of dual."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperlocal.model.losses import SMOOTH_LOSSES
from hyperlocal.solvers import dual, newton
from reference.problems import (
    DTYPES,
    every_map,
    every_storage,
    full_matrix,
    make_lifted,
    make_problem,
    make_rows,
    one_anchor,
)

every_smooth_loss = pytest.mark.parametrize("loss", SMOOTH_LOSSES)


def start(problem, tol=1e-6):
    shape = (problem.lifted.n_rows, problem.n_columns)
    return newton.NewtonDescent(problem, tol, np.zeros(shape))


def hard_problem(dtype="float64", **options):
    """Correlated features and a large C: many epochs for dual descent."""
    X = make_rows(dtype, "dense", 200, 8)
    X[:, 4:] = X[:, :4] + X.dtype.type(0.03) * X[:, 4:]
    return make_problem(one_anchor(X), C=3000.0, **options)


@every_storage
@every_map
@pytest.mark.parametrize("n_rows", [10, 90])
def test_rows_are_written_out(dtype, storage, quadratic, n_rows):
    """As the reference writes them; of few rows, only their products are the same."""
    X = make_rows(dtype, storage, n_rows, 4)
    lifted = make_lifted(X, quadratic=quadratic)
    expected = full_matrix(lifted, X, quadratic).reshape(n_rows, -1)
    rows = newton.written_out(lifted)
    assert rows.dtype == np.float64
    if n_rows == 10:
        assert rows.shape == (10, 10)
        rows, expected = rows @ rows.T, expected @ expected.T
    np.testing.assert_allclose(rows, expected, rtol=1e-4, atol=1e-5)


@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 3), st.integers(0, 100))
def test_rows_of_products(n_rows, width, times, seed):
    """Products, all that the objective sees of rows, stay, even where rows are equal."""
    rows = np.random.default_rng(seed).standard_normal((n_rows, width)).repeat(times, axis=0)
    found = newton._rows_of(rows @ rows.T)
    np.testing.assert_allclose(found @ found.T, rows @ rows.T, atol=1e-6 * (rows**2).sum())


@given(st.integers(0, 12), st.integers(1, 12), st.floats(0.1, 1e3), st.integers(0, 99))
def test_systems_of_either_side(n_rows, width, scale, seed):
    """A matrix of the rows or one of the features: the same solution."""
    rng = np.random.default_rng(seed)
    rows, right = scale * rng.normal(size=(n_rows, width)), rng.normal(size=width)
    expected = np.linalg.solve(np.eye(width) + rows.T @ rows, right)
    np.testing.assert_allclose(newton._solved(rows, right), expected, rtol=1e-6, atol=1e-8)


@every_smooth_loss
@pytest.mark.parametrize("n_columns", [1, 3])
def test_gradients(loss, n_columns):
    """They are those of the objective."""
    problem = make_problem(loss=loss, n_columns=n_columns, weighted=True)
    descent = start(problem)
    descent.run_epoch()
    for column in descent.columns:
        size = 1e-5
        at, gradient = column.weights, column.gradient
        slopes = []
        for direction in np.eye(len(at)):
            values = []
            for sign in (1, -1):
                weights = at + sign * size * direction
                column._move_to(weights, column.labels * (column.rows @ weights))
                values.append(column.objective)
            slopes.append((values[0] - values[1]) / (2 * size))
        np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-5)


@every_smooth_loss
@given(st.integers(0, 50), st.floats(0.01, 1000))
def test_every_step_lowers_the_objective(loss, seed, C):
    """And at the end no gap is left."""
    problem = make_problem(loss=loss, seed=seed, C=C, n_rows=40)
    descent = start(problem)
    objectives = [descent.objective]
    while not descent.converged and len(objectives) < 100:
        descent.run_epoch()
        objectives.append(descent.objective)
    assert (np.diff(objectives) <= 1e-12 * objectives[0]).all()
    assert descent.gap <= 1e-6 * descent.objective


@every_smooth_loss
@pytest.mark.parametrize("dtype", DTYPES)
def test_few_steps_where_epochs_are_many(loss, dtype):
    """Correlated features and a large C cost many epochs, and a few steps."""
    problem = hard_problem(dtype, loss=loss)
    options = {"tol": 1e-3, "max_iter": 2000}
    quick = dual.solve(problem, rng=np.random.default_rng(0), **options)
    slow = dual.solve(problem, rng=np.random.default_rng(0), newton_after=np.inf, **options)
    assert quick.converged
    assert quick.n_iter < 30 < slow.n_iter
    assert quick.objective <= 1.001 * slow.objective


def test_steps_come_when_epochs_were_too_many():
    """The epochs so far are not lost: steps start from their variables."""
    problem = hard_problem(n_columns=1)
    seen = []
    result = dual.solve(
        problem, tol=1e-3, max_iter=2000, rng=np.random.default_rng(0), newton_after=40,
        monitor=lambda number, **facts: bool(seen.append(number)),
    )  # fmt: skip
    assert result.converged
    assert 40 < result.n_iter < 70
    assert seen == list(range(1, result.n_iter + 1))
    numbers = [number for number, _, _ in result.history]
    assert numbers == sorted(set(numbers))


def test_a_monitor_can_stop_the_steps():
    """A stop between steps ends the run with the numbers of its weights."""
    problem = hard_problem(n_columns=1, loss="log")
    result = dual.solve(
        problem, tol=1e-9, max_iter=2000, rng=np.random.default_rng(0),
        monitor=lambda number, **facts: number == 2,
    )  # fmt: skip
    assert result.stopped
    assert result.n_iter == 2
    assert not result.converged
    assert result.objective == pytest.approx(problem.objective(result.weights), rel=1e-12)


@every_smooth_loss
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_rows", [40, 400], ids=["few rows", "many rows"])
@pytest.mark.parametrize("newton_after", [0, 3])
def test_the_objective_falls_with_max_iter(loss, dtype, n_rows, newton_after):
    """Steps that are cut short leave the weights they have reached: each step lowers the objective,
    and the gap bounds the distance to the optimum."""
    problem = hard_problem(dtype, loss=loss, n_rows=n_rows)
    options = {"tol": 1e-5, "newton_after": newton_after}
    found = [
        dual.solve(problem, max_iter=most, rng=np.random.default_rng(0), **options)
        for most in (*range(max(1, newton_after), 12), 2000)
    ]
    objectives = np.array([result.objective for result in found])
    assert (np.diff(objectives) <= 1e-5 * objectives[1:]).all()
    assert objectives[0] > objectives[2]
    for result in found:
        precision = 1e-5 if dtype == "float32" else 1e-10
        assert result.objective == pytest.approx(problem.objective(result.weights), rel=precision)
        assert result.objective - result.duality_gap <= objectives.min() * (1 + precision)


@pytest.mark.parametrize(
    "options",
    [{"loss": "hinge"}, {"crammer_singer": True}, {"n_rows": 1500, "n_features": 12_000}],
    ids=str,
)
def test_some_problems_are_left_to_epochs(options):
    """Losses with corners, joint margins, and too many numbers."""
    assert newton.epochs_worth_it(make_problem(**options)) == np.inf


def test_wider_rows_wait_longer():
    """Wide rows make steps dear: more epochs are run before them."""
    waits = [newton.epochs_worth_it(make_problem(n_rows=900, n_features=d)) for d in (2, 20, 100)]
    assert waits[0] == 0 < waits[1] < waits[2] < np.inf


def test_a_global_intercept_is_one_number_more():
    """It makes rows wider by one number, not by a block."""
    waits = [
        newton.epochs_worth_it(make_problem(n_rows=900, n_features=30, offset=offset))
        for offset in (0.0, 1.0)
    ]
    assert waits[0] < waits[1] < 1.1 * waits[0]


def test_few_rows_do_not_wait():
    """Few rows span few directions, however wide they are: steps come at once."""
    assert newton.epochs_worth_it(make_problem(n_rows=50, n_features=2000)) == 0
