"""The best weights of a run of dual descent, wherever it is stopped.

The dual objective grows with every epoch, but the primal one may rise. A run that ends before it
has converged returns the weights of the lowest objective among round numbers of epochs, which are
the same for every ``max_iter``: so the objective falls with ``max_iter``. Objectives cost a pass
over all rows. Weights are only copied, therefore, and compared where that turns out to be needed:
at the end of a run that has not converged, or where copies take too much memory.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

# Round numbers are so many between a number and its double, about; of large weights fewer, because
# these are compared at once.
ROUND_NUMBERS, FEWER = 30, 3
LARGE_BYTES = 1 << 19
MOST_BYTES = 1 << 24  # of copies
STEPS = (1, 2, 5)

ObjectivesOf = Callable[[np.ndarray], np.ndarray]


def is_round(number: int, per_double: int = ROUND_NUMBERS) -> bool:
    """Whether a number is a multiple of 1, 2, 5, 10, 20, 50, …: the step that suits its size.

    Examples
    --------
    >>> from hyperlocal.solvers.best_columns import is_round
    >>> [number for number in range(1, 200) if is_round(number, 3)]
    [1, 2, 3, 4, 6, 10, 15, 20, 30, 40, 60, 100, 150]
    >>> [number for number in range(28, 70) if is_round(number)]
    [28, 29, 30, 32, 34, 36, 38, 40, 42, 44, 46, 48, 50, 52, 54, 56, 58, 60, 65]
    """
    power = 1
    while True:
        for step in STEPS:
            if step * power * per_double >= number:
                return number % (step * power) == 0
        power *= 10


class BestColumns:
    """The best weights of each group of columns, among those after round numbers of epochs.

    Parameters
    ----------
    weights : ndarray of shape (n_anchors, n_columns, p + 1)
    n_groups : int
        One for each column, or one for all.

    Attributes
    ----------
    objectives : ndarray of shape (n_groups,)
        Infinite before the first update.
    weights : ndarray

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.solvers.best_columns import BestColumns
    >>> best = BestColumns(np.zeros((1, 2, 1)), 2)
    >>> best.update(np.array([3.0, 4.0]), np.array([[[2.0], [1.0]]]))
    >>> def objectives_of(weights):
    ...     return 5 - weights[0, :, 0]
    >>> best.keep(1, np.array([[[1.0], [2.0]]]), objectives_of)
    >>> best.compare(objectives_of)
    >>> best.objectives.tolist(), best.weights.ravel().tolist()
    ([3.0, 3.0], [2.0, 2.0])
    """

    def __init__(self, weights: np.ndarray, n_groups: int):
        self.objectives, self.weights = np.full(n_groups, np.inf), np.zeros_like(weights)
        self._copies: list[np.ndarray] = []
        self._is_large = weights.nbytes > LARGE_BYTES

    def is_compared(self, number: int) -> bool:
        """Whether the weights after so many epochs are compared, whatever ``max_iter`` is."""
        return is_round(number, FEWER if self._is_large else ROUND_NUMBERS)

    def may_end(self, number: int) -> bool:
        """Whether a run of so many epochs may return its last weights.

        Others would not see them, and might return worse ones after more epochs. Large weights are
        compared so seldom that this is accepted.
        """
        return self._is_large or self.is_compared(number)

    def keep(self, number: int, weights: np.ndarray, objectives_of: ObjectivesOf) -> None:
        """Copy the weights after so many epochs, if they are compared.

        ``objectives_of`` computes the objective of each group at some weights.
        """
        if not self.is_compared(number):
            return
        self._copies.append(weights.copy())
        if len(self._copies) * weights.nbytes > MOST_BYTES:
            self.compare(objectives_of)

    def compare(self, objectives_of: ObjectivesOf) -> None:
        """Compute the objectives of all copies."""
        copies, self._copies = self._copies, []
        for weights in copies:
            self.update(objectives_of(weights), weights)

    def update(self, objectives: np.ndarray, weights: np.ndarray) -> None:
        """Copy the weights of the groups that are better."""
        better = objectives < self.objectives
        if better.all():
            self.weights[:] = weights
        elif better.any():
            self.weights[:, better] = weights[:, better]
        self.objectives = np.minimum(objectives, self.objectives)
