"""Newton's method on the primal, for lifted rows of few numbers, or few lifted rows.

Dual descent takes epochs in proportion to C where features are correlated; Newton's steps solve the
same problem in about ten, whatever C is, but each needs the matrix of second derivatives: for a
column ``c`` with margins ``m_i = y_i w·z_i``, costs ``C_i`` and the loss ``ℓ`` (for a regression
``m_i = w·z_i − y_i``, and 1 in place of the labels),

    g = w + Σ_i C_i ℓ'(m_i) y_i z_i,    H = I + Σ_i C_i ℓ''(m_i) z_i z_iᵀ.

That is worth it where rows are narrow, or few: N rows span at most N directions, and in these they
are no wider than N. ``α_i = −C_i ℓ'(m_i)`` are then dual variables, and ``½‖g‖²`` is the duality
gap between ``w`` and ``α``: a result that the dual solver can check, and go on from.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dposv

from ..model.lifting import LiftedRows
from ..model.losses import curvatures, loss_values, pulls
from ..model.problem import Problem
from ..model.residuals import ResidualLoss

# The matrix is written out in double precision: 128 megabytes at most.
MOST_NUMBERS = 1 << 24
# What the steps cost in epochs of dual descent, per number of the matrix of second derivatives over
# the numbers of a row that an epoch visits.
EPOCHS_PER_NUMBER = 0.4
# What dual descent takes where it has no trouble: rows so narrow that steps cost less never see it.
EASY_EPOCHS = 25
# Steps end well below the tolerated gap: the weights that belong to the variables are a little
# worse than those that the steps are at.
SHARE_OF_TOLERANCE = 0.01
FULL_STEP_GAIN = 0.1  # of what a quadratic function would gain; else the step is halved
MOST_HALVINGS = 30


def epochs_worth_it(problem: Problem) -> float:
    """After how many epochs without an end the steps are worth their cost; infinite for never."""
    lifted = problem.lifted
    if not problem.is_smooth:
        return np.inf
    width = min(lifted.n_anchors * (lifted.width + 1) + (lifted.offset != 0), lifted.n_rows)
    if lifted.n_rows * max(width, lifted.width, lifted.n_anchors) > MOST_NUMBERS:
        return np.inf
    visited = lifted.n_neighbors * (lifted.width + 1)
    return max(0.0, EPOCHS_PER_NUMBER * width**2 / visited - EASY_EPOCHS)


class NewtonDescent:
    """Steps from given dual variables, all columns side by side.

    Parameters
    ----------
    problem : Problem
    tol : float
        Relative duality gap to reach.
    alpha : ndarray of shape (n_rows, n_columns)
        Where to start.
    """

    def __init__(self, problem: Problem, tol: float, alpha: np.ndarray):
        rows = written_out(problem.lifted)
        labels, shifts = problem.labels.astype(np.float64), problem.shifts
        costs = problem.costs.astype(np.float64)
        self.tol = SHARE_OF_TOLERANCE * tol
        self.workers = problem.lifted.workers
        self.columns = [
            _Column(rows, labels[:, c], shifts[:, c], costs, loss, labels[:, c] * alpha[:, c])
            for c, loss in enumerate(problem.column_losses)
        ]

    def run_epoch(self) -> None:
        """One step for each column that has not converged."""
        self.workers.map(lambda column: column.step(), self._moving())

    @property
    def converged(self) -> bool:
        """Whether no column has a step to take."""
        return not self._moving()

    def _moving(self) -> list[_Column]:
        return [one for one in self.columns if not one.stuck and one.gap > self.tol * one.objective]

    @property
    def objective(self) -> float:
        """Of all columns."""
        return sum(one.objective for one in self.columns)

    @property
    def gap(self) -> float:
        """Of all columns."""
        return sum(one.gap for one in self.columns)

    def gaps(self) -> np.ndarray:
        """Of each column."""
        return np.array([one.gap for one in self.columns])

    def facts(self) -> dict[str, float]:
        """Facts of the last step, for the monitor."""
        return {"objective": self.objective, "gap": self.gap, "active": 1.0}

    def alpha(self) -> np.ndarray:
        """Dual variables of the weights, ``(n_rows, n_columns)``."""
        return np.stack([one.alpha for one in self.columns], axis=1)

    def expansion(self) -> np.ndarray:
        """What multiplies the lifted rows in the weights, ``(n_rows, n_columns)``."""
        return np.stack([one.expansion for one in self.columns], axis=1)


class _Column:
    """One column's weights, what is known at them, and ``expansion``: they are its sum of rows."""

    def __init__(
        self,
        rows: np.ndarray,
        labels: np.ndarray,
        shifts: np.ndarray,
        costs: np.ndarray,
        loss: str | ResidualLoss,
        steps: np.ndarray,
    ):
        self.rows = rows
        self.labels = labels
        self.costs = costs
        self.loss = loss
        self.stuck = False
        self.expansion = steps
        self.weights = steps @ rows
        self._move_to(self.weights, labels * (rows @ self.weights) + shifts)

    def step(self) -> None:
        """Towards the optimum of the quadratic function that touches here, by halves if need be."""
        curved = self.costs * curvatures(self.loss, self.margins)
        counted = np.flatnonzero(curved)
        direction = _solved(self.rows[counted] * np.sqrt(curved[counted])[:, None], -self.gradient)
        change = self.labels * (self.rows @ direction)
        # Since H d = −g, a step leads to the sum of rows w + d = Σ_i (α_i y_i − C_i ℓ'' z_i·d) z_i.
        target = self.labels * (self.alpha - curved * change)
        slope, size = float(self.gradient @ direction), 1.0
        before, old_weights, old_margins = self.objective, self.weights, self.margins
        for _ in range(MOST_HALVINGS):
            self._move_to(old_weights + size * direction, old_margins + size * change)
            if self.objective <= before + FULL_STEP_GAIN * size * slope:
                self.expansion = self.expansion + size * (target - self.expansion)
                return
            size /= 2
        self._move_to(old_weights, old_margins)
        self.stuck = True  # as near as rounding allows

    def _move_to(self, weights: np.ndarray, margins: np.ndarray) -> None:
        self.weights, self.margins = weights, margins
        losses = float(self.costs @ loss_values(self.loss, margins))
        self.objective = 0.5 * float(weights @ weights) + losses
        self.alpha = self.costs * pulls(self.loss, margins)
        self.gradient = weights - (self.alpha * self.labels) @ self.rows
        self.gap = 0.5 * float(self.gradient @ self.gradient)


