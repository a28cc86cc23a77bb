"""The solvers on problems of regression: against a reference, each other, and scikit-learn."""

import numpy as np
import pytest
from sklearn.linear_model import QuantileRegressor, Ridge
from sklearn.svm import LinearSVR

from hyperlocal.model.problem import RegressionProblem
from hyperlocal.model.residuals import RegressionLoss
from hyperlocal.runtime.threads import Workers
from hyperlocal.solvers import dual, newton, qp, sgd
from hyperlocal.solvers.newton_rows import BlockProducts
from reference import regression as reference
from reference.problems import (
    DTYPES,
    compiled_dual,
    dual_arrays,
    every_regression,
    every_storage,
    full_matrix,
    make_lifted,
    make_regression,
    make_rows,
    one_anchor,
)

CLOSE = {"float32": {"rtol": 2e-3, "atol": 2e-3}, "float64": {"rtol": 1e-7, "atol": 1e-7}}


def solved(problem, tol=1e-9, **options):
    rng = np.random.default_rng(0)
    return dual.solve(problem, tol=tol, max_iter=100_000, rng=rng, **options)


@every_storage
@every_regression
@pytest.mark.parametrize("n_targets", [1, 2])
def test_epochs_equal_the_reference(dtype, storage, loss, n_targets):
    """Three epochs visit, step and report the gap as the slow reference does."""
    X = make_rows(dtype, storage, 25, 4)
    problem = make_regression(make_lifted(X), loss=loss, n_targets=n_targets, C=0.7, weighted=True)
    Z, values = full_matrix(problem.lifted, X), problem.target.astype(float)
    losses = [(loss, 0.5 if loss == "quantile" else 0.1)] * n_targets
    arrays = dual_arrays(problem)
    core, alpha = compiled_dual(problem, arrays), arrays.alpha.copy()
    rng = np.random.default_rng(0)
    for _ in range(3):
        order = rng.permutation(25)
        arrays.reports[:] = [0.0, 0.0, -np.inf, np.inf]
        core.epoch(order, 0, problem.n_columns, arrays.reports)
        alpha, gaps = reference.epoch(Z, values, problem.costs.astype(float), losses, alpha, order)
    np.testing.assert_allclose(arrays.alpha, alpha, **CLOSE[dtype])
    np.testing.assert_allclose(arrays.reports[:, 0], gaps, **CLOSE[dtype])
    weights = np.einsum("ic,ijv->jcv", alpha, Z)
    np.testing.assert_allclose(arrays.weights, weights, **CLOSE[dtype])


@every_regression
@pytest.mark.parametrize("C", [0.1, 3.0])
def test_dual_equals_the_quadratic_program(loss, C):
    """Both solvers reach the same objective, and the gap of the dual is that small."""
    quantiles = [0.1, 0.5, 0.9] if loss == "quantile" else 0.5
    problem = make_regression(loss=loss, quantiles=quantiles, C=C, weighted=True, offset=1.0)
    found, expected = solved(problem), qp.solve(problem, tol=1e-10, max_iter=200)
    assert found.converged
    assert found.objective == pytest.approx(expected.objective, rel=1e-6)
    assert problem.objective(found.weights) == pytest.approx(found.objective, rel=1e-9)
    assert 0 <= found.duality_gap <= 1e-9 * found.objective


@every_regression
@pytest.mark.parametrize("dtype", DTYPES)
def test_newton_equals_dual(loss, dtype):
    """Newton's steps end at the optimum of dual descent, from which epochs can continue."""
    problem = make_regression(loss=loss, C=3.0, weighted=True, dtype=dtype, n_rows=80)
    tol = 1e-5 if dtype == "float32" else 1e-8 if problem.is_smooth else 1e-6
    slow, fast = (solved(problem, tol, newton_after=after) for after in (np.inf, 2))
    assert fast.converged
    assert fast.objective == pytest.approx(slow.objective, rel=2 * tol)
    assert newton.epochs_worth_it(problem) < np.inf


@every_regression
def test_shrinking_does_not_change_the_optimum(loss):
    """Variables at a bound, or in the tube, are skipped: fewer are active, the optimum is right."""
    problem = make_regression(loss=loss, C=0.2, n_rows=300, n_features=3, epsilon=0.3)
    shares = []
    found = solved(
        problem,
        1e-8,
        newton_after=np.inf,
        monitor=lambda _, **facts: shares.append(facts["active"]),
    )
    assert found.converged
    assert found.objective == pytest.approx(
        qp.solve(problem, tol=1e-10, max_iter=200).objective, rel=1e-6
    )
    if loss != "squared":
        assert min(shares) < 1


