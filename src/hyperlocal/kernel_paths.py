"""Gradients of sums of kernel values, averaged on the way from a reference to a row.

The average gradient is an exact linear model: times ``x − x₀`` it is the change of the score. For a
linear model it is the weight vector.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import erf, erfcx
from sklearn.utils.extmath import row_norms

from .kernels import Kernel

# Up to such a change of the exponent along a path, Gauss–Legendre with so many nodes is exact to
# rounding. The closed form of the Gaussian would subtract nearly equal numbers there, and on short
# paths (γ‖u‖² up to a bound) also where the exponent changes more.
SMALL_CHANGE, FEW_NODES = 0.5, 8
LARGE_CHANGE, PATH_NODES = 4.0, 16
SHORT_PATH = 0.02
# Relative step of central differences, for kernels that are functions.
DIFFERENCE_STEP = 1e-5


def path_averages(
    kernel: Kernel,
    X: np.ndarray,
    reference: np.ndarray,
    Z: np.ndarray,
    coef: np.ndarray,
    factors: np.ndarray | None = None,
) -> np.ndarray:
    """Gradients of ``f_c(x) = Σ_j a_jc k(x, z_j)``, averaged on the way from a reference to rows.

    ``w_c(x) = ∫₀¹ ∇f_c(x₀ + t (x − x₀)) dt``, so that ``f_c(x) = f_c(x₀) + w_c(x)·(x − x₀)``. The
    linear, polynomial and sigmoid kernels, the Gaussian and the intersection of histograms have a
    closed form. For the others the integral is by Gauss–Legendre (and the gradients of functions
    by differences): they leave a remainder ``f_c(x) − f_c(x₀) − w_c(x)·(x − x₀)``.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray of shape (n_rows, n_features)
    reference : ndarray of shape (n_features,)
        ``x₀``.
    Z : ndarray of shape (n_others, n_features)
    coef : ndarray of shape (n_others, n_columns)
        ``a``.
    factors : ndarray of shape (n_rows, n_others), optional
        Multiply ``a`` for each row.

    Returns
    -------
    ndarray of shape (n_rows, n_columns, n_features)

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.kernels import Kernel
    >>> from hyperlocal.kernel_paths import path_averages
    >>> x, x0, Z, a = np.array([[2.0]]), np.array([0.0]), np.array([[1.0]]), np.array([[3.0]])
    >>> kernel = Kernel("rbf", gamma=0.5)
    >>> weight = path_averages(kernel, x, x0, Z, a)[0, 0]
    >>> change = 3 * (kernel.values(x, Z) - kernel.values(x0[None], Z))[0]
    >>> bool(abs(weight @ (x[0] - x0) - change[0]) < 1e-12)
    True
    """
    X, Z, coef = (np.asarray(one, np.float64) for one in (X, Z, coef))
    reference = np.asarray(reference, np.float64)
    if kernel.name == "rbf":
        return _gaussian_averages(kernel.gamma, X - reference, Z - reference, coef, factors)
    if kernel.name in ("linear", "poly", "sigmoid"):
        slopes = _product_slopes(kernel, X @ Z.T, Z @ reference)
        slopes = slopes if factors is None else slopes * factors
        return np.stack([(slopes * column) @ Z for column in coef.T], axis=1)
    if kernel.name == "intersection":
        return _intersection_averages(X, reference, Z, coef, factors)
    return _numeric_averages(kernel, X, reference, Z, coef, factors)


def kernel_gradients(kernel: Kernel, X: np.ndarray, Z: np.ndarray, coef: np.ndarray) -> np.ndarray:
    """Gradients of ``f_c(x) = Σ_j a_jc k(x, z_j)`` at rows, ``(n_rows, n_columns, n_features)``.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray of shape (n_rows, n_features)
    Z : ndarray of shape (n_others, n_features)
    coef : ndarray of shape (n_others, n_columns)

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.kernels import Kernel
    >>> from hyperlocal.kernel_paths import kernel_gradients
    >>> kernel_gradients(Kernel("linear"), np.eye(2), np.array([[3.0, 4.0]]), np.ones((1, 1)))[0]
    array([[3., 4.]])
    """
    if kernel.name == "rbf":
        values = kernel.values(X, Z)
        parts = [(values * a) @ Z - X * (values @ a)[:, None] for a in coef.T]
        return 2 * kernel.gamma * np.stack(parts, axis=1)
    if kernel.name in ("linear", "poly", "sigmoid"):
        products = X @ Z.T
        slopes = _product_slopes(kernel, products, products)
        return np.stack([(slopes * a) @ Z for a in coef.T], axis=1)
    if kernel.name == "intersection":
        return np.concatenate([_intersection_averages(x[None], x, Z, coef, None) for x in X])
    return np.concatenate([_numeric_averages(kernel, x[None], x, Z, coef, None, 1) for x in X])


def _product_slopes(kernel: Kernel, at_row: np.ndarray, at_reference: np.ndarray) -> np.ndarray:
    """``(k(x, z) − k(x₀, z)) / (x·z − x₀·z)`` for kernels of products, without the division."""
    if kernel.name == "linear":
        return np.ones_like(at_row)
    one, other = (kernel.gamma * part + kernel.coef0 for part in (at_row, at_reference))
    if kernel.name == "sigmoid":  # (tanh b − tanh a)/(b − a) = sinhc(b − a)/(cosh a cosh b)
        half = 0.5 * np.abs(one - other)
        ratio = np.divide(-np.expm1(-4 * half), 4 * half, out=np.ones_like(half), where=half > 0)
        # In exponentials that do not overflow: |b − a| ≤ |a| + |b|.
        decay = np.exp(2 * half - np.abs(one) - np.abs(other))
        tails = (1 + np.exp(-2 * np.abs(one))) * (1 + np.exp(-2 * np.abs(other)))
        return kernel.gamma * 4 * ratio * decay / tails
    slopes = np.zeros_like(at_row)
    for k in range(kernel.degree):
        slopes += one**k * other ** (kernel.degree - 1 - k)
    return kernel.gamma * slopes


def _gaussian_averages(
    gamma: float, U: np.ndarray, V: np.ndarray, coef: np.ndarray, factors: np.ndarray | None
) -> np.ndarray:
    """``2γ (Σ_j a_j I₀ v_j − u Σ_j a_j I₁)`` with ``u = x − x₀`` and ``v_j = z_j − x₀``.

    ``I_m = ∫ t^m exp(−γ‖t u − v‖²) dt``.
    """
    lengths = row_norms(U, squared=True)
    zeroth, first = _gaussian_moments(gamma, lengths[:, None], U @ V.T, row_norms(V, squared=True))
    if factors is not None:
        zeroth, first = zeroth * factors, first * factors
    parts = [(zeroth * a) @ V - U * (first @ a)[:, None] for a in coef.T]
    return 2 * gamma * np.stack(parts, axis=1)


def _gaussian_moments(
    gamma: float, A: np.ndarray, B: np.ndarray, C: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """``I₀`` and ``I₁`` of ``exp(−γ(C − 2tB + t²A))``, for all pairs of a row and a vector."""
    C = np.broadcast_to(C, B.shape)
    A = np.broadcast_to(A, B.shape)
    zeroth, first = np.empty_like(B), np.empty_like(B)
    change = gamma * (A + 2 * np.abs(B))
    few = change <= SMALL_CHANGE
    many = ~few & (gamma * A <= SHORT_PATH) & (change <= LARGE_CHANGE)
    for part, n_nodes in ((few, FEW_NODES), (many, PATH_NODES)):
        if part.any():
            zeroth[part], first[part] = _moments_by_nodes(gamma, A[part], B[part], C[part], n_nodes)
    rest = ~(few | many)
    if rest.all():
        return _moments_by_erf(gamma, A, B, C)
    if rest.any():
        zeroth[rest], first[rest] = _moments_by_erf(gamma, A[rest], B[rest], C[rest])
    return zeroth, first


def _moments_by_nodes(
    gamma: float, A: np.ndarray, B: np.ndarray, C: np.ndarray, n_nodes: int
) -> tuple[np.ndarray, np.ndarray]:
    zeroth, first = np.zeros_like(B), np.zeros_like(B)
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
    for t, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        values = weight * np.exp(-gamma * np.maximum(C - 2 * t * B + t * t * A, 0))
        zeroth += values
        first += t * values
    return zeroth, first


def _moments_by_erf(
    gamma: float, A: np.ndarray, B: np.ndarray, C: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The closed forms.

    With the foot of ``v`` on the path at ``t = p``, erf has arguments of one sign where ``p`` is
    outside of the path; there the scaled complement erfcx keeps all digits.
    """
    p, r = B / A, np.sqrt(gamma * A)
    start = np.exp(-gamma * C)
    end = np.exp(-gamma * np.maximum(A - 2 * B + C, 0))
    total = np.empty_like(B)
    inside = (p >= 0) & (p <= 1)
    rp, rest = (r * p)[inside], (r * (1 - p))[inside]
    total[inside] = np.exp(-gamma * np.maximum(C - B * p, 0)[inside]) * (erf(rest) + erf(rp))
    outside = ~inside
    # Positive where the foot is before the path; beyond it, start and end change places.
    before, after = np.abs(r * p)[outside], np.abs(r * (p - 1))[outside]
    one, other = start[outside] * erfcx(before), end[outside] * erfcx(after)
    total[outside] = np.where(p[outside] < 0, one - other, other - one)
    zeroth = total * np.sqrt(np.pi) / (2 * r)
    return zeroth, (start - end) / (2 * gamma * A) + p * zeroth


