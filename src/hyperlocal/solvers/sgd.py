"""Stochastic gradient over lifted rows: Algorithm 1 of Ladický and Torr (2011).

Step ``1/(λ(t + t0))`` at visit ``t`` with ``λ = 1/Σ_i C s_i``, weights decayed every ``skip``
visits, biases not penalised, ``t0`` found by trying first steps on a sample. The weights returned
are an average of the iterates in which early ones fade. ``fit`` and ``partial_fit`` share all of
this.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from ..model.problem import Problem, half_norm
from ..runtime.progress import Monitor
from ..runtime.threads import split_evenly
from .loop import BestEpoch, Epochs
from .result import SolverResult

ROWS_TO_TRY = 1_000
TRIED_EXPONENTS = range(-8, 7)
SHORTEST_SKIP = 16


@dataclass
class SgdState:
    """What a run carries from visit to visit, and ``partial_fit`` from call to call.

    Attributes
    ----------
    weights, average : ndarray of shape (n_anchors, n_columns, p + 1)
        The last iterate, and the average of all; the same array where there is no averaging.
    visits : int
        Rows visited, ``t``.
    lambda_ : float
        Regularisation per row.
    t0 : float
        Delays the steps: the first is ``1/(λ t0)``.
    """

    weights: np.ndarray
    average: np.ndarray
    visits: int
    lambda_: float
    t0: float


def solve(
    problem: Problem,
    *,
    tol: float,
    max_iter: int,
    rng: np.random.Generator,
    monitor: Monitor | None = None,
    start: np.ndarray | None = None,
    penalize_intercept: bool = False,
) -> SolverResult:
    """Run epochs until a few in a row lower the objective by less than ``tol``, relatively."""
    state = start_state(problem, rng, start=start, penalize_intercept=penalize_intercept)
    return solve_blocks(
        lambda: [problem], state, tol=tol, max_iter=max_iter, rng=rng, monitor=monitor,
        penalize_intercept=penalize_intercept,
    )  # fmt: skip


def solve_blocks(
    blocks: Callable[[], Iterable[Problem]],
    state: SgdState,
    *,
    tol: float,
    max_iter: int,
    rng: np.random.Generator,
    monitor: Monitor | None = None,
    penalize_intercept: bool = False,
    mean_cost: float | None = None,
) -> SolverResult:
    """Solve a problem whose rows come in blocks, each time they are requested.

    ``state`` starts it (see :func:`start_state`); ``mean_cost`` is that of the rows of all blocks.
    """
    best, epochs = BestEpoch(state.average, tol), Epochs(max_iter, monitor)
    for _ in epochs.until_converged(best):
        for problem in blocks():
            run_epoch(
                problem, state, rng, penalize_intercept=penalize_intercept, mean_cost=mean_cost
            )
        objective = half_norm(state.average, penalize_intercept=penalize_intercept)
        objective += sum(problem.losses(state.average) for problem in blocks())
        best.update(objective, state.average)
        epochs.report(objective=objective)
    return SolverResult(
        weights=best.weights,
        n_iter=epochs.number,
        objective=best.objective,
        duality_gap=math.nan,
        converged=best.converged,
        stopped=epochs.stopped,
        history=best.history,
    )


def start_state(
    problem: Problem,
    rng: np.random.Generator,
    *,
    start: np.ndarray | None = None,
    penalize_intercept: bool = False,
    total_cost: float | None = None,
) -> SgdState:
    """Weights of zero (or ``start``) and the schedule for the problem's rows.

    Where these are a part of more rows, ``total_cost`` is the sum of the costs of all.
    """
    weights = problem.lifted.zero_weights(problem.n_columns) if start is None else start.copy()
    lambda_ = 1.0 / (total_cost or float(problem.costs.sum(dtype=np.float64)))

    def objective_after(trial: SgdState, sample: np.ndarray) -> float:
        visit(problem, trial, sample, penalize_intercept)
        return problem.objective(trial.average, penalize_intercept=penalize_intercept)

    t0 = find_t0(problem, weights, lambda_, rng, objective_after)
    return SgdState(weights, weights.copy(), 0, lambda_, t0)


def run_epoch(
    problem: Problem,
    state: SgdState,
    rng: np.random.Generator,
    *,
    penalize_intercept: bool = False,
    mean_cost: float | None = None,
) -> None:
    """Visit all rows once, in random order."""
    order = rng.permutation(problem.lifted.n_rows)
    visit(problem, state, order, penalize_intercept, mean_cost=mean_cost)


def visit(
    problem: Problem,
    state: SgdState,
    order: np.ndarray,
    penalize_intercept: bool,
    *,
    skip: int | None = None,
    learned_gate: Any = None,
    mean_cost: float | None = None,
) -> None:
    """Visit rows in the given order; a learned gate changes the problem's codes on the way.

    Costs count relative to their mean, or to ``mean_cost`` where there are more rows than these.
    """
    lifted = problem.lifted
    if skip is None:  # decaying all weights then costs no more than the visits in between
        skip = max(SHORTEST_SKIP, 2 * lifted.n_anchors // lifted.n_neighbors)
    average = None if state.average is state.weights else state.average
    if mean_cost is None:
        scale = lifted.n_rows / problem.costs.sum(dtype=np.float64)
    else:
        scale = 1 / np.float64(mean_cost)
    costs = (problem.costs * scale).astype(lifted.dtype)

    core = problem.core_sgd(costs)
    schedule = _core.SgdSchedule(
        lambda_=state.lambda_, t0=state.t0, skip=skip, decay_bias=penalize_intercept
    )

    def visit_columns(columns: tuple[int, int]) -> None:
        core.epoch(state.weights, average, state.visits, schedule, order, *columns, learned_gate)

    if problem.crammer_singer or learned_gate is not None:
        visit_columns((0, problem.n_columns))
    else:
        loads = [1] * problem.n_columns
        lifted.workers.map(visit_columns, split_evenly(loads, lifted.workers.n_threads))
    state.visits += len(order)


def find_t0(
    problem: Problem,
    weights: np.ndarray,
    lambda_: float,
    rng: np.random.Generator,
    objective_after: Callable[[SgdState, np.ndarray], float],
    exponents: Iterable[int] = TRIED_EXPONENTS,
) -> float:
    """Try first steps of all sizes on a sample; the one with the lowest objective sets ``t0``.

    ``objective_after(state, sample)`` visits the sample and returns the objective.
    """
    sample = rng.permutation(problem.lifted.n_rows)[:ROWS_TO_TRY]
    typical = float(np.mean(problem.lifted.squared_norms(), dtype=np.float64)) or 1.0
    best, best_t0 = math.inf, 1.0 / lambda_
    for exponent in exponents:
        t0 = typical / (2.0**exponent * lambda_)
        trial = SgdState(weights.copy(), weights.copy(), 0, lambda_, t0)
        with np.errstate(over="ignore", invalid="ignore"):  # long steps diverge: that is why we try
            objective = objective_after(trial, sample)
        if objective < best:  # NaN and infinity never win
            best, best_t0 = objective, t0
    return best_t0
