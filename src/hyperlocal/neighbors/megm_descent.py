"""MEGM's problem: a linear map in which the other rows predict each row's class.

With ``z = A x``, each row is predicted from all others by ``ŷ_i = Σ_j P_ij y_j`` over one-hot
classes, ``P_i`` the softmax of ``−‖z_i − z_j‖²`` over ``j ≠ i``, and ``A`` minimizes
``L = Σ_i ‖ŷ_i − y_i‖²/N``:

    G_ij = (2/N) P_ij (r_i·y_j − r_i·ŷ_i),  r = ŷ − y;   rows of G sum to zero
    ∂L/∂Z = 2 (G Z + Gᵀ Z − diag(Gᵀ1) Z),   ∂L/∂A = (∂L/∂Z)ᵀ X

in blocks of rows, or over each row's nearest neighbors alone; never pairs × features. L-BFGS
descends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize

from ..data.labelled import LabelledRows
from ..data.rows import canonical
from ..runtime.progress import Monitor
from ..runtime.threads import Workers, row_blocks
from .base import without_self
from .exact import ExactSearch

NUMBERS_PER_BLOCK = 1 << 20
BLOCKS_AT_ONCE = 8
WORST_LOSS = 2.0  # all weight on rows of one other class
# Neighbors are found again, under the map learned so far, after so many iterations.
ITERATIONS_PER_ROUND = 20


class _Stop(Exception):
    """Raised inside L-BFGS to end it."""


class Descent:
    """L-BFGS from a start.

    Parameters
    ----------
    data : LabelledRows
    start : ndarray of shape (n_components, n_features), or (n_features,) if diagonal
    n_neighbors : int or None
        Rows that each row is predicted from; None is all others.
    tol : float
        The descent has converged when an iteration lowers the loss by less than this share of it.
    workers : Workers
    monitor : Monitor

    Attributes
    ----------
    map, loss : the last map and its loss
    n_iter : int
    converged : bool
    stalled : bool
        Whether it ended because no step along the gradient lowered the loss: with rounding errors
        as large as that, no more iterations help.
    """

    def __init__(
        self,
        data: LabelledRows,
        start: np.ndarray,
        n_neighbors: int | None,
        tol: float,
        workers: Workers,
        monitor: Monitor,
    ):
        self.data, self.map, self.workers, self.monitor = data, start, workers, monitor
        self.n_neighbors, self.tol = n_neighbors, tol
        self.one_hot = one_hot_rows(data)
        self.n_iter, self.loss, self.converged, self.stalled = 0, np.inf, False, False

    def descend(
        self, max_iter: int, held_out: LabelledRows | None = None, patience: int = 0
    ) -> int:
        """Run; returns the iteration at which held-out rows were predicted best."""
        best, best_loss = 0, np.inf
        if held_out is not None:
            best_loss = held_out_loss(self.map, self.data, self.one_hot, held_out)

        def watch(intermediate_result: Any) -> None:
            nonlocal best, best_loss
            self._take(intermediate_result.x, float(intermediate_result.fun))
            facts = {"loss": self.loss}
            if held_out is not None:
                loss = held_out_loss(self.map, self.data, self.one_hot, held_out)
                facts["held_out_loss"] = loss
                if loss < best_loss:
                    best, best_loss = self.n_iter, loss
            stop = self.monitor(self.n_iter, **facts)
            if stop or (held_out is not None and self.n_iter - best >= patience):
                self.converged = True
                raise _Stop

        try:
            while self.n_iter < max_iter and not (self.converged or self.stalled):
                self._round(max_iter - self.n_iter, watch)
        except _Stop:
            pass
        return best if held_out is not None else self.n_iter

    def _round(self, max_iter: int, watch: Callable[[Any], None]) -> None:
        """All iterations at once, or some with the neighbors as they are now."""
        neighbors = None
        if self.n_neighbors is not None:
            max_iter = min(max_iter, ITERATIONS_PER_ROUND)
            neighbors = self._neighbors()
        before, shape = self.n_iter, self.map.shape

        def evaluate(flat: np.ndarray) -> tuple[float, np.ndarray]:
            A = flat.reshape(shape)
            loss, gradient = loss_and_gradient(
                A, self.data.X, self.data.target, self.one_hot, self.workers, neighbors
            )
            if not np.isfinite(loss):  # a step so long that products overflow
                return WORST_LOSS, np.zeros_like(flat)
            return loss, gradient.ravel()

        options = {"maxiter": max_iter, "ftol": self.tol, "gtol": 1e-12}
        with np.errstate(over="ignore", invalid="ignore"):
            result = minimize(
                evaluate, self.map.ravel(), jac=True, method="L-BFGS-B", callback=watch,
                options=options,
            )  # fmt: skip
        if self.n_iter == before:
            self._take(result.x, float(result.fun), moved=False)
        self.converged = result.success and self.n_iter - before < max_iter
        self.stalled = not result.success and self.n_iter == before

    def _take(self, flat: np.ndarray, loss: float, moved: bool = True) -> None:
        self.map, self.loss = flat.reshape(self.map.shape).copy(), loss
        self.n_iter += moved

    def _neighbors(self) -> np.ndarray:
        assert self.n_neighbors is not None
        X = self.data.X
        Z = canonical(mapped(X, self.map.astype(X.dtype)))
        found = ExactSearch(Z).query(Z, self.n_neighbors + 1, self.workers)
        return without_self(found, np.arange(X.shape[0])).indices


def loss_and_gradient(
    A: np.ndarray,
    X: Any,
    target: np.ndarray,
    one_hot: np.ndarray,
    workers: Workers,
    neighbors: np.ndarray | None = None,
    numbers_per_block: int = NUMBERS_PER_BLOCK,
) -> tuple[float, np.ndarray]:
    """``L`` and ``∂L/∂A`` of rows, over all pairs or over given neighbors.

    Parameters
    ----------
    A : ndarray of shape (n_components, n_features), or (n_features,) if diagonal
    X : ndarray or CSR of shape (n_rows, n_features)
    target : ndarray of shape (n_rows,)
        Class of each row.
    one_hot : ndarray of shape (n_rows, n_classes)
        The same, in the dtype of ``X``.
    workers : Workers
    neighbors : ndarray of shape (n_rows, n_neighbors), default=None
        The rows that each row is predicted from.
    numbers_per_block : int
        How many numbers a block of rows may need.
    """
    Z = dense(mapped(X, A.astype(X.dtype)))
    if neighbors is None:
        blocks = list(pair_blocks(len(Z), len(Z), numbers_per_block))
        loss, pull, mass = _all_pairs(Z, target, one_hot, blocks, workers)
    else:
        width = neighbors.shape[1] * (Z.shape[1] + one_hot.shape[1])
        blocks = list(pair_blocks(len(Z), width, numbers_per_block))
        loss, pull, mass = _near_pairs(Z, target, one_hot, neighbors, blocks, workers)
    slope = (pull - mass[:, None] * Z) * (4 / len(Z))
    if A.ndim == 1:
        product = X.multiply(slope) if sp.issparse(X) else X * slope
        gradient = np.asarray(product.sum(axis=0)).ravel()
    else:
        gradient = (X.T @ slope).T
    return loss / len(Z), np.asarray(gradient, np.float64)


Pulls = tuple[float, np.ndarray, np.ndarray]
Blocks = list[tuple[int, int]]


def _all_pairs(
    Z: np.ndarray, target: np.ndarray, one_hot: np.ndarray, blocks: Blocks, workers: Workers
) -> Pulls:
    """``Σ‖r‖²``, ``(H + Hᵀ) Z`` and ``Hᵀ1`` for ``H = G N/2``, in blocks of rows."""

    def block_terms(block: tuple[int, int]) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        begin, end = block
        H = probabilities(Z[begin:end], Z, np.arange(begin, end))
        predicted = H @ one_hot
        R = predicted - one_hot[begin:end]
        advantage = np.take(R, target, axis=1)
        advantage -= np.einsum("ic,ic->i", R, predicted)[:, None]
        H *= advantage
        return _squared_sum(R), H @ Z, H.T @ Z[begin:end], H.sum(axis=0)

    loss, pull, mass = 0.0, np.zeros_like(Z), np.zeros_like(Z[:, 0])
    for first in range(0, len(blocks), BLOCKS_AT_ONCE):
        some = blocks[first : first + BLOCKS_AT_ONCE]
        terms = workers.map(block_terms, some)
        for (begin, end), (block_loss, own, others, block_mass) in zip(some, terms, strict=True):
            loss += block_loss
            pull[begin:end] += own
            pull += others
            mass += block_mass
    return loss, pull, mass


def _near_pairs(
    Z: np.ndarray,
    target: np.ndarray,
    one_hot: np.ndarray,
    neighbors: np.ndarray,
    blocks: Blocks,
    workers: Workers,
) -> Pulls:
    """The same, where each row is predicted from its neighbors alone."""
    n_rows, n_neighbors = neighbors.shape
    H = np.empty((n_rows, n_neighbors), Z.dtype)

    def fill_block(block: tuple[int, int]) -> float:
        begin, end = block
        near = neighbors[begin:end]
        differences = Z[near] - Z[begin:end, None]
        P = _softmax(-np.einsum("itd,itd->it", differences, differences))
        predicted = np.einsum("it,itc->ic", P, one_hot[near])
        R = predicted - one_hot[begin:end]
        advantage = np.take_along_axis(R, target[near].astype(np.intp), axis=1)
        H[begin:end] = P * (advantage - np.einsum("ic,ic->i", R, predicted)[:, None])
        return _squared_sum(R)

    loss = sum(workers.map(fill_block, blocks))
    starts = np.arange(0, H.size + 1, n_neighbors)
    matrix = sp.csr_array((H.ravel(), neighbors.ravel(), starts), shape=(n_rows, n_rows))
    return loss, matrix @ Z + matrix.T @ Z, np.asarray(matrix.sum(axis=0)).ravel()


def probabilities(Z: np.ndarray, others: np.ndarray, own: np.ndarray | None) -> np.ndarray:
    """Softmax over ``others`` of minus the squared distance; ``own`` places are left out."""
    products = Z @ others.T
    products *= 2
    products -= np.einsum("jd,jd->j", others, others)
    if own is not None:
        products[np.arange(len(own)), own] = -np.inf
    return _softmax(products)


def _softmax(values: np.ndarray) -> np.ndarray:
    values -= values.max(axis=1, keepdims=True)
    np.exp(values, out=values)
    values /= values.sum(axis=1, keepdims=True)
    return values


def held_out_loss(
    A: np.ndarray, data: LabelledRows, one_hot: np.ndarray, held_out: LabelledRows
) -> float:
    """The loss of rows that are predicted from the training rows."""
    A = A.astype(data.X.dtype)
    Z, others = dense(mapped(held_out.X, A)), dense(mapped(data.X, A))
    Y = one_hot_rows(held_out)
    loss = 0.0
    for begin, end in pair_blocks(len(Z), len(others)):
        loss += _squared_sum(probabilities(Z[begin:end], others, None) @ one_hot - Y[begin:end])
    return loss / len(Z)


def one_hot_rows(data: LabelledRows) -> np.ndarray:
    """Targets of one-hot classes, in the dtype of the rows."""
    return np.eye(len(data.classes), dtype=data.X.dtype)[data.target]


def mapped(X: Any, A: np.ndarray) -> Any:
    """Rows mapped by ``A``; a diagonal map keeps sparse rows sparse."""
    if A.ndim == 2:
        return X @ A.T
    return sp.csr_array(X.multiply(A)) if sp.issparse(X) else X * A


def dense(Z: Any) -> np.ndarray:
    """Rows as an array."""
    return Z.toarray() if sp.issparse(Z) else Z


def _squared_sum(values: np.ndarray) -> float:
    return float(np.einsum("ij,ij->", values, values, dtype=np.float64))


def pair_blocks(
    n_rows: int, width: int, numbers_per_block: int = NUMBERS_PER_BLOCK
) -> Iterator[tuple[int, int]]:
    """Blocks of rows that need at most so many numbers at ``width`` numbers per row."""
    return row_blocks(n_rows, max(1, numbers_per_block // max(1, width)))
