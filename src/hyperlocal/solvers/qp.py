"""The problem as a quadratic program for an interior-point method (Clarabel): problem (10) of
Ladický and Torr (2011).

It writes the lifted matrix out, so it is for small data, and it is the reference that the other
solvers are compared with. Slack variables ``ξ`` carry the loss:

    min ½‖W‖² + Σ_i C_i ξ_i (or ξ_i²)   subject to   ξ_i ≥ 1 − margin_i(W),  ξ_i ≥ 0.

A residual of a regression is a sum of parts, each with its own cost, instead:

    min ½‖W‖² + Σ_i C_i (t_i² + upper ξ_i − lower ξ'_i),   r_i = t_i + e_i + ξ_i − ξ'_i,  |e_i| ≤ ε.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..model.problem import Problem, RegressionProblem
from ..model.residuals import ResidualLoss
from .result import SolverResult

MOST_NONZEROS = 20_000_000
LEAST_TOL = 1e-12


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
    weights, n_iter, objective, bound, converged = [], 0, 0.0, 0.0, True
    for program in _programs(problem, matrix, penalty.ravel()):
        solution = _solve_one(clarabel, program, tol, max_iter)
        found = np.asarray(solution.x)[: program.n_weights]
        weights.append(found.reshape(-1, penalty.size))
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


@dataclass(frozen=True)
class _Program:
    """``min ½ xᵀ diag(curvature) x + cost·x``, ``b − A x`` zero at first, then not negative."""

    n_weights: int
    curvature: np.ndarray
    cost: np.ndarray
    A: Any
    b: np.ndarray
    n_equalities: int = 0


def _programs(problem: Problem, matrix: sp.csr_array, penalty: np.ndarray) -> Iterator[_Program]:
    """One per column, or one of all columns for Crammer–Singer."""
    costs = problem.costs.astype(np.float64)
    if isinstance(problem, RegressionProblem):
        for loss, values in zip(problem.residual_losses, problem.target.T, strict=True):
            yield _residual_program(loss, values.astype(np.float64), matrix, costs, penalty)
    elif problem.crammer_singer:
        pairs = _crammer_singer_constraints(problem, matrix)
        yield _hinge_program(pairs, costs, np.tile(penalty, problem.n_columns), problem.loss)
    else:
        for labels in problem.labels.T.astype(np.float64):
            yield _hinge_program(sp.diags_array(labels) @ matrix, costs, penalty, problem.loss)


def _residual_program(
    loss: ResidualLoss,
    values: np.ndarray,
    matrix: sp.csr_array,
    costs: np.ndarray,
    penalty: np.ndarray,
) -> _Program:
    """``Z w + t + e + ξ − ξ' = y``, with those parts that the loss has."""
    n_rows, n_weights = matrix.shape
    same, none = sp.eye_array(n_rows), np.zeros(n_rows)
    parts, curvature, cost = [matrix], [penalty], [np.zeros(n_weights)]
    bounded: list[tuple[int, float, float]] = []  # part, sign, largest value of sign · part

    def add(sign: float, curved: np.ndarray, linear: np.ndarray) -> int:
        parts.append(sign * same)
        curvature.append(curved)
        cost.append(linear)
        return len(parts) - 1

    if loss.is_smooth:
        add(1.0, 2 * costs, none)
    if loss.epsilon > 0:
        tube = add(1.0, none, none)
        bounded += [(tube, 1.0, loss.epsilon), (tube, -1.0, loss.epsilon)]
    if np.isfinite(loss.upper):
        bounded.append((add(1.0, none, loss.upper * costs), -1.0, 0.0))
        bounded.append((add(-1.0, none, -loss.lower * costs), -1.0, 0.0))
    widths = [part.shape[1] for part in parts]
    rows = [sp.hstack(parts)]
    for number, sign, _ in bounded:
        blocks = [sp.csr_array((n_rows, width)) for width in widths]
        blocks[number] = sign * same
        rows.append(sp.hstack(blocks))
    limits = [values, *(np.full(n_rows, largest) for _, _, largest in bounded)]
    return _Program(
        n_weights, np.concatenate(curvature), np.concatenate(cost), sp.vstack(rows),
        np.concatenate(limits), n_rows,
    )  # fmt: skip


def _crammer_singer_constraints(problem: Problem, matrix: sp.csr_array) -> sp.csr_array:
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
    return sp.vstack(pairs, format="csr")


def _row_wise_kronecker(left: sp.csr_array, right: sp.csr_array) -> sp.csr_array:
    blocks = [sp.diags_array(left[:, [j]].toarray().ravel()) @ right for j in range(left.shape[1])]
    return sp.hstack(blocks, format="csr")


def _hinge_program(constraints: Any, costs: np.ndarray, penalty: np.ndarray, loss: str) -> _Program:
    """``margin + ξ ≥ 1`` and ``ξ ≥ 0``."""
    (n_constraints, n_weights), n_slacks = constraints.shape, len(costs)
    slack_curvature = 2 * costs if loss == "squared_hinge" else np.zeros(n_slacks)
    slack_cost = np.zeros(n_slacks) if loss == "squared_hinge" else costs
    slack_of = sp.vstack([sp.eye_array(n_slacks)] * (n_constraints // n_slacks))
    upper = sp.hstack([-constraints, -slack_of])
    lower = sp.hstack([sp.csr_array((n_slacks, n_weights)), -sp.eye_array(n_slacks)])
    return _Program(
        n_weights,
        np.concatenate([penalty, slack_curvature]),
        np.concatenate([np.zeros(n_weights), slack_cost]),
        sp.vstack([upper, lower]),
        np.concatenate([-np.ones(n_constraints), np.zeros(n_slacks)]),
    )


def _solve_one(clarabel: Any, program: _Program, tol: float, max_iter: int) -> Any:
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_iter = max_iter
    # Beyond what double precision can reach, iterates become NaN.
    tol = float(np.clip(tol, LEAST_TOL, 1e-4))
    settings.tol_gap_rel = settings.tol_gap_abs = settings.tol_feas = tol
    cones = [clarabel.NonnegativeConeT(len(program.b) - program.n_equalities)]
    if program.n_equalities:
        cones.insert(0, clarabel.ZeroConeT(program.n_equalities))
    solver = clarabel.DefaultSolver(
        sp.csc_matrix(sp.diags_array(program.curvature)), program.cost,
        sp.csc_matrix(program.A), program.b, cones, settings,
    )  # fmt: skip
    return solver.solve()
