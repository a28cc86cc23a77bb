"""Rows of features handed to the compiled core: dense or CSR, float32 or float64, no copies."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import _core
from ..runtime.threads import Workers, row_blocks

FLOATS = (np.float64, np.float32)
ROWS_PER_BLOCK = 8_192  # of rows that are changed or copied
ROWS_PER_NORM_BLOCK = 2_048
NUMBERS_PER_BLOCK = 1 << 18
# The computed deviation of a constant feature, relative to its mean, is less.
ROUNDING = 100 * np.finfo(np.float64).eps
LARGEST_WIDTH = np.iinfo(np.int32).max


def core_rows(
    X: Any, *, quadratic: bool = False, scale: float = 1.0, n_paired: int | None = None
) -> Any:
    """View rows in the compiled core; with ``quadratic`` the map is applied as rows are read.

    The quadratic map may see the rows times ``scale``, and take products of the first ``n_paired``
    features only (of dense rows).

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.data.rows import core_rows
    >>> core_rows(np.zeros((3, 2)), quadratic=True).width
    5
    """
    n_features = X.shape[1]
    width = quadratic_width(n_features, n_paired)
    if quadratic and width > LARGEST_WIDTH:
        raise ValueError(
            f"feature_map='quadratic' would make {width} features of the {n_features} given; "
            "reduce them first, or choose feature_map=None."
        )
    if sp.issparse(X):
        columns = X.indices.astype(np.int32, copy=False)
        starts = X.indptr.astype(np.int64, copy=False)
        return _core.rows(X.data, columns, starts, n_features, quadratic, scale)
    return _core.rows(X, quadratic, scale, n_features if n_paired is None else n_paired)


def quadratic_width(n_features: Any, n_paired: int | None = None) -> Any:
    """Columns of the quadratic map: the features, and squares and products in pairs.

    These are of the first ``n_paired`` features, or of all. Numbers may be arrays.
    """
    n_paired = n_features if n_paired is None else n_paired
    return n_features + n_paired * (n_paired + 1) // 2


def well_formed(X: Any, name: str = "X") -> Any:
    """Rows as they are, if all indices of a sparse matrix lie within it; else a ValueError.

    SciPy and scikit-learn trust these indices, and would read beyond the arrays. Formats without
    arrays of indices become CSR.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from hyperlocal.data.rows import well_formed
    >>> X = sp.csr_array([[1.0, 0.0], [0.0, 2.0]])
    >>> X.indices[1] = 2
    >>> well_formed(X)
    Traceback (most recent call last):
    ...
    ValueError: X is a malformed CSR matrix: indices must lie between 0 and 1. Build it anew, ...
    """
    if not sp.issparse(X) or X.ndim != 2:
        return X
    if X.format not in ("csr", "csc", "bsr", "coo"):
        X = X.tocsr()
    problem = _problem_of_coordinates(X) if X.format == "coo" else _problem_of_compressed(X)
    if problem is not None:
        raise ValueError(
            f"{name} is a malformed {X.format.upper()} matrix: {problem}. Build it anew, for "
            "instance by scipy.sparse.csr_array((values, (rows, columns)), shape)."
        )
    return X


def _problem_of_coordinates(X: Any) -> str | None:
    if not len(X.row) == len(X.col) == len(X.data):
        return "row, col and data differ in length"
    return _problem_of_indices("row", X.row, X.shape[0]) or _problem_of_indices(
        "col", X.col, X.shape[1]
    )


def _problem_of_compressed(X: Any) -> str | None:
    height, width = getattr(X, "blocksize", (1, 1))
    n_rows, n_columns = X.shape[0] // height, X.shape[1] // width
    n_major, n_minor = (n_columns, n_rows) if X.format == "csc" else (n_rows, n_columns)
    starts, indices = X.indptr, X.indices
    if len(starts) != n_major + 1 or starts.dtype.kind != "i":
        return f"indptr must hold {n_major + 1} integers"
    if starts[0] != 0 or (starts[1:] < starts[:-1]).any():
        return "indptr must begin with 0 and never decrease"
    if starts[-1] > min(len(indices), len(X.data)):
        return f"indptr ends with {starts[-1]}, which is more than there are entries"
    return _problem_of_indices("indices", indices[: starts[-1]], n_minor)


def _problem_of_indices(name: str, indices: np.ndarray, limit: int) -> str | None:
    if indices.dtype.kind != "i":
        return f"{name} must be integers"
    if len(indices) and (indices.min() < 0 or indices.max() >= limit):
        return f"{name} must lie between 0 and {limit - 1}"
    return None


def canonical(X: Any) -> Any:
    """Bring rows into the one form that the kernels read, without a copy where possible."""
    if not sp.issparse(X):
        return np.ascontiguousarray(X)
    if not _is_canonical(X):
        X = X.copy()  # without the flags of X, which may be wrong
        X.prune()
        X.sum_duplicates()
    if X.shape[1] > np.iinfo(np.int32).max:
        raise ValueError(f"X has {X.shape[1]} features; at most 2^31 - 1 are supported.")
    return X


def _is_canonical(X: Any) -> bool:
    """Whether columns increase within each row, whatever the flags of a CSR matrix say."""
    if len(X.indices) != X.indptr[-1]:
        return False
    increases = X.indices[1:] > X.indices[:-1]
    begins = X.indptr[1:-1]
    increases[begins[(begins > 0) & (begins < len(X.indices))] - 1] = True
    return bool(increases.all())


def as_csr(X: np.ndarray) -> sp.csr_array:
    """Dense rows as canonical CSR, block by block: indices of all numbers at once take more memory.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.data.rows import as_csr
    >>> as_csr(np.array([[0.0, 2.0], [3.0, 0.0]])).indices.tolist()
    [1, 0]
    """
    blocks = list(row_blocks(len(X), ROWS_PER_BLOCK))
    counts = [np.count_nonzero(X[begin:end], axis=1) for begin, end in blocks]
    ends = np.cumsum(np.concatenate([np.zeros(1, np.int64), *counts]))
    index = np.int32 if max(ends[-1], X.shape[1]) < 2**31 else np.int64
    indices, values = np.empty(ends[-1], index), np.empty(ends[-1], X.dtype)
    for begin, end in blocks:
        is_kept, place = X[begin:end] != 0, slice(ends[begin], ends[end])
        indices[place], values[place] = np.nonzero(is_kept)[1], X[begin:end][is_kept]
    return sp.csr_array((values, indices, ends.astype(index)), shape=X.shape)


def stored_as(X: Any, dtype: str, is_sparse: bool) -> Any:
    """Rows in that dtype, and as CSR or dense."""
    X = X.astype(dtype, copy=False)
    if sp.issparse(X) == is_sparse:
        return X
    return as_csr(X) if is_sparse else X.toarray()


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


def feature_moments(X: Any, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weighted means and standard deviations of features, in double precision, in row blocks.

    Squares are those of differences to the mean, so that features far from zero keep their digits.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_rows, n_features)
    shares : ndarray of shape (n_rows,)
        Weights of rows; they sum to one.

    Returns
    -------
    mean, deviation : ndarray of shape (n_features,)
        The deviation of a constant feature is zero.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.data.rows import feature_moments
    >>> mean, deviation = feature_moments(np.array([[1e9], [1e9 + 2]]), np.array([0.5, 0.5]))
    >>> mean.tolist(), deviation.tolist()
    ([1000000001.0], [1.0])
    """
    blocks = list(row_blocks(X.shape[0], max(1, NUMBERS_PER_BLOCK // max(1, X.shape[1]))))
    mean, squares = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for begin, end in blocks:
        mean += shares[begin:end] @ X[begin:end].astype(np.float64)
    for begin, end in blocks:
        part, weights = X[begin:end], shares[begin:end]
        if not sp.issparse(X):
            squares += weights @ np.square(part - mean)
            continue
        own = np.repeat(weights, np.diff(part.indptr))  # those of the stored numbers
        away = own * np.square(part.data - mean[part.indices])
        at_zero = weights.sum() - np.bincount(part.indices, own, X.shape[1])
        at_zero[np.bincount(part.indices, minlength=X.shape[1]) == end - begin] = 0
        squares += np.bincount(part.indices, away, X.shape[1])
        squares += np.maximum(at_zero, 0) * np.square(mean)
    deviation = np.sqrt(squares)
    return mean, np.where(deviation > ROUNDING * np.abs(mean), deviation, 0)
