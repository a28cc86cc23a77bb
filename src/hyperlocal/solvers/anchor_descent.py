"""Anchors learned together with the weights: LLC-SAPL (kernels in ``cpp/anchor_descent.hpp``).

Dual descent with moving anchors, :func:`learn_by_dual`. An epoch visits rows in batches. Each row
of a batch is coded again by the present anchors, its part of the weights is updated, and its dual
variables are optimized. Then the anchors move against an average of the batches' gradients, by a
length that falls linearly to zero. Every few epochs there is a full pass over all rows: their
neighbors are searched for again, with some more anchors in reserve, and a check determines which
variables to visit. Rows without such a variable are skipped until the next full pass. Before the
other epochs the visited rows choose their neighbors from those they have and the reserve. In both
cases the weights are computed again from the dual variables: otherwise outdated codes would give
wrong gradients, and rounding errors would add up. The weights for the final anchors are trained by
the solver for fixed gates.

The stochastic gradient of the paper is in :mod:`hyperlocal.solvers.anchor_sgd`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from ..data.rows import core_rows
from ..gates.codes import Codes
from ..gates.gate import Gate, weighted_median
from ..model.losses import is_correct
from ..model.problem import Problem, RegressionProblem, half_norm
from ..runtime.progress import Monitor
from ..runtime.threads import MOST_ROWS_PER_BLOCK, row_blocks
from .dual import GAP, Descent
from .loop import Epochs
from .visits import visit_order

# An epoch of small data has 64 batches, if they can be of 16 rows.
SMALLEST_BATCH, LARGEST_BATCH = 16, 128
BATCHES_PER_EPOCH = 64
# Enough epochs that each anchor is moved by so many rows: many anchors among few rows take longest.
MOVES_WANTED = 20_000
FEWEST_EPOCHS, MOST_EPOCHS = 8, 30
# Epochs between two evaluations of the anchors on held-out rows.
EPOCHS_BETWEEN_EVALUATIONS = 3
# Variables at a bound whose margins exceed one by more than this are not visited. (The largest
# violation of the last epoch, the rule for fixed gates, is of little use while codes change.)
SLACK = 0.1
# Epochs from one full pass over all rows to the next; between them, rows are skipped.
EPOCHS_BETWEEN_PASSES = 6
# Anchors that a row has in reserve, if there are as many.
RESERVES = 8
# Threads share an epoch if the scores of a row are sums of so many numbers.
FEWEST_NUMBERS_TO_SHARE = 1_000
# How much of a row's own share of the weights counts in the gradient of its anchors: with all of it
# anchors overfit single rows, with none they learn a little less.
OWN_SHARE = 0.5
# Longest step of an anchor, relative to the typical distance between a row and its nearest anchor,
# and the most that a step may change the exponents of the gate.
LONGEST_STEP = 0.1
LARGEST_CHANGE = 0.03

PassOver = Callable[[Gate], "FullPass"]
# How good a gate and weights for it are, the larger the better.
Evaluate = Callable[[Gate, np.ndarray], tuple[float, ...]]


class FullPass(NamedTuple):
    """The rows as a gate lifts them, and the anchors that each has in reserve."""

    problem: Problem
    reserves: np.ndarray


class AnchorEpoch(NamedTuple):
    """What was known before an epoch: objective, duality gap, share of training rows right.

    The share is NaN for values. From a full pass, or from the visits of the epoch before. Skipped
    rows count as at the last full pass.
    """

    epoch: int
    objective: float
    duality_gap: float
    accuracy: float

    def facts(self) -> dict[str, float]:
        """Facts for the monitor."""
        return {"objective": self.objective, "accuracy": self.accuracy}


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
        Dual variables for the last gate (dual descent).
    weights : ndarray or None
        Weights for the gate (stochastic gradient).
    epoch : int
        After how many epochs the gate was found.
    """

    gate: Gate
    history: list[AnchorEpoch]
    stopped: bool = False
    alpha: np.ndarray | None = None
    weights: np.ndarray | None = None
    epoch: int = 0


