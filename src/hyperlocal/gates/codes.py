"""From rows to their nearest anchors and weights, block by block.

Each block costs one GEMM (products of rows and anchors) and one compiled pass (the k nearest, their
exact distances, the weights). No array of rows × anchors is ever larger than a block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import _core
from ..data.rows import core_rows
from ..runtime.threads import MOST_ROWS_PER_BLOCK, Workers, row_blocks

CODINGS = ("soft", "inverse_distance", "lle", "llc", "lcc", "hard")

# Ridge of the reconstruction codings relative to the mean diagonal of the local Gram matrix (as in
# LLE), and the weight of the locality penalties of LLC (relative too) and LCC.
RIDGE = 1e-3
LOCALITY = 0.1

PRODUCTS_PER_BLOCK = 1 << 20


@dataclass(frozen=True)
class Codes:
    """Each row's ``k`` nearest anchors, nearest first, their weights and squared distances.

    ``reserves``, if requested, are the next nearest anchors.
    """

    anchors: np.ndarray
    weights: np.ndarray
    distances: np.ndarray
    reserves: np.ndarray | None = None

    def take(self, rows: np.ndarray | slice) -> Codes:
        """Codes of the chosen rows."""
        return Codes(self.anchors[rows], self.weights[rows], self.distances[rows])


def anchor_masses(anchors: np.ndarray, weights: np.ndarray, n_anchors: int) -> np.ndarray:
    """``Σ_i γ_ij²``: the mass of rows at each anchor.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.gates.codes import anchor_masses
    >>> anchors = np.array([[0, 2], [2, 0]])
    >>> anchor_masses(anchors, np.array([[1.0, 2.0], [3.0, 0.0]]), 4).tolist()
    [1.0, 0.0, 13.0, 0.0]
    """
    squares = weights.astype(np.float64) ** 2
    return np.bincount(anchors.ravel(), squares.ravel(), minlength=n_anchors)


def encode(
    X: Any,
    anchors: np.ndarray,
    n_neighbors: int,
    coding: str,
    workers: Workers,
    *,
    beta: float = 1.0,
    n_reserves: int = 0,
) -> Codes:
    """Code rows on anchors.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_rows, n_features)
    anchors : ndarray of shape (n_anchors, n_features), dtype of X
    n_neighbors : int
        Active anchors per row.
    coding : {"soft", "inverse_distance", "lle", "llc", "lcc", "hard"}
    workers : Workers
    beta : float
        Sharpness of the soft coding and of LLC's penalty.
    n_reserves : int
        How many of the next nearest anchors to return, if there are as many.

    Returns
    -------
    Codes
    """
    n_rows, n_anchors = X.shape[0], anchors.shape[0]
    # Products relative to the mean of the anchors are precise also far from the origin.
    origin = np.zeros_like(anchors[0]) if sp.issparse(X) else anchors.mean(axis=0)
    centred = anchors - origin
    half_norms = 0.5 * np.einsum("ij,ij->i", centred, centred)
    transposed = np.ascontiguousarray(centred.T)
    options = _core.CodingOptions(
        coding=getattr(_core.Coding, coding), beta=beta, ridge=RIDGE, locality=LOCALITY
    )
    coder = _core.coder(core_rows(X), anchors, half_norms, options)
    chosen = np.empty((n_rows, min(n_neighbors + n_reserves, n_anchors)), np.int32)
    weights, distances = np.empty((2, n_rows, n_neighbors), X.dtype)

    def encode_block(block: tuple[int, int]) -> None:
        begin, end = block
        products = (X[begin:end] if sp.issparse(X) else X[begin:end] - origin) @ transposed
        coder.encode(
            begin, end, np.ascontiguousarray(products), chosen[begin:end], weights[begin:end],
            distances[begin:end],
        )  # fmt: skip

    block_size = max(256, min(MOST_ROWS_PER_BLOCK, PRODUCTS_PER_BLOCK // max(1, n_anchors)))
    workers.map(encode_block, row_blocks(n_rows, block_size))
    if n_reserves == 0:
        return Codes(chosen, weights, distances)
    neighbors, reserves = np.split(chosen, [n_neighbors], axis=1)
    return Codes(neighbors.copy(), weights, distances, reserves.copy())
