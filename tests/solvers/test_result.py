"""Tests of hyperlocal.solvers.result."""

import math

import numpy as np
import pytest

from hyperlocal.solvers import SolverResult, dual, qp, sgd
from reference.problems import make_problem


def results(problem):
    options = {"tol": 1e-3, "max_iter": 100}
    yield dual.solve(problem, rng=np.random.default_rng(0), **options)
    yield sgd.solve(problem, rng=np.random.default_rng(0), **options)
    yield qp.solve(problem, **options)


def test_what_may_be_left_out():
    """Dual variables and history are optional; histories are not shared."""
    first, second = (SolverResult(np.zeros((1, 1, 1)), 1, 0.0, math.nan, True) for _ in range(2))
    assert first.alpha is None
    assert first.history == []
    assert first.history is not second.history


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_solver_returns_the_same_kind_of_result(dtype):
    """Weights have the dtype of the rows, a block per anchor and column; numbers are floats."""
    problem = make_problem(dtype=dtype)
    for result in results(problem):
        assert result.weights.shape == (6, 3, 6)
        assert result.weights.dtype == dtype
        assert result.weights.flags.c_contiguous
        assert type(result.objective) is float
        assert type(result.duality_gap) is float
        assert result.converged in (True, False)
        assert 1 <= result.n_iter <= 100
        assert all(len(entry) == 3 for entry in result.history)


def test_every_solver_solves_the_same_problem():
    """The weights of all solvers are close in objective where they solve the same problem."""
    problem = make_problem(bias=0.0, n_rows=200, C=0.3)  # no bias: no question of its penalty
    values = [problem.objective(result.weights) for result in results(problem)]
    assert max(values) <= 1.03 * min(values)
