"""Kernel Pegasos: counts of margin violations, and kernel rows in blocks.

The iterate is ``w = Σ_j counts_j φ(x_j) / (λt)``: a visit that finds a margin below one adds the
row's label times its cost to the row's count. A block of rows is visited at a time. Their products
with the iterate before the block are matrix products with the rows that have counts (the support);
what the block itself adds needs only its own kernel matrix, and is done by a compiled pass. So the
iterates are those of single visits.

The support only grows, so it is stored in tiles. The kernel of a full tile with a row never changes
and is cached for the row's next visit, as long as tiles fit into the cache.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from .. import _core
from ..data.rows import take_rows
from ..kernels import Kernel
from ..runtime.progress import Monitor
from ..runtime.threads import Workers, row_blocks
from .loop import Epochs
from .visits import sampled_orders

ROWS_PER_BLOCK = 512
ROWS_PER_TILE = 256
SCORED_ROWS_PER_BLOCK = 1024
SUPPORT_PER_BLOCK = 4096
# The first epoch after which the gap is computed; each next one is half as far again.
FIRST_CHECK = 3


class KernelSource(Protocol):
    """Kernel values between training rows."""

    n_rows: int
    dtype: np.dtype

    def block(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Values between two sets of rows."""
        ...


class RowKernel:
    """Values computed from rows of features; ``constant`` is added to each."""

    def __init__(self, kernel: Kernel, X: Any, constant: float = 0.0):
        self.kernel, self.X, self.constant = kernel, X, X.dtype.type(constant)
        self.n_rows, self.dtype = X.shape[0], X.dtype

    def block(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Computed at every call."""
        values = self.kernel.values(take_rows(self.X, rows), take_rows(self.X, others))
        if self.constant:
            values += self.constant
        return values


class MatrixKernel:
    """Values read from a precomputed matrix; ``constant`` is added to each."""

    def __init__(self, K: np.ndarray, constant: float):
        self.K, self.constant = K, K.dtype.type(constant)
        self.n_rows, self.dtype = K.shape[0], K.dtype

    def block(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """A copy of some rows and columns."""
        return self.K[np.ix_(rows, others)] + self.constant


@dataclass
class Tile:
    """Some rows of the support, and their kernel values with all rows so far visited."""

    rows: np.ndarray
    values: np.ndarray | None = None
    known: np.ndarray | None = None

    def kernel(self, source: KernelSource, rows: np.ndarray) -> np.ndarray:
        """Values of rows with the tile, from the cache where they are known."""
        if self.values is None or self.known is None:
            return source.block(rows, self.rows)
        missing = np.unique(rows[~self.known[rows]])
        if len(missing):
            self.values[missing] = source.block(missing, self.rows)
            self.known[missing] = True
        return self.values[rows]


class Support:
    """The rows that have counts."""

    def __init__(
        self,
        source: KernelSource,
        n_columns: int,
        cache_bytes: float,
        workers: Workers,
        rows_per_tile: int = ROWS_PER_TILE,
    ):
        self.source = source
        self.workers = workers
        self.rows_per_tile = rows_per_tile
        self.place = np.full(source.n_rows, -1, np.int64)  # of a row in the support
        self.rows = np.empty(0, np.int64)
        self.counts = np.zeros((0, n_columns))
        self.past = np.zeros((0, n_columns))
        self.tiles: list[Tile] = []
        tile_bytes = source.n_rows * rows_per_tile * source.dtype.itemsize
        self.tiles_left = int(cache_bytes // tile_bytes)

    def products(self, rows: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """``Σ_j coefficients_jc k(x_i, x_j)`` over the support, for some rows."""
        size = self.rows_per_tile
        starts = range(0, len(self.rows), size)
        weights = coefficients.astype(self.source.dtype)
        open_tile = Tile(self.rows[len(self.tiles) * size :])

        def of_tile(start: int) -> np.ndarray:
            number = start // size
            tile = self.tiles[number] if number < len(self.tiles) else open_tile
            return tile.kernel(self.source, rows) @ weights[start : start + size]

        total = np.zeros((len(rows), coefficients.shape[1]))
        for part in self.workers.map(of_tile, starts):
            total += part
        return total.astype(self.source.dtype)

    def add(self, rows: np.ndarray, added: np.ndarray, mass: np.ndarray) -> None:
        """Add to the counts of rows, and ``mass`` times as much to what averages need."""
        moved = added.any(axis=1)
        rows, added, mass = rows[moved], added[moved], mass[moved]
        fresh = rows[self.place[rows] < 0]
        fresh = fresh[np.sort(np.unique(fresh, return_index=True)[1])]
        self.place[fresh] = np.arange(len(self.rows), len(self.rows) + len(fresh))
        self.rows = np.concatenate([self.rows, fresh])
        blank = np.zeros((len(fresh), added.shape[1]))
        self.counts = np.concatenate([self.counts, blank])
        self.past = np.concatenate([self.past, blank])
        np.add.at(self.counts, self.place[rows], added)
        np.add.at(self.past, self.place[rows], mass[:, None] * added)
        while (len(self.tiles) + 1) * self.rows_per_tile <= len(self.rows):
            self._close_tile()

    def _close_tile(self) -> None:
        size, start = self.rows_per_tile, len(self.tiles) * self.rows_per_tile
        tile = Tile(self.rows[start : start + size].copy())
        if self.tiles_left > 0:
            self.tiles_left -= 1
            n_rows = self.source.n_rows
            tile.values = np.empty((n_rows, size), self.source.dtype)
            tile.known = np.zeros(n_rows, bool)
        self.tiles.append(tile)


@dataclass
class KernelResult:
    """The expansion over the support, and how good it is.

    Attributes
    ----------
    support : ndarray of shape (n_support,)
        Rows with counts.
    coefficients : ndarray of float64, shape (n_support, n_columns)
        ``f_c(x) = Σ_j coefficients_jc k(x, x_j)``.
    n_iter, steps : int
        Epochs run, and visits made.
    objective, duality_gap : float
    converged, stopped : bool
    history : list of (epoch, objective, duality gap)
        What the checks found.
    """

    support: np.ndarray
    coefficients: np.ndarray
    n_iter: int
    steps: int
    objective: float
    duality_gap: float
    converged: bool
    stopped: bool = False
    history: list[tuple[int, float, float]] = field(default_factory=list)


def solve(
    source: KernelSource,
    target: np.ndarray,
    costs: np.ndarray,
    n_columns: int,
    *,
    lambda_: float,
    sampling: str,
    average: bool,
    tol: float,
    max_iter: int,
    cache_bytes: float,
    rng: np.random.Generator,
    workers: Workers,
    monitor: Monitor | None = None,
    rows_per_block: int = ROWS_PER_BLOCK,
    rows_per_tile: int = ROWS_PER_TILE,
) -> KernelResult:
    """Minimize ``λ/2‖w‖² + (1/N) Σ_i c_i hinge_i``, each column by itself.

    Ends when the duality gap is at most ``tol`` times the objective. Computing it costs about as
    much as an epoch, so it is checked after epochs that lie further and further apart. The monitor
    is called with ``support``, the number of rows with counts, and with an estimate of the
    ``objective`` that costs nothing: from the losses of rows when they were visited.
    """
    support = Support(source, n_columns, cache_bytes, workers, rows_per_tile)
    squared_norms = np.zeros(n_columns)
    orders = sampled_orders(source.n_rows, sampling, rng)
    history: list[tuple[int, float, float]] = []
    steps, next_check, converged, epochs = 0, FIRST_CHECK, False, Epochs(max_iter, monitor)
    for number in epochs:
        losses, order = np.zeros(n_columns), next(orders)
        for begin, end in row_blocks(len(order), rows_per_block):
            rows = order[begin:end]
            added = np.empty((len(rows), n_columns))
            block = _core.kernel_block(
                support.products(rows, support.counts), source.block(rows, rows), target[rows],
                costs[rows],
            )  # fmt: skip
            block.visit(lambda_, steps, squared_norms, losses, added)
            support.add(rows, added, _sum_of_squares(steps + np.arange(len(rows))))
            steps += len(rows)
        norm = float(squared_norms.sum()) / (lambda_ * steps) ** 2
        estimate = 0.5 * lambda_ * norm + float(losses.sum()) / source.n_rows
        epochs.report(objective=estimate, support=float(len(support.rows)))
        if number == next_check or epochs.ended:
            coefficients = _expansion(support, steps, lambda_, average)
            objective, gap = _certify(support, coefficients, target, costs, lambda_)
            history.append((number, objective, gap))
            converged = gap <= tol * objective
            next_check += -(-number // 2)
        if converged:
            break
    return KernelResult(
        support.rows,
        coefficients,
        number,
        steps,
        objective,
        gap,
        converged,
        epochs.stopped,
        history,
    )


def expansion_scores(
    values: Callable[[Any, slice], np.ndarray],
    X: Any,
    coefficients: np.ndarray,
    intercept: np.ndarray,
    workers: Workers,
) -> np.ndarray:
    """``Σ_j coefficients_cj k(x, x_j) + intercept_c``, in blocks of rows and of the support.

    Parameters
    ----------
    values : function of (rows, part)
        Kernel values of rows with a part of the support.
    X : ndarray or CSR of shape (n_rows, n_features)
    coefficients : ndarray of shape (n_columns, n_support)
    intercept : ndarray of shape (n_columns,)
    workers : Workers

    Returns
    -------
    ndarray of shape (n_rows, n_columns)
    """
    n_columns, n_support = coefficients.shape
    scores = np.empty((X.shape[0], n_columns), coefficients.dtype)

    def fill(block: tuple[int, int]) -> None:
        rows = X[slice(*block)]
        total = np.tile(intercept.astype(np.float64), (rows.shape[0], 1))
        for bounds in row_blocks(n_support, SUPPORT_PER_BLOCK):
            part = slice(*bounds)
            total += values(rows, part) @ coefficients[:, part].T
        scores[slice(*block)] = total

    workers.map(fill, row_blocks(X.shape[0], SCORED_ROWS_PER_BLOCK))
    return scores


def _sum_of_squares(steps: Any) -> Any:
    """``Σ_{τ≤t} τ²``: the mass of the average's iterates, ``τ³`` of them at a scale of ``1/τ``."""
    t = np.asarray(steps, np.float64)
    return t * (t + 1) * (2 * t + 1) / 6


def _expansion(support: Support, steps: int, lambda_: float, average: bool) -> np.ndarray:
    """Coefficients of the last iterate, or of the average in which iterate ``t`` weighs ``t³``."""
    if not average:
        return support.counts / (lambda_ * steps)
    total = (0.5 * steps * (steps + 1)) ** 2  # Σ t³
    return (_sum_of_squares(steps) * support.counts - support.past) / (lambda_ * total)


def _certify(
    support: Support,
    coefficients: np.ndarray,
    target: np.ndarray,
    costs: np.ndarray,
    lambda_: float,
) -> tuple[float, float]:
    """The primal objective, and its distance to the dual objective of the clipped expansion.

    With ``a_j = λN |coefficient_j|`` cut to ``[0, c_j]``, ``(1/N) Σ a_j − λ/2‖w_a‖²`` is a lower
    bound of the optimum.
    """
    n_rows, n_columns = support.source.n_rows, coefficients.shape[1]
    labels = np.where(target[:, None] == np.arange(n_columns), 1.0, -1.0)
    scale, own = lambda_ * n_rows, labels[support.rows]
    dual = np.clip(scale * coefficients * own, 0, costs[support.rows, None])
    both = np.hstack([coefficients, dual * own / scale])
    losses, scores = 0.0, np.empty((len(support.rows), 2 * n_columns))
    for begin, end in row_blocks(n_rows, ROWS_PER_BLOCK):
        rows = np.arange(begin, end)
        block = support.products(rows, both).astype(np.float64)
        margins = labels[begin:end] * block[:, :n_columns]
        losses += float(costs[begin:end] @ np.maximum(0, 1 - margins).sum(axis=1))
        held = support.place[begin:end] >= 0
        scores[support.place[begin:end][held]] = block[held]
    norms = np.einsum("jc,jc->c", both, scores)  # ‖w‖² of both expansions, column by column
    primal = 0.5 * lambda_ * float(norms[:n_columns].sum()) + losses / n_rows
    lower = float(dual.sum()) / n_rows - 0.5 * lambda_ * float(norms[n_columns:].sum())
    return primal, max(0.0, primal - lower)
