"""Dual coordinate descent over blocks of rows that are loaded in turn (block minimization).

The problem is that of :mod:`hyperlocal.solvers.dual`, over rows that do not fit in memory. The
weights ``W = Σ_i α_i y_i z_i`` stay in memory, rows and their dual variables in files. A pass loads
one block after the other, optimizes the variables of the block for some epochs with all others
fixed, and stores them again; ``W`` is passed on to the next block (Yu, Hsieh, Chang and Lin 2010).

When a block is loaded, its losses and its share of the duality gap are computed under the weights
of that moment. Their sums over a pass are estimates, mostly too large, because every block improves
the weights. When the estimated gap is small enough, a pass with fixed weights computes the exact
objective and the exact gap. Only the exact gap ends the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..model.problem import Problem, half_norm
from ..runtime.progress import Monitor
from .dual import SETTLED, SKIPPED, STRICTER, Descent
from .loop import Epochs
from .result import SolverResult

# More epochs hardly reduce the number of passes; see benchmarks/large_data.py.
EPOCHS_PER_VISIT = 3


@dataclass(frozen=True)
class Block:
    """Some rows of a problem, in memory.

    Attributes
    ----------
    problem : Problem
    alpha : ndarray of shape (n_rows, n_columns)
        Dual variables of the rows.
    keep : callable
        Stores the dual variables again.
    """

    problem: Problem
    alpha: np.ndarray
    keep: Callable[[np.ndarray], None]


class BlockSource(Protocol):
    """All rows of a problem, wherever they are stored."""

    n_rows: int

    def blocks(self, rng: np.random.Generator) -> Iterator[Block]:
        """Every row once, in random blocks."""


def solve(
    source: BlockSource,
    *,
    tol: float,
    max_iter: int,
    rng: np.random.Generator,
    monitor: Monitor | None = None,
) -> SolverResult:
    """Minimize until the duality gap of all rows is at most ``tol`` times the objective.

    Parameters
    ----------
    source : BlockSource
    tol : float
        Relative duality gap to reach.
    max_iter : int
        The most passes over all blocks.
    rng : numpy Generator
        Determines the blocks and the order of visits.
    monitor : Monitor, optional
        Called after each pass with ``objective`` and ``gap``.

    Returns
    -------
    SolverResult
        ``n_iter`` counts passes; those with fixed weights are not counted.
    """
    descent, passes = BlockDescent(source, tol, rng), Epochs(max_iter, monitor)
    for number in passes.until_converged(descent):
        descent.run_pass()
        passes.report(**descent.facts())
        if descent.looks_settled() or passes.ended:
            descent.check(number)
    return SolverResult(
        weights=descent.weights,
        n_iter=passes.number,
        objective=descent.objective,
        duality_gap=descent.gap,
        converged=descent.converged,
        stopped=passes.stopped,
        history=descent.history,
    )


class BlockDescent:
    """The state of a run."""

    weights: np.ndarray

    def __init__(self, source: BlockSource, tol: float, rng: np.random.Generator):
        self.source = source
        self.tol = tol
        self.rng = rng
        self.bounds: np.ndarray | None = None
        self.objective = self.losses = self.gap = np.inf
        self.settled_share = SETTLED
        self.converged = False
        self.history: list[tuple[int, float, float]] = []

    def run_pass(self) -> None:
        """Optimize every block once; sum up losses and gap as they were when it was loaded."""

        def descend(descent: Descent, block: Block) -> None:
            for _ in range(EPOCHS_PER_VISIT):
                if descent.skipped.all():
                    break
                descent.run_epoch()
            self.bounds = descent.bounds
            block.keep(descent.alpha)

        self._visit_blocks(descend)

    def check(self, number: int) -> None:
        """Compute the exact objective and gap, by a pass with fixed weights."""
        looked_settled = self.looks_settled()
        self._visit_blocks(lambda descent, block: None)
        self.history.append((number, self.objective, self.gap))
        self.converged = self.gap <= self.tol * self.objective
        if looked_settled and not self.converged:
            self.settled_share *= STRICTER

    def looks_settled(self) -> bool:
        """Whether the last estimate of the gap is small enough for a check."""
        return self.gap <= self.settled_share * self.tol * self.objective

    def facts(self) -> dict[str, float]:
        """Facts of the last pass, for the monitor."""
        return {"objective": self.objective, "gap": self.gap}

    def _visit_blocks(self, act: Callable[[Descent, Block], None]) -> None:
        losses = gap = 0.0
        for block in self.source.blocks(self.rng):
            if not hasattr(self, "weights"):
                self.weights = block.problem.lifted.zero_weights(block.problem.n_columns)
            descent = Descent(
                block.problem, self._tolerance(block), self.rng, block.alpha, self.bounds,
                self.weights,
            )  # fmt: skip
            losses += float(descent.losses.sum())
            gap += float(descent.gaps.sum())
            act(descent, block)
            del descent, block  # before the next is made
        self.losses, self.gap = losses, gap
        self.objective = half_norm(self.weights) + losses

    def _tolerance(self, block: Block) -> float:
        """The tolerance at which columns of a block are skipped: its share of the allowed gap.

        A descent divides the gap by its objective, which has the losses of the block but the norm
        of the weights of all rows.
        """
        if not np.isfinite(self.objective):
            return 0.0
        share = block.problem.lifted.n_rows / self.source.n_rows
        seen = (self.objective - self.losses) + share * self.losses
        return SKIPPED * self.tol * share * self.objective / seen if seen > 0 else 0.0
