"""Dual coordinate descent over lifted rows (the problems are stated in ``cpp/dual_columns.hpp`` and
``cpp/crammer_singer.hpp``).

An epoch visits rows in random order and optimizes one dual variable after the other. Most variables
soon stay at a bound: they are skipped (shrinking), and epochs become cheap. The visits of an epoch
also give an estimate of the duality gap. When the estimate is small enough, a full check computes
the scores of all rows (by GEMM), the exact gap, and which variables to visit. Only a full check
ends the run. Columns of one-vs-rest are separate problems: each is skipped once its own gap is
small.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import _core
from ..model.problem import Problem, squared_norms_by_column
from ..runtime.progress import Monitor
from ..runtime.threads import split_evenly
from .best_columns import BestColumns
from .full_check import SeeScores, best_stretches, half_norms, losses_and_gaps
from .loop import Epochs
from .newton import NewtonDescent, epochs_worth_it
from .parts import Parts, worth_parts
from .result import SolverResult
from .shrinking import BLANK_REPORT, GAIN, GAP, shrink_bounds
from .visits import turns_for, visit_order

EPOCHS_BETWEEN_CHECKS = 30
# The estimated gap must fall below this share of the tolerated gap before a full check. It mostly
# overestimates, because every visit improves its row; where it did not, the share is lowered.
SETTLED = 1.0
STRICTER = 0.8
# A column is skipped only when its own gap is well below, so that the sum can reach the tolerance.
SKIPPED = 0.5
# What an epoch takes beside its visits, in numbers read by these.
NUMBERS_BETWEEN_EPOCHS = 1 << 18


def solve(
    problem: Problem,
    *,
    tol: float,
    max_iter: int,
    rng: np.random.Generator,
    monitor: Monitor | None = None,
    alpha: np.ndarray | None = None,
    see_scores: SeeScores | None = None,
    newton_after: float | None = None,
    keep_best: bool = True,
) -> SolverResult:
    """Minimize until the duality gap, summed over columns, is at most ``tol`` times the objective.

    Parameters
    ----------
    problem : Problem
    tol : float
        Relative duality gap to reach.
    max_iter : int
        The most epochs.
    rng : numpy Generator
        Orders the visits.
    monitor : Monitor, optional
        Called after each epoch with ``objective``, ``gap`` and ``active``, the share of variables
        that are visited.
    alpha : ndarray of shape (n_rows, n_columns), optional
        Dual variables to start from, as an earlier result holds them.
    see_scores : callable, optional
        Called at each full check, the last of which is of the result, as
        ``see_scores(begin, end, scores)`` for blocks of rows.
    newton_after : float, optional
        The number of epochs over all variables, or the work of so many, after which Newton's steps
        are tried, each counted as an epoch; by default as many as they cost, and infinite where
        they do not apply.
    keep_best : bool
        Whether to return the best weights where the run does not converge (see
        :mod:`~hyperlocal.solvers.best_columns`): the objective may rise for an epoch.

    Returns
    -------
    SolverResult
    """
    if newton_after is None:
        newton_after = epochs_worth_it(problem)
    descent = Descent(
        problem, tol, rng, alpha, see_scores=see_scores, may_share=True, keep_best=keep_best
    )
    epochs = Epochs(max_iter, monitor)
    _descend(descent, epochs, newton_after)
    if not (descent.converged or epochs.ended):
        descent.leap(epochs)
        _descend(descent, epochs)
    if not descent.converged:
        descent.take_best(epochs)
    return SolverResult(
        weights=descent.weights,
        n_iter=epochs.number,
        objective=float(descent.objectives.sum()),
        duality_gap=float(descent.gaps.sum()),
        converged=descent.converged,
        stopped=epochs.stopped,
        alpha=descent.alpha,
        history=descent.history,
    )


def _descend(descent: Descent, epochs: Epochs, most_work: float = math.inf) -> None:
    if descent.work >= most_work:
        return
    for number in epochs.until_converged(descent):
        descent.run_epoch()
        epochs.report(**descent.facts())
        needed = descent.needs_check()
        if needed or epochs.ended:
            descent.check(number, is_compared=needed or descent.may_end(epochs))
        elif descent.best is not None:
            descent.best.keep(number, descent.weights, descent.objectives_of)
        if descent.work >= most_work:
            return


def first_variables(
    problem: Problem, *, n_epochs: int, rng: np.random.Generator, monitor: Monitor | None = None
) -> np.ndarray:
    """Dual variables after a few epochs, without a check of how good they are."""
    descent, epochs = Descent(problem, 0.0, rng, None), Epochs(n_epochs, monitor)
    for _ in epochs:
        descent.run_epoch()
        epochs.report(**descent.facts())
    return descent.alpha


class Descent:
    """The state of a run. A group is a column of weights, or all of them for Crammer–Singer.

    With ``weights`` the rows are one block of more data (see :meth:`continue_from`). With
    ``may_share``, long epochs over one group are shared by threads in parts of the rows. With
    ``keep_best``, the best weights are kept.
    """

    def __init__(
        self,
        problem: Problem,
        tol: float,
        rng: np.random.Generator,
        alpha: np.ndarray | None,
        bounds: np.ndarray | None = None,
        weights: np.ndarray | None = None,
        see_scores: SeeScores | None = None,
        may_share: bool = False,
        keep_best: bool = False,
    ):
        self.problem = problem
        self.see_scores = see_scores
        self.tol = tol
        self.rng = rng
        lifted = problem.lifted
        self.turns = turns_for(lifted)
        shape = (lifted.n_rows, problem.n_columns)
        self.n_groups = 1 if problem.crammer_singer else problem.n_columns
        self.squared_norms = lifted.squared_norms()
        self.core = problem.core_dual(self.squared_norms)
        shared = may_share and worth_parts(problem)
        self.parts = Parts(problem, self.squared_norms, rng) if shared else None
        self.in_parts = False  # whether the parts have later variables than ``alpha``
        self.work = 0.0  # in epochs over all variables
        self.weights = lifted.zero_weights(problem.n_columns)
        self.best = BestColumns(self.weights, self.n_groups) if keep_best else None
        self.alpha = np.zeros(shape, lifted.dtype)
        self.active = np.ones(shape, np.uint8)
        self.bounds = np.tile([np.inf, -np.inf], (self.n_groups, 1)) if bounds is None else bounds
        self.dual_values = np.zeros(self.n_groups)
        self.estimates = np.full(self.n_groups, np.inf)
        self.losses = np.full(self.n_groups, np.inf)
        self.objectives = np.full(self.n_groups, np.inf)
        self.gaps = np.full(self.n_groups, np.inf)
        self.skipped = np.zeros(self.n_groups, bool)
        self.settled_share = SETTLED
        self.epochs_since_check = 0
        self.converged = False
        self.history: list[tuple[int, float, float]] = []
        if weights is not None:
            self.continue_from(self.alpha if alpha is None else alpha, weights)
        elif alpha is not None:
            self.alpha = self.problem.feasible(alpha)
            self.rebuild_weights()
            self.check(0)

    def run_epoch(self, share: float = 1.0) -> None:
        """Visit all active variables once, or a share of them drawn at random."""
        n_numbers = self.problem.lifted.visit_length * self.active.size
        between = NUMBERS_BETWEEN_EPOCHS / max(1.0, n_numbers)
        self.work += min(1.0, share * self._active_share() + between)
        if self.parts is not None and self.parts.is_long(share * self._n_active_rows()):
            if not self.in_parts:
                self.parts.load(self.alpha, self.active)
            self.in_parts = True
            reports, visited = self.parts.run_epoch(self.weights, self.bounds, share, self.turns)
        else:
            self._collect()
            reports, visited = self._visit_columns(share)
        reports[:, GAP] /= visited or 1.0  # estimated from those visited
        self._learn_from(reports)
        self.epochs_since_check += 1

    def _visit_columns(self, share: float) -> tuple[np.ndarray, float]:
        """Visit active rows, columns shared by threads; returns reports, and the share visited."""
        flags = self.active.view(np.bool_)  # numpy finds flags faster than numbers
        has_active = flags[:, 0] if self.n_groups == 1 else flags.any(axis=1)
        active_rows = np.flatnonzero(has_active)
        order = visit_order(active_rows, self.rng, share, self.turns)
        reports = self.blank_reports()
        workers, state = self.problem.lifted.workers, self.core_state()
        workers.map(
            lambda part: state.epoch(order, *part, reports),
            self.column_ranges(workers.n_threads),
        )
        self._solve_equal_rows(state, reports)
        return reports, len(order) / max(1, len(active_rows))

    def _n_active_rows(self) -> int:
        """How many rows have a variable to visit; of parts, at the start of their last epoch."""
        if self.parts is not None and self.in_parts:
            return self.parts.n_active
        return int(np.count_nonzero(self.active[:, 0]))

    def _collect(self) -> None:
        """Have all variables in one place again."""
        if self.parts is not None and self.in_parts:
            self.parts.store(self.alpha, self.active)
        self.in_parts = False

    def _solve_equal_rows(self, state: Any, reports: np.ndarray) -> None:
        """Optimize rows that are equal but for their labels together, in columns that still run."""
        equal = self.problem.equal_rows
        if equal is None:
            return
        running = [(int(column), int(column) + 1) for column in np.flatnonzero(~self.skipped)]
        self.problem.lifted.workers.map(
            lambda part: state.equal_rows(equal.rows, equal.starts, *part, reports), running
        )

    def leap(self, epochs: Epochs) -> None:
        """Continue by Newton's steps, each counted as an epoch, and check the result.

        The weights become those of the steps' dual variables, from which epochs can continue. These
        may be worse than the weights that the steps have reached, which are taken where that ends
        the run.
        """
        self._collect()
        newton, seen = NewtonDescent(self.problem, self.tol, self.alpha), []
        for number in epochs.until_converged(newton):
            newton.run_epoch()
            seen.append((number, newton.objective, newton.gap))
            epochs.report(**newton.facts())
        self.history += seen[:-1]  # the check adds the last
        self._take(newton.alpha(), epochs.number)
        if not self.converged:
            self._take(newton.alpha(), epochs.number, newton)
        if self.converged:
            return
        last = newton.alpha()
        newton.restore_best()
        self._take(newton.alpha(), epochs.number, newton)
        if not (self.converged or epochs.ended):
            self._take(last, epochs.number)

    def _take(self, alpha: np.ndarray, number: int, newton: NewtonDescent | None = None) -> None:
        """Check variables with their own weights, or those that Newton's steps have reached."""
        while self.history and self.history[-1][0] == number:
            del self.history[-1]
        self.alpha = self.problem.feasible(alpha)
        if newton is None:
            self.rebuild_weights()
            self.check(number)
        else:
            self.weights[:] = newton.weights()
            stretches = np.zeros(self.n_groups)
            if not self.problem.is_smooth:
                stretches = best_stretches(self.weights, self.objectives_of)
                self.weights += (stretches[:, None] * self.weights).astype(self.weights.dtype)
            self.check(number, newton.apart(stretches))

    def may_end(self, epochs: Epochs) -> bool:
        """Whether the last weights may be returned; a monitor that stops a run has its reasons."""
        return self.best is None or epochs.stopped or self.best.may_end(epochs.number)

    def take_best(self, epochs: Epochs) -> None:
        """Put the best weights in place of worse ones; the gap is that to the last dual value."""
        if self.best is None:
            return
        self.best.compare(self.objectives_of)
        if self.may_end(epochs) and not (self.best.objectives < self.objectives).any():
            return
        self.rebuild_weights()  # they may be those of Newton's steps
        away = squared_norms_by_column(self.best.weights - self.weights)
        self.weights[:] = self.best.weights
        self.history.pop()
        self.check(epochs.number, 0.5 * (away.sum() if self.problem.crammer_singer else away))

    def core_state(self) -> Any:
        """The compiled view of the variables, which its epochs and checks change in place."""
        return _core.dual_state(self.core, self.weights, self.alpha, self.active, self.bounds)

    def blank_reports(self) -> np.ndarray:
        """What an epoch fills in, a row per group."""
        return np.repeat(BLANK_REPORT, self.n_groups, axis=0)

    def column_ranges(self, n_threads: int) -> list[tuple[int, int]]:
        """Columns for each thread, so that all have about as many active variables to visit."""
        if n_threads == 1 or self.n_groups == 1:
            return [(0, self.problem.n_columns)]
        return split_evenly(np.count_nonzero(self.active, axis=0).tolist(), n_threads)

    def _learn_from(self, reports: np.ndarray) -> None:
        self.dual_values += reports[:, GAIN]
        running = ~self.skipped
        np.copyto(self.estimates, reports[:, GAP], where=running)
        self.bounds = shrink_bounds(reports)
        tolerated = self.settled_share * self.tol * np.abs(self.dual_values + self.estimates)
        if self.estimates.sum() <= tolerated.sum():
            self._skip(running)
        else:
            self._skip(running & (self.estimates <= SKIPPED * tolerated))

    def _skip(self, groups: np.ndarray) -> None:
        if not groups.any():
            return
        self.skipped |= groups
        if self.problem.crammer_singer:
            self.active[:] = 0
        else:
            self.active[:, groups] = 0

    def needs_check(self) -> bool:
        """Whether every group is skipped, or the last full check is long ago."""
        return bool(self.skipped.all()) or self.epochs_since_check >= EPOCHS_BETWEEN_CHECKS

    def check(
        self, number: int, apart: np.ndarray | float = 0.0, *, is_compared: bool = True
    ) -> None:
        """Compute scores of all rows, the exact gap, and which variables are active.

        ``apart`` is ``½‖W − Σ_i α_i y_i z_i‖²`` of each group, for weights that are not the sum.
        """
        self._collect()
        self.losses, gaps = losses_and_gaps(
            self.problem, self.core_state(), self.weights, self.see_scores
        )
        self.gaps = gaps + apart
        self.objectives = half_norms(self.problem, self.weights) + self.losses
        self.dual_values = self.objectives - self.gaps
        self.history.append((number, float(self.objectives.sum()), float(self.gaps.sum())))
        if self.best is not None and is_compared:
            self.best.update(self.objectives, self.weights)
        tolerated = self.tol * self.objectives
        all_skipped = bool(self.skipped.all())
        self.converged = bool(self.gaps.sum() <= tolerated.sum())
        self.skipped[:] = False
        self._skip(self.gaps <= SKIPPED * tolerated)
        if all_skipped and not self.converged:
            self.settled_share *= STRICTER
        self.epochs_since_check = 0

    def objectives_of(self, weights: np.ndarray) -> np.ndarray:
        """The objective of each group at other weights than the present ones."""
        active = self.active.copy()
        state = _core.dual_state(self.core, weights, self.alpha, active, self.bounds)
        return half_norms(self.problem, weights) + losses_and_gaps(self.problem, state, weights)[0]

    def continue_from(self, alpha: np.ndarray, weights: np.ndarray) -> None:
        """Go on from feasible variables and from weights in which rows elsewhere have a part too.

        The gap that the next check finds is then these rows' share of the gap of all, and its
        losses are theirs; the weights are changed in place.
        """
        self.alpha, self.weights = alpha, weights
        self.check(0)

    def facts(self) -> dict[str, float]:
        """Facts of the last epoch, for the monitor."""
        gap = float(self.estimates.sum())
        objective = float(self.dual_values.sum()) + gap
        return {"objective": objective, "gap": gap, "active": self._active_share()}

    def _active_share(self) -> float:
        n_active = int(np.count_nonzero(self.active))
        if self.in_parts and not self.skipped.all():
            n_active = self._n_active_rows() * self.problem.n_columns
        return n_active / max(1, self.active.size)

    def rebuild_weights(self) -> None:
        """Sum up the weights that belong to the variables, in place."""
        self.weights[:] = 0
        self.problem.lifted.add(self.problem.signed(self.alpha), self.weights)