def default_epochs(n_rows: int, gate: Gate) -> int:
    """Enough epochs that each anchor is moved by 20,000 rows on average, between 8 and 30.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.gates.gate import Gate
    >>> from hyperlocal.solvers.anchor_descent import default_epochs
    >>> gate = Gate(np.zeros((100, 2)), n_neighbors=8, coding="soft", beta=1.0)
    >>> default_epochs(100, gate), default_epochs(20_000, gate), default_epochs(1_000_000, gate)
    (30, 12, 8)
    """
    wanted = MOVES_WANTED * gate.n_anchors // max(1, n_rows * gate.n_neighbors)
    return int(np.clip(wanted, FEWEST_EPOCHS, MOST_EPOCHS))


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
    pass_over: PassOver,
    *,
    n_epochs: int,
    step: float,
    rng: np.random.Generator,
    monitor: Monitor | None = None,
    alpha: np.ndarray | None = None,
    evaluate: Evaluate | None = None,
    epochs_between_passes: int = EPOCHS_BETWEEN_PASSES,
    fewest_numbers_to_share: int = FEWEST_NUMBERS_TO_SHARE,
) -> LearnedAnchors:
    """Run recoding dual descent.

    Parameters
    ----------
    space : ndarray or CSR of shape (n_rows, width)
        Rows as the gate sees them.
    gate : Gate
        Where anchors start.
    pass_over : callable
        Lifts the rows by a gate, and finds their anchors in reserve.
    n_epochs : int
    step : float
        Length of the first anchor steps.
    rng : numpy Generator
    monitor : Monitor, optional
        Called after each epoch with ``objective`` and ``accuracy``.
    alpha : ndarray of shape (n_rows, n_columns), optional
        Dual variables to start from.
    evaluate : callable, optional
        Evaluates anchors and weights after every third epoch and the last one: the best anchors are
        returned, not the last.
    epochs_between_passes : int
        Epochs from one full pass over all rows to the next.
    fewest_numbers_to_share : int
        Threads share an epoch if the scores of a row are sums of so many numbers.

    Returns
    -------
    LearnedAnchors
    """
    learner = DualLearner(
        core_rows(space), replace(gate, anchors=gate.anchors.copy()), pass_over, step, rng,
        n_epochs, alpha, epochs_between_passes, fewest_numbers_to_share,
    )  # fmt: skip
    epochs = Epochs(n_epochs, monitor)
    best, best_value = LearnedAnchors(learner.gate, learner.history), None
    for number in epochs:
        record = learner.prepare(number - 1)
        learner.run_epoch(number - 1)
        epochs.report(**record.facts())
        if evaluate is None:
            best.epoch = number
        elif number % EPOCHS_BETWEEN_EVALUATIONS == 0 or epochs.ended:
            value = evaluate(learner.gate, learner.descent.weights)
            if best_value is None or value >= best_value:
                best_value, best.epoch = value, number
                best.gate = replace(learner.gate, anchors=learner.gate.anchors.copy())
    best.stopped, best.alpha = epochs.stopped, learner.alpha
    return best


class RightRows:
    """Which rows have their own class's score as the largest; for ``see_scores`` of solvers.

    No row with a value is right.
    """

    def __init__(self, problem: Problem):
        self.problem = problem
        self.has_classes = not isinstance(problem, RegressionProblem)
        self.flags = np.zeros(problem.lifted.n_rows, np.uint8)

    def __call__(self, begin: int, end: int, scores: np.ndarray) -> None:
        """Set the flags of a block of rows by their scores."""
        if not self.has_classes:
            return
        self.flags[begin:end] = is_correct(scores, self.problem.target[begin:end])

    def share(self) -> float:
        """Weighted by the rows' costs; NaN for values."""
        if not self.has_classes:
            return math.nan
        return float(np.average(self.flags, weights=self.problem.costs.astype(np.float64)))


