"""Tests of hyperlocal.solvers.newton. That its solutions are right is tested with those of dual."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperlocal.model.losses import LOSSES, SMOOTH_LOSSES, loss_values
from hyperlocal.model.residuals import ResidualLoss
from hyperlocal.papers import LandmarkSVC
from hyperlocal.solvers import dual, newton
from hyperlocal.solvers.newton_rows import BlockProducts, LiftedProducts, WrittenRows
from reference.problems import (
    DTYPES,
    make_lifted,
    make_problem,
    make_regression,
    make_rows,
    one_anchor,
)

every_smooth_loss = pytest.mark.parametrize("loss", SMOOTH_LOSSES)


every_way = pytest.mark.parametrize("kind", [WrittenRows, BlockProducts, LiftedProducts])


def start(problem, tol=1e-6, kind=None):
    shape = (problem.lifted.n_rows, problem.n_columns)
    return newton.NewtonDescent(problem, tol, np.zeros(shape), kind)


def hard_problem(dtype="float64", **options):
    """Correlated features and a large C: many epochs for dual descent."""
    X = make_rows(dtype, "dense", 200, 8)
    X[:, 4:] = X[:, :4] + X.dtype.type(0.03) * X[:, 4:]
    return make_problem(one_anchor(X), C=3000.0, **options)


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
                margins = column.labels * column.rows.scores(weights)
                column._move_to(weights, margins, column.expansion)
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


@every_way
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_way_ends_at_the_optimum(loss, dtype, kind):
    """Also of losses with corners: no gap is left, and the objective is that of the weights."""
    lifted = make_lifted(make_rows(dtype, n_rows=120), offset=1.0)
    problem = make_problem(lifted, loss=loss, C=3.0, weighted=True)
    tol = 1e-4
    descent = start(problem, tol, kind)
    for _ in range(100):
        descent.run_epoch()
    assert descent.converged
    assert descent.gap <= tol * descent.objective
    best = dual.solve(problem, tol=tol, max_iter=5000, rng=np.random.default_rng(0)).objective
    assert descent.objective == pytest.approx(best, rel=3 * tol)
    assert problem.objective(descent.weights()) == pytest.approx(descent.objective, rel=1e-4)


@given(st.sampled_from(["hinge", ResidualLoss(0.3, 0, -1, 1), ResidualLoss(0, 0, -0.2, 0.8)]),
       st.floats(0.1, 1e4), st.integers(0, 99))  # fmt: skip
def test_smoothed_losses(loss, steepness, seed):
    """They lie below the loss by no more than the smoothing, and have its variables as slopes."""
    rng = np.random.default_rng(seed)
    margins, centers = rng.normal(0, 2, 50), rng.uniform(0, 0.8, 50)
    smoothed = newton.SmoothedLoss(loss, centers, steepness)
    exact, values = loss_values(loss, margins), smoothed.values(margins)
    assert (values <= exact + 1e-9).all()
    assert (exact - values <= 2 / steepness + 1e-9).all()
    assert (smoothed.excess(margins) >= -1e-9).all()
    size = 1e-6 / steepness
    slopes = (smoothed.values(margins - size) - smoothed.values(margins + size)) / (2 * size)
    np.testing.assert_allclose(smoothed.pulls(margins), slopes, atol=2e-3)


def test_corners_take_fewer_epochs_too():
    """The hinge at a large C: variables of smoothed losses end what epochs do not."""
    problem = hard_problem(loss="hinge")
    options = {"tol": 1e-3, "max_iter": 2000}
    quick = dual.solve(problem, rng=np.random.default_rng(0), newton_after=20, **options)
    slow = dual.solve(problem, rng=np.random.default_rng(0), newton_after=np.inf, **options)
    assert quick.converged
    assert quick.n_iter < 200 < slow.n_iter


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


def test_steps_wait_while_epochs_take_little_time(monkeypatch):
    """What is counted before steps are the variables that are visited, not the epochs."""
    monkeypatch.setattr(dual, "NUMBERS_BETWEEN_EPOCHS", 0)
    shares = []
    dual.solve(
        hard_problem(n_columns=1), tol=1e-3, max_iter=2000, rng=np.random.default_rng(0),
        newton_after=20, monitor=lambda number, **facts: bool(shares.append(facts["active"])),
    )  # fmt: skip
    visited = [1.0, *shares]
    n_epochs = next(n for n in range(len(visited)) if sum(visited[: n + 1]) >= 20)
    assert n_epochs > 20
    assert max(shares[n_epochs // 2 : n_epochs]) < 1 == min(shares[n_epochs + 1 :])  # all in steps


@pytest.mark.parametrize("dtype", DTYPES)
def test_squares_by_products_end_at_any_cost(dtype):
    """Squares of too many weights for a matrix: one system ends what epochs would not."""
    rows = make_rows(dtype, n_rows=4_200, n_features=30)
    lifted = make_lifted(rows, n_anchors=140, n_neighbors=4)
    problem = make_regression(lifted, n_targets=1, C=300.0)
    assert newton.kind_of_rows(problem) is LiftedProducts
    result = dual.solve(problem, tol=1e-3, max_iter=150, rng=np.random.default_rng(0))
    assert result.converged
    assert result.n_iter <= newton.EPOCHS_OF_SQUARES
    assert result.objective == pytest.approx(problem.objective(result.weights), rel=1e-4)
    slow = dual.solve(
        problem, tol=1e-3, max_iter=150, rng=np.random.default_rng(0), newton_after=np.inf
    )
    assert not slow.converged


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


def test_joint_margins_are_left_to_epochs():
    """Crammer–Singer's columns are not separate problems."""
    assert newton.epochs_worth_it(make_problem(crammer_singer=True)) == np.inf


