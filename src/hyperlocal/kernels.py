"""Kernels between rows, in blocks: by name, by a function, or precomputed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import chi2_kernel, manhattan_distances
from sklearn.utils.extmath import row_norms

from .data.arguments import check_choice, check_number
from .data.rows import take_rows
from .runtime.threads import row_blocks

KERNELS = ("linear", "poly", "rbf", "chi2", "intersection", "precomputed")
NEEDS_HISTOGRAMS = ("chi2", "intersection")
# Sparse rows up to this wide are written out before a product: BLAS beats sparse products there.
WIDEST_WRITTEN_OUT = 4096
ROWS_TO_TRY = 128
ROWS_PER_BLOCK = 1024
# How far a kernel may be from symmetric, relative to its largest value.
ASYMMETRY = {np.dtype(np.float32): 1e-3, np.dtype(np.float64): 1e-6}


def check_kernel_arguments(kernel: Any, gamma: Any, degree: Any, coef0: Any) -> None:
    """Raise unless the arguments that describe a kernel make sense."""
    if not callable(kernel):
        if not isinstance(kernel, str):
            raise TypeError(f"kernel must be a function or one of {list(KERNELS)}, not {kernel!r}.")
        check_choice("kernel", kernel, KERNELS)
    if isinstance(gamma, str):
        check_choice("gamma", gamma, ["scale"])
    else:
        check_number("gamma", gamma)
    check_number("degree", degree, integer=True, above=1, inclusive=True)
    check_number("coef0", coef0, inclusive=True)


@dataclass(frozen=True)
class Kernel:
    """A kernel function between two sets of rows.

    Attributes
    ----------
    kind : str or callable
    gamma, degree, coef0 : float
    constant : float
        Added to every value: the product of the constant features.
    center : ndarray or None
        Taken off dense rows before Gaussian distances, which do not change but keep their digits.
    """

    kind: str | Callable[[Any, Any], Any]
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 1.0
    constant: float = 0.0
    center: np.ndarray | None = None

    def __call__(self, A: Any, B: Any) -> np.ndarray:
        """Values ``(n_rows of A, n_rows of B)`` in the rows' dtype."""
        values = self._function(A, B) if callable(self.kind) else self._named(A, B)
        if self.constant:
            values += values.dtype.type(self.constant)
        return values

    def _named(self, A: Any, B: Any) -> np.ndarray:
        A, B = _written_out(A, self.kind), _written_out(B, self.kind)
        if self.kind == "rbf":
            return self._gaussian(A, B)
        if self.kind == "chi2":
            return chi2_kernel(A, B, gamma=self.gamma).astype(A.dtype, copy=False)
        if self.kind == "intersection":
            return _intersection(A, B)
        values = _products(A, B)
        if self.kind == "poly":
            values *= values.dtype.type(self.gamma)
            values += values.dtype.type(self.coef0)
            values **= int(self.degree)
        return values

    def _gaussian(self, A: Any, B: Any) -> np.ndarray:
        if self.center is not None:
            A, B = A - self.center, B - self.center
        values = _products(A, B)
        values *= -2
        values += row_norms(A, squared=True)[:, None]
        values += row_norms(B, squared=True)
        np.maximum(values, 0, out=values)  # rounding may leave a distance below zero
        values *= values.dtype.type(-self.gamma)
        return np.exp(values, out=values)

    def _function(self, A: Any, B: Any) -> np.ndarray:
        assert callable(self.kind)
        values = np.array(self.kind(A, B), dtype=A.dtype, order="C")  # a copy: we add to it
        if values.shape != (A.shape[0], B.shape[0]):
            raise ValueError(
                f"kernel returned an array of shape {values.shape} for {A.shape[0]} and "
                f"{B.shape[0]} rows; it must return one value per pair: "
                f"({A.shape[0]}, {B.shape[0]})."
            )
        if not np.isfinite(values).all():
            raise ValueError("kernel returned NaN or infinity; it must return finite numbers.")
        return values


def fit_kernel(kind: Any, gamma: Any, degree: int, coef0: float, X: Any) -> Kernel:
    """The kernel for training rows; raises where they do not fit together.

    ``gamma="scale"`` is one over the number of features times their variance, as in scikit-learn's
    ``SVC``, and 1 for the χ² kernel, whose distances have a scale of their own.
    """
    if kind in NEEDS_HISTOGRAMS and X.shape[0] and X.min() < 0:
        raise ValueError(
            f"Negative values in data X, but kernel='{kind}' compares histograms; use another "
            "kernel, or features of at least 0."
        )
    if gamma == "scale":
        gamma = 1.0 if kind == "chi2" else _typical_gamma(X)
    center = None
    if kind == "rbf" and not sp.issparse(X):
        center = X.mean(axis=0, dtype=np.float64).astype(X.dtype)
    kernel = Kernel(kind, float(gamma), int(degree), float(coef0), center=center)
    if callable(kind):
        tried = take_rows(X, np.linspace(0, X.shape[0] - 1, ROWS_TO_TRY).astype(int))
        _check_symmetric(kernel(tried, tried), "the values of kernel")
    return kernel


def check_precomputed(K: Any) -> None:
    """Raise unless a kernel matrix of training rows is square and symmetric."""
    if sp.issparse(K):
        raise ValueError("kernel='precomputed' needs a dense matrix; X is sparse.")
    if K.shape[0] != K.shape[1]:
        raise ValueError(
            "kernel='precomputed' needs the square matrix of kernel values between training rows; "
            f"X has shape {K.shape}."
        )
    _check_symmetric(K, "X (the precomputed kernel)")


def _check_symmetric(K: np.ndarray, what: str) -> None:
    largest = max(float(K.max()), -float(K.min()))
    allowed = ASYMMETRY[K.dtype] * largest
    for begin, end in row_blocks(len(K), ROWS_PER_BLOCK):
        if np.abs(K[begin:end] - K[:, begin:end].T).max() > allowed:
            raise ValueError(
                f"{what} must be symmetric, k(a, b) = k(b, a); they differ by up to "
                f"{np.abs(K[begin:end] - K[:, begin:end].T).max():.2g}."
            )


def _typical_gamma(X: Any) -> float:
    if sp.issparse(X):
        mean = X.sum(dtype=np.float64) / (X.shape[0] * X.shape[1])
        squares = np.square(X.data, dtype=np.float64).sum() / (X.shape[0] * X.shape[1])
        variance = squares - mean * mean
    else:
        variance = float(X.var(dtype=np.float64))
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


def _written_out(rows: Any, kind: Any) -> Any:
    if not sp.issparse(rows):
        return rows
    return rows.toarray() if kind == "chi2" or rows.shape[1] <= WIDEST_WRITTEN_OUT else rows


def _products(A: Any, B: Any) -> np.ndarray:
    values = A @ B.T
    return values.toarray() if sp.issparse(values) else values


def _intersection(A: Any, B: Any) -> np.ndarray:
    """``Σ_v min(a_v, b_v) = ½ (Σ a + Σ b − Σ |a − b|)``."""
    values = manhattan_distances(A, B)
    values *= -0.5
    values += 0.5 * np.asarray(A.sum(axis=1)).reshape(-1, 1)
    values += 0.5 * np.asarray(B.sum(axis=1)).ravel()
    return values.astype(A.dtype, copy=False)
