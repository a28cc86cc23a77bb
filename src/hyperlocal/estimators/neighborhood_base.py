"""What all neighborhood estimators share: from rows to the scores of queries."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ..data.arguments import check_choice, check_flag, check_number, make_generator
from ..data.checks import check_rows, warn_about_scales
from ..data.labelled import LabelledRows, merge_equal_rows
from ..data.rows import stored_as
from ..kernels import GAMMAS, check_kernel
from ..neighbors.search import ALGORITHMS, make_search
from ..runtime.progress import EpochMonitor, Monitor, ProgressLines
from ..runtime.stamp import stamped
from ..runtime.threads import Workers, row_blocks
from ..solvers.small_svms import KERNELS, SvmOptions
from .base import check_common
from .neighborhood_models import CachedSvms, Fitted, QuerySvms, Scored
from .neighborhood_sizes import (
    best_size,
    check_sizes,
    leave_one_out_merits,
    sizes_for,
)

QUERIES_PER_BLOCK = 2048


@stamped
@dataclass(eq=False, repr=False)
class NeighborhoodEstimator(BaseEstimator):
    """Base of the estimators that train SVMs on neighborhoods.

    A subclass says how a query is scored (``_svms``, ``_cached``), and may map rows into another
    space first (``_fit_metric``, ``_mapped``).
    """

    n_neighbors: Any = "auto"
    _: KW_ONLY
    kernel: Any = "rbf"
    gamma: Any = "local"
    degree: int = 3
    coef0: float = 1.0
    algorithm: str = "exact"
    cache_neighborhoods: bool = False
    C: float = 10.0
    tol: float = 1e-3
    max_iter: int = 100_000
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    def _fit_rows(self, data: LabelledRows) -> None:
        """Store the rows; choose the size of neighborhoods and train centers if need be."""
        if hasattr(self, "model_"):
            del self.model_  # an interrupted fit must not leave the last model with other rows
        self._start(data)

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

    @abstractmethod
    def _svms(self, *parts: Any) -> QuerySvms:
        """How queries are scored there, from rows, C, options, a search and a size."""

    @abstractmethod
    def _cached(self, svms: QuerySvms, workers: Workers) -> tuple[CachedSvms, int]:
        """Models of centers instead, and how many did not converge."""

    def _check_arguments(self) -> None:
        check_sizes(self.n_neighbors)
        check_kernel(
            self.kernel, self.gamma, self.degree, self.coef0, names=KERNELS,
            gammas=("local", *GAMMAS),
        )  # fmt: skip
        check_choice("algorithm", self.algorithm, ALGORITHMS)
        check_flag("cache_neighborhoods", self.cache_neighborhoods)
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
        sizes, merits = sizes_for(self.n_neighbors, data.X.shape[0]), None
        svms = self._svms(data, float(self.C), SvmOptions.of(self, data.X), search, sizes[-1])
        if len(sizes) > 1:
            with EpochMonitor(self, len(sizes), self.verbose, task="size") as monitor:
                merits = leave_one_out_merits(svms, sizes, rng, workers, monitor)
            svms = replace(svms, n_neighbors=best_size(merits))
        model: Fitted = svms
        if self.cache_neighborhoods:
            model, n_unsolved = self._cached(svms, workers)
            warn_if_unsolved(n_unsolved, svms.options)
        self.n_neighbors_ = svms.n_neighbors
        self._keep(data, model, merits)

    def _keep(self, data: LabelledRows, model: Fitted, merits: dict[int, float] | None) -> None:
        """Set the fitted attributes."""
        self.centers_ = model.centers if isinstance(model, CachedSvms) else None
        self.n_iter_, self.model_ = 1, model

    def _mapped_data(self, data: LabelledRows) -> LabelledRows:
        return replace(data, X=self._mapped(data.X), origin=None)

    # ---- prediction ----------------------------------------------------------------------------

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


def scores_in_blocks(
    score: Callable[[slice], Scored], n_queries: int, monitor: Monitor, *,
    queries_per_block: int = QUERIES_PER_BLOCK,
) -> Scored:  # fmt: skip
    """Scores of all queries from blocks, so in bounded memory; reports how many are scored."""
    scored = []
    for begin, end in row_blocks(n_queries, queries_per_block):
        scored.append(score(slice(begin, end)))
        monitor(end)
    return np.concatenate([one for one, _ in scored]), sum(unsolved for _, unsolved in scored)


def warn_if_unsolved(n_unsolved: int, options: SvmOptions) -> None:
    """Warn of SVMs that did not converge."""
    if n_unsolved:
        warnings.warn(
            f"{n_unsolved} local SVMs were stopped after max_iter={options.max_iter} steps before "
            "they converged; raise max_iter or tol, lower C, or scale the rows.",
            ConvergenceWarning,
            stacklevel=4,
        )
