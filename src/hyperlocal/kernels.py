"""Kernels between rows: by name, by a function, or precomputed.

There is one convention: ``gamma`` multiplies squared distances or products of rows.

=============== ================================================
"linear"        ``x·x'``
"poly"          ``(γ x·x' + coef0)^degree``
"rbf"           ``exp(−γ‖x − x'‖²)``
"chi2"          ``exp(−γ Σ_v (x_v − x'_v)²/(x_v + x'_v))``
"intersection"  ``Σ_v min(x_v, x'_v)``
"sigmoid"       ``tanh(γ x·x' + coef0)``, of scikit-learn's models
=============== ================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
GAMMAS = ("scale", "auto")
NEEDS_HISTOGRAMS = ("chi2", "intersection")
# Sparse rows up to this wide are made dense before a product: BLAS is faster there.
WIDEST_DENSE = 4096
ROWS_TO_TRY = 128
ROWS_PER_BLOCK = 1024
# How far a kernel may be from symmetric, relative to its largest value.
ASYMMETRY = {np.dtype(np.float32): 1e-3, np.dtype(np.float64): 1e-6}


def check_kernel(
    kernel: Any,
    gamma: Any,
    degree: Any,
    coef0: Any = 1.0,
    *,
    names: Iterable[str] = KERNELS,
    gammas: Iterable[str] = GAMMAS,
    gamma_name: str = "gamma",
) -> None:
    """Raise unless the arguments that describe a kernel make sense."""
    if not callable(kernel) or isinstance(kernel, type):
        check_choice("kernel", kernel, names)
    if isinstance(gamma, str):
        check_choice(gamma_name, gamma, gammas)
    else:
        check_number(gamma_name, gamma)
    check_number("degree", degree, integer=True, above=1, inclusive=True)
    check_number("coef0", coef0, inclusive=True)


@dataclass(frozen=True)
class Kernel:
    """A kernel function between two sets of rows.

    Attributes
    ----------
    name : str or callable
        One of the table above, or a function of two sets of rows that returns the matrix of their
        values.
    gamma, degree, coef0 : float
    center : ndarray of shape (n_features,) or None
        Subtracted from dense rows before Gaussian distances are computed. It changes no distance,
        but rows far from the origin keep their digits.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.kernels import Kernel
    >>> Kernel("rbf", gamma=0.5).values(np.zeros((1, 2)), np.array([[1.0, 1.0]])).round(3)
    array([[0.368]])
    """

    name: str | Callable[[Any, Any], Any]
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 1.0
    center: np.ndarray | None = None

    def values(self, X: Any, Z: Any, *, widest_dense: int = WIDEST_DENSE) -> np.ndarray:
        """Kernel values between all pairs of rows.

        Parameters
        ----------
        X : ndarray or CSR of shape (n_rows, n_features)
        Z : ndarray or CSR of shape (n_others, n_features)
        widest_dense : int
            Sparse rows of at most so many features are made dense first.

        Returns
        -------
        ndarray of shape (n_rows, n_others)
            In the dtype of ``X``.
        """
        if callable(self.name):
            return _checked_values(self.name, X, Z)
        if self.name == "chi2" or X.shape[1] <= widest_dense:
            X, Z = _dense(X), _dense(Z)
        if self.name == "rbf":
            return self._gaussian(X, Z)
        if self.name == "chi2":
            return chi2_kernel(X, Z, gamma=self.gamma).astype(X.dtype, copy=False)
        if self.name == "intersection":
            return _intersection(X, Z)
        values = _products(X, Z)
        if self.name == "poly":
            values *= values.dtype.type(self.gamma)
            values += values.dtype.type(self.coef0)
            values **= int(self.degree)
        if self.name == "sigmoid":
            values *= values.dtype.type(self.gamma)
            values += values.dtype.type(self.coef0)
            np.tanh(values, out=values)
        return values

    def _gaussian(self, X: Any, Z: Any) -> np.ndarray:
        if self.center is not None:
            X, Z = X - self.center, Z - self.center
        values = _products(X, Z)
        values *= -2
        values += row_norms(X, squared=True)[:, None]
        values += row_norms(Z, squared=True)
        np.maximum(values, 0, out=values)  # rounding may leave a distance below zero
        values *= values.dtype.type(-self.gamma)
        return np.exp(values, out=values)


def make_kernel(name: Any, gamma: Any, degree: int, coef0: float, X: Any) -> Kernel:
    """The kernel for training rows ``X``; raises where they do not fit together."""
    if name in NEEDS_HISTOGRAMS and X.shape[0] and X.min() < 0:
        raise ValueError(
            f"Negative values in data X, but kernel='{name}' compares histograms; use another "
            "kernel, or features of at least 0."
        )
    center = None
    if name == "rbf" and not sp.issparse(X):
        center = X.mean(axis=0, dtype=np.float64).astype(X.dtype)
    kernel = Kernel(name, gamma_value(gamma, name, X), int(degree), float(coef0), center)
    if callable(name):
        tried = take_rows(X, np.linspace(0, X.shape[0] - 1, ROWS_TO_TRY).astype(int))
        _check_symmetric(kernel.values(tried, tried), "the values of kernel")
    return kernel


def gamma_value(gamma: Any, name: Any, X: Any) -> float:
    """``γ`` as a number.

    "scale" is one over the number of features times their variance and "auto" one over the number
    of features, as in scikit-learn's ``SVC``. "scale" is 1 for rows that do not vary and for the χ²
    kernel, whose distances do not depend on the scale of the features in the same way.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.kernels import gamma_value
    >>> gamma_value("auto", "rbf", np.zeros((3, 5)))
    0.2
    """
    if gamma == "auto":
        return 1.0 / X.shape[1]
    if gamma != "scale":
        return float(gamma)
    variance = 0.0 if name == "chi2" else _variance(X)
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


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
        difference = float(np.abs(K[begin:end] - K[:, begin:end].T).max())
        if difference > allowed:
            raise ValueError(
                f"{what} must be symmetric, k(a, b) = k(b, a); they differ by up to "
                f"{difference:.2g}."
            )


def _checked_values(function: Callable[[Any, Any], Any], X: Any, Z: Any) -> np.ndarray:
    """What a user's function returns, dense or sparse, as a copy that may be written to."""
    values = np.array(_dense(function(X, Z)), dtype=X.dtype, order="C")
    wanted = X.shape[0], Z.shape[0]
    if values.shape != wanted:
        raise ValueError(
            f"kernel returned an array of shape {values.shape} for {wanted[0]} and {wanted[1]} "
            f"rows; it must return one value per pair of rows: {wanted}."
        )
    if not np.isfinite(values).all():
        raise ValueError("kernel returned NaN or infinity; it must return finite numbers.")
    return values


def _variance(X: Any) -> float:
    """Of all numbers of the rows together."""
    if not sp.issparse(X):
        return float(X.var(dtype=np.float64))
    size = X.shape[0] * X.shape[1]
    mean = X.sum(dtype=np.float64) / size
    squares = np.square(X.data - mean, dtype=np.float64).sum() + (size - X.nnz) * mean * mean
    return float(squares / size)


def _dense(X: Any) -> np.ndarray:
    return X.toarray() if sp.issparse(X) else X


def _products(X: Any, Z: Any) -> np.ndarray:
    return _dense(X @ Z.T)


def _intersection(X: Any, Z: Any) -> np.ndarray:
    """``Σ_v min(x_v, z_v) = ½ (Σ x + Σ z − Σ |x − z|)``."""
    values = manhattan_distances(X, Z)
    values *= -0.5
    values += 0.5 * np.asarray(X.sum(axis=1)).reshape(-1, 1)
    values += 0.5 * np.asarray(Z.sum(axis=1)).ravel()
    return values.astype(X.dtype, copy=False)
