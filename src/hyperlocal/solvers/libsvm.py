"""Kernel SVMs on a Gram matrix, one per column, by LIBSVM.

    max_α Σ_i α_i − ½ Σ_ij α_i α_j y_i y_j K_ij,   0 ≤ α_i ≤ C_i,   Σ_i α_i y_i = 0

The last constraint means that the bias is not penalized, unlike in the linear solvers. The Gram
matrix is held whole: for small data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.svm import SVC

from .. import kernels
from ..kernels import Kernel

KERNELS = ("linear", "rbf", "poly")
MOST_ROWS = 10_000
# LIBSVM stops on the violation of the optimality conditions, not on the duality gap.
LOOSEST_TOLERANCE = 1e-3


def check_kernel(
    kernel: Any, gamma: Any, degree: Any, loss: str, *, gamma_name: str = "gamma"
) -> None:
    """Raise unless the arguments that describe a kernel make sense."""
    kernels.check_kernel(kernel, gamma, degree, names=KERNELS, gamma_name=gamma_name)
    if kernel != "linear" and loss != "hinge":
        raise ValueError(f"kernel={kernel!r} needs loss='hinge'; loss={loss!r} is for 'linear'.")


def check_size(n_rows: int, what: str) -> None:
    """Raise where the Gram matrix would be too large to hold."""
    if n_rows > MOST_ROWS:
        raise ValueError(
            f"a kernel needs the products of all pairs of rows, and {what} has {n_rows} rows, more "
            f"than {MOST_ROWS}; use kernel='linear' for data of this size."
        )


def make_kernel(kernel: Any, gamma: Any, degree: int, rows: np.ndarray) -> Kernel:
    """The kernel that arguments name, for training rows; ``coef0`` is 1."""
    return kernels.make_kernel(kernel, gamma, degree, 1.0, rows)


def gram_matrix(kernel: Kernel, rows: np.ndarray) -> np.ndarray:
    """Kernel values of rows among themselves, in double precision as LIBSVM takes them."""
    rows = rows.astype(np.float64, copy=False)
    return kernel.values(rows, rows)


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

    A column that has one label only gets that label as its score.
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
