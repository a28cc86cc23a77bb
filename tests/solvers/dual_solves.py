"""Solutions by dual descent, with and without Newton's steps."""

import math

import numpy as np
from scipy.optimize import minimize

from hyperlocal.solvers import dual, newton, qp


def solve_by_epochs(problem, tol=1e-9, max_iter=20_000, seed=0, **options):
    """Solve without Newton's steps, unless they are asked for."""
    options = {"newton_after": math.inf} | options
    rng = np.random.default_rng(seed)
    return dual.solve(problem, tol=tol, max_iter=max_iter, rng=rng, **options)


def solve_by_steps(problem, **options):
    """Solve by Newton's steps from the start where they apply."""
    never = math.isinf(newton.epochs_worth_it(problem))
    return solve_by_epochs(problem, newton_after=math.inf if never else 0, **options)


def best_objective(problem):
    """From an independent method: interior points, or quasi-Newton for the smooth log loss."""
    if problem.loss != "log":
        return qp.solve(problem, tol=1e-10, max_iter=200).objective
    matrix = problem.lifted.to_csr().astype(float)
    labels, costs = problem.labels.astype(float), problem.costs.astype(float)
    return sum(_logistic_objective(matrix, y, costs) for y in labels.T)


def _logistic_objective(matrix, y, costs):
    def value_and_gradient(w):
        margins = y * (matrix @ w)
        value = 0.5 * w @ w + costs @ np.logaddexp(0, -margins)
        return value, w - matrix.T @ (costs * y / (1 + np.exp(margins)))

    start = np.zeros(matrix.shape[1])
    options = {"maxiter": 10_000, "ftol": 1e-15, "gtol": 1e-10}
    return minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options=options).fun
