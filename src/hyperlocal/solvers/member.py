"""One member of a team: some of the rows, their dual variables, and epochs over them.

The orders that members get and their proposals are in :mod:`hyperlocal.solvers.team`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..model.problem import Problem
from .dual import Descent
from .team import Order, Proposal


class Member:
    """The rows of one member and their dual variables.

    Parameters
    ----------
    problem : Problem
        Over the member's rows.
    stiffness : ndarray of shape (n_blocks,)
        By which the curvature of each block of weights is multiplied, at least one.
    rng : numpy Generator
    """

    def __init__(self, problem: Problem, stiffness: np.ndarray, rng: np.random.Generator):
        # A row stretched by √σ on weights shrunk by √σ has the same score and σ times the norm.
        self._stretch = np.sqrt(stiffness).astype(problem.lifted.dtype)
        self._problem = replace(
            problem, lifted=problem.lifted.stretched(self._stretch), equal_rows=None
        )
        self._labels = self._problem.labels
        self._descent = Descent(self._problem, 0.0, rng, None)
        self._blocks = problem.lifted.used_blocks
        self._settled = np.zeros_like(self._descent.alpha)
        self._before = self._settled
        self._proposed = self._settled
        self._change = np.zeros_like(self._descent.weights)
        self._weights_before = np.zeros_like(self._descent.weights)

    @property
    def alpha(self) -> np.ndarray:
        """The variables that the team has agreed on."""
        return self._settled

    @property
    def n_groups(self) -> int:
        """Columns that are optimized separately."""
        return self._descent.n_groups

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the weights."""
        return self._change.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the weights."""
        return self._change.dtype

    def respond(self, order: Order) -> Proposal:
        """Take the steps decided, compute losses if requested, run some epochs, and propose."""
        descent = self._descent
        weights = self._shrunk(order.weights)
        if order.restart:
            self._settled = np.zeros_like(self._settled)
        else:
            self._take(order.steps)
        descent.alpha = self._settled
        descent.weights = weights
        if order.with_losses or order.restart:
            descent.check(0)
        start, own = self._pulled(weights) if order.restart else self._carried_on(order)
        ahead = weights
        if not order.restart:
            ahead = weights + weights.dtype.type(order.momentum) * (weights - self._weights_before)
        self._weights_before = weights
        descent.alpha, descent.weights = start.copy(), ahead.copy()
        whole, rest = divmod(order.n_epochs, 1)
        for share in [1.0] * int(whole) + [rest] * (rest > 0):
            descent.run_epoch(share)
        self._proposed = descent.alpha
        self._change = descent.weights - ahead + own
        return Proposal(
            self._blocks,
            self._change[self._blocks] / self._stretch[self._blocks, None, None],
            descent.losses if order.with_losses else None,
            descent.estimates,
            self._conjugates(),
            order.restart,
        )

    def _shrunk(self, weights: np.ndarray) -> np.ndarray:
        return weights.astype(self._stretch.dtype) / self._stretch[:, None, None]

    def _take(self, steps: np.ndarray) -> None:
        self._before = self._settled
        step = steps.astype(self._settled.dtype)
        self._settled = self._settled + step * (self._proposed - self._settled)

    def _carried_on(self, order: Order) -> tuple[np.ndarray, np.ndarray]:
        """Where momentum carries the variables, and how their part in the weights changes."""
        momentum = self._settled.dtype.type(order.momentum)
        free = self._settled + momentum * (self._settled - self._before)
        start = self._problem.feasible(free)
        # The part changes as it did in the last round; only where bounds stop it rows are read.
        own = momentum * order.steps.astype(momentum.dtype)[:, None] * self._change
        self._add(start - free, own)
        return start, own

    def _pulled(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Variables that follow from good weights: at the optimum each is the pull of its loss."""
        problem, own = self._problem, np.zeros_like(weights)
        if problem.crammer_singer:
            return self._settled, own
        pulls = problem.pulls(problem.lifted.scores(weights))
        start = problem.feasible(problem.costs[:, None] * pulls)
        self._add(start, own)
        return start, own

    def _add(self, steps: np.ndarray, weights: np.ndarray) -> None:
        signed = steps if self._problem.crammer_singer else steps * self._labels
        self._problem.lifted.add(np.ascontiguousarray(signed), weights)

    def _conjugates(self) -> np.ndarray:
        return self._problem.conjugates_along(self._settled, self._proposed)
