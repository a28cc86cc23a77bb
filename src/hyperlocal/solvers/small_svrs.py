"""One kernel SVR per query, on its nearest training rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from ..data.rows import core_rows
from .small_svms import NeighborhoodSolver, SvmOptions


class ValueSolver(NeighborhoodSolver):
    """Local SVRs over training rows, with a column of scores for each target.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_rows, n_features)
    values : ndarray of float64, shape (n_rows, n_targets)
    costs : ndarray of float64, shape (n_rows,)
        The largest dual variable of each row, ``C s_i``.
    epsilon : float
        Smaller residuals cost nothing.
    options : SvmOptions
    """

    def __init__(
        self, X: Any, values: np.ndarray, costs: np.ndarray, epsilon: float, options: SvmOptions
    ):
        self.values, self.epsilon = np.ascontiguousarray(values, np.float64), epsilon
        super().__init__(X, np.zeros(len(values), np.int32), costs, values.shape[1], options)

    @property
    def n_columns(self) -> int:
        """Columns of scores: one for each target."""
        return self.values.shape[1]

    def _made_core(self, costs: np.ndarray) -> Any:
        return _core.valued_neighborhood(
            core_rows(self.X), self.values, costs, self.epsilon, self.options.core()
        )

    def _are_solved(self, indices: np.ndarray) -> np.ndarray:
        return np.ones(len(indices), bool)

    def _column_starts(self, indices: np.ndarray, scales: np.ndarray) -> np.ndarray:
        return self.n_columns * np.arange(len(indices) + 1, dtype=np.int64)
