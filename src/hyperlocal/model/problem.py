"""What a solver is given."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from .. import _core
from ..data.labelled import EqualRows, LabelledRows
from ..runtime.threads import row_blocks
from .lifting import LiftedRows
from .losses import SMOOTH_LOSSES, conjugate_sums, conjugates_along, loss_sum, pulls
from .residuals import RegressionLoss, ResidualLoss

NUMBERS_PER_NORM_BLOCK = 1 << 15


@dataclass(frozen=True)
class Problem:
    """``min ½‖W‖² + Σ_i costs_i ℓ_i`` over lifted rows.

    Attributes
    ----------
    lifted : LiftedRows
    target : ndarray of int32, shape (n_rows,)
        The column in which a row is positive, -1 for none (two classes share one column).
    costs : ndarray of the rows' dtype, shape (n_rows,)
        ``C`` times the sample weight.
    n_columns : int
        Columns of weights: one per class, or one for two classes.
    loss : {"hinge", "squared_hinge", "log"}
    crammer_singer : bool
        One joint margin per row instead of one per column.
    equal_rows : EqualRows or None
        Rows that are equal but for their labels, which dual descent solves together.
    """

    lifted: LiftedRows
    target: np.ndarray
    costs: np.ndarray
    n_columns: int
    loss: str
    crammer_singer: bool = False
    equal_rows: EqualRows | None = None

    @property
    def core_loss(self) -> _core.Loss:
        """The loss as the compiled core names it."""
        return getattr(_core.Loss, self.loss)

    @property
    def column_losses(self) -> tuple[str | ResidualLoss, ...]:
        """The loss of each column's margins."""
        return (self.loss,) * self.n_columns

    @property
    def is_smooth(self) -> bool:
        """Whether losses have a derivative, and columns are separate problems."""
        return self.loss in SMOOTH_LOSSES and not self.crammer_singer

    @property
    def is_quadratic(self) -> bool:
        """Whether one system of equations has the solution."""
        return False

    @property
    def bounds(self) -> tuple[Any, Any]:
        """Between which dual variables lie, where columns are separate problems."""
        return 0, np.inf if self.loss == "squared_hinge" else self.costs[:, None]

    def core_dual(self, squared_norms: np.ndarray) -> Any:
        """The compiled problem of dual coordinate descent."""
        return _core.dual_problem(
            self.lifted.core, self.target, self.costs, squared_norms, self.n_columns,
            self.core_loss, self.crammer_singer,
        )  # fmt: skip

    def core_sgd(self, costs: np.ndarray) -> Any:
        """The compiled problem of stochastic gradient, with costs of mean one."""
        return _core.sgd_problem(
            self.lifted.core, self.target, costs, self.n_columns, self.core_loss,
            self.crammer_singer,
        )  # fmt: skip

    @property
    def labels(self) -> np.ndarray:
        """±1 per row and column."""
        positive = self.target[:, None] == np.arange(self.n_columns)
        return np.where(positive, 1, -1).astype(self.costs.dtype)

    @property
    def shifts(self) -> np.ndarray:
        """Margins at weights of zero, ``(n_rows, n_columns)``; margins are ``y_ic f_ic`` more."""
        return np.zeros((self.lifted.n_rows, self.n_columns))

    def signed(self, alpha: np.ndarray) -> np.ndarray:
        """What multiplies the lifted rows in the weights: ``α_ic y_ic``, or Crammer–Singer's α."""
        if self.crammer_singer:
            return alpha
        signed = -alpha
        rows = np.flatnonzero(self.target >= 0)
        signed[rows, self.target[rows]] *= -1
        return signed

    def feasible(self, alpha: np.ndarray) -> np.ndarray:
        """Dual variables moved to where they are allowed to be, in the rows' precision."""
        if not self.crammer_singer:
            return np.clip(alpha, *self.bounds).astype(self.lifted.dtype, order="C")
        # Rivals at most 0, sums 0, and a_y ≤ C.
        rows = np.arange(len(alpha))
        feasible = np.minimum(alpha, 0).astype(np.float64)
        feasible[rows, self.target] = 0
        total = -feasible.sum(axis=1)
        if self.loss == "hinge":
            costs = self.costs.astype(np.float64)
            shrink = np.divide(costs, total, out=np.ones_like(total), where=total > costs)
            feasible *= shrink[:, None]
            total *= shrink
        feasible[rows, self.target] = total
        return np.ascontiguousarray(feasible, dtype=self.lifted.dtype)

    def conjugates(self, alpha: np.ndarray, rows: np.ndarray) -> float:
        """What dual variables of some rows cost: minus this, minus ``½‖W‖²``, is the dual value."""
        sums = conjugate_sums(
            alpha[rows], self.target[rows], self.costs[rows], self.loss, self.crammer_singer
        )
        return float(sums.sum())

    def conjugates_along(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """The same of each column at three points of a path: both ends and half way."""
        return conjugates_along(start, end, self.target, self.costs, self.loss, self.crammer_singer)

    def pulls(self, scores: np.ndarray) -> np.ndarray:
        """What dual variables are at the optimum, over their costs, where it has these scores."""
        margins = self.labels * scores + self.shifts
        columns = zip(self.column_losses, margins.T, strict=True)
        return np.stack([pulls(loss, column) for loss, column in columns], axis=1)

    def objective(self, weights: np.ndarray, *, penalize_intercept: bool = True) -> float:
        """The primal objective, in double precision sums."""
        return half_norm(weights, penalize_intercept=penalize_intercept) + self.losses(weights)

    def losses(self, weights: np.ndarray) -> float:
        """``Σ_i costs_i ℓ_i``."""
        scores = self.lifted.scores(weights)
        return loss_sum(scores, self.target, self.costs, self.loss, self.crammer_singer)


@dataclass(frozen=True)
class RegressionProblem(Problem):
    """The same with values to predict: margins are ``u_ic = f_c(x_i) − y_ic``, all labels 1.

    Attributes
    ----------
    lifted, costs, n_columns
        As for :class:`Problem`.
    target : ndarray of the rows' dtype, shape (n_rows, n_columns)
        The values.
    loss : str
        The name of the loss.
    residual_losses : tuple of ResidualLoss
        One per column.
    """

    residual_losses: tuple[ResidualLoss, ...] = ()

    @property
    def column_losses(self) -> tuple[str | ResidualLoss, ...]:
        """The loss of each column's margins."""
        return self.residual_losses

    @property
    def is_smooth(self) -> bool:
        """Whether losses have a derivative."""
        return all(loss.is_smooth for loss in self.residual_losses)

    @property
    def is_quadratic(self) -> bool:
        """Whether one system of equations has the solution: losses are squares."""
        return all(loss.is_quadratic for loss in self.residual_losses)

    @property
    def bounds(self) -> tuple[Any, Any]:
        """Between which dual variables lie."""
        costs = self.costs[:, None].astype(np.float64)
        _, _, lower, upper = self._loss_table.T
        return costs * lower, costs * upper

    @property
    def labels(self) -> np.ndarray:
        """1 per row and column."""
        return np.ones(self.target.shape, self.costs.dtype)

    @property
    def shifts(self) -> np.ndarray:
        """Margins at weights of zero."""
        return -self.target.astype(np.float64)

    @property
    def _loss_table(self) -> np.ndarray:
        return np.array([astuple(loss) for loss in self.residual_losses])

    def core_dual(self, squared_norms: np.ndarray) -> Any:
        """The compiled problem of dual coordinate descent."""
        return _core.dual_regression(
            self.lifted.core, self.target, self._loss_table, self.costs, squared_norms
        )

    def core_sgd(self, costs: np.ndarray) -> Any:
        """The compiled problem of stochastic gradient, with costs of mean one."""
        return _core.sgd_regression(self.lifted.core, self.target, self._loss_table, costs)

    def signed(self, alpha: np.ndarray) -> np.ndarray:
        """What multiplies the lifted rows in the weights: α."""
        return alpha

    def conjugates(self, alpha: np.ndarray, rows: np.ndarray) -> float:
        """What dual variables of some rows cost, with the part of the values."""
        alpha, costs = alpha[rows].astype(np.float64), self.costs[rows].astype(np.float64)
        columns = zip(self.residual_losses, alpha.T, strict=True)
        sums = [loss.conjugates(column, costs).sum() for loss, column in columns]
        return float(np.sum(sums) - np.einsum("ic,ic->", alpha, self.target[rows]))

    def conjugates_along(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """The same of each column at three points of a path: both ends and half way."""
        costs = self.costs.astype(np.float64)
        path = (start, start + 0.5 * (end - start), end)
        return np.array(
            [
                [
                    loss.conjugates(column, costs).sum() - column @ values
                    for loss, column, values in zip(
                        self.residual_losses, alpha.T.astype(np.float64), self.target.T, strict=True
                    )
                ]
                for alpha in path
            ]
        )

    def losses(self, weights: np.ndarray) -> float:
        """``Σ_i costs_i ℓ_i``."""
        margins = self.lifted.scores(weights) + self.shifts
        columns = zip(self.residual_losses, margins.T, strict=True)
        values = sum(loss.values(column) for loss, column in columns)
        return float(self.costs.astype(np.float64) @ values)


def regression_problem(
    lifted: LiftedRows, data: LabelledRows, costs: np.ndarray, loss: RegressionLoss
) -> RegressionProblem:
    """Each target has a column per quantile, or one."""
    values = data.labels.reshape(len(costs), -1).astype(lifted.dtype)
    losses = loss.columns(values.shape[1])
    values = np.repeat(values, len(losses) // values.shape[1], axis=1)
    return RegressionProblem(lifted, values, costs, len(losses), loss.name, residual_losses=losses)


def half_norm(weights: np.ndarray, *, penalize_intercept: bool = True) -> float:
    """``½‖W‖²``, with or without the weights of the biases."""
    penalized = weights if penalize_intercept else weights[..., :-1]
    return 0.5 * float(squared_norms_by_column(penalized).sum())


def squared_norms_by_column(weights: np.ndarray) -> np.ndarray:
    """``‖W_c‖²`` for each column, summed in double precision."""
    norms = np.zeros(weights.shape[1])
    per_anchor = max(1, weights[:1].size)
    # Some anchors at a time: no double copy of all weights.
    for begin, end in row_blocks(len(weights), max(1, NUMBERS_PER_NORM_BLOCK // per_anchor)):
        blocks = weights[begin:end].astype(np.float64)
        norms += np.einsum("jcv,jcv->c", blocks, blocks)
    return norms
