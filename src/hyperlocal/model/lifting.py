"""Lifted rows ``γ(x) ⊗ [φ(x), B]``: a virtual matrix that is never stored.

The compiled core knows its storage (dense or CSR rows, quadratic rows expanded on the fly). Weights
have shape ``(n_anchors, n_columns, p + 1)``, the bias weight last. As index formulas:

- scores:         ``s_ic = Σ_j γ_ij (Σ_v W_jcv φ_iv + B W_jcp)``
- add:            ``W_jcv += Σ_i a_ic γ_ij [φ_i, B]_v``
- squared_norms:  ``q_i = Σ_j γ_ij² (Σ_v φ_iv² + B²)``

With a global intercept the lifted row is ``[γ(x) ⊗ [φ(x), B], O]``: the constant O is added once,
independent of the gate and of the normalization. Its weight is the last number of one more block,
``W_mcp``; the others of that block stay zero.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import _core
from ..gates.codes import Codes, anchor_masses
from ..runtime.threads import MOST_ROWS_PER_BLOCK, Workers, row_blocks, split_evenly

# Numbers of one block's gathered rows and of its partial scores: some megabytes.
NUMBERS_PER_BLOCK = 1 << 21
# From this many columns on, gathering rows by anchor for a GEMM is faster than one compiled pass;
# from half as many if the weights do not fit into the cache, since rows read them in random order.
COLUMNS_FOR_GEMM = 32
CACHED_BYTES = 1 << 22
# Rows this short have a pass of their own, faster than GEMM while the weights stay in the nearer
# cache. (40 columns of 16 features: 200 ns per row instead of 340; 100 of 50: 1670 and 1300.)
SHORT_ROWS = 63
NEAR_BYTES = 1 << 20
# The most rows gathered for it: an anchor needs many to keep a GEMM busy.
ROWS_FOR_GEMM = 8192


class LiftedRows:
    """Rows lifted by a gate.

    Parameters
    ----------
    rows : compiled rows
        From :meth:`hyperlocal.maps.base.FeatureMap.rows`.
    codes : Codes
    n_anchors : int
    bias : float
        The constant feature ``B`` of every local model.
    normalize : bool
        Scale ``γ ⊗ [φ, B]`` to norm one by scaling the gate: ``γ / (‖γ‖ ‖[φ, B]‖)``.
    workers : Workers
    is_dense : bool
        Whether φ is stored densely; only then scores may go through GEMM.
    row_length : float, optional
        How many numbers of φ are read, in the mean over rows; by default all.
    row_norms : ndarray of shape (n_rows,), optional
        ``‖[φ, B]‖²`` of each row, where known from before.
    offset : float
        The constant ``O`` of the global intercept; zero for none.
    """

    def __init__(
        self,
        rows: Any,
        codes: Codes,
        n_anchors: int,
        bias: float,
        normalize: bool,
        workers: Workers,
        is_dense: bool = True,
        row_length: float | None = None,
        row_norms: np.ndarray | None = None,
        offset: float = 0.0,
    ):
        self.rows = rows
        self.n_rows = rows.n_rows
        self.n_anchors = n_anchors
        self.width = rows.width
        self.bias = bias
        self.is_dense = is_dense
        self.row_length = rows.width if row_length is None else row_length
        self.dtype = codes.weights.dtype
        self.anchors = codes.anchors
        self.n_neighbors = codes.anchors.shape[1]
        self.workers = workers
        self.normalize = normalize
        self.offset = offset
        self._row_norms = row_norms
        self._products: tuple[np.ndarray, np.ndarray] | None = None
        self.gate = self._unit_gate(codes.weights) if normalize else codes.weights
        self.core = _core.lifted(rows, self.anchors, self.gate, n_anchors, bias, offset)

    @property
    def visit_length(self) -> float:
        """How many numbers of a lifted row are read, in the mean."""
        return self.n_neighbors * (self.row_length + 1)

    @property
    def n_blocks(self) -> int:
        """Blocks of weights: one per anchor, and one for the global intercept."""
        return self.n_anchors + (self.offset != 0)

    def gate_matrix(self) -> np.ndarray:
        """The gate written out, ``(n_rows, n_anchors)``, in double precision."""
        matrix = np.zeros((self.n_rows, self.n_anchors))
        np.put_along_axis(matrix, self.anchors.astype(np.intp), self.gate, axis=1)
        return matrix

    @property
    def row_norms(self) -> np.ndarray:
        """``‖[φ, B]‖²``, one number per row."""
        if self._row_norms is None:
            norms = self._by_blocks(self.rows.squared_norms)
            self._row_norms = norms + self.dtype.type(self.bias) ** 2
        return self._row_norms

    def _by_blocks(self, norms_of: Callable[[int, int, np.ndarray], None]) -> np.ndarray:
        """One number per row, which a kernel fills in for blocks of rows."""
        norms = np.empty(self.n_rows, self.dtype)
        self.workers.map(
            lambda block: norms_of(*block, norms[slice(*block)]),
            row_blocks(self.n_rows, MOST_ROWS_PER_BLOCK),
        )
        return norms

    def _unit_gate(self, weights: np.ndarray) -> np.ndarray:
        """``γ_i / (‖γ_i‖ ‖[φ_i, B]‖)``; a lifted row of zeros stays zero."""
        lengths = np.sqrt(np.einsum("ij,ij->i", weights, weights) * self.row_norms)
        scale = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        return np.ascontiguousarray(weights * scale[:, None])

    def zero_weights(self, n_columns: int) -> np.ndarray:
        """Weights of zero, ``(n_blocks, n_columns, p + 1)``."""
        return np.zeros((self.n_blocks, n_columns, self.width + 1), self.dtype)

    def squared_norms(self) -> np.ndarray:
        """``q_i``, one number per row."""
        return self._by_blocks(self.core.squared_norms)

    def stretched(self, factors: np.ndarray) -> LiftedRows:
        """The same rows with the part of each block of weights multiplied by its factor."""
        gate = (self.gate * factors[self.anchors]).astype(self.dtype)
        codes = Codes(self.anchors, gate, gate)
        return LiftedRows(
            self.rows, codes, self.n_anchors, self.bias, False, self.workers,
            is_dense=self.is_dense, row_length=self.row_length, row_norms=self._row_norms,
            offset=self.offset * float(factors[-1]),
        )  # fmt: skip

    def block_masses(self) -> np.ndarray:
        """``Σ_i γ_ij²`` of each block of weights; all rows use that of the global intercept."""
        masses = anchor_masses(self.anchors, self.gate, self.n_anchors)
        return masses if self.offset == 0 else np.append(masses, float(self.n_rows))

    @property
    def used_blocks(self) -> np.ndarray:
        """The blocks of weights that some row has a part in, in order."""
        anchors = np.unique(self.anchors)
        return anchors if self.offset == 0 else np.append(anchors, self.n_anchors)

    def add(self, steps: np.ndarray, weights: np.ndarray) -> None:
        """Add ``Σ_i steps_ic · lifted_i`` to the weights, in place."""
        parts = split_evenly([1] * weights.shape[1], self.workers.n_threads)
        self.workers.map(lambda part: self.core.add(steps, weights, *part), parts)

    def scores(self, weights: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """``s_ic`` of all rows, ``(n_rows, n_columns)``, written to ``out`` if that is given."""
        if out is None:
            out = np.empty((self.n_rows, weights.shape[1]), self.dtype)

        def fill(block: tuple[int, int]) -> None:
            self.block_scores(weights, *block, out[slice(*block)])

        self.workers.map(fill, row_blocks(self.n_rows, self.block_size(weights.shape[1])))
        return out

    def block_size(self, n_columns: int) -> int:
        """Rows per block, such that a block's scratch memory stays small."""
        per_row = max(self.width, self.n_neighbors * n_columns)
        most = ROWS_FOR_GEMM if 2 * n_columns >= COLUMNS_FOR_GEMM else MOST_ROWS_PER_BLOCK
        return max(256, min(most, NUMBERS_PER_BLOCK // max(1, per_row)))

    def block_scores(self, weights: np.ndarray, begin: int, end: int, out: np.ndarray) -> None:
        """Scores of rows ``begin … end-1``: one GEMM per anchor where there are many columns."""
        fewest = COLUMNS_FOR_GEMM if weights.nbytes < CACHED_BYTES else COLUMNS_FOR_GEMM // 2
        is_near = self.width <= SHORT_ROWS and weights.nbytes < NEAR_BYTES
        if self.is_dense and weights.shape[1] >= fewest and not is_near:
            self._scores_by_anchor(weights, begin, end, out)
        else:
            self.core.scores(begin, end, weights, out)

    def local_models(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The linear model at each row: ``Σ_j γ_ij W_jcv`` without the bias, and the intercept."""
        starts = np.arange(0, self.gate.size + 1, self.n_neighbors)
        shape = (self.n_rows, weights.shape[0])
        gate = sp.csr_array((self.gate.ravel(), self.anchors.ravel(), starts), shape=shape)
        local = (gate @ weights.reshape(len(weights), -1)).reshape(-1, *weights.shape[1:])
        intercept = local[..., -1] * self.dtype.type(self.bias)
        return local[..., :-1], intercept + self.global_intercept(weights)

    def global_intercept(self, weights: np.ndarray) -> np.ndarray:
        """What is added to the scores of all rows, ``(n_columns,)``."""
        if self.offset == 0:
            return np.zeros(weights.shape[1], self.dtype)
        return weights[-1, :, -1] * self.dtype.type(self.offset)

    def anchor_scores(self, weights: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """What each active anchor adds to one column of each row's scores, ``(n_rows, k)``.

        ``γ_ij (Σ_v W_jcv φ_iv + B W_jcp)`` with ``c = columns[i]``, without the global intercept.
        """
        own = weights[self.anchors, columns[:, None]]
        scores = np.einsum("nkv,nv->nk", own[..., :-1], self.features(0, self.n_rows))
        scores += own[..., -1] * self.dtype.type(self.bias)
        return self.gate * scores

    def all_anchor_scores(self, weights: np.ndarray) -> np.ndarray:
        """:meth:`anchor_scores` of every column, ``(n_rows, k, n_columns)``."""
        places, products = self._products_by_anchor(weights, 0, self.n_rows)
        scores = products[places].reshape(self.n_rows, self.n_neighbors, -1)
        return scores * self.gate[:, :, None]

    def features(self, begin: int, end: int) -> np.ndarray:
        """φ of rows ``begin … end-1`` written out, ``(end - begin, p)``."""
        phi = np.empty((end - begin, self.width), self.dtype)
        self.rows.gather(np.arange(begin, end), phi)
        return phi

    @property
    def n_numbers(self) -> int:
        """Numbers of a lifted row: a column of weights, without the padding of the last block."""
        return self.n_anchors * (self.width + 1) + (self.offset != 0)

    @property
    def has_products(self) -> bool:
        """Whether :meth:`products` are known for some costs."""
        return self._products is not None

    def products(self, costs: np.ndarray) -> np.ndarray:
        """``Σ_i costs_i z_i z_iᵀ`` in double precision, of which only the upper half is filled.

        Costs that are multiples of the last ones, as those of another C, take little time. Those
        of losses that do not curve everywhere differ each time.
        """
        if not costs.all():
            return self._sums_of_products(costs)
        scale = float(costs.max(initial=0)) or 1.0
        shares = costs / scale
        if self._products is None or not np.allclose(self._products[0], shares, rtol=1e-6, atol=0):
            self._products = shares, self._sums_of_products(shares)
        return scale * self._products[1]

    def _sums_of_products(self, costs: np.ndarray) -> np.ndarray:
        out = np.zeros((self.n_numbers, self.n_numbers))
        for begin, end in row_blocks(self.n_rows, max(1, NUMBERS_PER_BLOCK // (self.width + 1))):
            features = np.empty((end - begin, self.width + 1))
            features[:, :-1], features[:, -1] = self.features(begin, end), self.bias
            if self.n_anchors == 1:  # one product of matrices
                features *= (np.sqrt(costs[begin:end]) * self.gate[begin:end, 0])[:, None]
                out[: self.width + 1, : self.width + 1] += features.T @ features
                continue
            starts, rows, _ = self.grouped_by_anchor(begin, end)
            add = partial(self._add_products, starts, rows, begin, features, costs, out)
            self.workers.map(add, range(self.n_anchors))
        if self.offset != 0:
            total = self.zero_weights(1)
            self.add(np.ascontiguousarray(costs[:, None], self.dtype), total)
            out[:, -1] = self.offset * total.ravel()[: self.n_numbers]
            out[-1, -1] = self.offset**2 * costs.sum()
        return out

    def _add_products(
        self,
        starts: np.ndarray,
        rows: np.ndarray,
        begin: int,
        features: np.ndarray,
        costs: np.ndarray,
        out: np.ndarray,
        anchor: int,
    ) -> None:
        members = rows[starts[anchor] : starts[anchor + 1]]
        members = members[costs[members] != 0]
        self.core.products(anchor, members, begin, features, costs, out)

    def grouped_by_anchor(self, begin: int, end: int) -> tuple[np.ndarray, ...]:
        """Where each anchor's rows start, these rows, and the place of each row and anchor."""
        n_pairs = (end - begin) * self.n_neighbors
        starts = np.empty(self.n_anchors + 1, np.int64)
        rows, places = np.empty(n_pairs, np.int64), np.empty(n_pairs, np.int64)
        self.core.group_by_anchor(begin, end, starts, rows, places)
        return starts, rows, places

    def to_csr(self) -> sp.csr_array:
        """The matrix written out, ``(n_rows, n_blocks · (p + 1))``: for small data only."""
        block_width = self.width + 1
        phi = np.empty((self.n_rows, block_width), self.dtype)
        phi[:, :-1], phi[:, -1] = self.features(0, self.n_rows), self.bias
        values = self.gate[:, :, None] * phi[:, None, :]
        columns = self.anchors.astype(np.int64)[:, :, None] * block_width + np.arange(block_width)
        starts = np.arange(self.n_rows + 1) * (self.n_neighbors * block_width)
        shape = (self.n_rows, self.n_blocks * block_width)
        matrix = sp.csr_array((values.ravel(), columns.ravel(), starts), shape=shape)
        matrix.eliminate_zeros()
        if self.offset != 0:
            slot = sp.csr_array(([self.offset], ([0], [shape[1] - 1])), shape=(1, shape[1]))
            matrix = matrix + sp.csr_array(np.ones((self.n_rows, 1), self.dtype)) @ slot
        return matrix.astype(self.dtype, copy=False)

    def _scores_by_anchor(self, weights: np.ndarray, begin: int, end: int, out: np.ndarray) -> None:
        places, products = self._products_by_anchor(weights, begin, end)
        self.core.combine(begin, end, places, products, out)
        out += self.global_intercept(weights)

    def _products_by_anchor(
        self, weights: np.ndarray, begin: int, end: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """``W_jc · [φ_i, B]`` of pairs of a row and an active anchor, one GEMM per anchor.

        Returns the place of each pair, row by row, and the products, ``(n_pairs, n_columns)``.
        """
        starts, rows, places = self.grouped_by_anchor(begin, end)
        products = np.empty((len(rows), weights.shape[1]), self.dtype)
        block = self.features(begin, end)
        rows -= begin
        for anchor in range(self.n_anchors):
            first, last = starts[anchor], starts[anchor + 1]
            if first == last:
                continue
            blocks = weights[anchor]
            np.dot(block[rows[first:last]], blocks[:, :-1].T, out=products[first:last])
            products[first:last] += self.bias * blocks[:, -1]
        return places, products
