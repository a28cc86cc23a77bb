"""From a chain with anchors placed without labels to one whose anchors are learned with them.

:mod:`hyperlocal.solvers.anchor_descent` moves the anchors; this module decides from where, at which
C and for how long, trains the weights for the final anchors, and uses the learned anchors only if
they predict held-out rows better.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..data.labelled import LabelledRows, part_of
from ..data.rows import core_rows
from ..data.splits import hold_out
from ..gates.codes import Codes, anchor_masses
from ..gates.gate import Gate
from ..model.local_model import LocalModel
from ..model.losses import is_correct, loss_sum
from ..model.multiclass import separate_columns
from ..model.problem import Problem
from ..model.residuals import RegressionLoss
from ..runtime.progress import JoinedEpochs, Monitor
from ..runtime.threads import Workers
from . import anchor_descent, anchor_sgd, dual
from .anchor_descent import RESERVES, AnchorEpoch, FullPass, LearnedAnchors, RightRows
from .result import SolverResult
from .sgd import SgdState
from .training import Training

# While anchors move, C is at most this (without and with normalized rows): with a large C they
# would overfit single rows. The weights for the final anchors are trained with C itself.
MOST_COST, MOST_COST_NORMALIZED = 1.0, 3.0
# Epochs with fixed anchors before they start to move.
FIRST_EPOCHS = 3
# The share of held-out rows, and the fewest that are enough for a comparison.
HELD_OUT = 0.1
FEWEST_HELD_OUT = 20


@dataclass(frozen=True)
class AnchorSchedule:
    """How anchors move; the parameters of :class:`SupervisedAnchorSVC` of these names.

    Attributes
    ----------
    anchor_epochs : int or "auto"
    anchor_step : float or "auto"
    t0 : float or "auto"
    skip : int or "auto"
    keep_if_better : bool
    """

    anchor_epochs: Any = "auto"
    anchor_step: Any = "auto"
    t0: Any = "auto"
    skip: Any = "auto"
    keep_if_better: bool = True

    @property
    def most_epochs(self) -> int:
        """The most epochs in which anchors move."""
        is_auto = isinstance(self.anchor_epochs, str)
        return anchor_descent.MOST_EPOCHS if is_auto else int(self.anchor_epochs)

    def n_epochs(self, n_rows: int, gate: Gate) -> int:
        """Epochs in which anchors move."""
        if isinstance(self.anchor_epochs, str):
            return anchor_descent.default_epochs(n_rows, gate)
        return int(self.anchor_epochs)

    def first_step(self, codes: Codes, sample_weight: np.ndarray, beta: float) -> float:
        """Length of the first steps."""
        if isinstance(self.anchor_step, str):
            return anchor_descent.default_step(codes, sample_weight, beta)
        return float(self.anchor_step)

    @property
    def given_t0(self) -> float | None:
        """The delay of stochastic steps, if it was given."""
        return None if isinstance(self.t0, str) else float(self.t0)

    @property
    def given_skip(self) -> int | None:
        """Visits between two decays of the weights, if given."""
        return None if isinstance(self.skip, str) else int(self.skip)


class RecodedRows:
    """Training rows of a chain whose gate changes: mapped once, coded and lifted for each gate.

    ``space`` is what the gate measures distances on, if it is known.
    """

    def __init__(
        self,
        chain: LocalModel,
        training: Training,
        data: LabelledRows,
        workers: Workers,
        space: Any = None,
    ):
        self.chain = chain
        self.training = training
        self.data = data
        self.workers = workers
        self.space = chain.space(data.X) if space is None else space
        self.stored = chain.feature_map.stored(data.X)
        self._row_norms: np.ndarray | None = None
        self._last: tuple[Gate, Codes] | None = None

    def part(self, rows: np.ndarray) -> RecodedRows:
        """Some of the rows."""
        return RecodedRows(self.chain, self.training, part_of(self.data, rows), self.workers)

    def without_products(self) -> RecodedRows:
        """The same rows for local models without products of features."""
        linear = self.chain.feature_map.without_products
        if linear is self.chain.feature_map:
            return self
        chain = replace(self.chain, feature_map=linear)
        return RecodedRows(chain, self.training, self.data, self.workers, self.space)

    def codes(self, gate: Gate, n_reserves: int = 0) -> Codes:
        """Codes of the rows, which the caller may change; with reserve anchors if requested."""
        known = self._last is not None and np.array_equal(self._last[0].anchors, gate.anchors)
        if self._last is None or not known or (n_reserves and self._last[1].reserves is None):
            kept = replace(gate, anchors=gate.anchors.copy())
            self._last = kept, gate.encode(self.space, self.workers, n_reserves)
        codes = self._last[1]
        reserves = None if codes.reserves is None else codes.reserves.copy()
        return Codes(codes.anchors.copy(), codes.weights.copy(), codes.distances, reserves)

    def problem(self, gate: Gate, C: float | None = None) -> Problem:
        """The convex problem for a gate, at another C if given."""
        return self._lifted(self.codes(gate), C)

    def full_pass(self, gate: Gate, C: float) -> FullPass:
        """The problem for a gate, and the reserve anchors of each row."""
        codes = self.codes(gate, RESERVES)
        assert codes.reserves is not None
        return FullPass(self._lifted(codes, C), codes.reserves)

    def _lifted(self, codes: Codes, C: float | None) -> Problem:
        lifted = self.chain.lift_stored(self.stored, codes, self.workers, row_norms=self._row_norms)
        self._row_norms = lifted.row_norms
        training = self.training
        C = training.C if C is None else C
        return self.chain.problem(self.data, C, training.loss, joint=training.joint, lifted=lifted)

    def evaluate(self, gate: Gate, weights: np.ndarray) -> tuple[float, float]:
        """Accuracy, and the negated mean loss, which decides ties; of values the latter twice."""
        problem = self.problem(gate, 1.0)
        scores, costs = problem.lifted.scores(weights), self.data.sample_weight
        if isinstance(self.training.loss, RegressionLoss):
            losses = self.training.loss.row_losses(scores, self.data.labels, costs)
            return -float(losses.mean()), -float(losses.mean())
        right = is_correct(scores, problem.target)
        loss = loss_sum(scores, problem.target, costs, problem.loss, problem.crammer_singer)
        return float(costs @ right / costs.sum()), -loss / float(costs.sum())


@dataclass
class Outcome:
    """A gate, dual variables for it, and how it was found."""

    gate: Gate
    alpha: np.ndarray | None
    history: list[AnchorEpoch]
    n_epochs: int  # in which the anchors moved: 0 for the initial ones
    held_out_scores: dict[str, float] | None = None


class AnchorLearner:
    """Learns the anchors of a chain from labelled rows.

    Parameters
    ----------
    rows : RecodedRows
    schedule : AnchorSchedule
    rng : numpy Generator
    monitor : Monitor or None
        Called after every epoch of every descent, numbered as one.
    """

    def __init__(
        self,
        rows: RecodedRows,
        schedule: AnchorSchedule,
        rng: np.random.Generator,
        monitor: Monitor | None,
    ):
        self.rows = rows
        self.schedule = schedule
        self.training = rows.training
        self.gate = rows.chain.gate
        self.rng = rng
        self.epochs = JoinedEpochs(monitor)

    def learn(self, alpha: np.ndarray | None) -> tuple[Outcome, SolverResult]:
        """Learn by dual descent, from dual variables for the present anchors if given."""
        held_out = self._choose_held_out()
        if held_out.any():
            outcome = self._learn_and_evaluate(held_out, alpha)
        else:
            learned = self.move(self.rows, alpha)
            outcome = Outcome(learned.gate, learned.alpha, learned.history, learned.epoch)
        problem = self.rows.problem(outcome.gate)
        right = RightRows(problem)
        result = self._solve(problem, outcome.alpha, right)
        result.stopped = result.stopped or self.epochs.stop
        end = AnchorEpoch(len(outcome.history), result.objective, result.duality_gap, right.share())
        result.history = [*outcome.history, end]
        result.n_iter = max(
            1, result.n_iter
        )  # the weights of the last anchors may already have converged
        return outcome, result

    def move(
        self,
        rows: RecodedRows,
        alpha: np.ndarray | None,
        n_epochs: int | None = None,
        shorter: float = 1.0,
        held_out: RecodedRows | None = None,
    ) -> LearnedAnchors:
        """Move the anchors, starting from dual variables for the present gate.

        Returned are the anchors of the epoch that predicts held-out rows best, or of the last one.
        Local models have no products meanwhile: anchors learned with them are no better, and take
        several times as long.
        """
        rows = rows.without_products()
        held_out = None if held_out is None else held_out.without_products()
        most = MOST_COST_NORMALIZED if rows.chain.normalize else MOST_COST
        C = min(self.training.C, most)
        if alpha is None or self.training.C > C:
            n_first = 1 if self.epochs.stop else min(FIRST_EPOCHS, self.training.max_iter)
            alpha = dual.first_variables(
                rows.full_pass(self.gate, C).problem, n_epochs=n_first, rng=self.rng,
                monitor=self.epochs,
            )  # fmt: skip
        if n_epochs is None:
            n_epochs = self.schedule.n_epochs(rows.data.X.shape[0], self.gate)
        weights = rows.data.sample_weight
        step = self.schedule.first_step(rows.codes(self.gate), weights, self.gate.beta)
        return anchor_descent.learn_by_dual(
            rows.space, self.gate, lambda gate: rows.full_pass(gate, C),
            n_epochs=0 if self.epochs.stop else n_epochs,
            step=shorter * step, rng=self.rng, monitor=self.epochs, alpha=alpha,
            evaluate=None if held_out is None else held_out.evaluate,
        )  # fmt: skip

    def _learn_and_evaluate(self, held_out: np.ndarray, alpha: np.ndarray | None) -> Outcome:
        """Train on a part and evaluate on the others; returns dual variables of all rows."""
        part = self.rows.part(np.flatnonzero(~held_out))
        test = self.rows.part(np.flatnonzero(held_out))
        part_alpha = None if alpha is None else np.ascontiguousarray(alpha[~held_out])
        started = self._solve(part.problem(self.gate), part_alpha)
        learned = self.move(part, started.alpha, held_out=test)
        finished = self._solve(part.problem(learned.gate), learned.alpha)
        before = test.evaluate(self.gate, started.weights)
        after = test.evaluate(learned.gate, finished.weights)
        better = after > before
        everyone = np.zeros((len(held_out), finished.weights.shape[1]), finished.weights.dtype)
        everyone[~held_out] = finished.alpha if better else started.alpha
        return Outcome(
            learned.gate if better else self.gate, everyone, learned.history,
            learned.epoch if better else 0, {"started": before[0], "learned": after[0]},
        )  # fmt: skip

    def _choose_held_out(self) -> np.ndarray:
        """A tenth of the rows, of each class, or no row if that is too few."""
        share = HELD_OUT if self.schedule.keep_if_better else 0.0
        held_out = hold_out(self.rows.data.strata, share, self.rng)
        return held_out if held_out.sum() >= FEWEST_HELD_OUT else np.zeros_like(held_out)

    def _solve(
        self, problem: Problem, alpha: np.ndarray | None, see_scores: dual.SeeScores | None = None
    ) -> SolverResult:
        """The weights for fixed anchors."""
        return dual.solve(
            problem, tol=self.training.tol,
            max_iter=1 if self.epochs.stop else self.training.max_iter, rng=self.rng,
            monitor=self.epochs, alpha=alpha, see_scores=see_scores,
        )  # fmt: skip

    # ---- stochastic gradient -------------------------------------------------------------------

    def learn_by_sgd(self, weights: np.ndarray | None) -> tuple[Outcome, SolverResult, float]:
        """Algorithm 1 of the paper, from weights if given; also returns the delay of its steps."""
        problem = self.rows.problem(self.gate)
        if weights is None:
            weights = self._solve(problem, None).weights
        state = self.first_state(separate_columns(weights, problem.n_columns))
        n_rows = self.rows.data.X.shape[0]
        learned = anchor_sgd.learn_by_sgd(
            self.rows.space, self.gate, self.rows.problem,
            n_epochs=0 if self.epochs.stop else self.schedule.n_epochs(n_rows, self.gate),
            state=state, skip=self.schedule.given_skip,
            penalize_intercept=self.training.penalize_intercept, rng=self.rng,
            monitor=self.epochs,
        )  # fmt: skip
        assert learned.weights is not None
        best = min(learned.history, key=lambda record: record.objective)
        n_epochs = len(learned.history) - 1
        last = AnchorEpoch(n_epochs, best.objective, best.duality_gap, best.accuracy)
        result = SolverResult(
            learned.weights, n_epochs, best.objective, np.nan, True, learned.stopped,
            history=[*learned.history[:-1], last],
        )  # fmt: skip
        return Outcome(learned.gate, None, learned.history, best.epoch), result, state.t0

    def first_state(self, weights: np.ndarray) -> SgdState:
        """The state of stochastic gradient before its first visit."""
        return anchor_sgd.start_sgd(
            self.rows.space, self.gate, self.rows.problem, weights, self.schedule.given_t0,
            self.training.penalize_intercept, self.rng,
        )  # fmt: skip

    def visit(self, problem: Problem, state: SgdState) -> tuple[LocalModel, float]:
        """Visit each row once; returns the chain with moved anchors, and the objective there."""
        penalize = self.training.penalize_intercept
        gate = replace(self.gate, anchors=self.gate.anchors.copy())
        anchor_sgd.visit_and_move(
            problem, state, core_rows(self.rows.space), gate, self.schedule.given_skip, penalize,
            self.rng,
        )  # fmt: skip
        moved = self.rows.problem(gate)
        objective = moved.objective(state.weights, penalize_intercept=penalize)
        return replace(self.rows.chain, gate=gate), objective


def moved_anchors(
    rows: RecodedRows,
    schedule: AnchorSchedule,
    rng: np.random.Generator,
    n_epochs: int,
    shorter: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Anchors moved by some rows alone, and the mass of these rows at each, ``Σ_i γ_ij²``."""
    gate = rows.chain.gate
    codes = rows.codes(gate)
    learned = AnchorLearner(rows, schedule, rng, None).move(rows, None, n_epochs, shorter)
    return learned.gate.anchors, anchor_masses(codes.anchors, codes.weights, gate.n_anchors)
