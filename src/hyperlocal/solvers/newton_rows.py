"""Lifted rows as Newton's steps use them: products, and systems of second derivatives.

Written out, a system is solved by a factorization. So is one of losses that are squares: its matrix
is summed up block by block, and is that of every C but for a factor. Where the matrix would be too
large, a system is solved by conjugate gradients, which take products with the lifted rows alone;
their preconditioner is exact for the weights of each anchor by themselves, so that few products are
needed where few anchors are active at a row.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from scipy.linalg.lapack import dposv, dpotrf, dpotrs, get_lapack_funcs

from ..model.lifting import LiftedRows

# The matrix is written out in double precision: 128 megabytes at most.
MOST_NUMBERS = 1 << 24
# Of the rows of an anchor, which one anchor has all of, so many numbers are written out at once.
NUMBERS_AT_ONCE = MOST_NUMBERS
# A system need not be solved better: the gradient that is left is a tenth, the gap a hundredth.
RESIDUAL = 0.1
MOST_PRODUCTS = 100  # of one system
# Losses that are squares have one system, which is solved to the gap; each new start would lose
# directions (compactiv, C = 270: 600 products, or 1,800 in steps of a hundred).
MOST_PRODUCTS_OF_SQUARES = 1_000

Solve = Callable[[np.ndarray], np.ndarray]


class WrittenRows:
    """Lifted rows as a matrix (see :func:`written_out`); vectors are of its coordinates."""

    def __init__(self, lifted: LiftedRows):
        self.lifted = lifted
        self.matrix = written_out(lifted)

    def scores(self, vector: np.ndarray) -> np.ndarray:
        """``z_i · v`` of all rows."""
        return self.matrix @ vector

    def total(self, steps: np.ndarray) -> np.ndarray:
        """``Σ_i steps_i z_i``."""
        return steps @ self.matrix

    def solved(
        self, curved: np.ndarray, right: np.ndarray, enough: float | None = None
    ) -> np.ndarray:
        """``(I + Σ_i curved_i z_i z_iᵀ)⁻¹ right``."""
        counted = np.flatnonzero(curved)
        return solved(self.matrix[counted] * np.sqrt(curved[counted])[:, None], right)

    def weights(self, vector: np.ndarray, expansion: np.ndarray) -> np.ndarray:
        """Weights ``(n_blocks, p + 1)`` of a vector, which is the sum of rows ``expansion``."""
        weights = self.lifted.zero_weights(1)
        steps = np.ascontiguousarray(expansion[:, None], self.lifted.dtype)
        self.lifted.core.add(steps, weights, 0, 1)
        return weights[:, 0]


class LiftedProducts:
    """Lifted rows that are not written out; vectors are weights of one column, flat."""

    def __init__(self, lifted: LiftedRows):
        self.lifted = lifted
        self.shape = (lifted.n_blocks, 1, lifted.width + 1)
        starts, rows, places = lifted.grouped_by_anchor(0, lifted.n_rows)
        gate = np.empty(lifted.anchors.size, lifted.dtype)
        gate[places] = lifted.gate.ravel()
        self.members = [
            (rows[first:last], gate[first:last].astype(np.float64))
            for first, last in pairwise(starts)
        ]

    def scores(self, vector: np.ndarray) -> np.ndarray:
        """``z_i · v`` of all rows."""
        out = np.empty((self.lifted.n_rows, 1), self.lifted.dtype)
        weights = vector.astype(self.lifted.dtype).reshape(self.shape)
        self.lifted.core.scores(0, self.lifted.n_rows, weights, out)
        return out[:, 0].astype(np.float64)

    def total(self, steps: np.ndarray) -> np.ndarray:
        """``Σ_i steps_i z_i``."""
        weights = np.zeros(self.shape, self.lifted.dtype)
        steps = np.ascontiguousarray(steps[:, None], self.lifted.dtype)
        self.lifted.core.add(steps, weights, 0, 1)
        return weights.ravel().astype(np.float64)

    def solved(
        self, curved: np.ndarray, right: np.ndarray, enough: float | None = None
    ) -> np.ndarray:
        """About ``(I + Σ_i curved_i z_i z_iᵀ)⁻¹ right``, to a residual of norm ``enough``."""
        return conjugate_gradients(
            lambda vector: vector + self.total(curved * self.scores(vector)),
            right,
            self._block_solver(curved),
            enough,
        )

    def weights(self, vector: np.ndarray, expansion: np.ndarray) -> np.ndarray:
        """Weights ``(n_blocks, p + 1)`` of a vector."""
        return vector.astype(self.lifted.dtype).reshape(self.shape)[:, 0]

    def _block_solver(self, curved: np.ndarray) -> Solve:
        """The system of each anchor's weights without the others, and of the global intercept."""
        solvers = [self._one_block(rows, gate, curved[rows]) for rows, gate in self.members]
        if self.lifted.offset != 0:
            scale = 1 + self.lifted.offset**2 * curved.sum()
            solvers.append(lambda right: right / scale)

        def solve(right: np.ndarray) -> np.ndarray:
            blocks = right.reshape(len(solvers), -1)
            return np.concatenate([one(block) for one, block in zip(solvers, blocks, strict=True)])

        return solve

    def _one_block(self, rows: np.ndarray, gate: np.ndarray, curved: np.ndarray) -> Solve:
        counted = np.flatnonzero(curved)
        most = max(1, NUMBERS_AT_ONCE // (self.lifted.width + 1))
        firsts = range(0, max(1, len(counted)), most)
        parts = (
            self._scaled(rows[own], gate[own] * np.sqrt(curved[own]))
            for own in (counted[first : first + most] for first in firsts)
        )
        if not has_small_blocks(self.lifted):
            scales = 1 + sum(np.einsum("ij,ij->j", part, part) for part in parts)
            return lambda right: right / scales
        if len(firsts) == 1:
            return factored(next(parts))
        matrix = next(parts)
        matrix = matrix.T @ matrix
        for part in parts:
            matrix += part.T @ part
        factor, _ = dpotrf(_with_identity(matrix))
        return lambda right: dpotrs(factor, right)[0]

    def _scaled(self, rows: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """``(φ, B)`` of some rows, times a number each."""
        phi = np.empty((len(rows), self.lifted.width), self.lifted.dtype)
        self.lifted.rows.gather(rows, phi)
        block = np.empty((len(rows), self.lifted.width + 1))
        np.multiply(phi, scale[:, None], out=block[:, :-1])
        np.multiply(scale, self.lifted.bias, out=block[:, -1])
        return block


class BlockProducts(LiftedProducts):
    """Lifted rows of which the products are summed up, a block for each two anchors."""

    def solved(
        self, curved: np.ndarray, right: np.ndarray, enough: float | None = None
    ) -> np.ndarray:
        """``(I + Σ_i curved_i z_i z_iᵀ)⁻¹ right``."""
        matrix = _with_identity(self.lifted.products(curved))
        numbers = right[: len(matrix)].copy()
        numbers[-1] = right[-1]  # where there is a global intercept, its block is but one number
        # The transposed matrix is in the order of LAPACK, and its lower half is filled.
        _, found, _ = dposv(matrix.T, numbers, lower=True, overwrite_a=True)
        solution = np.zeros_like(right)
        solution[: len(matrix)] = found
        if self.lifted.offset != 0:
            solution[len(matrix) - 1], solution[-1] = 0, found[-1]
        return solution


def has_small_blocks(lifted: LiftedRows) -> bool:
    """Whether a matrix per anchor fits in memory; otherwise only its diagonal is used."""
    return bool(lifted.n_anchors * (lifted.width + 1) ** 2 <= MOST_NUMBERS)


def conjugate_gradients(
    product: Solve, right: np.ndarray, solve_nearly: Solve, enough: float | None = None
) -> np.ndarray:
    """Solve a system whose matrix is known by its products, and nearly by its inverse.

    It ends at a residual of a tenth of the right side or of the norm ``enough``, or after a bounded
    number of products, which is larger if ``enough`` is given.
    """
    most = MOST_PRODUCTS if enough is None else MOST_PRODUCTS_OF_SQUARES
    if enough is None:
        enough = RESIDUAL * float(np.linalg.norm(right))
    solution, residual = np.zeros_like(right), right.copy()
    near = solve_nearly(residual)
    direction, size = near, float(residual @ near)
    for _ in range(most):
        turned = product(direction)
        step = size / float(direction @ turned)
        solution += step * direction
        residual -= step * turned
        if not np.linalg.norm(residual) > enough:
            break
        near = solve_nearly(residual)
        before, size = size, float(residual @ near)
        direction = near + size / before * direction
    return solution


def factored(rows: np.ndarray) -> Solve:
    """What solves ``I + RᵀR``, by a factor of the smaller side (see :func:`solved`)."""
    if len(rows) == 0:
        return lambda right: right
    is_wide = rows.shape[0] < rows.shape[1]
    factor, _ = dpotrf(_with_identity(rows @ rows.T if is_wide else rows.T @ rows))
    if is_wide:
        return lambda right: right - rows.T @ dpotrs(factor, rows @ right)[0]
    return lambda right: dpotrs(factor, right)[0]


def solved(rows: np.ndarray, right: np.ndarray) -> np.ndarray:
    """``(I + RᵀR)⁻¹ b``, by a matrix of the smaller side: ``b − Rᵀ (I + RRᵀ)⁻¹ R b``.

    Losses curve for few rows in the end, those within their margins.
    """
    if len(rows) == 0:
        return right
    is_wide = rows.shape[0] < rows.shape[1]
    matrix = _with_identity(rows @ rows.T if is_wide else rows.T @ rows)
    # Its eigenvalues are at least one: the factorization cannot fail.
    _, solution, _ = dposv(matrix, rows @ right if is_wide else right, overwrite_a=True)
    return right - rows.T @ solution if is_wide else solution


def _with_identity(matrix: np.ndarray) -> np.ndarray:
    matrix.flat[:: len(matrix) + 1] += 1
    return matrix


def written_width(lifted: LiftedRows) -> int:
    """The columns of :func:`written_out`."""
    return min(lifted.n_anchors * (lifted.width + 1) + (lifted.offset != 0), lifted.n_rows)


def written_out(lifted: LiftedRows) -> np.ndarray:
    """The lifted rows as a matrix of doubles, ``(n_rows, n_anchors · (p + 1))`` and the offset.

    Where that is wider than the rows are many: their coordinates in a basis of what they span.
    """
    n_rows, width = lifted.n_rows, lifted.width + 1
    phi = np.empty((n_rows, lifted.width), lifted.dtype)
    lifted.rows.gather(np.arange(n_rows), phi)
    phi = np.hstack([phi, np.full((n_rows, 1), lifted.bias)])
    gate = lifted.gate_matrix()
    if n_rows < lifted.n_anchors * width:
        return rows_of_products((gate @ gate.T) * (phi @ phi.T) + lifted.offset**2)
    matrix = (gate[:, :, None] * phi[:, None, :]).reshape(n_rows, -1)
    return (
        matrix if lifted.offset == 0 else np.hstack([matrix, np.full((n_rows, 1), lifted.offset)])
    )


def rows_of_products(products: np.ndarray) -> np.ndarray:
    """Rows with the given products, but for rounding (see :func:`factor_with_pivots`)."""
    return factor_with_pivots(products)[0]


def factor_with_pivots(
    products: np.ndarray, tolerance: float | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Rows with the given products, by a Cholesky factorization, and which of them span all.

    They have as many columns as it takes until no row misses more than a share ``tolerance`` of the
    longest row's square; without a tolerance, until only rounding is missing.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.solvers.newton_rows import factor_with_pivots
    >>> rows = np.array([[3.0, 4.0], [6.0, 8.0], [0.0, 0.1]])
    >>> [factor_with_pivots(rows @ rows.T, share)[1].tolist() for share in (None, 0.01)]
    [[1, 2], [1]]
    """
    largest = products.diagonal().max(initial=0)
    missed = -1.0 if tolerance is None else tolerance * largest
    (factorize,) = get_lapack_funcs(("pstrf",), (products,))
    factor, pivots, rank, _ = factorize(products.T, tol=missed, lower=True)
    rank = max(rank, 1)
    rows = np.empty((len(products), rank), products.dtype)
    # LAPACK leaves what it does not use above the diagonal.
    rows[pivots - 1] = np.tril(factor[:, :rank]) if largest > 0 else 0
    return rows, pivots[:rank] - 1


def raised(products: np.ndarray, digits: float = 512) -> np.ndarray:
    """Products with a diagonal larger by so many last digits, more than rounding takes away."""
    largest = products.diagonal().max(initial=0) or 1.0
    out = products.copy()
    np.fill_diagonal(out, out.diagonal() + digits * np.finfo(out.dtype).eps * largest)
    return out
