"""The SVM that scores a query, written out: what explanations of neighborhoods need.

A query is scored by an SVM of its own, or by that of a center. Its explanation is about that SVM:
it is held fixed, and contributions are relative to the mean of the rows that it was trained on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..data.rows import take_rows
from ..kernel_paths import path_averages
from ..kernels import Kernel
from ..model.contributions import as_dense
from ..model.target_scale import TargetScale
from ..neighbors.base import Neighbors
from ..runtime.threads import Workers
from ..solvers.small_svms import LocalSvms, NeighborhoodSolver
from ..solvers.small_svrs import ValueSolver


@dataclass(frozen=True)
class QueryModel:
    """``f_c(x) = Σ_i a_ic k(x − o, z_i − o) + b_c``, the SVM of one query.

    Attributes
    ----------
    kernel : Kernel
    origin : ndarray of shape (n_features,)
        ``o``: the query, or the center that it is scored by.
    support : ndarray of shape (n_support, n_features)
        ``z − o``.
    coef : ndarray of shape (n_support, n_columns)
    intercept : ndarray of shape (n_columns,)
    near : ndarray of shape (n_features,)
        The mean of the rows that it was trained on.
    """

    kernel: Kernel
    origin: np.ndarray
    support: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray
    near: np.ndarray

    def given(self, units: TargetScale) -> QueryModel:
        """The model of scaled values in the units of ``y``."""
        coef, intercept = self.coef * units.scale, units.given(self.intercept[None])[0]
        return replace(self, coef=coef, intercept=intercept)

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Scores of rows, ``(n_rows, n_columns)``."""
        if not len(self.support):
            return np.repeat(self.intercept[None], len(X), axis=0)
        return self.kernel.values(X - self.origin, self.support) @ self.coef + self.intercept

    def path_weights(self, row: np.ndarray, reference: np.ndarray) -> np.ndarray:
        """Gradients averaged on the way from a reference to a row, ``(n_columns, n_features)``."""
        if not len(self.support):
            return np.zeros((len(self.intercept), len(row)))
        away, start = (row - self.origin)[None], reference - self.origin
        return path_averages(self.kernel, away, start, self.support, self.coef)[0]


def own_models(
    solver: NeighborhoodSolver,
    queries: Any,
    found: Neighbors,
    workers: Workers,
    candidates: np.ndarray | None = None,
) -> list[QueryModel]:
    """SVMs of the queries' own, as the solver's ``scores`` trains them.

    Parameters
    ----------
    solver : NeighborhoodSolver
    queries : ndarray or CSR of shape (n_queries, n_features)
    found : Neighbors
    workers : Workers
    candidates : ndarray of bool, shape (n_queries, n_classes), or None
        Where two of these classes are among the neighbors, their rows alone are trained on.

    Returns
    -------
    list of QueryModel
    """
    kept = _kept(solver.target[found.indices], candidates)
    models: list[Any] = [None] * len(kept)
    for size in np.unique(kept.sum(axis=1)):
        group = np.flatnonzero(kept.sum(axis=1) == size)
        indices = found.indices[group][kept[group]].reshape(len(group), size)
        near = Neighbors(np.ascontiguousarray(indices), found.distances[group][:, :size])
        rows = take_rows(queries, group)
        # The scale is that of all neighbors, also where some are left out.
        scales = solver.options.scales(found.distances[group])
        trained, _ = solver.train(rows, near, workers, scales)
        dense = as_dense(rows)
        for place, number in enumerate(group):
            models[number] = _written(solver, trained, place, dense[place], dense[place])
    return models


def center_models(
    solver: NeighborhoodSolver, models: LocalSvms, queries: Any, centers: np.ndarray
) -> list[QueryModel]:
    """The SVMs of the centers that queries are scored by."""
    rows = as_dense(queries)
    origins = as_dense(solver.X[models.neighbors[centers, 0]])
    return [
        _written(solver, models, int(center), origin, row)
        for center, origin, row in zip(centers, origins, rows, strict=True)
    ]


def _kept(labels: np.ndarray, candidates: np.ndarray | None) -> np.ndarray:
    """Which neighbors are trained on, ``(n_queries, k)``."""
    if candidates is None:
        return np.ones(labels.shape, bool)
    asked = np.take_along_axis(candidates, labels, axis=1)
    lowest = np.where(asked, labels, np.iinfo(labels.dtype).max).min(axis=1)
    highest = np.where(asked, labels, -1).max(axis=1)
    return asked | (highest <= lowest)[:, None]


def _written(
    solver: NeighborhoodSolver, models: LocalSvms, i: int, origin: np.ndarray, row: np.ndarray
) -> QueryModel:
    """One of the trained SVMs, with the scores of classes that are absent at the row."""
    neighbors = models.neighbors[i]
    near = as_dense(solver.X[neighbors]).mean(axis=0)
    n_columns, n_classes = solver.n_columns, solver.n_classes
    columns = slice(models.starts[i], models.starts[i + 1])
    kernel = solver.options.scaled_kernel(float(models.scales[i]))
    if columns.start == columns.stop:  # the nearest row decides
        label = solver.target[neighbors[0]]
        constant = np.where(np.arange(n_classes) == label, 1.0, -1.0)
        constant = constant[1:] if n_columns == 1 else constant
        empty = np.empty((0, len(near)))
        return QueryModel(kernel, origin, empty, np.empty((0, n_columns)), constant, near)
    part = slice(models.support_starts[i], models.support_starts[i + 1])
    support = as_dense(solver.X[models.support[part]]) - origin
    width = part.stop - part.start
    begin = int(np.sum(np.diff(models.starts[: i + 1]) * np.diff(models.support_starts[: i + 1])))
    n_own = columns.stop - columns.start
    beta = models.beta[begin : begin + n_own * width].reshape(n_own, width)
    classes = models.classes[columns]
    if n_columns == 1 and not isinstance(solver, ValueSolver):
        sign = 1.0 if classes[0] == 1 else -1.0
        return QueryModel(kernel, origin, support, sign * beta.T, sign * models.bias[columns], near)
    coef, intercept = np.zeros((width, n_columns)), np.zeros(n_columns)
    coef[:, classes], intercept[classes] = beta.T, models.bias[columns]
    model = QueryModel(kernel, origin, support, coef.astype(np.float64), intercept, near)
    if n_own == n_columns:
        return model
    absent = np.setdiff1d(np.arange(n_columns), classes)
    intercept[absent] = min(-1.0, model.scores(row[None])[0, classes].min() - 1)
    return replace(model, intercept=intercept)