def _intersection_averages(
    X: np.ndarray,
    reference: np.ndarray,
    Z: np.ndarray,
    coef: np.ndarray,
    factors: np.ndarray | None,
) -> np.ndarray:
    """Of ``Σ_v min(x_v, z_v)``: each feature adds what its own minimum changes by."""
    averages = np.empty((len(X), coef.shape[1], X.shape[1]))
    for v, (start, others) in enumerate(zip(reference, Z.T, strict=True)):
        change = (X[:, v] - start)[:, None]
        slopes = np.minimum(X[:, v, None], others) - np.minimum(start, others)
        # Where the feature stays as it is, its derivative there.
        slopes = np.divide(
            slopes, change, out=np.array(X[:, v, None] < others, float), where=change != 0
        )
        averages[:, :, v] = (slopes if factors is None else slopes * factors) @ coef
    return averages


def _numeric_averages(
    kernel: Kernel,
    X: np.ndarray,
    reference: np.ndarray,
    Z: np.ndarray,
    coef: np.ndarray,
    factors: np.ndarray | None,
    n_nodes: int = PATH_NODES,
) -> np.ndarray:
    averages = np.zeros((len(X), coef.shape[1], X.shape[1]))
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
    slopes_at = _chi2_slopes if kernel.name == "chi2" else _difference_slopes
    for t, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        points = reference + t * (X - reference)
        for v, slopes in enumerate(slopes_at(kernel, points, Z)):
            slopes = slopes if factors is None else slopes * factors
            averages[:, :, v] += weight * (slopes @ coef)
    return averages


def _difference_slopes(kernel: Kernel, points: np.ndarray, Z: np.ndarray) -> Iterator[np.ndarray]:
    """Derivatives of the kernel values by one feature after the other: central differences."""
    for v, step in enumerate(DIFFERENCE_STEP * np.maximum(1.0, np.abs(Z).max(axis=0, initial=0))):
        change = np.zeros(points.shape[1])
        change[v] = step
        yield (kernel.values(points + change, Z) - kernel.values(points - change, Z)) / (2 * step)


def _chi2_slopes(kernel: Kernel, points: np.ndarray, Z: np.ndarray) -> Iterator[np.ndarray]:
    """The same of ``exp(−γ Σ_v (x_v − z_v)² / (x_v + z_v))``, whose features are not negative."""
    values = -kernel.gamma * kernel.values(points, Z)
    for x, z in zip(points.T[:, :, None], Z.T, strict=True):
        # (x − z)(x + 3z) / (x + z)², which is 1 for z = 0.
        total = x + z
        share = np.divide(z, total, out=np.zeros_like(total), where=total > 0)
        yield values * (1 - 2 * share) * (1 + 2 * share)