@every_regression
def test_stochastic_gradient_comes_near(loss):
    """Its objective is within a few percent of the optimum, without a penalty of intercepts."""
    problem = make_regression(loss=loss, n_rows=300, C=1.0)
    best = qp.solve(problem, tol=1e-8, max_iter=200, penalize_intercept=False).objective
    options = {"tol": 1e-4, "max_iter": 200, "rng": np.random.default_rng(0)}
    assert best < sgd.solve(problem, **options).objective < 1.05 * best


@every_regression
def test_threads_do_not_change_the_bits(loss):
    """Columns are separate problems, whoever solves them."""
    found = []
    for n_jobs in (1, 2):
        with Workers(n_jobs) as workers:
            lifted = make_lifted(n_rows=100, workers=workers)
            found.append(solved(make_regression(lifted, loss=loss, n_targets=3), 1e-4))
    np.testing.assert_array_equal(found[0].weights, found[1].weights)


@every_regression
def test_warm_starts(loss):
    """Variables of an optimum are an optimum: no epoch is needed."""
    problem = make_regression(loss=loss)
    first = solved(problem)
    again = solved(problem, 1e-8, alpha=first.alpha)
    assert again.n_iter == 0
    assert again.objective == pytest.approx(first.objective, rel=1e-8)


# One anchor ---------------------------------------------------------------------------------------


def one_anchor_problem(X, y, loss, C, **options):
    losses = RegressionLoss(loss, **options).columns(1)
    costs = np.full(len(y), C)
    return RegressionProblem(
        one_anchor(X), y[:, None].copy(), costs, 1, loss, residual_losses=losses
    )


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 4))
    return X, X @ [1.0, -0.5, 0.2, 0.0] + 0.3 + 0.5 * rng.standard_normal(120)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("C", [0.05, 2.0])
def test_one_anchor_is_liblinear(rows, loss, C):
    """One anchor is LinearSVR, whose intercept is penalized too."""
    X, y = rows
    problem = one_anchor_problem(X, y, loss, C, epsilon=0.2)
    found = solved(problem, 1e-10)
    theirs = LinearSVR(loss=loss, C=C, epsilon=0.2, tol=1e-10, max_iter=200_000, dual=True)
    theirs.fit(X, y)
    weights = np.append(theirs.coef_, theirs.intercept_)[None, None]
    assert found.objective == pytest.approx(problem.objective(weights), rel=1e-6)
    np.testing.assert_allclose(found.weights, weights, atol=1e-3)


@pytest.mark.parametrize("C", [0.05, 2.0])
def test_one_anchor_is_ridge(rows, C):
    """The squared loss is ridge regression with ``alpha = 1/(2C)``."""
    X, y = rows
    extended = np.column_stack([X, np.ones(len(X))])
    theirs = Ridge(alpha=1 / (2 * C), fit_intercept=False).fit(extended, y)
    found = solved(one_anchor_problem(X, y, "squared", C), 1e-12)
    np.testing.assert_allclose(found.weights[0, 0], theirs.coef_, atol=1e-6)


@pytest.mark.parametrize("level", [0.1, 0.5, 0.8])
def test_one_anchor_is_quantile_regression(rows, level):
    """With a large C the penalty vanishes, and the pinball loss is QuantileRegressor's."""
    X, y = rows
    theirs = QuantileRegressor(quantile=level, alpha=0.0).fit(X, y)
    problem = one_anchor_problem(X, y, "quantile", 1e6, quantiles=level)
    found = qp.solve(problem, tol=1e-10, max_iter=500)
    smaller = one_anchor_problem(X, y, "quantile", 1.0, quantiles=level)
    ours, same = solved(smaller, 1e-7), qp.solve(smaller, tol=1e-10, max_iter=500)
    best = problem.losses(np.append(theirs.coef_, theirs.intercept_)[None, None])
    assert problem.losses(found.weights) == pytest.approx(best, rel=1e-6)
    assert ours.objective == pytest.approx(same.objective, rel=1e-6)


@pytest.mark.parametrize("n_targets", [1, 2])
def test_squares_are_solved_by_one_step(n_targets):
    """One system of summed products has the solution, at any C; epochs agree with it."""
    X = make_rows("float64", "dense", 200, 4)
    lifted = make_lifted(X)
    for C in (0.1, 1000.0):
        problem = make_regression(lifted, loss="squared", n_targets=n_targets, C=C)
        assert newton.kind_of_rows(problem) is BlockProducts
        found = solved(problem, newton_after=0)
        assert found.n_iter <= 3
        assert found.duality_gap <= 1e-9 * found.objective
        epochs = solved(problem, tol=1e-4, newton_after=np.inf)
        assert epochs.objective == pytest.approx(found.objective, rel=1e-3)


def test_known_products_cost_less():
    """With products known from another C, the steps start earlier."""
    lifted = make_lifted(make_rows("float64", "dense", 2000, 40))
    problem = make_regression(lifted, loss="squared")
    before = newton.epochs_worth_it(problem)
    lifted.products(problem.costs)
    assert newton.epochs_worth_it(problem) <= before
