"""A neighborhood classifier as explanations see it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.rows import stored_as, take_rows
from ..maps.backwards import can_go_back, weights_before
from ..maps.base import FeatureMap
from ..maps.transformer import transformed
from ..model.contributions import Paths, as_dense
from ..model.expansion import no_anchors
from ..model.explanation import LocalRows
from ..model.multiclass import n_columns
from ..runtime.threads import Workers
from .neighborhood_models import CachedSvms, DannSvms, QuerySvms
from .query_models import QueryModel, center_models, own_models


def query_models(
    svms: QuerySvms | CachedSvms,
    queries: Any,
    workers: Workers,
    candidates: np.ndarray | None = None,
) -> list[QueryModel]:
    """The SVMs that score queries, written out: of centers, or of the query's own.

    Parameters
    ----------
    svms : QuerySvms or CachedSvms
    queries : ndarray or CSR of shape (n_queries, n_features)
    workers : Workers
    candidates : ndarray of bool, shape (n_queries, n_classes), optional
        The classes in question, for SVMs of the queries' own.

    Returns
    -------
    list of QueryModel
    """
    if callable(svms.options.kernel.name) or isinstance(svms, DannSvms):
        raise ValueError(
            "a kernel that is a function and metric='dann' cannot be explained; use kernel='rbf', "
            "'linear' or 'poly', and metric='megm' or a transformer."
        )
    if isinstance(svms, QuerySvms):
        found = svms.find(queries, svms.n_neighbors, workers).first(svms.n_neighbors)
        return own_models(svms.solver(), queries, found, workers, candidates)
    solver = svms.svms.solver()
    centers, _, chosen, between = svms.assigned(solver, queries, workers)
    models = center_models(solver, svms.models, queries, centers[:, 0])
    if len(chosen):
        rows = take_rows(queries, chosen)
        found = svms.near(rows, centers[chosen], workers)
        own = own_models(solver, rows, found, workers, between)
        for place, model in zip(chosen, own, strict=True):
            models[place] = model
    return models


@dataclass(frozen=True)
class NeighborhoodModel:
    """A neighborhood classifier as explanations see it: the SVM of each query, held fixed.

    Attributes
    ----------
    svms : QuerySvms or CachedSvms
    metric : transformer or None
        From rows to the space of the SVMs.
    n_features_in : int
    candidates : ndarray of bool, shape (n_rows, n_classes), or None
        The classes in question for each of the rows to explain.
    """

    svms: QuerySvms | CachedSvms
    metric: Any
    n_features_in: int
    candidates: np.ndarray | None

    @property
    def feature_map(self) -> FeatureMap:
        """The identity."""
        return FeatureMap(self.n_features_in)

    @property
    def n_columns(self) -> int:
        """Columns of scores."""
        return n_columns(len(self.svms.rows.classes))

    @property
    def dtype(self) -> np.dtype:
        """That of the training rows."""
        return self.svms.rows.X.dtype

    def scores(self, X: Any, workers: Workers) -> np.ndarray:
        """Scores of rows, ``(n_rows, n_columns)``."""
        return self.svms.scores(self._queries(X), workers)[0]

    def local_rows(self, X: Any, workers: Workers) -> Iterator[LocalRows]:
        """The linear model at each row: gradients of its SVM, averaged on the way from zero."""
        rows, origin = as_dense(X), np.zeros((1, self.n_features_in))
        models, start = self._models(X, workers), as_dense(self._mapped(origin))
        [coef] = self._weights(models, rows, [origin])
        intercept = np.array([model.scores(start)[0] for model in models])
        [normals] = self._weights(models, rows, [rows])
        yield LocalRows(coef, intercept, rows, no_anchors, normals)

    def path_weights(
        self, X: Any, references: np.ndarray, workers: Workers
    ) -> Iterator[np.ndarray]:
        """Gradients of the rows' SVMs, averaged on the way from each reference."""
        models = self._models(X, workers)
        return self._weights(models, as_dense(X), [row[None] for row in as_dense(references)])

    def own_paths(self, X: Any, workers: Workers) -> Paths:
        """The ways from the mean of each row's neighborhood to the row."""
        rows, models = as_dense(X), self._models(X, workers)
        near = np.array([model.near for model in models])
        mapped = as_dense(self._mapped(X))
        starts = near if self.metric is None else rows + self._back(near - mapped)
        references = np.array(
            [model.scores(one[None])[0] for model, one in zip(models, near, strict=True)]
        )
        scores = np.array(
            [model.scores(one[None])[0] for model, one in zip(models, mapped, strict=True)]
        )
        weights = list(self._weights(models, rows, [starts]))
        return Paths([starts], weights, np.ones(1), rows, scores, references, are_own=True)

    def _models(self, X: Any, workers: Workers) -> list[QueryModel]:
        if self.metric is not None and not can_go_back(self.metric):
            raise ValueError(
                f"metric {type(self.metric).__name__} has no plain form, so that its features "
                "cannot be explained; MEGM, NeighborhoodComponentsAnalysis, PCA and scalers have."
            )
        return query_models(self.svms, self._queries(X), workers, self.candidates)

    def _weights(
        self, models: list[QueryModel], rows: np.ndarray, starts: list[np.ndarray]
    ) -> Iterator[np.ndarray]:
        mapped = as_dense(self._mapped(rows))
        for start in starts:
            begins = np.broadcast_to(as_dense(self._mapped(start)), mapped.shape)
            triples = zip(models, mapped, begins, strict=True)
            weights = np.array([model.path_weights(row, begin) for model, row, begin in triples])
            if self.metric is not None:
                weights = weights_before(self.metric, weights, rows, start)
            yield weights

    def _queries(self, X: Any) -> Any:
        """Rows in the space of the training rows, stored like these."""
        return stored_as(self._mapped(X), self.dtype.name, sp.issparse(self.svms.rows.X))

    def _mapped(self, X: Any) -> Any:
        """Rows in the space of the SVMs, stored as the rows that these were trained on."""
        if self.metric is not None:
            X = X if sp.issparse(X) else np.asarray(X, self.dtype)
            X = transformed(self.metric, X, "metric")
        return stored_as(X, self.dtype.name, sp.issparse(self.svms.rows.X))

    def _back(self, change: np.ndarray) -> np.ndarray:
        """The shortest differences of rows that the metric turns into these."""
        unit = np.eye(self.n_features_in)
        matrix = as_dense(self._mapped(unit)) - as_dense(self._mapped(0 * unit))
        return np.linalg.lstsq(matrix.T, change.T)[0].T
