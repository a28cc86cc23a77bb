"""Rows of features handed to the compiled core: dense or CSR, float32 or float64, no copies."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import _core
from ..runtime.threads import Workers, row_blocks

FLOATS = (np.float64, np.float32)
ROWS_PER_NORM_BLOCK = 2_048
LARGEST_WIDTH = np.iinfo(np.int32).max


def core_rows(X: Any, *, quadratic: bool = False, scale: float = 1.0) -> Any:
    """View rows in the compiled core; with ``quadratic`` the map is applied as rows are read.

    The quadratic map may see the rows times ``scale``.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.data.rows import core_rows
    >>> core_rows(np.zeros((3, 2)), quadratic=True).width
    5
    """
    n_features = X.shape[1]
    if quadratic and quadratic_width(n_features) > LARGEST_WIDTH:
        raise ValueError(
            f"feature_map='quadratic' would make {quadratic_width(n_features)} features of the "
            f"{n_features} given; reduce them first, or choose feature_map=None."
        )
    if sp.issparse(X):
        columns = X.indices.astype(np.int32, copy=False)
        starts = X.indptr.astype(np.int64, copy=False)
        return _core.rows(X.data, columns, starts, n_features, quadratic, scale)
    return _core.rows(X, quadratic, scale)


def quadratic_width(n_features: int) -> int:
    """Columns of the quadratic map: the features, their squares, their products in pairs."""
    return n_features * (n_features + 3) // 2


def canonical(X: Any) -> Any:
    """Bring rows into the one form that the kernels read, without a copy where possible."""
    if not sp.issparse(X):
        return np.ascontiguousarray(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    if X.shape[1] > np.iinfo(np.int32).max:
        raise ValueError(f"X has {X.shape[1]} features; at most 2^31 - 1 are supported.")
    return X


def stored_as(X: Any, dtype: str, is_sparse: bool) -> Any:
    """Rows in that dtype, and as CSR or dense."""
    X = X.astype(dtype, copy=False)
    if sp.issparse(X) == is_sparse:
        return X
    return canonical(sp.csr_array(X)) if is_sparse else X.toarray()


def take_rows(X: Any, chosen: np.ndarray) -> Any:
    """The chosen rows, as a copy of the same storage."""
    return X[chosen] if sp.issparse(X) else np.ascontiguousarray(X[chosen])


def squared_lengths(X: Any, workers: Workers) -> np.ndarray:
    """Squared norms of rows, the same bits for equal rows wherever they stand.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.data.rows import squared_lengths
    >>> from hyperlocal.runtime.threads import Workers
    >>> squared_lengths(np.array([[3.0, 4.0], [0.0, 1.0]]), Workers()).tolist()
    [25.0, 1.0]
    """
    rows, norms = core_rows(X), np.empty(X.shape[0], X.dtype)

    def fill(block: tuple[int, int]) -> None:
        rows.squared_norms(*block, norms[slice(*block)])

    workers.map(fill, row_blocks(X.shape[0], ROWS_PER_NORM_BLOCK))
    return norms
