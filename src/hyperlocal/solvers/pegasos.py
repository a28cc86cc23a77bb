"""Pegasos: stochastic sub-gradient descent with the step ``1/(λt)`` (``cpp/pegasos.hpp``).

    min λ/2‖W‖² + (1/N) Σ_i c_i ℓ_i(W)

over rows ``[x, B]``. An epoch visits N rows in batches; the order is made here, so that anyone can
repeat it. ``fit`` and ``partial_fit`` share the schedule: step ``t`` is the t-th batch ever seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import _core
from ..data.rows import core_rows
from ..model.losses import epsilon_insensitive_losses, loss_sum, multinomial_losses
from ..runtime.progress import Monitor
from ..runtime.threads import Workers, row_blocks, split_evenly
from .loop import BestEpoch, Epochs
from .result import SolverResult
from .visits import sampled_orders

ROWS_PER_BLOCK = 8192
# Columns of a state's numbers per column of weights.
SCALE, SQUARED_NORM, MASS = range(3)


@dataclass(frozen=True)
class PegasosProblem:
    """The problem to minimize.

    Attributes
    ----------
    X : ndarray or csr_array of shape (n_rows, n_features)
    costs : ndarray of the rows' dtype, shape (n_rows,)
        Sample weights, 1 on average.
    lambda_ : float
    bias : float
        The constant feature ``B``.
    n_columns : int
        Columns of weights.
    coupling : {"one_vs_rest", "crammer_singer", "multinomial", "regression"}
        How the columns of a row make up its loss.
    workers : Workers
    target : ndarray of int32, shape (n_rows,)
        The column in which a row is positive, -1 for none. Not for regression.
    loss : {"hinge", "squared_hinge", "log"}
        Of a margin, where there is one.
    values : ndarray of shape (n_rows,)
        What a regression predicts.
    epsilon : float
        Residuals up to here cost a regression nothing.
    """

    X: Any
    costs: np.ndarray
    lambda_: float
    bias: float
    n_columns: int
    coupling: str
    workers: Workers
    target: np.ndarray | None = None
    loss: str = "hinge"
    values: np.ndarray | None = None
    epsilon: float = 0.0

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.X.shape[0]

    def objective(self, weights: np.ndarray) -> float:
        """``λ/2‖W‖² + (1/N) Σ_i c_i ℓ_i``, summed in double precision."""
        scores = affine_scores(self.X, weights, self.bias, self.workers).astype(np.float64)
        norm = float(np.square(weights, dtype=np.float64).sum())
        return 0.5 * self.lambda_ * norm + self._loss_sum(scores) / self.n_rows

    def radius(self) -> float:
        """A ball around zero that holds the optimum: ``λ‖W*‖² ≤ L(0)``, the mean loss at zero.

        (``λ‖W*‖² = −∇L(W*)·W* ≤ L(0) − L(W*)`` by convexity.) One-vs-rest: of each column.
        """
        mean_loss = self._loss_sum(np.zeros((self.n_rows, self.n_columns))) / self.n_rows
        columns = self.n_columns if self.coupling == "one_vs_rest" else 1
        return math.sqrt(mean_loss / columns / self.lambda_)

    def _loss_sum(self, scores: np.ndarray) -> float:
        costs = self.costs.astype(np.float64)
        if self.coupling == "regression":
            assert self.values is not None
            return float(
                costs @ epsilon_insensitive_losses(scores[:, 0], self.values, self.epsilon)
            )
        assert self.target is not None
        if self.coupling == "multinomial":
            return float(costs @ multinomial_losses(scores, self.target))
        joint = self.coupling == "crammer_singer"
        return loss_sum(scores, self.target, costs, self.loss, joint)


def affine_scores(X: Any, weights: np.ndarray, bias: float, workers: Workers) -> np.ndarray:
    """``[X, B] Wᵀ`` for weights ``(n_columns, n_features + 1)``."""
    out = np.empty((X.shape[0], len(weights)), weights.dtype)
    coef, intercept = np.ascontiguousarray(weights[:, :-1].T), bias * weights[:, -1]

    def fill(block: tuple[int, int]) -> None:
        rows = slice(*block)
        out[rows] = X[rows] @ coef + intercept

    # Sparse rows are cut once, not block by block: slicing them costs more than their products.
    size = X.shape[0] if sp.issparse(X) else ROWS_PER_BLOCK
    workers.map(fill, row_blocks(X.shape[0], size))
    return out


@dataclass
class PegasosState:
    """What a run carries from step to step, and ``partial_fit`` from call to call.

    Attributes
    ----------
    scaled : ndarray of shape (n_columns, n_features + 1)
        ``V``; the weights are ``scale · V``.
    past : ndarray of float64, of the same shape, or None
        What turns ``V`` into the sum of all iterates; None: no average is kept.
    columns : ndarray of shape (n_columns, 3)
        Scale, ``‖V‖²`` (where there is a projection) and mass of each column.
    steps : int
        Batches seen, ``t``.
    """

    scaled: np.ndarray
    past: np.ndarray | None
    columns: np.ndarray
    steps: int = 0

    @classmethod
    def start(cls, problem: PegasosProblem, average: bool) -> PegasosState:
        """Weights of zero."""
        shape = (problem.n_columns, problem.X.shape[1] + 1)
        return cls(
            np.zeros(shape, problem.X.dtype),
            np.zeros(shape) if average else None,
            np.tile([1.0, 0.0, 0.0], (problem.n_columns, 1)),
        )

    @property
    def last(self) -> np.ndarray:
        """The last iterate."""
        weights = self.columns[:, SCALE, None] * self.scaled
        return weights.astype(self.scaled.dtype)

    @property
    def weights(self) -> np.ndarray:
        """The average of the iterates, in which iterate ``t`` weighs ``t³``, or the last one."""
        if self.past is None or self.steps == 0:
            return self.last
        total = (0.5 * self.steps * (self.steps + 1)) ** 2  # Σ t³
        weighted = self.columns[:, MASS, None] * self.scaled - self.past
        return (weighted / total).astype(self.scaled.dtype)


def run_epoch(
    problem: PegasosProblem,
    state: PegasosState,
    order: np.ndarray,
    *,
    batch_size: int = 1,
    project: bool = False,
) -> None:
    """Visit the rows of ``order``, a batch at a time."""
    core = _core.pegasos_problem(
        core_rows(problem.X), problem.bias, problem.target, problem.values, problem.costs,
        getattr(_core.Loss, problem.loss), getattr(_core.Coupling, problem.coupling),
        problem.epsilon,
    )  # fmt: skip
    radius = (problem.radius() or math.inf) if project else math.inf

    schedule = _core.PegasosSchedule(lambda_=problem.lambda_, radius=radius, batch_size=batch_size)

    def visit_columns(columns: tuple[int, int]) -> None:
        core.epoch(state.scaled, state.past, state.columns, state.steps, schedule, order, *columns)

    if problem.coupling == "one_vs_rest":
        workers = problem.workers
        workers.map(visit_columns, split_evenly([1] * problem.n_columns, workers.n_threads))
    else:
        visit_columns((0, problem.n_columns))
    state.steps += -(-len(order) // batch_size)


def solve(
    problem: PegasosProblem,
    state: PegasosState,
    *,
    sampling: str,
    batch_size: int,
    project: bool,
    tol: float | None,
    max_iter: int,
    rng: np.random.Generator,
    monitor: Monitor | None = None,
) -> SolverResult:
    """Run epochs until a few in a row lower the objective by less than ``tol``, relatively.

    None of them counts before step ``1/λ``, nor while weights of zero would do better: until then
    steps are long and objectives fluctuate.
    With ``tol=None`` all ``max_iter`` epochs are run.
    The result has the weights of the best epoch; ``state`` is where the last one ended.
    """
    best, epochs = BestEpoch(state.weights, tol), Epochs(max_iter, monitor)
    orders = sampled_orders(problem.n_rows, sampling, rng)
    at_zero = problem.objective(np.zeros_like(best.weights))
    for _ in epochs.until_converged(best):
        run_epoch(problem, state, next(orders), batch_size=batch_size, project=project)
        weights = state.weights
        objective = problem.objective(weights)
        has_begun = state.steps * problem.lambda_ >= 1 and objective < at_zero
        best.update(objective, weights, may_be_idle=has_begun)
        epochs.report(objective=objective)
    return SolverResult(
        weights=best.weights[None],
        n_iter=epochs.number,
        objective=best.objective,
        duality_gap=math.nan,
        converged=tol is None or best.converged,
        stopped=epochs.stopped,
        history=best.history,
    )
