"""What NeighborhoodSVC and AdaptiveNeighborhoodSVC share: from rows to the scores of queries."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..data.arguments import check_choice, check_flag, check_n_jobs, check_number, make_generator
from ..data.checks import check_labelled_rows, check_rows, warn_about_scales
from ..data.labelled import LabelledRows, merge_equal_rows
from ..data.rows import canonical, take_rows
from ..data.splits import split_held_out
from ..model.multiclass import as_decisions, predicted_codes
from ..neighbors.base import Neighbors, Search, without_self
from ..neighbors.cells import CellSearch
from ..neighbors.covering import ROWS_PER_CENTER, cover_rows
from ..neighbors.exact import ExactSearch, nearest_of_lists
from ..neighbors.search import ALGORITHMS, make_search
from ..runtime.progress import CallbackSupportMixin, EpochMonitor, with_callbacks
from ..runtime.threads import Workers, row_blocks
from ..solvers.small_svms import KERNELS, KernelOptions, LocalSvms, NeighborhoodSolver
from .first_look import check_first_look, classes_in_question, fit_first_look

QUERIES_PER_BLOCK = 8192
# A list of neighbourhood sizes is judged by at most this many training rows.
ROWS_TO_CHOOSE_BY = 10_000
# With kept models: where the best class has no clear lead, the second nearest centre is asked too;
# where it gives another answer, the query gets an SVM of its own between the two.
CENTRES_TO_ASK = 2
# What clear_lead="auto" chooses from besides none, after a first look and by rows held out; what it
# is for too few rows, and for kept models.
CLEAR_LEADS = (0.5, 1.0)
USUAL_CLEAR_LEAD, KEPT_CLEAR_LEAD = 0.5, 1.0
# What a fresh fit must not find from an earlier one.
FITTED_STATE = ("classes_", "leave_one_out_accuracy_", "centres_", "first_look_", "clear_lead_")


def _trains_nothing(estimator: Any) -> bool:
    if estimator.cache_neighborhoods:
        raise AttributeError(
            "partial_fit trains nothing, but cache_neighborhoods=True trains at fit; call fit with "
            "all rows, or use cache_neighborhoods=False."
        )
    if estimator.first_look is not None:
        raise AttributeError(
            "partial_fit trains nothing, but first_look is trained at fit; call fit with all rows, "
            "or use first_look=None."
        )
    if np.ndim(estimator.n_neighbors) > 0:
        raise AttributeError("partial_fit needs n_neighbors to be one number or 'log'.")
    return True


class NeighborhoodClassifier(CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """Base of the classifiers that train an SVM on each query's neighbours.

    A subclass may map rows into another space (``_fit_map``, ``_mapped``).
    """

    _rows: LabelledRows
    _options: KernelOptions
    _search: Search
    _centre_search: Search | None
    _C: float
    _input_kind: tuple[str, bool]

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Keep the training rows; choose the neighbourhoods' size and train centres if asked to.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)
            Rows; float32 stays float32. Standardised features are best.
        y : array-like of shape (n_rows,)
            Class labels.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of rows; they multiply ``C``. Equal rows of a class are one row with the sum of
            their weights, so a weight of two is the same as the row twice.

        Returns
        -------
        self
        """
        self._check_arguments()
        data = check_labelled_rows(self, X, y, sample_weight, self.class_weight)
        warn_about_scales(data.X)
        self._forget()
        self._input_kind = data.X.dtype.name, sp.issparse(data.X)
        rng = make_generator(self.random_state)
        weighted = sample_weight is not None or self.class_weight is not None
        if self.first_look is not None:
            self.first_look_ = fit_first_look(self.first_look, data, weighted, self.random_state)
        if self.first_look is not None or self.cache_neighborhoods:
            self.clear_lead_ = self._choose_lead(data, weighted, rng)
        data = merge_equal_rows(data, keep_order=True)
        with Workers(self.n_jobs) as workers:
            self._fit_map(data, workers)
            self._settle(self._mapped_data(data), rng, workers)
        return self

    @available_if(_trains_nothing)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """Add rows to the training rows. Nothing is trained: queries are.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
        classes : array-like, default=None
            All labels there will be; needed at the first call, unless ``fit`` came before.
        sample_weight : array-like of shape (n_rows,), default=None

        Returns
        -------
        self
        """
        self._check_arguments()
        if isinstance(self.class_weight, str):
            raise ValueError(
                "class_weight='balanced' would balance each batch by itself in partial_fit; give a "
                "dict of weights."
            )
        first = not hasattr(self, "classes_")
        known = self._known_classes(classes, first)
        data = check_labelled_rows(
            self, X, y, sample_weight, self.class_weight, classes=known, reset=first
        )
        rng = make_generator(self.random_state)
        with Workers(self.n_jobs) as workers:
            if first:
                warn_about_scales(data.X)
                data = merge_equal_rows(data, keep_order=True)
                self._input_kind = data.X.dtype.name, sp.issparse(data.X)
                self._fit_map(data, workers)
                data = self._mapped_data(data)
            else:
                new = LabelledRows(self._like_rows(data.X), data.target, known, data.sample_weight)
                data = _joined(self._rows, self._mapped_data(new))
            self._settle(merge_equal_rows(data, keep_order=True), rng, workers)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of rows.

        A class that is absent from a row's neighbourhood scores −1, or one less than the lowest of
        the classes present if that is lower; where all neighbours are of one class, it scores 1.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,) for two classes, else (n_rows, n_classes)
        """
        check_is_fitted(self, "classes_")
        X = self._like_rows(check_rows(self, X, reset=False))
        solver = self._solver()
        scores = np.empty((X.shape[0], solver.n_columns), self._rows.X.dtype)
        n_unsolved = 0
        with Workers(self.n_jobs) as workers:
            for begin, end in row_blocks(X.shape[0], QUERIES_PER_BLOCK):
                scores[begin:end], unsolved = self._scores(solver, X[begin:end], workers)
                n_unsolved += unsolved
        self._warn_if_unsolved(n_unsolved)
        return as_decisions(scores)

    def predict(self, X: Any) -> np.ndarray:
        """Predicted class labels of rows."""
        scores = self.decision_function(X)
        return self.classes_[predicted_codes(scores)]

    # ---- what subclasses change ----------------------------------------------------------------

    def _fit_map(self, data: LabelledRows, workers: Workers) -> None:
        """Learn the space in which neighbours are found."""

    def _mapped(self, X: Any) -> Any:
        """Rows in that space."""
        return X

    def _scores(
        self, solver: NeighborhoodSolver, X: Any, workers: Workers
    ) -> tuple[np.ndarray, int]:
        if hasattr(self, "first_look_"):
            return self._second_look(solver, X, workers)
        if self._models is not None:
            return self._kept_scores(self._models, solver, self._mapped(X), workers)
        return self._own_scores(solver, self._mapped(X), workers)

    def _own_scores(
        self,
        solver: NeighborhoodSolver,
        queries: Any,
        workers: Workers,
        in_question: np.ndarray | None = None,
    ) -> tuple[np.ndarray, int]:
        found = self._found(queries, self.n_neighbors_, workers)
        return self._local_scores(solver, queries, found, self.n_neighbors_, workers, in_question)

    def _second_look(
        self, solver: NeighborhoodSolver, X: Any, workers: Workers
    ) -> tuple[np.ndarray, int]:
        """Scores by the first look; where it is in doubt, by SVMs between its best classes."""
        scores = self.first_look_.decision_function(X).reshape(X.shape[0], -1)
        in_question = classes_in_question(scores, self.clear_lead_)
        doubtful = np.flatnonzero(in_question.sum(axis=1) > 1)
        if not len(doubtful):
            return scores, 0
        queries = self._mapped(take_rows(X, doubtful))
        scores[doubtful], n_unsolved = self._own_scores(
            solver, queries, workers, in_question[doubtful]
        )
        return scores, n_unsolved

    def _kept_scores(
        self, models: LocalSvms, solver: NeighborhoodSolver, queries: Any, workers: Workers
    ) -> tuple[np.ndarray, int]:
        """Scores by the nearest centre; where two centres differ, by an SVM of the query's own.

        Its neighbours are looked for among those of the two centres: no step goes through all rows.
        """
        assert self._centre_search is not None
        n_asked = min(CENTRES_TO_ASK, models.n_centres)
        asked = self._centre_search.query(queries, n_asked, workers).indices
        scores = solver.centre_scores(models, queries, asked[:, 0], workers)
        in_question = classes_in_question(scores, self.clear_lead_)
        unsure = np.flatnonzero(in_question.sum(axis=1) > 1)
        others = solver.centre_scores(
            models, take_rows(queries, unsure), asked[unsure, -1], workers
        )
        first, second = predicted_codes(scores[unsure]), predicted_codes(others)
        differ = np.flatnonzero(first != second)
        doubtful = unsure[differ]
        if not len(doubtful):
            return scores, 0
        rivals = np.zeros((len(doubtful), len(self._rows.classes)), bool)
        rivals[np.arange(len(doubtful)), first[differ]] = True
        rivals[np.arange(len(doubtful)), second[differ]] = True
        queries = take_rows(queries, doubtful)
        near = models.neighbors[asked[doubtful]].reshape(len(doubtful), -1)
        found = nearest_of_lists(self._rows.X, queries, near, self.n_neighbors_, workers)
        scores[doubtful], n_unsolved = solver.scores(queries, found, workers, rivals)
        return scores, n_unsolved

    def _found(
        self, queries: Any, k: int, workers: Workers, own: np.ndarray | None = None
    ) -> Neighbors:
        """Rows among which the ``k`` neighbours are, without the queries' own rows if given."""
        if own is None:
            return self._search.query(queries, k, workers)
        return without_self(self._search.query(queries, k + 1, workers), own)

    def _local_scores(
        self,
        solver: NeighborhoodSolver,
        queries: Any,
        found: Neighbors,
        k: int,
        workers: Workers,
        in_question: np.ndarray | None = None,
    ) -> tuple[np.ndarray, int]:
        """Scores by SVMs on the ``k`` nearest of the rows found."""
        return solver.scores(queries, found.first(k), workers, in_question)

    # ---- the steps of fit ----------------------------------------------------------------------

    def _check_arguments(self) -> None:
        if isinstance(self.n_neighbors, str):
            check_choice("n_neighbors", self.n_neighbors, ["log"])
        else:
            for size in self._sizes():
                check_number("n_neighbors", size, integer=True, above=1, inclusive=True)
        check_number("k", self.k)
        if not callable(self.kernel):
            check_choice("kernel", self.kernel, KERNELS)
        if isinstance(self.sigma, str):
            check_choice("sigma", self.sigma, ["local"])
        else:
            check_number("sigma", self.sigma)
        check_number("degree", self.degree, integer=True, above=1, inclusive=True)
        check_number("coef0", self.coef0, inclusive=True)
        check_number("C", self.C)
        check_choice("algorithm", self.algorithm, ALGORITHMS)
        check_flag("cache_neighborhoods", self.cache_neighborhoods)
        check_first_look(self.first_look, self.cache_neighborhoods)
        if isinstance(self.clear_lead, str):
            check_choice("clear_lead", self.clear_lead, ["auto"])
        else:
            check_number("clear_lead", self.clear_lead, inclusive=True)
        check_number("tol", self.tol)
        check_number("max_steps", self.max_steps, integer=True, above=1, inclusive=True)
        check_n_jobs(self.n_jobs)
        if not isinstance(self.verbose, bool):
            check_number("verbose", self.verbose, integer=True, inclusive=True)
        if self.cache_neighborhoods and callable(self.kernel):
            raise ValueError(
                "cache_neighborhoods=True needs kernel='rbf', 'linear' or 'poly'; with a function "
                "as kernel use cache_neighborhoods=False."
            )

    def _sizes(self) -> list[Any]:
        if np.ndim(self.n_neighbors) == 0:
            return [self.n_neighbors]
        if np.ndim(self.n_neighbors) > 1 or len(self.n_neighbors) == 0:
            raise ValueError("n_neighbors must be 'log', a number, or a list of numbers.")
        return list(self.n_neighbors)

    def _known_classes(self, classes: Any, first: bool) -> np.ndarray:
        if first and classes is None:
            raise ValueError("classes must be given at the first call of partial_fit.")
        if classes is None:
            return self.classes_
        known = np.unique(classes)
        if len(known) < 2:
            raise ValueError("classes must name at least two classes.")
        if not first and not np.array_equal(known, self.classes_):
            raise ValueError(
                f"classes={known.tolist()} differ from those known, {self.classes_.tolist()}."
            )
        return known

    def _forget(self) -> None:
        """Drop the last fit: should this one be interrupted, no half of it remains in use."""
        for name in FITTED_STATE:
            self.__dict__.pop(name, None)

    def _mapped_data(self, data: LabelledRows) -> LabelledRows:
        return LabelledRows(self._mapped(data.X), data.target, data.classes, data.sample_weight)

    def _settle(self, data: LabelledRows, rng: np.random.Generator, workers: Workers) -> None:
        """Keep the rows, in the space of the neighbours, and all that queries need."""
        self._rows = data
        self._C = float(self.C)
        sigma = 0.0 if isinstance(self.sigma, str) else float(self.sigma)
        self._options = KernelOptions(
            self.kernel, sigma, int(self.degree), float(self.coef0), float(self.tol),
            int(self.max_steps),
        )  # fmt: skip
        self._models: LocalSvms | None = None
        self._centre_search = None
        n_rows = data.X.shape[0]
        sizes = self._neighborhood_sizes(n_rows)
        seed = int(rng.integers(np.iinfo(np.int32).max))
        self._search = make_search(self.algorithm, data.X, seed, workers)
        self.n_neighbors_ = sizes[0]
        if len(sizes) > 1:
            self._choose_size(sizes, rng, workers)
        if self.cache_neighborhoods:
            self._train_centres(workers)
        self.classes_ = data.classes

    def _choose_lead(self, data: LabelledRows, weighted: bool, rng: np.random.Generator) -> float:
        """The lead that gains most on rows held out from all looks, if it is more than luck."""
        if not isinstance(self.clear_lead, str):
            return float(self.clear_lead)
        parts = None if self.first_look is None else split_held_out(data, rng)
        if parts is None:
            return KEPT_CLEAR_LEAD if self.first_look is None else USUAL_CLEAR_LEAD
        train, judges = parts
        # No clone: that would hand on callbacks, which are told of one fit. Neither are warnings of
        # a trial for the user, whose own fit has the same to say.
        options = {"clear_lead": 0, "class_weight": None, "verbose": 0}
        trial = type(self)(**self.get_params(deep=False) | options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trial.fit(train.X, train.target, train.sample_weight if weighted else None)
            return trial._best_lead(judges)

    def _best_lead(self, judges: LabelledRows) -> float:
        """The lead that gains most over the first look alone, less a standard error; or none."""

        def costs(lead: float) -> np.ndarray:
            self.clear_lead_ = lead
            return judges.sample_weight * (self.predict(judges.X) != judges.target)

        best, most, alone = 0.0, 0.0, costs(0.0)
        for lead in CLEAR_LEADS:
            gains = alone - costs(lead)
            gain = float(gains.sum()) - math.sqrt(float(gains @ gains))
            if gain > most:
                best, most = lead, gain
        return best

    def _neighborhood_sizes(self, n_rows: int) -> list[int]:
        """The sizes to choose from, at most the number of rows (less one to leave out)."""
        if isinstance(self.n_neighbors, str):
            return [max(1, min(n_rows, round(self.k * math.log2(n_rows))))]
        sizes = sorted({int(size) for size in self._sizes()})
        if len(sizes) > 1:
            return sorted({min(size, max(1, n_rows - 1)) for size in sizes})
        if sizes[0] > n_rows:
            warnings.warn(
                f"n_neighbors={sizes[0]} is larger than the number of distinct rows, {n_rows}; "
                f"{n_rows} neighbours are used.",
                UserWarning,
                stacklevel=5,
            )
        return [min(sizes[0], n_rows)]

    def _choose_size(self, sizes: list[int], rng: np.random.Generator, workers: Workers) -> None:
        """Leave each training row out in turn, and keep the size that errs least."""
        X, target, weights = self._rows.X, self._rows.target, self._rows.sample_weight
        own = np.arange(X.shape[0])
        if len(own) > ROWS_TO_CHOOSE_BY:
            own = np.sort(rng.choice(len(own), ROWS_TO_CHOOSE_BY, replace=False))
        queries, solver = take_rows(X, own), self._solver()
        found = self._found(queries, sizes[-1], workers, own)
        monitor = EpochMonitor(self, len(sizes), self.verbose)
        self.leave_one_out_accuracy_ = {}
        try:
            for number, size in enumerate(sizes, start=1):
                scores, _ = self._local_scores(solver, queries, found, size, workers)
                right = np.average(predicted_codes(scores) == target[own], weights=weights[own])
                self.leave_one_out_accuracy_[size] = float(right)
                monitor.epoch(number, n_neighbors=size, accuracy=float(right))
        finally:
            monitor.close()
        accuracy = self.leave_one_out_accuracy_
        self.n_neighbors_ = max(accuracy, key=lambda size: (accuracy[size], -size))

    def _train_centres(self, workers: Workers) -> None:
        """Train the SVMs of centres whose neighbourhoods cover the rows."""
        X, target = self._rows.X, self._rows.target
        k = min(ROWS_PER_CENTER * self.n_neighbors_, X.shape[0])
        centres, found = cover_rows(X, target, self._search, k, workers)
        points = take_rows(X, centres)
        self._models, n_unsolved = self._solver().train(points, found, workers)
        search = ExactSearch if sp.issparse(points) else CellSearch
        self._centre_search = search(points, workers)
        self.centres_ = centres
        self._warn_if_unsolved(n_unsolved)

    def _solver(self) -> NeighborhoodSolver:
        data = self._rows
        return NeighborhoodSolver(
            data.X, data.target, self._C * data.sample_weight, len(data.classes), self._options
        )

    def _like_rows(self, X: Any) -> Any:
        """Rows as the fitted ones were given: same dtype, dense or CSR."""
        dtype, is_sparse = self._input_kind
        X = X.astype(dtype, copy=False)
        if sp.issparse(X) == is_sparse:
            return X
        return canonical(sp.csr_array(X)) if is_sparse else X.toarray()

    def _warn_if_unsolved(self, n_unsolved: int) -> None:
        if n_unsolved:
            warnings.warn(
                f"{n_unsolved} local SVMs were stopped after max_steps={self._options.max_steps} "
                "steps before they converged; raise max_steps or tol, lower C, or scale the rows.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _joined(old: LabelledRows, new: LabelledRows) -> LabelledRows:
    X = sp.vstack([old.X, new.X], format="csr") if sp.issparse(old.X) else np.vstack([old.X, new.X])
    return LabelledRows(
        canonical(X),
        np.concatenate([old.target, new.target]),
        old.classes,
        np.concatenate([old.sample_weight, new.sample_weight]),
    )
