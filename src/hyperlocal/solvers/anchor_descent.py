"""Anchors learned together with the weights: LLC-SAPL (kernels in ``cpp/anchor_descent.hpp``).

Recoding dual descent, :func:`learn_by_dual`. An epoch visits rows in batches. Each row of a batch
is coded anew by the present anchors, its share of the weights follows, and its dual variables are
optimised; then the anchors move against an average of the batches' gradients, by a length that
falls linearly to zero. Before each epoch the rows' neighbours are searched anew, the weights are
rebuilt from the dual variables (so that rounding never adds up), and a check says which variables
are worth a visit. Rows with nothing to say are left out until the next full look, every few epochs.
The weights for the final anchors are left to the fixed-gate solver.

Stochastic gradient, :func:`learn_by_sgd`, is the paper's Algorithm 1: anchors and weights take
steps of ``1/(λ(t + t0))`` along the gradient of one row's loss.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from ..coding import Codes
from ..gates import Gate, weighted_median
from ..losses import is_correct
from ..rows import core_rows, take_rows
from . import sgd
from .dual import Descent
from .problem import Problem

_GATES = {
    np.dtype(np.float32): _core.MovingGateFloat32,
    np.dtype(np.float64): _core.MovingGateFloat64,
}
_EPOCHS = {
    np.dtype(np.float32): _core.AnchorEpochFloat32,
    np.dtype(np.float64): _core.AnchorEpochFloat64,
}
# An epoch of small data has 64 batches, if they can be of 16 rows.
SMALLEST_BATCH, LARGEST_BATCH = 16, 128
BATCHES_PER_EPOCH = 64
VISITS_WANTED = 4_000 * LARGEST_BATCH
FEWEST_EPOCHS, MOST_EPOCHS = 12, 30
# Variables at rest whose margins are beyond one by more than this are not visited. (The largest
# violation of the last epoch, the fixed-gate solver's rule, says little while codes change.)
SLACK = 0.1
# Epochs from one look at all rows to the next; between them, rows that rest are left out.
EPOCHS_BETWEEN_LOOKS = 6
# How much of a row's own share of the weights counts when it judges its anchors: with all of it
# anchors learn rows by heart, with none they learn a little less.
OWN_SHARE = 0.5
# Longest step of an anchor, relative to the typical distance between a row and its nearest anchor,
# and the most that a step may change the exponents of the gate.
LONGEST_STEP = 0.1
LARGEST_CHANGE = 0.03

# First steps that "sgd" tries, powers of two: anchors may need much shorter ones than weights.
TRIED_EXPONENTS = range(-24, 7, 2)

Monitor = Callable[..., bool]
ProblemOf = Callable[..., Problem]


class AnchorEpoch(NamedTuple):
    """What was known before an epoch: objective, duality gap, share of training rows right.

    Rows that rest count as when all rows were looked at last.
    """

    epoch: int
    objective: float
    duality_gap: float
    accuracy: float


@dataclass
class LearnedAnchors:
    """What a descent found.

    Attributes
    ----------
    gate : Gate
        With the learned anchors.
    history : list of AnchorEpoch
    stopped : bool
        Whether a monitor ended the run early.
    alpha : ndarray or None
        Dual variables for the gate (dual descent).
    weights : ndarray or None
        Weights for the gate (stochastic gradient).
    """

    gate: Gate
    history: list[AnchorEpoch]
    stopped: bool = False
    alpha: np.ndarray | None = None
    weights: np.ndarray | None = None


def default_epochs(n_rows: int) -> int:
    """Enough epochs for 4,000 batches of 128 rows, between 12 and 30.

    Examples
    --------
    >>> from hyperlocal.solvers.anchor_descent import default_epochs
    >>> default_epochs(100), default_epochs(20_000), default_epochs(1_000_000)
    (30, 25, 12)
    """
    return int(np.clip(VISITS_WANTED // max(1, n_rows), FEWEST_EPOCHS, MOST_EPOCHS))


def batch_size(n_rows: int) -> int:
    """Rows after which anchors move."""
    return int(np.clip(n_rows // BATCHES_PER_EPOCH, SMALLEST_BATCH, LARGEST_BATCH))


def default_step(codes: Codes, sample_weight: np.ndarray, beta: float) -> float:
    """The length of the first steps, in units of the coded rows."""
    typical = weighted_median(codes.distances[:, 0].astype(np.float64), sample_weight)
    if typical <= 0:  # most rows lie on an anchor: there is nothing to gain
        return 0.0
    return min(LONGEST_STEP, LARGEST_CHANGE / (beta * typical)) * math.sqrt(typical)


def learn_by_dual(
    space: Any,
    gate: Gate,
    problem_of: ProblemOf,
    *,
    n_epochs: int,
    step: float,
    rng: np.random.Generator,
    monitor: Monitor | None = None,
    alpha: np.ndarray | None = None,
) -> LearnedAnchors:
    """Run recoding dual descent.

    Parameters
    ----------
    space : ndarray or CSR of shape (n_rows, width)
        Rows as the gate sees them.
    gate : Gate
        Where anchors start.
    problem_of : callable
        Lifts the rows by a gate: all of them, or those of given numbers.
    n_epochs : int
    step : float
        Length of the first anchor steps.
    rng : numpy Generator
    monitor : callable, optional
        Called after each epoch as ``monitor(number, objective=…, accuracy=…)``; returns whether to
        stop.
    alpha : ndarray of shape (n_rows, n_columns), optional
        Dual variables to start from.

    Returns
    -------
    LearnedAnchors
    """
    learner = _DualLearner(space, gate, problem_of, step, rng, alpha)
    stop = False
    for number in range(n_epochs):
        record = learner.run_epoch(number, n_epochs)
        if monitor is not None:
            facts = {"objective": record.objective, "accuracy": record.accuracy}
            stop = monitor(number + 1, **facts)
        if stop:
            break
    return LearnedAnchors(learner.gate, learner.history, stop, alpha=learner.alpha)


class _Recoding(Descent):
    """A dual descent that starts with a full check and counts the rows that are right."""

    def __init__(
        self,
        problem: Problem,
        rng: np.random.Generator,
        alpha: np.ndarray,
    ):
        self.right = np.zeros(problem.lifted.n_rows, bool)
        n_groups = 1 if problem.crammer_singer else problem.n_columns
        super().__init__(problem, 0.0, rng, alpha, np.tile([SLACK, -np.inf], (n_groups, 1)))

    def see_scores(self, begin: int, end: int, scores: np.ndarray) -> None:
        """Note which rows are right."""
        self.right[begin:end] = is_correct(scores, self.problem.target[begin:end])

    def record(self, number: int, total_cost: float) -> AnchorEpoch:
        """What the check found; rows that were left out are right and have no loss."""
        wrong = float(self.problem.costs.astype(np.float64) @ ~self.right)
        objective, gap = float(self.objectives.sum()), float(self.gaps.sum())
        return AnchorEpoch(number, objective, gap, 1 - wrong / total_cost)


class _DualLearner:
    """The state that recoding dual descent carries from epoch to epoch."""

    def __init__(
        self,
        space: Any,
        gate: Gate,
        problem_of: ProblemOf,
        step: float,
        rng: np.random.Generator,
        alpha: np.ndarray | None,
    ):
        first = problem_of(gate)
        if alpha is None:
            alpha = np.zeros((first.lifted.n_rows, first.n_columns), first.lifted.dtype)
        self.total_cost = float(first.costs.sum(dtype=np.float64))
        self.space = space
        self.gate = replace(gate, anchors=gate.anchors.copy())
        self.problem_of = problem_of
        self.step = step
        self.rng = rng
        self.alpha = alpha
        self.awake: np.ndarray | None = None  # numbers of the rows to look at; None for all
        self.momentum = np.zeros(gate.anchors.shape)
        self.spread = np.zeros(gate.n_anchors)
        self.n_moves = 0
        self.history: list[AnchorEpoch] = []

    def run_epoch(self, number: int, n_epochs: int) -> AnchorEpoch:
        """Visit the rows that have something to say, in random order."""
        if number % EPOCHS_BETWEEN_LOOKS == 0:
            self.awake = None
        problem, places, alpha = self._look()
        lifted = problem.lifted
        descent = _Recoding(problem, self.rng, alpha)
        self.history.append(descent.record(number, self.total_cost))
        worth_a_visit = descent.active.view(np.bool_) | (descent.alpha != 0)
        order = np.flatnonzero(worth_a_visit.any(axis=1))
        if self.awake is None:  # those taken out lie in random order already
            order = self.rng.permutation(order)
        size = batch_size(len(self.alpha))
        n_batches = -(-len(order) // size)
        progress = (number + np.arange(n_batches) / max(1, n_batches)) / n_epochs
        reports = descent.blank_reports()
        n_threads = lifted.workers.n_threads
        epoch = _EPOCHS[lifted.dtype](
            descent.core, moving_gate(places, self.gate, problem, descent.squared_norms),
            descent.weights, descent.alpha, descent.active, self.momentum, self.spread,
            self.step * (1 - progress), self.n_moves, problem.crammer_singer, OWN_SHARE, order,
            size, descent.bounds, reports, n_threads,
        )  # fmt: skip
        # All threads run at once and wait for each other: as many parts as threads, some of them
        # without columns.
        everything, nothing = (0, problem.n_columns), (problem.n_columns, problem.n_columns)
        ranges = [everything] if problem.crammer_singer else descent.column_ranges(n_threads)
        ranges += [nothing] * (n_threads - len(ranges))
        try:
            lifted.workers.map(lambda part: epoch.run(part[0], *part[1]), enumerate(ranges))
        except BaseException:  # Ctrl-C may cancel a part that the others wait for
            epoch.give_up()
            raise
        self.n_moves += n_batches
        self._keep(descent.alpha, order)
        return self.history[-1]

    def _look(self) -> tuple[Problem, Any, np.ndarray]:
        """The rows that are awake: their problem, where they lie, and their dual variables."""
        if self.awake is not None:
            self.awake = self.rng.permutation(self.awake)
            places = core_rows(take_rows(self.space, self.awake))
            return self.problem_of(self.gate, self.awake), places, self.alpha[self.awake]
        return self.problem_of(self.gate), core_rows(self.space), self.alpha

    def _keep(self, alpha: np.ndarray, visited: np.ndarray) -> None:
        if self.awake is None:
            self.alpha, self.awake = alpha, visited
        else:
            self.alpha[self.awake] = alpha
            self.awake = self.awake[visited]


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
    gate = replace(gate, anchors=gate.anchors.copy())
    places = core_rows(space)
    best = LearnedAnchors(gate, [], weights=state.weights)
    best_objective = math.inf
    for number in range(n_epochs + 1):
        problem = problem_of(gate)
        record = _sgd_record(problem, state, number, penalize_intercept)
        best.history.append(record)
        if record.objective < best_objective:
            best_objective = record.objective
            best.gate = replace(gate, anchors=gate.anchors.copy())
            best.weights = state.weights.copy()
        if number == n_epochs or best.stopped:
            break
        visit_and_move(problem, state, places, gate, skip, penalize_intercept, rng)
        if monitor is not None:
            facts = {"objective": record.objective, "accuracy": record.accuracy}
            best.stopped = monitor(number + 1, **facts)
    return best


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


def moving_gate(places: Any, gate: Gate, problem: Problem, squared_norms: np.ndarray) -> Any:
    """The compiled view of a gate: anchors, codes and norms are changed in place."""
    lifted = problem.lifted
    return _GATES[lifted.dtype](
        places, gate.anchors, lifted.anchors, lifted.gate, squared_norms, lifted.row_norms,
        gate.beta, lifted.normalize,
    )  # fmt: skip


def _sgd_record(
    problem: Problem, state: sgd.SgdState, number: int, penalize_intercept: bool
) -> AnchorEpoch:
    objective = problem.objective(state.weights, penalize_intercept=penalize_intercept)
    right = is_correct(problem.lifted.scores(state.weights), problem.target)
    costs = problem.costs.astype(np.float64)
    return AnchorEpoch(number, objective, math.nan, float(costs @ right / costs.sum()))
