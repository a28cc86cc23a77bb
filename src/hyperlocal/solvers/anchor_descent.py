"""Anchors learned together with the weights: LLC-SAPL (kernels in ``cpp/anchor_descent.hpp``).

Recoding dual descent, :func:`learn_by_dual`. An epoch visits rows in batches. Each row of a batch
is coded anew by the present anchors, its share of the weights follows, and its dual variables are
optimised; then the anchors move against an average of the batches' gradients, by a length that
falls linearly to zero. Every few epochs there is a look at all rows: their neighbours are searched
anew, with some more anchors in reserve, and a check says which variables are worth a visit. Rows
with nothing to say are left out until the next look. Before the other epochs the rows that are left
choose their neighbours from those they have and the reserve. Either way the weights are rebuilt
from the dual variables: weights whose shares are by codes as old as the rows' last visits lead
anchors astray, and rounding would add up. The weights for the final anchors are left to the
fixed-gate solver.

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
from ..data.rows import core_rows
from ..gates.codes import Codes
from ..gates.gate import Gate, weighted_median
from ..model.losses import conjugate_sums, is_correct
from ..model.problem import Problem, half_norm
from ..runtime.threads import MOST_ROWS_PER_BLOCK, row_blocks
from . import sgd
from .dual import GAP, Descent, visit_order

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
# Anchors that a row has in reserve, if there are as many.
RESERVES = 8
# Threads share an epoch if a row's answers are sums of so many numbers.
FEWEST_NUMBERS_TO_SHARE = 1_000
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
ProblemOf = Callable[[Gate], Problem]


class Look(NamedTuple):
    """The rows as a gate lifts them, and the anchors that each has in reserve."""

    problem: Problem
    reserves: np.ndarray


class AnchorEpoch(NamedTuple):
    """What was known before an epoch: objective, duality gap, share of training rows right.

    From a look at the rows, or as seen at the visits of the epoch before. Rows that rest count as
    when all rows were looked at last.
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
    look_at: Callable[[Gate], Look],
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
    look_at : callable
        Lifts the rows by a gate, and finds their anchors in reserve.
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
    learner = _DualLearner(core_rows(space), gate, look_at, step, rng, alpha)
    stop = False
    for number in range(n_epochs):
        record = learner.run_epoch(number, n_epochs)
        if monitor is not None:
            facts = {"objective": record.objective, "accuracy": record.accuracy}
            stop = monitor(number + 1, **facts)
        if stop:
            break
    return LearnedAnchors(learner.gate, learner.history, stop, alpha=learner.alpha)


class RightRows:
    """Which rows have their own class's score as the largest; for ``see_scores`` of solvers."""

    def __init__(self, problem: Problem):
        self.problem = problem
        self.flags = np.zeros(problem.lifted.n_rows, np.uint8)

    def __call__(self, begin: int, end: int, scores: np.ndarray) -> None:
        """Note what a block of scores says."""
        self.flags[begin:end] = is_correct(scores, self.problem.target[begin:end])

    def share(self) -> float:
        """Weighted by the rows' costs."""
        return float(np.average(self.flags, weights=self.problem.costs.astype(np.float64)))


class _Recoding(Descent):
    """A dual descent that starts with a full check and counts the rows that are right.

    ``places`` are the rows as the gate sees them; their codes change with each visit.
    """

    def __init__(
        self, look: Look, places: Any, gate: Gate, rng: np.random.Generator, alpha: np.ndarray
    ):
        problem = look.problem
        self.right = RightRows(problem)
        n_groups = 1 if problem.crammer_singer else problem.n_columns
        bounds = np.tile([SLACK, -np.inf], (n_groups, 1))
        super().__init__(problem, 0.0, rng, alpha, bounds, see_scores=self.right)
        self.moving = moving_gate(places, gate, problem, self.squared_norms)
        self.reserves = look.reserves
        self.awake = np.arange(problem.lifted.n_rows)
        self.leave_out()

    def leave_out(self) -> None:
        """Of the rows awake, those without a variable to visit go to rest."""
        active, alpha = self.active.view(np.bool_)[self.awake], self.alpha[self.awake]
        self.awake = self.awake[(active | (alpha != 0)).any(axis=1)]

    def recode(self) -> None:
        """Let the rows awake choose their neighbours anew; the others have no share of weights."""
        blocks = row_blocks(len(self.awake), MOST_ROWS_PER_BLOCK)
        self.problem.lifted.workers.map(
            lambda block: self.moving.recode(self.awake[slice(*block)], self.reserves), blocks
        )
        self.rebuild_weights()

    def see_visits(self, reports: np.ndarray) -> None:
        """Take what an epoch has seen for what a check would find."""
        problem, rows = self.problem, self.awake
        conjugates = conjugate_sums(
            self.alpha[rows], problem.target[rows], problem.costs[rows], problem.loss,
            problem.crammer_singer,
        )  # fmt: skip
        self.gaps = reports[:, GAP]
        self.objectives = np.array([self.gaps.sum() - conjugates.sum() - half_norm(self.weights)])
        self.leave_out()

    def record(self, number: int) -> AnchorEpoch:
        """What is known; rows that are left out count as they did at the last look."""
        objective, gap = float(self.objectives.sum()), float(self.gaps.sum())
        return AnchorEpoch(number, objective, gap, self.right.share())


