"""Newton's method on the primal, where dual descent takes many epochs.

Dual descent takes epochs in proportion to C where features are correlated; Newton's steps solve the
same problem in about ten, whatever C is, but each needs the second derivatives: for a column ``c``
with margins ``m_i = y_i w·z_i``, costs ``C_i`` and the loss ``ℓ`` (for a regression
``m_i = w·z_i − y_i``, and 1 in place of the labels),

    g = w + Σ_i C_i ℓ'(m_i) y_i z_i,    H = I + Σ_i C_i ℓ''(m_i) z_i z_iᵀ.

Where rows are narrow, or few (N rows span at most N directions, and in these they are no wider than
N), rows and H are written out. Elsewhere H alone is, or products with the lifted rows are enough,
whichever takes less, and steps come later (:mod:`~hyperlocal.solvers.newton_rows`).
``α_i = −C_i ℓ'(m_i)`` are then dual variables, and ``½‖g‖²`` is the duality gap between ``w`` and
``α``: a result that the dual solver can check, and go on from.

A loss with corners is smoothed around the dual variables so far, ``a = α/C``, and the variables of
the smooth solution are the next to smooth around (the method of multipliers): with the conjugate
``ℓ*`` and residuals ``r`` (``1 − m`` of the hinge, ``−m`` of a regression),

    ℓ_a(r) = max_b b r − ℓ*(b) − (b − a)²/2τ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..model.losses import MarginLoss, curvatures, loss_values, pulls
from ..model.problem import Problem
from ..model.residuals import ResidualLoss
from .newton_rows import (
    MOST_NUMBERS,
    BlockProducts,
    LiftedProducts,
    WrittenRows,
    has_small_blocks,
    written_width,
)

# What the steps cost in epochs of dual descent, per number of the matrix of second derivatives over
# the numbers of a row that an epoch visits.
EPOCHS_PER_NUMBER = 0.4
# The same by products, times the square of the number of active anchors: products take longer, and
# systems more of them (measured: 50 to 100 with one active anchor, 3,000 to 6,000 with eight).
EPOCHS_BY_PRODUCTS = 100
# The same where losses are squares: one system, of 100 to 600 products. Over seven chains of four
# sets, 100 and 175 epochs before it take the same time, 350 take 1.3 times as long; dual descent
# alone took 330 epochs at C = 10, and did not end at C = 100 and 270.
EPOCHS_OF_SQUARES = 125
WITHOUT_BLOCKS = 10  # times as many where blocks are too large for the preconditioner
# What a multiplication in products of rows or in a factor takes, relative to one in an epoch.
SHARE_OF_A_VISIT = 0.4
N_SYSTEMS = 10  # of one smooth loss
IF_SMOOTHED = 3  # times as many for losses with corners, which are solved several times
# What dual descent takes where it has no trouble: rows so narrow that steps cost less never see it.
EASY_EPOCHS = 25
# Steps end well below the tolerated gap: the weights that belong to the variables are a little
# worse than those that the steps are at.
SHARE_OF_TOLERANCE = 0.01
SHARE_OF_PRODUCTS = 0.5  # of squares by products: these weights count, not those of variables
SHARE_IF_SMOOTHED = 0.2  # smoothed again and again, the two differ less
FULL_STEP_GAIN = 0.1  # of what a quadratic function would gain; else the step is halved
MOST_HALVINGS = 30
# Of a smoothed loss: its first τ, by how much it grows when variables are replaced, and which share
# of the gap may be left to the gradient then.
STEEPNESS = 0.1
STEEPER = 2.0
SHARE_OF_GRADIENT = 0.1


def epochs_worth_it(problem: Problem) -> float:
    """After how many epochs without an end the steps are worth their cost; infinite for never."""
    if problem.crammer_singer:
        return np.inf
    cost = _costs(problem)[kind_of_rows(problem)]
    if problem.is_smooth:
        return max(0.0, cost - EASY_EPOCHS)
    return IF_SMOOTHED * max(EPOCHS_BY_PRODUCTS, cost)


def kind_of_rows(problem: Problem) -> type[WrittenRows | LiftedProducts]:
    """How steps use the rows: squares by one matrix, where it fits, others as costs least."""
    costs = _costs(problem)
    if problem.is_quadratic:
        for kind in (BlockProducts, WrittenRows):
            if costs[kind] < np.inf:
                return kind
    return min(costs, key=lambda kind: costs[kind])


def takes_products(problem: Problem) -> bool:
    """Whether losses are squares, and the matrix of their only system fits."""
    return problem.is_quadratic and kind_of_rows(problem) is BlockProducts


def _costs(problem: Problem) -> dict[type[WrittenRows | LiftedProducts], float]:
    """What steps cost in epochs, in each way; infinite where numbers do not fit."""
    lifted = problem.lifted
    k, width, numbers = lifted.n_neighbors, written_width(lifted), lifted.n_numbers
    fits = lifted.n_rows * max(width, lifted.width, lifted.n_anchors) <= MOST_NUMBERS
    has_matrix = numbers <= lifted.n_rows and numbers**2 <= MOST_NUMBERS
    by_products = EPOCHS_OF_SQUARES if problem.is_quadratic else EPOCHS_BY_PRODUCTS * k**2
    by_products *= 1 if has_small_blocks(lifted) else WITHOUT_BLOCKS
    return {
        WrittenRows: EPOCHS_PER_NUMBER * width**2 / lifted.visit_length if fits else np.inf,
        BlockProducts: _epochs_of_matrices(problem) if has_matrix else np.inf,
        LiftedProducts: by_products,
    }


def _epochs_of_matrices(problem: Problem) -> float:
    """What systems cost whose matrix is summed up: one for squares, several for other losses."""
    lifted = problem.lifted
    k, width = lifted.n_neighbors, lifted.width + 1
    is_known = problem.is_quadratic and lifted.has_products
    sums = 0 if is_known else lifted.n_rows * k * (k + 1) / 2 * width**2 / 2
    factor = lifted.n_numbers**3 / 6
    n_systems = 1 if problem.is_quadratic else N_SYSTEMS
    return (
        n_systems * SHARE_OF_A_VISIT * (sums + factor) / (2 * lifted.n_rows * lifted.visit_length)
    )


@dataclass(frozen=True)
class SmoothedLoss:
    """A loss with corners, smoothed around dual variables.

    Attributes
    ----------
    loss : str or ResidualLoss
        The hinge, or a loss of residuals.
    centers : ndarray of shape (n_rows,)
        Dual variables over their costs.
    steepness : float
        ``τ``.
    """

    loss: str | ResidualLoss
    centers: np.ndarray
    steepness: float = STEEPNESS

    def residuals(self, margins: np.ndarray) -> np.ndarray:
        """``r``."""
        return 1 - margins if isinstance(self.loss, str) else -margins

    def pulls(self, margins: np.ndarray) -> np.ndarray:
        """The maximizing ``b``."""
        epsilon, lower, upper = self._conjugate()
        turned = self.steepness * self.residuals(margins) + self.centers
        size = np.maximum(np.abs(turned) - self.steepness * epsilon, 0)
        return np.clip(np.sign(turned) * size, lower, upper)

    def values(self, margins: np.ndarray) -> np.ndarray:
        """``ℓ_a``."""
        found = self.pulls(margins)
        apart = (found - self.centers) ** 2 / (2 * self.steepness)
        return self._linear(found, margins) - apart

    def curvatures(self, margins: np.ndarray) -> np.ndarray:
        """``ℓ_a''``, but for corners."""
        epsilon, lower, upper = self._conjugate()
        found = self.pulls(margins)
        between = (found > lower) & (found < upper) & ((found != 0) | (epsilon == 0))
        return self.steepness * between

    def excess(self, margins: np.ndarray) -> np.ndarray:
        """``ℓ(r) − b r + ℓ*(b)``: what the variables lack, at least zero."""
        return loss_values(self.loss, margins) - self._linear(self.pulls(margins), margins)

    def renewed(self, margins: np.ndarray) -> SmoothedLoss:
        """Smoothed around the variables at the margins, and less."""
        steepness = STEEPER * self.steepness
        return replace(self, centers=self.pulls(margins), steepness=steepness)

    def _linear(self, found: np.ndarray, margins: np.ndarray) -> np.ndarray:
        return found * self.residuals(margins) - self._conjugate()[0] * np.abs(found)

    def _conjugate(self) -> tuple[float, float, float]:
        """``ε`` of ``ℓ*(b) = ε|b|`` and the bounds of ``b``."""
        if isinstance(self.loss, str):
            return 0.0, 0.0, 1.0
        return self.loss.epsilon, self.loss.lower, self.loss.upper


class NewtonDescent:
    """Steps from given dual variables, all columns side by side.

    Parameters
    ----------
    problem : Problem
    tol : float
        Relative duality gap to reach.
    alpha : ndarray of shape (n_rows, n_columns)
        Where to start.
    kind : WrittenRows, BlockProducts or LiftedProducts, optional
        How rows are used; by default as costs least.
    """

    def __init__(
        self,
        problem: Problem,
        tol: float,
        alpha: np.ndarray,
        kind: type[WrittenRows | LiftedProducts] | None = None,
    ):
        rows = (kind or kind_of_rows(problem))(problem.lifted)
        labels, shifts = problem.labels.astype(np.float64), problem.shifts
        costs = problem.costs.astype(np.float64)
        share = SHARE_OF_TOLERANCE if problem.is_smooth else SHARE_IF_SMOOTHED
        by_products = type(rows) is LiftedProducts and problem.is_quadratic
        self.tol = tol * (SHARE_OF_PRODUCTS if by_products else share)
        self.workers = problem.lifted.workers
        self.columns = [
            _Column(rows, labels[:, c], shifts[:, c], costs, loss, alpha[:, c].astype(np.float64))
            for c, loss in enumerate(problem.column_losses)
        ]

    def run_epoch(self) -> None:
        """One step for each column that has not converged."""
        self.workers.map(lambda column: column.step(self.tol), self._moving())

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

    def apart(self, stretches: np.ndarray) -> np.ndarray:
        """``½‖w − Σ_i α_i y_i z_i‖²`` of each column, for weights longer by a share of theirs."""
        away = [
            one.gradient + stretch * one.weights
            for one, stretch in zip(self.columns, stretches, strict=True)
        ]
        return np.array([0.5 * float(one @ one) for one in away])

    def facts(self) -> dict[str, float]:
        """Facts of the last step, for the monitor."""
        return {"objective": self.objective, "gap": self.gap, "active": 1.0}

    def alpha(self) -> np.ndarray:
        """Dual variables of the weights, ``(n_rows, n_columns)``."""
        return np.stack([one.alpha for one in self.columns], axis=1)

    def restore_best(self) -> None:
        """Go back to where objectives were lowest: steps of a smoothed loss may raise them."""
        for column in self.columns:
            column.restore_best()

    def weights(self) -> np.ndarray:
        """The weights themselves, ``(n_blocks, n_columns, p + 1)``."""
        return np.stack([one.rows.weights(one.weights, one.expansion) for one in self.columns], 1)


class _Column:
    """One column's weights, what is known at them, and ``expansion``: they are its sum of rows."""

    def __init__(
        self,
        rows: WrittenRows | LiftedProducts,
        labels: np.ndarray,
        shifts: np.ndarray,
        costs: np.ndarray,
        loss: str | ResidualLoss,
        alpha: np.ndarray,
    ):
        self.rows = rows
        self.labels = labels
        self.costs = costs
        self.exact_loss = loss
        smooth = loss != "hinge" if isinstance(loss, str) else loss.is_smooth
        shares = np.divide(alpha, costs, out=np.zeros_like(alpha), where=costs > 0)
        self.loss: MarginLoss = loss if smooth else SmoothedLoss(loss, shares)
        self.stuck = False
        self.expansion = labels * alpha
        weights = rows.total(self.expansion)
        self._move_to(weights, labels * rows.scores(weights) + shifts, self.expansion)
        self.best = (self.objective, self.weights, self.margins, self.expansion)
        self._keep_best()

    def step(self, tol: float) -> None:
        """Towards the optimum of the quadratic function that touches here, by halves if need be."""
        curved = self.costs * curvatures(self.loss, self.margins)
        # One system has the solution of squares: what it leaves is the gradient, so the gap.
        is_only = isinstance(self.loss, ResidualLoss) and self.loss.is_quadratic
        enough = math.sqrt(2 * tol * self.objective) if is_only else None
        direction = self.rows.solved(curved, -self.gradient, enough)
        change = self.labels * self.rows.scores(direction)
        # Since H d = −g, a step leads to the sum of rows w + d = Σ_i (α_i y_i − C_i ℓ'' z_i·d) z_i.
        target = self.labels * (self.alpha - curved * change)
        size = self._step_size(direction, change)
        self.stuck = size == 0  # as near as rounding allows
        self._move_to(
            self.weights + size * direction,
            self.margins + size * change,
            self.expansion + size * (target - self.expansion),
        )
        if isinstance(self.loss, SmoothedLoss) and self.apart <= SHARE_OF_GRADIENT * self.gap:
            self.loss, self.stuck = self.loss.renewed(self.margins), False
            self._move_to(self.weights, self.margins, self.expansion)
        self._keep_best()

    def restore_best(self) -> None:
        """Go back to where the objective was lowest."""
        self._move_to(*self.best[1:])

    def _keep_best(self) -> None:
        """Compare these weights and those of the variables with the best so far."""
        if self.objective < self.best[0]:
            self.best = (self.objective, self.weights, self.margins, self.expansion)
        weights = self.weights - self.gradient
        margins = self.margins - self.labels * self.rows.scores(self.gradient)
        objective = self._exact_objective(weights, margins)
        if objective < self.best[0]:
            self.best = (objective, weights, margins, self.labels * self.alpha)

    def _exact_objective(self, weights: np.ndarray, margins: np.ndarray) -> float:
        losses = float(self.costs @ loss_values(self.exact_loss, margins))
        return 0.5 * float(weights @ weights) + losses

    def _step_size(self, direction: np.ndarray, change: np.ndarray) -> float:
        """One, or the first half of it that gains enough; zero if there is none."""
        slope, size = float(self.gradient @ direction), 1.0
        for _ in range(MOST_HALVINGS):
            value = self._value(self.weights + size * direction, self.margins + size * change)
            if value <= self.value + FULL_STEP_GAIN * size * slope:
                return size
            size /= 2
        return 0.0

    def _value(self, weights: np.ndarray, margins: np.ndarray) -> float:
        """What steps lower."""
        losses = float(self.costs @ loss_values(self.loss, margins))
        return 0.5 * float(weights @ weights) + losses

    def _move_to(self, weights: np.ndarray, margins: np.ndarray, expansion: np.ndarray) -> None:
        self.weights, self.margins, self.expansion = weights, margins, expansion
        self.value = self._value(weights, margins)
        self.alpha = self.costs * pulls(self.loss, margins)
        self.gradient = weights - self.rows.total(self.alpha * self.labels)
        self.apart = self.gap = 0.5 * float(self.gradient @ self.gradient)
        self.objective = self.value
        if isinstance(self.loss, SmoothedLoss):
            self.objective = self._exact_objective(weights, margins)
            self.gap = self.apart + float(self.costs @ self.loss.excess(margins))
