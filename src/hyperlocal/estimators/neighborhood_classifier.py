"""What NeighborhoodSVC and AdaptiveNeighborhoodSVC share: classes of queries."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from ..data.arguments import check_number, make_generator
from ..data.checks import check_batch
from ..data.labelled import LabelledRows, join_rows, merge_equal_rows
from ..data.rows import stored_as
from ..model.multiclass import as_decisions
from ..runtime.stamp import stamped
from ..runtime.threads import Workers
from .base import LabelledFitting, LocalClassifier
from .explained import ExplainMixin
from .neighborhood_base import NeighborhoodEstimator
from .neighborhood_explained import NeighborhoodModel
from .neighborhood_models import CachedSvms, Fitted, QuerySvms
from .neighborhood_sizes import trains_at_queries, trains_nothing_at_fit


@stamped
@dataclass(eq=False, repr=False)
class NeighborhoodClassifier(LabelledFitting, LocalClassifier, NeighborhoodEstimator, ExplainMixin):
    """Base of the classifiers that train SVMs on neighborhoods."""

    _: KW_ONLY
    low_margin: float = 1.0
    class_weight: Any = None

    @available_if(trains_nothing_at_fit)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """Add rows to the training rows. Nothing is trained before queries are scored.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            Labels.
        classes : array-like, default=None
            All labels there will be; needed at the first call, unless ``fit`` was called before.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of the rows; one by default.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._check_arguments()
        is_first = not hasattr(self, "model_")
        data = check_batch(self, X, y, classes, sample_weight)
        if is_first:
            self._start(data)
            return self
        data = replace(data, X=stored_as(data.X, *self._storage))
        joined = join_rows(self.model_.rows, self._mapped_data(data))
        with Workers(self.n_jobs) as workers:
            rng = make_generator(self.random_state)
            self._settle(merge_equal_rows(joined, keep_order=True), rng, workers)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Score rows.

        A class that is absent from a row's neighborhood scores −1, or one less than the lowest of
        the classes present if that is lower; where all neighbors are of one class, it scores 1.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,) for two classes, else (n_rows, n_classes)
            A score per class; the largest one's is predicted. With two classes, that of the second.
        """
        return as_decisions(self._row_scores(X))

    @available_if(trains_at_queries)
    def decision_between(self, X: Any, candidates: Any) -> np.ndarray:
        """Score rows by SVMs between the candidate classes of each row.

        Where two or more of a row's candidates are among its neighbors, the SVMs are trained on the
        neighbors of these classes alone, and the other classes count as absent. (A kernel that is a
        function, and ``metric="dann"``, use all neighbors.)

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)
        candidates : array-like of bool, shape (n_rows, n_classes)
            Which classes each row may belong to.

        Returns
        -------
        ndarray of shape (n_rows,) for two classes, else (n_rows, n_classes)
            The scores, where a class that is no candidate counts as absent.
        """
        return as_decisions(self._row_scores(X, np.ascontiguousarray(candidates, dtype=bool)))

    def explained_model(self, candidates: np.ndarray | None = None) -> NeighborhoodModel:
        """The model as explanations see it, possibly between candidate classes of each row.

        Parameters
        ----------
        candidates : ndarray of shape (n_rows, n_classes), default=None
            Which classes each row may belong to; all by default.

        Returns
        -------
        NeighborhoodModel
            What :func:`explain` takes.
        """
        metric = getattr(self, "metric_", None)
        return NeighborhoodModel(self.model_, metric, self.n_features_in_, candidates)

    def _explained_model(self) -> NeighborhoodModel:
        return self.explained_model()

    def _check_arguments(self) -> None:
        super()._check_arguments()
        check_number("low_margin", self.low_margin, inclusive=True)

    def _svms(self, *parts: Any) -> QuerySvms:
        return self._strategy()(*parts)

    def _cached(self, svms: QuerySvms, workers: Workers) -> tuple[CachedSvms, int]:
        return CachedSvms.train(svms, workers, low_margin=float(self.low_margin))

    def _keep(self, data: LabelledRows, model: Fitted, merits: dict[int, float] | None) -> None:
        super()._keep(data, model, merits)
        self.classes_, self.leave_one_out_accuracy_ = data.classes, merits

    def _strategy(self) -> type[QuerySvms]:
        """How a query is scored in the space of neighbors."""
        return QuerySvms
