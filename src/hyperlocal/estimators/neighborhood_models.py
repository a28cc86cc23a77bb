"""What is fitted for a neighborhood classifier: rows, a search among them, and a way to score.

``QuerySvms`` trains SVMs for each query, ``DannSvms`` does so in a metric of the query's own, and
``CachedSvms`` uses models of centers that were trained beforehand. Queries are rows in the space of
the training rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.labelled import LabelledRows
from ..data.rows import take_rows
from ..model.multiclass import candidate_classes, predicted_codes
from ..neighbors.base import Neighbors, Search, without_self
from ..neighbors.cells import CellSearch
from ..neighbors.covering import ROWS_PER_CENTER, cover_rows
from ..neighbors.dann import dann_rows
from ..neighbors.exact import ExactSearch, nearest_of_lists
from ..runtime.threads import Workers
from ..solvers.small_svms import LocalSvms, NeighborhoodSolver, SvmOptions, kernel_matrices

# DANN computes a metric from this many times the rows of a neighborhood, and at least so many.
POOL_FACTOR = 5
SMALLEST_POOL = 50

#: Scores of queries, (n_queries, n_columns), and how many SVMs did not converge.
Scored = tuple[np.ndarray, int]


@dataclass(frozen=True)
class QuerySvms:
    """SVMs of each query's own, trained on its nearest rows.

    Attributes
    ----------
    rows : LabelledRows
        Distinct training rows.
    C : float
    options : SvmOptions
    search : Search
        Among the rows.
    n_neighbors : int
    """

    rows: LabelledRows
    C: float
    options: SvmOptions
    search: Search
    n_neighbors: int

    def scores(
        self, queries: Any, workers: Workers, candidates: np.ndarray | None = None
    ) -> Scored:
        """Scores of queries, between their candidate classes alone where these are given."""
        found = self.find(queries, self.n_neighbors, workers)
        return self.scores_by(queries, found, self.n_neighbors, workers, candidates)

    def find(
        self, queries: Any, k: int, workers: Workers, own: np.ndarray | None = None
    ) -> Neighbors:
        """Rows that hold the ``k`` neighbors of each query, without its own row if that is given.

        An approximate search for one more row may miss the own row; then the farthest is left out.
        """
        if own is None:
            return self.search.query(queries, k, workers)
        return without_self(self.search.query(queries, k + 1, workers), own)

    def scores_by(
        self,
        queries: Any,
        found: Neighbors,
        k: int,
        workers: Workers,
        candidates: np.ndarray | None = None,
    ) -> Scored:
        """Scores by SVMs on the ``k`` nearest of the rows found."""
        return self.solver().scores(queries, found.first(k), workers, candidates)

    def merit(self, scores: np.ndarray, own: np.ndarray) -> float:
        """How good scores of some of the rows are: the share of right classes."""
        is_right = predicted_codes(scores) == self.rows.target[own]
        return float(np.average(is_right, weights=self.rows.sample_weight[own]))

    def solver(self) -> NeighborhoodSolver:
        """The solver of small SVMs over the rows."""
        rows = self.rows
        costs = self.C * rows.sample_weight
        return NeighborhoodSolver(rows.X, rows.target, costs, len(rows.classes), self.options)


@dataclass(frozen=True)
class DannSvms(QuerySvms):
    """SVMs of each query's own, on its nearest rows in a metric of its own (DANN).

    Candidate classes play no part: all classes around a query shape its metric.
    """

    def find(
        self, queries: Any, k: int, workers: Workers, own: np.ndarray | None = None
    ) -> Neighbors:
        """The pool of rows from which each query's metric is computed."""
        n_rows = self.rows.X.shape[0] - (own is not None)
        return super().find(queries, min(n_rows, max(POOL_FACTOR * k, SMALLEST_POOL)), workers, own)

    def scores_by(
        self,
        queries: Any,
        found: Neighbors,
        k: int,
        workers: Workers,
        candidates: np.ndarray | None = None,
    ) -> Scored:
        """Scores by SVMs on the ``k`` rows of the pool that are nearest in the query's metric."""
        # A pool of rows as given and as mapped, classes' shares, and the metric's matrices.
        pool, n_features = found.indices.shape[1], queries.shape[1]
        width = pool * (2 * n_features + len(self.rows.classes)) + 6 * n_features**2

        def measure(begin: int, end: int) -> tuple[np.ndarray, np.ndarray]:
            return self._measured(queries[begin:end], found.indices[begin:end], k)

        return self.solver().gram_scores(len(queries), k, measure, workers, width)

    def _measured(
        self, queries: np.ndarray, pools: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """The ``k`` nearest in each query's own metric, and kernel values there."""
        X, target = self.rows.X, self.rows.target
        mapped = dann_rows(
            X[pools].astype(np.float64), queries.astype(np.float64), target[pools],
            len(self.rows.classes),
        )  # fmt: skip
        distances = np.einsum("qpd,qpd->qp", mapped, mapped)
        order = np.lexsort((pools, distances), axis=1)[:, :k]
        nearest = np.take_along_axis(pools, order, axis=1)
        distances = np.take_along_axis(distances, order, axis=1)
        # Where all lie on the query, the nearest decides.
        nearest[~distances.any(axis=1)] = nearest[~distances.any(axis=1), :1]
        rows = np.zeros((len(queries), k + 1, mapped.shape[2]))
        rows[:, :k] = np.take_along_axis(mapped, order[..., None], axis=1)
        return nearest, kernel_matrices(self.options, rows, distances)


@dataclass(frozen=True)
class CachedSvms:
    """Models of centers that cover the rows, trained once and used by many queries (FaLK-SVM).

    The model of the nearest center scores a query. Where its margin is low and the model of the
    second nearest center predicts another class, the query gets an SVM of its own, between the two
    classes; its neighbors are searched for among those of the two centers, so that no step goes
    through all rows.

    Attributes
    ----------
    svms : QuerySvms
        The rows, and the SVMs of queries' own.
    centers : ndarray of shape (n_centers,)
        The rows that are centers.
    models : LocalSvms
    search : Search
        Among the centers.
    low_margin : float
    """

    svms: QuerySvms
    centers: np.ndarray
    models: LocalSvms
    search: Search
    low_margin: float

    @classmethod
    def train(
        cls, svms: QuerySvms, workers: Workers, *, low_margin: float = 0.0
    ) -> tuple[CachedSvms, int]:
        """Train the models of centers; returns them and how many SVMs did not converge."""
        X = svms.rows.X
        k = min(ROWS_PER_CENTER * svms.n_neighbors, X.shape[0])
        centers, found = cover_rows(X, svms.rows.strata, svms.search, k, workers)
        points = take_rows(X, centers)
        models, n_unsolved = svms.solver().train(points, found, workers)
        search = (ExactSearch if sp.issparse(points) else CellSearch)(points, workers)
        return cls(svms, centers, models, search, low_margin), n_unsolved

    @property
    def rows(self) -> LabelledRows:
        """Distinct training rows."""
        return self.svms.rows

    @property
    def options(self) -> SvmOptions:
        """The kernel, and when solvers stop."""
        return self.svms.options

    def scores(self, queries: Any, workers: Workers) -> Scored:
        """Scores of queries."""
        solver = self.svms.solver()
        centers, scores, chosen, candidates = self.assigned(solver, queries, workers)
        if not len(chosen):
            return scores, 0
        queries = take_rows(queries, chosen)
        found = self.near(queries, centers[chosen], workers)
        scores[chosen], n_unsolved = solver.scores(queries, found, workers, candidates)
        return scores, n_unsolved

    def assigned(
        self, solver: NeighborhoodSolver, queries: Any, workers: Workers
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Nearest centers and scores by them; queries that need SVMs of their own, and classes."""
        models = self.models
        near = self.search.query(queries, min(2, models.n_centers), workers).indices
        scores = solver.center_scores(models, queries, near[:, 0], workers)
        low = np.flatnonzero(candidate_classes(scores, self.low_margin).sum(axis=1) > 1)
        others = solver.center_scores(models, take_rows(queries, low), near[low, -1], workers)
        first, second = predicted_codes(scores[low]), predicted_codes(others)
        differ = np.flatnonzero(first != second)
        place = np.arange(len(differ))
        candidates = np.zeros((len(differ), len(self.rows.classes)), bool)
        candidates[place, first[differ]] = candidates[place, second[differ]] = True
        return near, scores, low[differ], candidates

    def near(self, queries: Any, centers: np.ndarray, workers: Workers) -> Neighbors:
        """Neighbors of queries among those of their centers."""
        lists = self.models.neighbors[centers].reshape(len(centers), -1)
        return nearest_of_lists(self.rows.X, queries, lists, self.svms.n_neighbors, workers)


#: What is fitted: SVMs of queries' own, or of centers.
Fitted = QuerySvms | CachedSvms