def test_steps_by_products_and_of_corners_wait_longer():
    """Rows that are too many to be written out, and losses that are solved several times."""
    large = {"n_rows": 1500, "n_features": 12_000}
    easy, by_products = (newton.epochs_worth_it(make_problem(**one)) for one in ({}, large))
    assert easy < by_products < newton.epochs_worth_it(make_problem(**large, loss="hinge")) < np.inf


def test_wider_rows_wait_longer():
    """Wide rows make steps dear: more epochs are run before them."""
    waits = [newton.epochs_worth_it(make_problem(n_rows=900, n_features=d)) for d in (2, 20, 100)]
    assert waits[0] == 0 < waits[1] < waits[2] < np.inf


def test_one_matrix_for_several_active_anchors():
    """Rows that do not fit, of weights whose matrix does: by it where several anchors are active,
    which would take many products, and by products where one is."""
    rows = make_rows("float32", n_rows=40_000, n_features=8)
    kinds = [
        newton.kind_of_rows(make_problem(make_lifted(rows, n_anchors=60, n_neighbors=k)))
        for k in (1, 8)
    ]
    assert kinds == [LiftedProducts, BlockProducts]


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


@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
def test_rows_of_many_clusters_take_the_cheapest_steps():
    """Written out they would be wide, so that steps came too late: dual descent did not end."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((1_500, 8)), rng.integers(3, size=1_500)
    model = LandmarkSVC(
        C=100.0, loss="squared_hinge", n_anchors=40, n_landmarks=12, max_iter=600, random_state=0
    )
    assert model.fit(X, y).n_iter_ < 400


@pytest.mark.parametrize("C", [1e3, 1e4])
@pytest.mark.parametrize("seed", [0, 1])
def test_large_costs_end_in_single_precision(C, seed):
    """Rounding leaves rows below the margin that they lie on; with a large C that is no gap."""
    X = np.random.default_rng(seed).standard_normal((200, 50)).astype(np.float32) + 3
    lifted = make_lifted(X, n_anchors=6, n_neighbors=1, seed=seed)
    problem = make_problem(lifted, loss="hinge", C=C, noise=0.0, seed=seed)
    result = dual.solve(
        problem, tol=1e-3, max_iter=200, rng=np.random.default_rng(0), newton_after=20
    )
    assert result.converged
    assert result.n_iter < 60
    assert result.objective == pytest.approx(problem.objective(result.weights), rel=1e-4)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_objectives_fall_with_the_number_of_steps(loss, seed):
    """A run that ends while steps are taken, or after them, returns the best of all of them."""
    problem = make_problem(loss=loss, n_rows=40, n_features=6, noise=0.3, seed=seed)
    objectives = [
        dual.solve(
            problem, tol=1e-12, max_iter=most, rng=np.random.default_rng(0), newton_after=0
        ).objective
        for most in range(1, 13)
    ]
    assert (np.diff(objectives) <= 1e-7 * np.array(objectives[:-1])).all(), objectives