def _solved(rows: np.ndarray, right: np.ndarray) -> np.ndarray:
    """``(I + RᵀR)⁻¹ b``, by a matrix of the smaller side: ``b − Rᵀ (I + RRᵀ)⁻¹ R b``.

    Losses curve for few rows in the end, those within their margins.
    """
    if len(rows) == 0:
        return right
    is_wide = rows.shape[0] < rows.shape[1]
    matrix = rows @ rows.T if is_wide else rows.T @ rows
    matrix.flat[:: len(matrix) + 1] += 1
    # Its eigenvalues are at least one: LAPACK has nothing to complain of.
    _, solution, _ = dposv(matrix, rows @ right if is_wide else right, overwrite_a=True)
    return right - rows.T @ solution if is_wide else solution


def written_out(lifted: LiftedRows) -> np.ndarray:
    """The lifted rows as a matrix of doubles, ``(n_rows, n_anchors · (p + 1))`` and the offset.

    Where that is wider than the rows are many: their coordinates in a basis of what they span.
    """
    n_rows, width = lifted.n_rows, lifted.width + 1
    phi = np.empty((n_rows, lifted.width), lifted.dtype)
    lifted.rows.gather(np.arange(n_rows), phi)
    phi = np.hstack([phi, np.full((n_rows, 1), lifted.bias)])
    gate = np.zeros((n_rows, lifted.n_anchors))
    np.put_along_axis(gate, lifted.anchors, lifted.gate, axis=1)
    if n_rows < lifted.n_anchors * width:
        return _rows_of((gate @ gate.T) * (phi @ phi.T) + lifted.offset**2)
    matrix = (gate[:, :, None] * phi[:, None, :]).reshape(n_rows, -1)
    return (
        matrix if lifted.offset == 0 else np.hstack([matrix, np.full((n_rows, 1), lifted.offset)])
    )


def _rows_of(products: np.ndarray) -> np.ndarray:
    """Rows with the given products, but for rounding, without which equal rows had no factor."""
    largest = products.diagonal().max(initial=0) or 1.0
    for share in (1e-13, 1e-11, 1e-9):
        try:
            return np.linalg.cholesky(products + share * largest * np.eye(len(products)))
        except np.linalg.LinAlgError:
            continue
    values, vectors = np.linalg.eigh(products)
    return vectors * np.sqrt(np.maximum(values, 0))
