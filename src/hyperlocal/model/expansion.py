"""Sums of kernel values with some rows: what explanations need of a kernel SVM."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..kernel_paths import kernel_gradients, path_averages
from ..kernels import Kernel
from ..maps.base import FeatureMap
from ..runtime.threads import Workers, row_blocks
from .explanation import LocalRows

# Some megabytes of kernel values at a time.
VALUES_PER_BLOCK = 1 << 18


@dataclass(frozen=True)
class ExpansionModel:
    """``f_c(x) = Σ_j a_jc k(x, z_j) + b_c``.

    Attributes
    ----------
    kernel : Kernel
    support : ndarray of shape (n_support, n_features)
        ``z``.
    coef : ndarray of shape (n_support, n_columns)
        ``a``.
    intercept : ndarray of shape (n_columns,)
    """

    kernel: Kernel
    support: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray

    @property
    def feature_map(self) -> FeatureMap:
        """The identity."""
        return FeatureMap(self.n_features_in)

    @property
    def n_columns(self) -> int:
        """Columns of scores."""
        return self.coef.shape[1]

    @property
    def n_features_in(self) -> int:
        """Features of a row."""
        return self.support.shape[1]

    @property
    def dtype(self) -> np.dtype:
        """Double precision."""
        return np.dtype(np.float64)

    def scores(self, X: Any, workers: Workers) -> np.ndarray:
        """Scores of rows, ``(n_rows, n_columns)``."""
        scores = np.empty((X.shape[0], self.n_columns))

        def fill(block: tuple[int, int]) -> None:
            values = self.kernel.values(_dense(X[slice(*block)]), self.support)
            scores[slice(*block)] = values @ self.coef + self.intercept

        workers.map(fill, self._blocks(X))
        return scores

    def local_rows(self, X: Any, workers: Workers) -> Iterator[LocalRows]:
        """The linear model at each row: gradients averaged on the way from zero."""
        origin = np.zeros((1, self.n_features_in))
        at_origin = self.scores(origin, workers)
        for begin, end in self._blocks(X):
            rows = _dense(X[begin:end])
            [coef] = self.path_weights(rows, origin, workers)
            intercept = np.repeat(at_origin, len(rows), axis=0)
            normals = kernel_gradients(self.kernel, rows, self.support, self.coef)
            yield LocalRows(coef, intercept, rows, no_anchors, normals)

    def path_weights(
        self, X: Any, references: np.ndarray, workers: Workers
    ) -> Iterator[np.ndarray]:
        """Gradients averaged on the way from each reference to rows."""
        rows, blocks = _dense(X), list(self._blocks(X))
        for reference in references:

            def average(block: tuple[int, int], start: np.ndarray = reference) -> np.ndarray:
                part = rows[slice(*block)]
                return path_averages(self.kernel, part, start, self.support, self.coef)

            yield np.concatenate(list(workers.map(average, blocks)))

    def _blocks(self, X: Any) -> Iterator[tuple[int, int]]:
        return row_blocks(X.shape[0], max(1, VALUES_PER_BLOCK // max(1, len(self.support))))


def linear_expansion(coef: np.ndarray, intercept: np.ndarray) -> ExpansionModel:
    """A linear model of weights ``(n_columns, n_features)`` as an expansion.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.model.expansion import linear_expansion
    >>> from hyperlocal.runtime.threads import Workers
    >>> model = linear_expansion(np.array([[1.0, 2.0]]), np.array([3.0]))
    >>> model.scores(np.array([[1.0, 1.0]]), Workers(1))
    array([[6.]])
    """
    coef = np.asarray(_dense(coef), np.float64)
    return ExpansionModel(Kernel("linear"), coef, np.eye(len(coef)), np.asarray(intercept))


def no_anchors(best: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """There are no local models."""
    for _ in best:
        yield np.empty(0, np.intp), np.empty(0), np.empty(0)


def _dense(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if sp.issparse(X) else X, np.float64)
