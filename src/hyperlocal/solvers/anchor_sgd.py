"""Anchors learned with the weights by stochastic gradient: Algorithm 1 of the LLC-SAPL paper.

Anchors and weights take steps of ``1/(λ(t + t0))`` along the gradient of one row's loss.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..data.rows import core_rows
from ..gates.gate import Gate
from ..model.losses import is_correct
from ..model.problem import Problem
from ..runtime.progress import Monitor
from . import sgd
from .anchor_descent import AnchorEpoch, LearnedAnchors, moving_gate
from .loop import Epochs

# First steps that are tried, powers of two: anchors may need much shorter ones than weights.
TRIED_EXPONENTS = range(-24, 7, 2)

ProblemOf = Callable[[Gate], Problem]


def learn_by_sgd(
    space: Any,
    gate: Gate,
    problem_of: ProblemOf,
    *,
    n_epochs: int,
    state: sgd.SgdState,
    skip: int | None,
    penalize_intercept: bool,
    rng: np.random.Generator,
    monitor: Monitor | None = None,
) -> LearnedAnchors:
    """Run Algorithm 1 of the paper from the weights and the schedule in ``state``.

    Returns the anchors and weights of the lowest objective seen between epochs.
    """
    learner = _SgdLearner(
        replace(gate, anchors=gate.anchors.copy()), problem_of, state, penalize_intercept
    )
    places, epochs = core_rows(space), Epochs(n_epochs, monitor)
    learner.full_pass(0)
    for number in epochs:
        visit_and_move(learner.problem, state, places, learner.gate, skip, penalize_intercept, rng)
        epochs.report(**learner.best.history[-1].facts())
        learner.full_pass(number)
    learner.best.stopped = epochs.stopped
    return learner.best


class _SgdLearner:
    """The problem by the present anchors, and the best anchors and weights so far."""

    problem: Problem

    def __init__(
        self, gate: Gate, problem_of: ProblemOf, state: sgd.SgdState, penalize_intercept: bool
    ):
        self.gate, self.problem_of, self.state = gate, problem_of, state
        self.penalize_intercept = penalize_intercept
        self.best = LearnedAnchors(gate, [], weights=state.weights)
        self.best_objective = math.inf

    def full_pass(self, number: int) -> None:
        """Lift the rows by the present anchors, and keep these if their objective is the lowest."""
        self.problem = self.problem_of(self.gate)
        record = self._record(number)
        self.best.history.append(record)
        if record.objective < self.best_objective:
            self.best_objective = record.objective
            self.best.gate = replace(self.gate, anchors=self.gate.anchors.copy())
            self.best.weights = self.state.weights.copy()

    def _record(self, number: int) -> AnchorEpoch:
        problem, weights = self.problem, self.state.weights
        objective = problem.objective(weights, penalize_intercept=self.penalize_intercept)
        right = is_correct(problem.lifted.scores(weights), problem.target)
        costs = problem.costs.astype(np.float64)
        return AnchorEpoch(number, objective, math.nan, float(costs @ right / costs.sum()))


def visit_and_move(
    problem: Problem,
    state: sgd.SgdState,
    places: Any,
    gate: Gate,
    skip: int | None,
    penalize_intercept: bool,
    rng: np.random.Generator,
) -> None:
    """Visit all rows once by stochastic gradient; the gate's anchors move in place."""
    moving = moving_gate(places, gate, problem, problem.lifted.squared_norms())
    order = rng.permutation(problem.lifted.n_rows)
    sgd.visit(problem, state, order, penalize_intercept, skip=skip, learned_gate=moving)


def start_sgd(
    space: Any,
    gate: Gate,
    problem_of: ProblemOf,
    weights: np.ndarray,
    t0: float | None,
    penalize_intercept: bool,
    rng: np.random.Generator,
) -> sgd.SgdState:
    """The schedule of a run; without ``t0``, first steps of all sizes are tried on a sample."""
    weights = weights.copy()
    problem = problem_of(gate)
    lambda_ = 1.0 / float(problem.costs.sum(dtype=np.float64))
    if t0 is not None:
        return sgd.SgdState(weights, weights, 0, lambda_, t0)
    places = core_rows(space)

    def objective_after(trial: sgd.SgdState, sample: np.ndarray) -> float:
        moved = replace(gate, anchors=gate.anchors.copy())
        before = problem_of(moved)
        moving = moving_gate(places, moved, before, before.lifted.squared_norms())
        sgd.visit(before, trial, sample, penalize_intercept, learned_gate=moving)
        if not np.isfinite(moved.anchors).all():
            return math.inf
        return problem_of(moved).objective(trial.weights, penalize_intercept=penalize_intercept)

    t0 = sgd.find_t0(problem, weights, lambda_, rng, objective_after, TRIED_EXPONENTS)
    return sgd.SgdState(weights, weights, 0, lambda_, t0)