class _DualLearner:
    """The state that recoding dual descent carries from epoch to epoch."""

    def __init__(
        self,
        places: Any,
        gate: Gate,
        look_at: Callable[[Gate], Look],
        step: float,
        rng: np.random.Generator,
        alpha: np.ndarray | None,
    ):
        self.places = places
        self.gate = replace(gate, anchors=gate.anchors.copy())
        self.look_at = look_at
        self.step = step
        self.rng = rng
        self.alpha = alpha
        self.descent: _Recoding | None = None  # since the last look
        self.momentum = np.zeros(gate.anchors.shape)
        self.spread = np.zeros(gate.n_anchors)
        self.n_moves = 0
        self.history: list[AnchorEpoch] = []

    def run_epoch(self, number: int, n_epochs: int) -> AnchorEpoch:
        """Visit the rows that have something to say, in random order."""
        descent = self._descent_for(number)
        problem, workers = descent.problem, descent.problem.lifted.workers
        self.history.append(descent.record(number))
        order = visit_order(descent.awake, self.rng, turns=descent.turns)
        size = batch_size(problem.lifted.n_rows)
        n_batches = -(-len(order) // size)
        progress = (number + np.arange(n_batches) / max(1, n_batches)) / n_epochs
        reports, n_threads = descent.blank_reports(), self._threads_for(problem)
        motion = _core.anchor_motion(
            self.momentum, self.spread, self.step * (1 - progress), self.n_moves
        )
        options = _core.AnchorEpochOptions(
            own_share=OWN_SHARE, batch_size=size, n_threads=n_threads
        )
        epoch = _core.anchor_epoch(
            descent.core_state(), descent.moving, motion, options, order, reports,
            descent.right.flags,
        )  # fmt: skip
        # All threads run at once and wait for each other: as many parts as threads, some of them
        # without columns.
        everything, nothing = (0, problem.n_columns), (problem.n_columns, problem.n_columns)
        ranges = [everything] if problem.crammer_singer else descent.column_ranges(n_threads)
        ranges += [nothing] * (n_threads - len(ranges))
        try:
            workers.map(lambda part: epoch.run(part[0], *part[1]), enumerate(ranges))
        except BaseException:  # Ctrl-C may cancel a part that the others wait for
            epoch.cancel()
            raise
        self.n_moves += n_batches
        descent.see_visits(reports)
        return self.history[-1]

    def _threads_for(self, problem: Problem) -> int:
        """One where a batch is over before threads have met: one column of short rows."""
        numbers = problem.n_columns * self.gate.n_neighbors * self.gate.anchors.shape[1]
        return problem.lifted.workers.n_threads if numbers >= FEWEST_NUMBERS_TO_SHARE else 1

    def _descent_for(self, number: int) -> _Recoding:
        """The descent that is under way, or another one after a look at the rows."""
        if self.descent is None or number % EPOCHS_BETWEEN_LOOKS == 0:
            look = self.look_at(self.gate)
            if self.alpha is None:
                shape = (look.problem.lifted.n_rows, look.problem.n_columns)
                self.alpha = np.zeros(shape, look.problem.lifted.dtype)
            self.descent = _Recoding(look, self.places, self.gate, self.rng, self.alpha)
            self.alpha = self.descent.alpha
        else:
            self.descent.recode()
        return self.descent


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
    return _core.moving_gate(
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
