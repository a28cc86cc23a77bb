"""Tests of hyperlocal.solvers.qp: optimality, free biases, and limits."""

import sys

import numpy as np
import pytest
from scipy.optimize import minimize

from hyperlocal.solvers import qp
from reference.problems import every_storage, make_lifted, make_problem, make_rows

every_problem = pytest.mark.parametrize(
    ("loss", "crammer_singer", "n_columns"),
    [
        ("hinge", False, 1),
        ("hinge", False, 3),
        ("squared_hinge", False, 3),
        ("hinge", True, 3),
        ("squared_hinge", True, 3),
        ("squared_hinge", True, 2),
    ],
)
every_bias = pytest.mark.parametrize("penalize_intercept", [True, False])


def solve(problem, tol=1e-9, max_iter=200, **options):
    return qp.solve(problem, tol=tol, max_iter=max_iter, **options)


@every_problem
@every_bias
def test_what_is_reported_is_true(loss, crammer_singer, n_columns, penalize_intercept):
    """The objective is that of the weights, and the gap is nearly closed."""
    problem = make_problem(loss=loss, crammer_singer=crammer_singer, n_columns=n_columns,
                           weighted=True)  # fmt: skip
    found = solve(problem, penalize_intercept=penalize_intercept)
    assert found.converged
    assert found.weights.shape == (6, n_columns, 6)
    expected = problem.objective(found.weights, penalize_intercept=penalize_intercept)
    assert found.objective == pytest.approx(expected, rel=1e-6)
    assert abs(found.duality_gap) <= 1e-6 * found.objective
    assert found.n_iter > 1


@every_problem
@every_bias
def test_no_step_improves(loss, crammer_singer, n_columns, penalize_intercept):
    """Small steps in any direction do not lower the objective: the problem is convex."""
    problem = make_problem(loss=loss, crammer_singer=crammer_singer, n_columns=n_columns)
    found = solve(problem, penalize_intercept=penalize_intercept)
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-2, 1e-1):
        for _ in range(20):
            moved = found.weights + size * rng.standard_normal(found.weights.shape)
            value = problem.objective(moved, penalize_intercept=penalize_intercept)
            assert value >= found.objective * (1 - 1e-7)


@every_bias
def test_a_descent_method_finds_the_same(penalize_intercept):
    """Quasi-Newton on the primal, where it is smooth, ends at the same objective."""
    problem = make_problem(loss="squared_hinge", n_columns=1)
    shape = (6, 1, 6)

    def objective(flat):
        return problem.objective(flat.reshape(shape), penalize_intercept=penalize_intercept)

    found = solve(problem, penalize_intercept=penalize_intercept)
    options = {"ftol": 1e-13, "gtol": 1e-8, "maxfun": 10**6}
    descended = minimize(objective, np.zeros(36), method="L-BFGS-B", options=options)
    assert found.objective == pytest.approx(descended.fun, rel=1e-6)


def test_free_biases_lower_the_objective():
    """Not penalising biases can only help."""
    problem = make_problem(n_columns=3, C=5.0)
    assert solve(problem, penalize_intercept=False).objective < solve(problem).objective


@every_storage
def test_every_storage(dtype, storage):
    """All storages lead to the objective of the dense float64 rows, in their own dtype."""
    problem = make_problem(make_lifted(make_rows(dtype, storage)))
    found = solve(problem)
    assert found.weights.dtype == dtype
    expected = solve(make_problem(make_lifted(make_rows()))).objective
    assert found.objective == pytest.approx(expected, rel=1e-5)


def test_few_iterations_do_not_converge():
    """When iterations run out the result says so."""
    assert not solve(make_problem(), max_iter=2).converged


@pytest.mark.parametrize("crammer_singer", [False, True])
def test_large_problems_are_refused(crammer_singer):
    """Data too large to write out raise an error that names the other solver."""
    with pytest.raises(ValueError, match="use solver='dual'"):
        solve(make_problem(crammer_singer=crammer_singer), most_nonzeros=100)


def test_a_missing_solver_is_named(monkeypatch):
    """Without Clarabel the error says what to install."""
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(ImportError, match=r"pip install 'hyperlocal\[qp\]'"):
        solve(make_problem())
