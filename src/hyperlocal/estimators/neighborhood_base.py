"""What NeighborhoodSVC and AdaptiveNeighborhoodSVC share: from rows to the scores of queries."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..data.arguments import check_choice, check_flag, check_number, make_generator
from ..data.checks import check_batch, check_rows, warn_about_scales
from ..data.labelled import LabelledRows, join_rows, merge_equal_rows
from ..data.rows import stored_as
from ..kernels import GAMMAS, check_kernel
from ..model.multiclass import as_decisions
from ..neighbors.search import ALGORITHMS, make_search
from ..runtime.progress import EpochMonitor, ProgressLines
from ..runtime.stamp import stamped
from ..runtime.threads import Workers
from ..solvers.small_svms import KERNELS, SvmOptions
from .base import LabelledFitting, LocalClassifier, check_common
from .explained import ExplainMixin
from .neighborhood_explained import NeighborhoodModel
from .neighborhood_models import CachedSvms, QuerySvms, scores_in_blocks, warn_if_unsolved
from .neighborhood_sizes import (
    best_size,
    check_sizes,
    leave_one_out_accuracy,
    sizes_for,
    trains_at_queries,
    trains_nothing_at_fit,
)


@stamped
@dataclass(eq=False, repr=False)
class NeighborhoodClassifier(LabelledFitting, LocalClassifier, BaseEstimator, ExplainMixin):
    """Base of the classifiers that train SVMs on neighborhoods.

    A subclass may map rows into another space (``_fit_metric``, ``_mapped``) and choose how a query
    is scored there (``_strategy``).
    """

    n_neighbors: Any = "auto"
    _: KW_ONLY
    kernel: Any = "rbf"
    gamma: Any = "local"
    degree: int = 3
    coef0: float = 1.0
    algorithm: str = "exact"
    cache_neighborhoods: bool = False
    low_margin: float = 1.0
    C: float = 10.0
    tol: float = 1e-3
    max_iter: int = 100_000
    class_weight: Any = None
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    def _fit_rows(self, data: LabelledRows) -> None:
        """Store the rows; choose the size of neighborhoods and train centers if need be."""
        if hasattr(self, "model_"):
            del self.model_  # an interrupted fit must not leave the last model with other rows
        self._start(data)

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.algorithm != "tree"
        return tags

    # ---- what subclasses change ----------------------------------------------------------------

    def _fit_metric(self, data: LabelledRows) -> None:
        """Learn the space in which neighbors are found."""

    def _mapped(self, X: Any) -> Any:
        """Rows in that space."""
        return X

    def _strategy(self) -> type[QuerySvms]:
        """How a query is scored there."""
        return QuerySvms

    def _check_arguments(self) -> None:
        check_sizes(self.n_neighbors)
        check_kernel(
            self.kernel, self.gamma, self.degree, self.coef0, names=KERNELS,
            gammas=("local", *GAMMAS),
        )  # fmt: skip
        check_choice("algorithm", self.algorithm, ALGORITHMS)
        check_flag("cache_neighborhoods", self.cache_neighborhoods)
        check_number("low_margin", self.low_margin, inclusive=True)
        check_number("C", self.C)
        check_number("tol", self.tol)
        check_number("max_iter", self.max_iter, integer=True, above=1, inclusive=True)
        check_common(self)
        if self.cache_neighborhoods and callable(self.kernel):
            raise ValueError(
                "cache_neighborhoods=True needs kernel='rbf', 'linear' or 'poly'; with a function "
                "as kernel use cache_neighborhoods=False."
            )

    # ---- the steps of fit ----------------------------------------------------------------------

    def _start(self, data: LabelledRows) -> None:
        """Fit to the first rows."""
        warn_about_scales(data.X)
        self._storage = data.X.dtype.name, sp.issparse(data.X)
        data = merge_equal_rows(data, keep_order=True)
        self._fit_metric(data)
        with Workers(self.n_jobs) as workers:
            self._settle(self._mapped_data(data), make_generator(self.random_state), workers)

    def _settle(self, data: LabelledRows, rng: np.random.Generator, workers: Workers) -> None:
        """Fit the model to rows in the space of neighbors."""
        seed = int(rng.integers(np.iinfo(np.int32).max))
        search = make_search(self.algorithm, data.X, seed, workers)
        sizes, accuracy = sizes_for(self.n_neighbors, data.X.shape[0]), None
        svms = self._strategy()(data, float(self.C), SvmOptions.of(self, data.X), search, sizes[-1])
        if len(sizes) > 1:
            with EpochMonitor(self, len(sizes), self.verbose, task="size") as monitor:
                accuracy = leave_one_out_accuracy(svms, sizes, rng, workers, monitor)
            svms = replace(svms, n_neighbors=best_size(accuracy))
        model: QuerySvms | CachedSvms = svms
        if self.cache_neighborhoods:
            model, n_unsolved = CachedSvms.train(svms, float(self.low_margin), workers)
            warn_if_unsolved(n_unsolved, svms.options)
        self.n_neighbors_, self.leave_one_out_accuracy_ = svms.n_neighbors, accuracy
        self.centers_ = model.centers if isinstance(model, CachedSvms) else None
        self.classes_, self.n_iter_, self.model_ = data.classes, 1, model

    def _mapped_data(self, data: LabelledRows) -> LabelledRows:
        return replace(data, X=self._mapped(data.X), origin=None)

    # ---- prediction ----------------------------------------------------------------------------

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

    def _checked_rows(self, X: Any) -> Any:
        check_is_fitted(self, "model_")
        return stored_as(check_rows(self, X, reset=False), *self._storage)

    def _row_scores(self, X: Any, *values_of_rows: np.ndarray) -> np.ndarray:
        """Scores by the model, which takes queries and, possibly, values of each."""
        X = self._checked_rows(X)
        with Workers(self.n_jobs) as workers:

            def score(part: slice) -> tuple[np.ndarray, int]:
                values = [values[part] for values in values_of_rows]
                return self.model_.scores(self._mapped(X[part]), workers, *values)

            lines = ProgressLines(self, X.shape[0], self.verbose, task="query")
            scores, n_unsolved = scores_in_blocks(score, X.shape[0], lines)
        warn_if_unsolved(n_unsolved, self.model_.options)
        return scores
