"""The nearest point of the other side of a decision boundary along given directions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..runtime.threads import row_blocks

POINTS_PER_ROUND = 64
N_ROUNDS = 3
# Relative to the reach: clear of rounding, in single precision too.
STEP_OFF = 1e-6
NUMBERS_PER_BLOCK = 1 << 22


def first_changes(
    predict: Callable[[Any], np.ndarray],
    rows: np.ndarray,
    directions: np.ndarray,
    reach: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Where predictions first change on the way from each row along its direction.

    64 points are tried up to ``reach``, then 64 between the last that agrees with the row and the
    first that does not, and once more: a change is placed to a 250,000th of the reach. Two changes
    between neighbouring points of the first round are not seen.

    Parameters
    ----------
    predict : callable rows → labels
    rows, directions : ndarray of shape (n_rows, n_features)
    reach : ndarray of shape (n_rows,)
        How far to go, in lengths of the direction.

    Returns
    -------
    distances : ndarray of shape (n_rows,)
        Of the first point that is predicted otherwise; NaN where there is none.
    predictions : ndarray of shape (n_rows,)
        At that point; the row's own where there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.model.boundary import first_changes
    >>> def is_large(X):
    ...     return X[:, 0] > 2
    >>> rows, right = np.array([[0.0], [1.9]]), np.array([[1.0], [-1.0]])
    >>> distances, _ = first_changes(is_large, rows, right, np.array([4.0, 4.0]))
    >>> distances.round(3)
    array([ 2., nan])
    """
    distances = np.full(len(rows), np.nan)
    predictions = predict(rows)
    block_size = max(1, NUMBERS_PER_BLOCK // (POINTS_PER_ROUND * max(1, rows.shape[1])))
    for block in row_blocks(len(rows), block_size):
        part = slice(*block)
        search = _Search(predict, rows[part], directions[part], predictions[part].copy())
        search.run(reach[part].astype(np.float64))
        distances[part], predictions[part] = search.distances, search.predictions
    return distances, predictions


class _Search:
    """The search along the lines of one block of rows."""

    def __init__(self, predict: Any, rows: np.ndarray, directions: np.ndarray, own: np.ndarray):
        self.predict = predict
        self.rows = rows
        self.directions = directions
        self.own = own
        self.predictions = own.copy()
        self.distances = np.full(len(rows), np.nan)

    def run(self, reach: np.ndarray) -> None:
        """Narrow down, then step off the boundary itself, where rounding would decide."""
        low, high = np.zeros(len(reach)), reach
        alive = np.flatnonzero(reach > 0)
        for _ in range(N_ROUNDS):
            steps = np.linspace(low[alive], high[alive], POINTS_PER_ROUND + 1, axis=1)
            alive, place = self._look(alive, steps[:, 1:])
            found = steps[place[:, 0]]
            low[alive] = found[np.arange(len(alive)), place[:, 1]]
            high[alive] = found[np.arange(len(alive)), place[:, 1] + 1]
        self._look(alive, (high + STEP_OFF * reach)[alive, None])

    def _look(self, alive: np.ndarray, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Predict at distances; keep the first that differ, and return whose and which they are."""
        points = steps[..., None] * self.directions[alive, None] + self.rows[alive, None]
        points = points.reshape(-1, self.rows.shape[1]).astype(self.rows.dtype, copy=False)
        if not len(points):
            return alive, np.zeros((0, 2), np.intp)
        labels = self.predict(points).reshape(steps.shape)
        changed = labels != self.own[alive, None]
        seen = np.flatnonzero(changed.any(axis=1))
        first = changed[seen].argmax(axis=1)
        self.predictions[alive[seen]] = labels[seen, first]
        self.distances[alive[seen]] = steps[seen, first]
        return alive[seen], np.column_stack([seen, first])