class Recoding(Descent):
    """A dual descent that starts with a full check and counts the rows that are right.

    ``places`` are the rows that the gate measures distances on; codes change with each visit.
    """

    def __init__(
        self, found: FullPass, places: Any, gate: Gate, rng: np.random.Generator, alpha: np.ndarray
    ):
        problem = found.problem
        self.right = RightRows(problem)
        n_groups = 1 if problem.crammer_singer else problem.n_columns
        below = -np.inf if self.right.has_classes else -SLACK  # residuals have two sides
        bounds = np.tile([SLACK, below], (n_groups, 1))
        super().__init__(problem, 0.0, rng, alpha, bounds, see_scores=self.right)
        self.moving = moving_gate(places, gate, problem, self.squared_norms)
        self.reserves = found.reserves
        self.visited = np.arange(problem.lifted.n_rows)
        self.leave_out()

    def leave_out(self) -> None:
        """Skip visited rows that have no variable to visit any more."""
        active, alpha = self.active.view(np.bool_)[self.visited], self.alpha[self.visited]
        self.visited = self.visited[(active | (alpha != 0)).any(axis=1)]

    def recode(self) -> None:
        """Choose the neighbors of visited rows again; the others have no part of the weights."""
        blocks = row_blocks(len(self.visited), MOST_ROWS_PER_BLOCK)
        self.problem.lifted.workers.map(
            lambda block: self.moving.recode(self.visited[slice(*block)], self.reserves), blocks
        )
        self.rebuild_weights()

    def see_visits(self, reports: np.ndarray) -> None:
        """Estimate what a check would find by what the visits of an epoch found."""
        conjugates = self.problem.conjugates(self.alpha, self.visited)
        self.gaps = reports[:, GAP]
        self.objectives = np.array([self.gaps.sum() - conjugates - half_norm(self.weights)])
        self.leave_out()

    def record(self, number: int) -> AnchorEpoch:
        """The state before an epoch; skipped rows count as they did at the last full pass."""
        objective, gap = float(self.objectives.sum()), float(self.gaps.sum())
        return AnchorEpoch(number, objective, gap, self.right.share())


@dataclass
class DualLearner:
    """The state of dual descent with moving anchors.

    The parameters are those of :func:`learn_by_dual`; the anchors of ``gate`` move in place.
    """

    places: Any
    gate: Gate
    pass_over: PassOver
    step: float
    rng: np.random.Generator
    n_epochs: int
    alpha: np.ndarray | None = None
    epochs_between_passes: int = EPOCHS_BETWEEN_PASSES
    fewest_numbers_to_share: int = FEWEST_NUMBERS_TO_SHARE
    descent: Recoding = field(init=False)  # since the last full pass
    n_moves: int = 0
    history: list[AnchorEpoch] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.momentum = np.zeros(self.gate.anchors.shape)
        self.spread = np.zeros(self.gate.n_anchors)

    def prepare(self, number: int) -> AnchorEpoch:
        """Code the rows by the present anchors; in some epochs by a full pass over all rows."""
        if number % self.epochs_between_passes == 0:
            self._look()
        else:
            self.descent.recode()
        self.history.append(self.descent.record(number))
        return self.history[-1]

    def run_epoch(self, number: int) -> None:
        """Visit the rows that have a variable to visit, in random order."""
        descent = self.descent
        problem, workers = descent.problem, descent.problem.lifted.workers
        order = visit_order(descent.visited, self.rng, turns=descent.turns)
        size = batch_size(problem.lifted.n_rows)
        n_batches = -(-len(order) // size)
        progress = (number + np.arange(n_batches) / max(1, n_batches)) / self.n_epochs
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

    def _threads_for(self, problem: Problem) -> int:
        """One where a batch takes less time than threads need to start: few, short rows."""
        numbers = problem.n_columns * self.gate.n_neighbors * self.gate.anchors.shape[1]
        return problem.lifted.workers.n_threads if numbers >= self.fewest_numbers_to_share else 1

    def _look(self) -> None:
        found = self.pass_over(self.gate)
        if self.alpha is None:
            shape = (found.problem.lifted.n_rows, found.problem.n_columns)
            self.alpha = np.zeros(shape, found.problem.lifted.dtype)
        self.descent = Recoding(found, self.places, self.gate, self.rng, self.alpha)
        self.alpha = self.descent.alpha


def moving_gate(places: Any, gate: Gate, problem: Problem, squared_norms: np.ndarray) -> Any:
    """The compiled view of a gate: anchors, codes and norms are changed in place."""
    lifted = problem.lifted
    return _core.moving_gate(
        places, gate.anchors, lifted.anchors, lifted.gate, squared_norms, lifted.row_norms,
        gate.beta, lifted.normalize,
    )  # fmt: skip
