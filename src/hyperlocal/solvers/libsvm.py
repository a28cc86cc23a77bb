"""Kernel SVMs on a Gram matrix, one per column, by LIBSVM.

    max_α Σ_i α_i − ½ Σ_ij α_i α_j y_i y_j K_ij,   0 ≤ α_i ≤ C_i,   Σ_i α_i y_i = 0

The last constraint means that the bias is not penalised, unlike in the linear solvers. The Gram
matrix is held whole: for small data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.svm import SVC

from ..data.arguments import check_choice, check_number
from ..runtime.threads import row_blocks

KERNELS = ("linear", "rbf", "poly")
MOST_ROWS = 10_000
# LIBSVM stops on the violation of the optimality conditions, not on the duality gap.
LOOSEST_TOLERANCE = 1e-3
VALUES_PER_BLOCK = 1 << 22


def check_kernel(kernel: Any, gamma: Any, degree: Any, loss: str) -> None:
    """Raise unless the arguments that describe a kernel make sense."""
    if not callable(kernel) or isinstance(kernel, type):
        check_choice("kernel", kernel, KERNELS)
    if isinstance(gamma, str):
        check_choice("gamma", gamma, ["scale"])
    else:
        check_number("gamma", gamma)
    check_number("degree", degree, integer=True, above=1, inclusive=True)
    if kernel != "linear" and loss != "hinge":
        raise ValueError(f"kernel={kernel!r} needs loss='hinge'; loss={loss!r} is for 'linear'.")


def check_size(n_rows: int, what: str) -> None:
    """Raise where the Gram matrix would be too large to hold."""
    if n_rows > MOST_ROWS:
        raise ValueError(
            f"a kernel needs the products of all pairs of rows, and {what} has {n_rows} rows, more "
            f"than {MOST_ROWS}; use kernel='linear' for data of this size."
        )


@dataclass(frozen=True)
class Kernel:
    """``k(a, b)`` for all pairs of rows of two arrays."""

    name: Any
    gamma: float
    degree: int

    def __call__(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        A, B = A.astype(np.float64, copy=False), B.astype(np.float64, copy=False)
        if self.name == "rbf":
            return rbf_kernel(A, B, gamma=self.gamma)
        if self.name == "poly":
            return polynomial_kernel(A, B, degree=self.degree, gamma=self.gamma, coef0=1)
        products = np.asarray(self.name(A, B), dtype=np.float64)
        if products.shape != (len(A), len(B)) or not np.isfinite(products).all():
            raise ValueError(
                f"kernel must turn {len(A)} and {len(B)} rows into a finite array of shape "
                f"({len(A)}, {len(B)}); it returned one of shape {products.shape}."
            )
        return products


def make_kernel(kernel: Any, gamma: Any, degree: int, rows: np.ndarray) -> Kernel:
    """The kernel that arguments name; ``gamma="scale"`` is one over the rows' total variance."""
    if gamma == "scale":
        variance = rows.shape[1] * float(rows.astype(np.float64, copy=False).var())
        gamma = 1 / variance if variance > 0 else 1.0
    return Kernel(kernel, float(gamma), int(degree))


@dataclass
class KernelResult:
    """What LIBSVM found.

    Attributes
    ----------
    coef : ndarray of shape (n_rows, n_columns)
        ``α_i y_i``.
    intercept : ndarray of shape (n_columns,)
    n_iter : int
    objective, duality_gap : float
        Summed over columns.
    """

    coef: np.ndarray
    intercept: np.ndarray
    n_iter: int
    objective: float
    duality_gap: float


def solve(gram: np.ndarray, labels: np.ndarray, costs: np.ndarray, tol: float) -> KernelResult:
    """One SVM per column of ``labels`` (±1), with a hinge loss of cost ``costs`` per row.

    A column of one label only is answered with that label.
    """
    n_rows, n_columns = labels.shape
    coef, intercept = np.zeros((n_rows, n_columns)), np.zeros(n_columns)
    n_iter = 0
    for column in range(n_columns):
        y = labels[:, column]
        if (y == y[0]).all():
            intercept[column] = y[0]
            continue
        machine = SVC(C=1.0, kernel="precomputed", tol=min(tol, LOOSEST_TOLERANCE))
        machine.fit(gram, y, sample_weight=costs)
        coef[machine.support_, column] = machine.dual_coef_[0]
        intercept[column] = machine.intercept_[0]
        n_iter = max(n_iter, int(np.max(machine.n_iter_)))
    outputs = gram @ coef
    half_norm = 0.5 * float((coef * outputs).sum())
    slack = np.maximum(0, 1 - labels * (outputs + intercept))
    objective = half_norm + float(costs @ slack.sum(axis=1))
    dual_value = float(np.abs(coef).sum()) - half_norm
    return KernelResult(coef, intercept, n_iter, objective, objective - dual_value)


@dataclass
class KernelMachine:
    """A fitted kernel SVM: ``f_c(x) = Σ_i (γ(x)·g_i) k(x, x_i) coef_ic + b_c``.

    Attributes
    ----------
    kernel : Kernel
    support : ndarray of shape (n_support, p)
        Support vectors ``x_i``.
    gate : ndarray of shape (n_support, n_clusters) or None
        ``g_i``; None where there is no gate.
    coef : ndarray of shape (n_support, n_columns)
    intercept : ndarray of shape (n_columns,)
    """

    kernel: Kernel
    support: np.ndarray
    gate: np.ndarray | None
    coef: np.ndarray
    intercept: np.ndarray

    def scores(self, rows: np.ndarray, gate: Any = None) -> np.ndarray:
        """Scores of rows, in blocks; ``gate`` holds their codes as CSR."""
        out = np.tile(self.intercept, (len(rows), 1))
        if not len(self.support):
            return out
        for begin, end in row_blocks(len(rows), max(1, VALUES_PER_BLOCK // len(self.support))):
            values = self.kernel(rows[begin:end], self.support)
            if self.gate is not None:
                values *= gate[begin:end] @ self.gate.T
            out[begin:end] += values @ self.coef
        return out


def machine_of(
    result: KernelResult, kernel: Kernel, rows: np.ndarray, gate: np.ndarray | None
) -> KernelMachine:
    """Keep the support vectors of a result."""
    used = result.coef.any(axis=1)
    return KernelMachine(
        kernel, rows[used], None if gate is None else gate[used], result.coef[used],
        result.intercept,
    )  # fmt: skip
