"""The nearest point of the other side of a decision boundary along given directions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..runtime.threads import row_blocks

POINTS_PER_ROUND = 64
N_ROUNDS = 3
# Points of a round are predicted in the order of their distance, at least so many at a time: most
# rows need only the first few of theirs.
POINTS_PER_PREDICTION = 2_048
# Relative to the reach: clear of rounding, in single precision too.
STEP_OFF = 1e-6
NUMBERS_PER_BLOCK = 1 << 22


def first_changes(
    predict: Callable[[Any], np.ndarray],
    rows: np.ndarray,
    own: np.ndarray,
    directions: np.ndarray,
    reach: np.ndarray,
    *,
    points_per_prediction: int = POINTS_PER_PREDICTION,
) -> tuple[np.ndarray, np.ndarray]:
    """Where predictions first change on the way from each row along its direction.

    64 points are tried up to ``reach``, then 64 between the last that is predicted as the row is
    and the first that is not, and once more: the change is found to a 250,000th of the reach. Two
    changes between neighboring points of the first round are not found.

    Parameters
    ----------
    predict : callable rows → labels
    rows, directions : ndarray of shape (n_rows, n_features)
    own : ndarray of shape (n_rows,)
        Predictions of the rows themselves.
    reach : ndarray of shape (n_rows,)
        How far to go, in lengths of the direction.
    points_per_prediction : int
        Points that are predicted at a time, at least.

    Returns
    -------
    distances : ndarray of shape (n_rows,)
        Of the first point whose prediction differs; NaN where there is none.
    predictions : ndarray of shape (n_rows,)
        At that point; the row's own where there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.model.boundary import first_changes
    >>> def is_large(X):
    ...     return X[:, 0] > 2
    >>> rows, right = np.array([[0.0], [1.9]]), np.array([[1.0], [-1.0]])
    >>> distances, _ = first_changes(is_large, rows, is_large(rows), right, np.array([4.0, 4.0]))
    >>> distances.round(3)
    array([ 2., nan])
    """
    distances = np.full(len(rows), np.nan)
    predictions = own.copy()
    block_size = max(1, NUMBERS_PER_BLOCK // (POINTS_PER_ROUND * max(1, rows.shape[1])))
    for block in row_blocks(len(rows), block_size):
        part = slice(*block)
        search = _Search(predict, rows[part], directions[part], own[part], points_per_prediction)
        search.run(reach[part].astype(np.float64))
        distances[part], predictions[part] = search.distances, search.predictions
    return distances, predictions


class _Search:
    """The search along the lines of one block of rows."""

    def __init__(
        self,
        predict: Callable[[Any], np.ndarray],
        rows: np.ndarray,
        directions: np.ndarray,
        own: np.ndarray,
        points_per_prediction: int,
    ):
        self.predict = predict
        self.rows = rows
        self.directions = directions
        self.own = own
        self.points_per_prediction = points_per_prediction
        self.predictions = own.copy()
        self.distances = np.full(len(rows), np.nan)

    def run(self, reach: np.ndarray) -> None:
        """Narrow down, then step off the boundary itself, where rounding would decide."""
        low, high = np.zeros(len(reach)), reach
        active = np.flatnonzero(reach > 0)
        for _ in range(N_ROUNDS):
            steps = np.linspace(low[active], high[active], POINTS_PER_ROUND + 1, axis=1)
            first = self._first_change(active, steps[:, 1:])
            changed = np.flatnonzero(first < POINTS_PER_ROUND)
            active, steps, first = active[changed], steps[changed], first[changed]
            low[active] = steps[np.arange(len(active)), first]
            high[active] = steps[np.arange(len(active)), first + 1]
        self._first_change(active, (high + STEP_OFF * reach)[active, None])

    def _first_change(self, active: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """The first of each row's distances at which the prediction differs; their number if none.

        Where there is one, the distance and the prediction are stored.
        """
        n_steps = steps.shape[1]
        first = np.full(len(active), n_steps)
        begin, open_rows = 0, np.arange(len(active))
        while begin < n_steps and len(open_rows):
            end = begin + max(1, self.points_per_prediction // len(open_rows))
            labels = self._predictions(active[open_rows], steps[open_rows, begin:end])
            changed = labels != self.own[active[open_rows], None]
            found = np.flatnonzero(changed.any(axis=1))
            place = changed[found].argmax(axis=1)
            rows = open_rows[found]
            first[rows] = begin + place
            self.predictions[active[rows]] = labels[found, place]
            self.distances[active[rows]] = steps[rows, first[rows]]
            begin, open_rows = end, np.delete(open_rows, found)
        return first

    def _predictions(self, rows: np.ndarray, steps: np.ndarray) -> np.ndarray:
        points = steps[..., None] * self.directions[rows, None] + self.rows[rows, None]
        points = points.reshape(-1, self.rows.shape[1]).astype(self.rows.dtype, copy=False)
        return self.predict(points).reshape(steps.shape)


def way_shares(changes: np.ndarray) -> np.ndarray:
    """Shares of features in the squared length of a way.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.model.boundary import way_shares
    >>> way_shares(np.array([3.0, -1.0, 0.0])).tolist()
    [0.9, 0.1, 0.0]
    """
    squares = np.square(changes)
    return squares / (squares.sum() or 1.0)
