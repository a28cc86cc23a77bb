"""Training of trees of gates (LDKL): mini-batch Adam, routing from soft to hard.

The problem is stated in ``cpp/local_deep.hpp``. In the first epochs a row reaches many nodes, by a
share of each; the routing's sharpness grows until it is nearly hard. In the last epochs routing is
hard and fixed, and gates and weights settle on the rows that they will see at prediction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import _core
from ..data.rows import core_rows, feature_moments
from ..gates.tree import FIRST_COLUMN, GATE, ROUTE, padded
from ..runtime.progress import Monitor
from ..runtime.threads import Workers
from .loop import Epochs
from .visits import repeated_order

BATCH_SIZE = 32

STEP = 0.02
ADAM_MEAN, ADAM_SQUARE = 0.9, 0.999
# The routing's sharpness, in units of one over the mean |θ·x|, at the start and as a factor.
FIRST_SHARPNESS = 0.5
SHARPENING = 40.0
BATCHES_BETWEEN_REFRESHES = 100
HARD_SHARE = 0.2
ROWS_TO_GROW_FROM = 4_096
INITIAL_SPREAD = 0.1
# Up to so many features, sparse rows give the bits of dense ones (as in ``cpp/tree.hpp``).
WIDEST_WRITTEN_OUT = 2_048


@dataclass(frozen=True)
class TreeProblem:
    """Rows, labels and weights for trees.

    Attributes
    ----------
    X : ndarray or csr_array of shape (n_rows, n_features)
    target : ndarray of int32, shape (n_rows,)
        The column in which a row is positive, -1 for none.
    costs : ndarray of X's dtype, shape (n_rows,)
        Weights of rows, one on average.
    n_columns : int
        Columns of scores.
    share_tree : bool
        One tree for all columns, else one tree per column.
    """

    X: Any
    target: np.ndarray
    costs: np.ndarray
    n_columns: int
    share_tree: bool = False

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return 1 if self.share_tree else self.n_columns


@dataclass
class TreeResult:
    """Trained nodes, ``(n_trees, n_nodes, 2 + columns of a tree, stride)``; see :func:`solve`."""

    nodes: np.ndarray
    n_iter: int
    objective: float
    stopped: bool
    history: list[tuple[int, float]]


def solve(
    problem: TreeProblem,
    *,
    depth: int,
    alpha: float,
    jitter: float = 0.0,
    n_epochs: int,
    n_passes: int = 1,
    rng: np.random.Generator,
    workers: Workers,
    monitor: Monitor | None = None,
) -> TreeResult:
    """Grow trees and train them for ``n_epochs`` epochs, trees over threads.

    Parameters
    ----------
    problem : TreeProblem
    depth : int
        Levels of routing; 0 is one node.
    alpha : float
        Weight of ``½(‖W‖² + ‖Θ‖² + ‖Θ'‖²)`` against the mean loss.
    jitter : float
        Standard deviation of the noise on the rows, new in each epoch, in units of that of each
        feature.
    n_epochs : int
        Epochs, the last fifth of them with hard routing.
    n_passes : int
        Visits of each row in an epoch.
    rng : numpy Generator
    workers : Workers
    monitor : Monitor, optional
        Called after each epoch with the mean ``loss``.

    Returns
    -------
    TreeResult
    """
    nodes = initial_nodes(problem, depth, rng)
    trees = [Training(problem, nodes[t], t, depth, alpha) for t in range(problem.n_trees)]
    n_rows = problem.X.shape[0]
    schedule = Schedule.over(n_epochs, n_passes * n_rows)
    noisy = NoisyRows(problem.X, jitter, rng)
    history: list[tuple[int, float]] = []
    epochs = Epochs(n_epochs, monitor)
    for number in epochs:
        order = repeated_order(n_rows, n_passes, rng)
        plan = EpochPlan(schedule, number, order, noisy.drawn_again())
        losses = workers.map(partial(Training.run_epoch, plan=plan), trees)
        history.append((number, sum(losses) / (n_passes * n_rows)))
        epochs.report(loss=history[-1][1])
    penalty = 0.5 * alpha * float(np.sum(np.square(nodes, dtype=np.float64)))
    return TreeResult(nodes, epochs.number, history[-1][1] + penalty, epochs.stopped, history)


@dataclass(frozen=True)
class Schedule:
    """Step sizes and sharpness over a whole run, by the number of the batch."""

    n_soft_epochs: int
    batches_per_epoch: int
    n_batches: int

    @classmethod
    def over(cls, n_epochs: int, n_visits: int) -> Schedule:
        """The schedule of a run with so many visits per epoch; a single epoch is soft."""
        per_epoch = math.ceil(n_visits / BATCH_SIZE)
        n_soft = max(1, n_epochs - round(HARD_SHARE * n_epochs))
        return cls(n_soft, per_epoch, n_epochs * per_epoch)

    def rates(self, batches: np.ndarray) -> np.ndarray:
        """Adam's steps: they fall to zero, and are corrected for its young averages."""
        steps = batches + 1.0
        young = np.sqrt(1 - ADAM_SQUARE**steps) / (1 - ADAM_MEAN**steps)
        return STEP * (1 - batches / self.n_batches) * young

    def sharpness(self, batch: int) -> float:
        """``s`` in units of one over the mean ``|θ·x|``."""
        return FIRST_SHARPNESS * SHARPENING ** (
            batch / (self.n_soft_epochs * self.batches_per_epoch)
        )


@dataclass(frozen=True)
class EpochPlan:
    """One epoch of a schedule."""

    schedule: Schedule
    number: int
    order: np.ndarray
    rows: Any

    @property
    def hard(self) -> bool:
        """Whether routing is hard."""
        return self.number > self.schedule.n_soft_epochs

    @property
    def first_batch(self) -> int:
        """The epoch's first batch, counted from the start of the run."""
        return (self.number - 1) * self.schedule.batches_per_epoch


class Training:
    """One tree in training: its nodes (changed in place) and Adam's averages."""

    def __init__(
        self, problem: TreeProblem, nodes: np.ndarray, column: int, depth: int, alpha: float
    ):
        self.problem, self.nodes, self.column = problem, nodes, column
        self.depth, self.alpha = depth, alpha
        self.mean, self.square = np.zeros_like(nodes), np.zeros_like(nodes)
        self.mean_projection = 1.0  # as the tree was grown

    def run_epoch(self, plan: EpochPlan) -> float:
        """Visit the rows in the plan's order; returns the sum of losses before each step."""
        total = 0.0
        core = _core.tree_problem(
            plan.rows, self.problem.target, self.problem.costs, self.depth, self.alpha
        )
        for begin in range(0, plan.schedule.batches_per_epoch, BATCHES_BETWEEN_REFRESHES):
            end = min(begin + BATCHES_BETWEEN_REFRESHES, plan.schedule.batches_per_epoch)
            batches = plan.first_batch + np.arange(begin, end)
            sharpness = plan.schedule.sharpness(batches[0]) / self.mean_projection
            loss, projection, reach = core.epoch(
                self.nodes, self.mean, self.square, self.column,
                _core.Routing(sharpness=sharpness, hard=plan.hard), plan.schedule.rates(batches),
                plan.order[begin * BATCH_SIZE : end * BATCH_SIZE],
            )  # fmt: skip
            total += loss
            if projection > 0:
                self.mean_projection = projection / reach
        return total


class NoisyRows:
    """Rows with new noise for each epoch, the same for all trees.

    A tree that never sees a row twice in the same place cannot overfit single rows. Of sparse rows
    only the stored values are changed.
    """

    def __init__(self, X: Any, jitter: float, rng: np.random.Generator):
        self._values, self._rng = X.data if sp.issparse(X) else X, rng
        self._scale: np.ndarray | None = None
        if jitter > 0:
            scale = (jitter * feature_spreads(X)).astype(X.dtype)
            self._scale = scale[X.indices] if sp.issparse(X) else scale
            self._noisy = np.empty_like(self._values)
            if sp.issparse(X):
                X = sp.csr_array((self._noisy, X.indices, X.indptr), shape=X.shape)
            else:
                X = self._noisy
        self._rows = core_rows(X)

    def drawn_again(self) -> Any:
        """The rows, for the compiled core."""
        if self._scale is not None:
            self._rng.standard_normal(dtype=self._noisy.dtype, out=self._noisy)
            self._noisy *= self._scale
            self._noisy += self._values
        return self._rows


def feature_spreads(X: Any) -> np.ndarray:
    """Standard deviations of features, from at most 4,096 rows.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.solvers.trees import feature_spreads
    >>> feature_spreads(np.array([[0.0, 1.0], [2.0, 1.0]])).tolist()
    [1.0, 0.0]
    """
    sample = X[:: -(-X.shape[0] // ROWS_TO_GROW_FROM)]
    return feature_moments(sample, np.full(sample.shape[0], 1 / sample.shape[0]))[1]


def initial_nodes(problem: TreeProblem, depth: int, rng: np.random.Generator) -> np.ndarray:
    """Trees whose routes halve the rows along random directions; small random weights."""
    n_features = problem.X.shape[1]
    n_columns = problem.n_columns // problem.n_trees
    shape = (
        problem.n_trees,
        2 ** (depth + 1) - 1,
        FIRST_COLUMN + n_columns,
        padded(n_features + 1),
    )
    nodes = np.zeros(shape, problem.X.dtype)
    learned = nodes[:, :, GATE:, : n_features + 1]
    learned[:] = rng.uniform(-INITIAL_SPREAD, INITIAL_SPREAD, learned.shape)
    nodes[:, :, GATE, n_features] += 1
    n_rows = problem.X.shape[0]
    chosen = np.sort(rng.permutation(n_rows)[:ROWS_TO_GROW_FROM])
    sample = problem.X[chosen]
    if sp.issparse(sample) and n_features <= WIDEST_WRITTEN_OUT:
        sample = sample.toarray()
    for tree in nodes:
        _grow_routes(sample, tree[: 2**depth - 1, ROUTE, : n_features + 1], rng)
    return nodes


def _grow_routes(X: Any, routes: np.ndarray, rng: np.random.Generator) -> None:
    """From the root down: differences of two rows of the node, cut at their median."""
    members = {0: np.arange(X.shape[0])}
    for node in range(len(routes)):
        rows = members.pop(node)
        # A node that few rows reach is cut like the whole sample.
        used = rows if len(rows) >= 2 else np.arange(X.shape[0])
        first, second = rng.choice(used, 2, replace=len(used) < 2)
        direction = _dense(X[[first]]) - _dense(X[[second]])
        projections = X[used] @ direction
        offset = float(np.median(projections))
        scale = float(np.mean(np.abs(projections - offset)))
        if scale > 0:
            routes[node, :-1] = direction / scale
            routes[node, -1] = -offset / scale
        left = X[rows] @ routes[node, :-1] + routes[node, -1] > 0
        members[2 * node + 1], members[2 * node + 2] = rows[left], rows[~left]


def _dense(row: Any) -> np.ndarray:
    return row.toarray()[0] if sp.issparse(row) else row[0]
