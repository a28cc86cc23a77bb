"""The loop around the epochs of every iterative solver: numbers, monitor, stopping, idle epochs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Protocol

import numpy as np

from ..runtime.progress import Monitor

# Objectives of stochastic iterates fluctuate: one epoch without progress is no sign of convergence.
IDLE_EPOCHS = 3


class Iterative(Protocol):
    """Something that epochs improve until it has converged."""

    @property
    def converged(self) -> bool:
        """Whether no more epochs are needed."""


class Epochs:
    """Counts the epochs of a run and calls the monitor; decides when a run has ended.

    Parameters
    ----------
    max_iter : int
        The most epochs.
    monitor : Monitor, optional
        Called by :meth:`report` after each epoch; returns whether to stop.

    Attributes
    ----------
    number : int
        Of the last epoch, from 1; several loops may continue one count.
    most : int
        ``max_iter``.
    stopped : bool
        Whether the monitor requested to stop.

    Examples
    --------
    >>> from hyperlocal.solvers.loop import Epochs
    >>> epochs = Epochs(10, lambda number, **facts: facts["loss"] < 0.2)
    >>> for number in epochs:
    ...     epochs.report(loss=1 / number)
    >>> epochs.number, epochs.stopped
    (6, True)
    """

    def __init__(self, max_iter: int, monitor: Monitor | None = None):
        self.number, self.stopped = 0, False
        self.most, self._monitor = max_iter, monitor

    @property
    def ended(self) -> bool:
        """Whether no other epoch may follow; true within the last epoch once it is reported."""
        return self.stopped or self.number >= self.most

    def __iter__(self) -> Iterator[int]:
        while not self.ended:
            self.number += 1
            yield self.number

    def until_converged(self, state: Iterative) -> Iterator[int]:
        """Numbers of epochs until ``state`` has converged."""
        while not (state.converged or self.ended):
            self.number += 1
            yield self.number

    def report(self, **facts: float) -> None:
        """Call the monitor with the facts of the epoch that has been run."""
        self.stopped = self._monitor is not None and self._monitor(self.number, **facts)


class BestEpoch:
    """The best weights of a stochastic run, and the idle rule that ends it.

    Parameters
    ----------
    weights : ndarray
        Where the run starts.
    tol : float or None
        An epoch is idle if it lowers the best objective by at most this share of its own. With None
        none is.

    Attributes
    ----------
    weights : ndarray
    objective : float
        Infinite before the first epoch.
    converged : bool
        Whether some epochs in a row were idle.
    history : list of (epoch, objective, NaN)
    """

    def __init__(self, weights: np.ndarray, tol: float | None):
        self.weights, self.objective = weights, math.inf
        self.history: list[tuple[int, float, float]] = []
        self._tol, self._n_idle = tol, 0

    @property
    def converged(self) -> bool:
        """Whether some epochs in a row were idle."""
        return self._n_idle >= IDLE_EPOCHS

    def update(self, objective: float, weights: np.ndarray, *, may_be_idle: bool = True) -> None:
        """Compare the weights after an epoch with the best so far; they are copied if better."""
        self.history.append((len(self.history) + 1, objective, math.nan))
        may_be_idle = may_be_idle and self._tol is not None
        is_idle = may_be_idle and not self.objective - objective > (self._tol or 0) * objective
        self._n_idle = self._n_idle + 1 if is_idle else 0
        if objective < self.objective:
            self.objective, self.weights = objective, weights.copy()
