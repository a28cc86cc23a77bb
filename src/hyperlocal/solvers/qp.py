"""The problem as a quadratic program for an interior-point method (Clarabel): problem (10) of
Ladický and Torr (2011).

It writes the lifted matrix out, so it is for small data, and it is the reference that the other
solvers are compared with. Slack variables ``ξ`` carry the loss:

    min ½‖W‖² + Σ_i C_i ξ_i (or ξ_i²)   subject to   ξ_i ≥ 1 − margin_i(W),  ξ_i ≥ 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..model.problem import Problem
from .result import SolverResult

MOST_NONZEROS = 20_000_000


def solve(
    problem: Problem,
    *,
    tol: float,
    max_iter: int,
    penalize_intercept: bool = True,
    most_nonzeros: int = MOST_NONZEROS,
) -> SolverResult:
    """Solve to the relative accuracy ``tol``; raises if there are more than ``most_nonzeros``."""
    clarabel = _import_clarabel()
    lifted = problem.lifted
    n_nonzeros = lifted.n_rows * lifted.n_neighbors * (lifted.width + 1)
    if n_nonzeros * (2 if problem.crammer_singer else 1) > most_nonzeros:
        raise ValueError(
            f"solver='qp' writes out {n_nonzeros} numbers here, more than {most_nonzeros}; "
            "use solver='dual' for data of this size."
        )
    matrix = lifted.to_csr().astype(np.float64)
    penalty = np.ones((lifted.n_blocks, lifted.width + 1))
    penalty[:, -1] = 1.0 if penalize_intercept else 0.0
    make = _crammer_singer_constraints if problem.crammer_singer else _one_vs_rest_constraints
    weights, n_iter, objective, bound, converged = [], 0, 0.0, 0.0, True
    for constraints, costs, n_blocks in make(problem, matrix):
        solution = _solve_one(
            clarabel, constraints, costs, np.tile(penalty.ravel(), n_blocks), problem.loss,
            tol, max_iter,
        )  # fmt: skip
        weights.append(np.asarray(solution.x)[: n_blocks * penalty.size].reshape(n_blocks, -1))
        n_iter = max(n_iter, solution.iterations)
        objective += solution.obj_val
        bound += solution.obj_val_dual
        converged &= str(solution.status) == "Solved"
    columns = np.concatenate(weights).reshape(problem.n_columns, *penalty.shape)
    return SolverResult(
        weights=np.ascontiguousarray(columns.transpose(1, 0, 2), dtype=lifted.dtype),
        n_iter=n_iter,
        objective=objective,
        duality_gap=objective - bound,
        converged=converged,
    )


def _import_clarabel() -> Any:
    try:
        import clarabel
    except ImportError as error:
        raise ImportError(
            "solver='qp' needs Clarabel: pip install 'hyperlocal[qp]', or use solver='dual'."
        ) from error
    return clarabel


def _one_vs_rest_constraints(problem: Problem, matrix: sp.csr_array) -> Any:
    """Per column: rows ``y_i z_i``, costs, one block of weights."""
    for labels in problem.labels.T.astype(np.float64):
        yield sp.diags_array(labels) @ matrix, problem.costs, 1


def _crammer_singer_constraints(problem: Problem, matrix: sp.csr_array) -> Any:
    """All pairs (row, rival) at once: ``(w_y − w_r)·z_i``; a row's pairs share its slack."""
    n_rows, n_columns = problem.lifted.n_rows, problem.n_columns
    rivals = np.tile(np.arange(n_columns), (n_rows, 1))
    rivals = rivals[rivals != problem.target[:, None]].reshape(n_rows, n_columns - 1)
    pairs = []
    for rival in rivals.T:
        select = sp.csr_array(
            (
                np.tile([1.0, -1.0], n_rows),
                np.column_stack([problem.target, rival]).ravel(),
                np.arange(0, 2 * n_rows + 1, 2),
            ),
            shape=(n_rows, n_columns),
        )
        pairs.append(_row_wise_kronecker(select, matrix))
    yield sp.vstack(pairs, format="csr"), problem.costs, n_columns


def _row_wise_kronecker(left: sp.csr_array, right: sp.csr_array) -> sp.csr_array:
    blocks = [sp.diags_array(left[:, [j]].toarray().ravel()) @ right for j in range(left.shape[1])]
    return sp.hstack(blocks, format="csr")


def _solve_one(
    clarabel: Any,
    constraints: Any,
    costs: np.ndarray,
    penalty: np.ndarray,
    loss: str,
    tol: float,
    max_iter: int,
) -> Any:
    n_weights, n_slacks = constraints.shape[1], len(costs)
    costs = costs.astype(np.float64)
    slack_curvature = 2 * costs if loss == "squared_hinge" else np.zeros(n_slacks)
    slack_cost = np.zeros(n_slacks) if loss == "squared_hinge" else costs
    repeats = constraints.shape[0] // n_slacks
    slack_of = sp.vstack([sp.eye_array(n_slacks)] * repeats)
    # margin + ξ ≥ 1 and ξ ≥ 0, as b − A x in the non-negative cone
    upper = sp.hstack([-constraints, -slack_of])
    lower = sp.hstack([sp.csr_array((n_slacks, n_weights)), -sp.eye_array(n_slacks)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_iter = max_iter
    settings.tol_gap_rel = settings.tol_gap_abs = settings.tol_feas = min(tol, 1e-4)
    n_constraints = constraints.shape[0]
    solver = clarabel.DefaultSolver(
        sp.csc_matrix(sp.diags_array(np.concatenate([penalty, slack_curvature]))),
        np.concatenate([np.zeros(n_weights), slack_cost]),
        sp.csc_matrix(sp.vstack([upper, lower])),
        np.concatenate([-np.ones(n_constraints), np.zeros(n_slacks)]),
        [clarabel.NonnegativeConeT(n_constraints + n_slacks)],
        settings,
    )
    return solver.solve()
