"""What is fitted for a neighborhood regressor: values instead of classes.

All values are centered and scaled; :class:`ValuedModel` is in the units of ``y``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import r2_score

from ..model.target_scale import TargetScale, as_targets
from ..runtime.threads import Workers
from ..solvers.small_svms import NeighborhoodSolver
from ..solvers.small_svrs import ValueSolver
from .neighborhood_explained import NeighborhoodModel
from .neighborhood_models import CachedSvms, QuerySvms
from .query_models import QueryModel


@dataclass(frozen=True)
class QuerySvrs(QuerySvms):
    """SVRs of each query's own, trained on its nearest rows.

    Attributes
    ----------
    epsilon : float
        Of the loss, for scaled values.
    """

    epsilon: float

    def solver(self) -> NeighborhoodSolver:
        """The solver of small SVRs over the rows."""
        rows = self.rows
        return ValueSolver(
            rows.X, as_targets(rows.labels), self.C * rows.sample_weight, self.epsilon, self.options
        )

    def merit(self, scores: np.ndarray, own: np.ndarray) -> float:
        """How good scores of some of the rows are: R²."""
        values, weights = as_targets(self.rows.labels)[own], self.rows.sample_weight[own]
        return float(r2_score(values, scores, sample_weight=weights))


@dataclass(frozen=True)
class CachedSvrs(CachedSvms):
    """SVRs of centers that cover the rows: that of the nearest center scores a query."""

    def assigned(
        self, solver: NeighborhoodSolver, queries: Any, workers: Workers
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Nearest centers and scores by them; no query needs an SVR of its own."""
        near = self.search.query(queries, 1, workers).indices
        scores = solver.center_scores(self.models, queries, near[:, 0], workers)
        return near, scores, np.zeros(0, np.intp), np.zeros((0, solver.n_columns), bool)


@dataclass(frozen=True)
class ValuedModel(NeighborhoodModel):
    """A neighborhood regressor in the units of ``y``: the SVR of each query, held fixed.

    Attributes
    ----------
    units : TargetScale
    """

    units: TargetScale

    @property
    def n_columns(self) -> int:
        """Number of targets."""
        return self.units.n_targets

    def scores(self, X: Any, workers: Workers) -> np.ndarray:
        """Values of rows, ``(n_rows, n_targets)``."""
        return self.units.given(super().scores(X, workers)).astype(self.dtype)

    def _models(self, X: Any, workers: Workers) -> list[QueryModel]:
        return [model.given(self.units) for model in super()._models(X, workers)]
