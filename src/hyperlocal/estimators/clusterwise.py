"""What the cluster-wise classifiers share: a one-hot gate, and training by the dual solver."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.arguments import check_choice, check_n_jobs, check_number, make_generator
from ..data.checks import check_labelled_rows, warn_about_scales
from ..data.labelled import LabelledRows, equal_row_groups, merge_groups
from ..gates.clusters import check_clusters
from ..gates.code_on import CodeOn
from ..gates.codes import Codes
from ..model.lifting import LiftedRows
from ..model.losses import LOSSES
from ..model.multiclass import signed_labels
from ..runtime.progress import EpochMonitor, with_callbacks
from ..runtime.threads import Workers
from ..solvers import Problem, SolverResult
from .old_base import LocallyLinearClassifier

# "auto" C is this over the mean squared length of the lifted rows. In units of one over that length
# the best values by validation lay between 3 and 100 (benchmarks/landmark.py).
TYPICAL_COST = 10.0


class ClusterwiseClassifier(LocallyLinearClassifier):
    """Base of classifiers with a linear model per cluster.

    A subclass fits its gate and map (``_fit_gate``) and trains (``_train_clusters``); what it
    leaves is a plain local model, whatever codes it trained with.
    """

    # What these methods do not let the user choose.
    solver = "dual"
    multi_class = "ovr"
    normalize = False
    warm_start = False

    # Whether the last fit was by a kernel: then there are no weights.
    _uses_kernel = False

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit to training rows.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)
            Rows; float32 stays float32. Standardised features are best.
        y : array-like of shape (n_rows,)
            Class labels.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of rows; a weight of two is the same as the row twice (to the last bit up to
            16,384 rows, to the solver's tolerance above).

        Returns
        -------
        self
        """
        self._check_arguments()
        data = check_labelled_rows(self, X, y, sample_weight, self.class_weight)
        warn_about_scales(data.X)
        groups = equal_row_groups(data)
        result = self._fit_rows(merge_groups(data, groups))
        self._take_duals(result, data, groups, sample_weight)
        return self

    def _fit_rows(self, data: LabelledRows) -> SolverResult:
        rng = make_generator(self.random_state)
        with Workers(self.n_jobs) as workers:
            self._forget()
            self._code_space = CodeOn().fit(data.X, None)
            self._fix_lifting()
            self._fit_gate(data, rng, workers)
            result = self._train_clusters(data, rng, workers)
        self._take(result, data.classes)
        return result

    def _train_clusters(
        self, data: LabelledRows, rng: np.random.Generator, workers: Workers
    ) -> SolverResult:
        raise NotImplementedError

    def _solve_all(self, problem: Problem, rng: np.random.Generator) -> SolverResult:
        """One solve, and whoever listens is told."""
        monitor = EpochMonitor(self, self.max_iter, self.verbose)
        try:
            return self._solve(problem, rng, monitor, keep=False)
        finally:
            monitor.close()

    def _take_duals(
        self,
        result: SolverResult,
        data: LabelledRows,
        groups: tuple[np.ndarray, np.ndarray] | None,
        sample_weight: Any,
    ) -> None:
        """Support vectors and their dual variables, in terms of the rows that the user gave."""
        assert result.alpha is not None
        alpha = result.alpha
        if groups is not None:  # equal rows share their variable as they share its cost
            group = groups[1]
            mass = np.bincount(group, weights=data.sample_weight)
            alpha = alpha[group] * (data.sample_weight / mass[group])[:, None]
        used = np.flatnonzero(alpha.any(axis=1))
        labels = signed_labels(data.target[used], len(data.classes))
        self.dual_coef_ = np.ascontiguousarray((labels * alpha[used]).T)
        self.support_ = used
        given = np.asarray(1 if sample_weight is None else sample_weight)
        if given.ndim == 1:  # rows of weight zero were left out
            self.support_ = np.flatnonzero(given)[used]

    def _fix_cost(self, squared_norms: np.ndarray, sample_weight: np.ndarray) -> None:
        """``C_``; "auto" is the same whatever the scale of the rows."""
        if self.C == "auto":
            typical = float(np.average(squared_norms.astype(np.float64), weights=sample_weight))
            self.C_ = TYPICAL_COST / typical if typical > 0 else TYPICAL_COST
        else:
            self.C_ = float(self.C)

    def _cost(self) -> float:
        return self.C_

    def _lift_mapped(
        self, stored: Any, codes: Codes, n_anchors: int, workers: Workers
    ) -> LiftedRows:
        """Lifted rows of mapped rows and any codes."""
        return LiftedRows(
            self._feature_map.rows(stored), codes, n_anchors, self._bias, False, workers,
            is_dense=not sp.issparse(stored), shared_bias=self._shared_bias,
        )  # fmt: skip

    def _check_arguments(self) -> None:
        check_clusters(self.n_clusters, self.clusters)
        if isinstance(self.C, str):
            check_choice("C", self.C, ["auto"])
        else:
            check_number("C", self.C)
        check_number("tol", self.tol, inclusive=True)
        check_number("max_iter", self.max_iter, integer=True, above=1, inclusive=True)
        check_number("intercept_scaling", self.intercept_scaling, inclusive=True)
        check_n_jobs(self.n_jobs)
        if not isinstance(self.verbose, bool):
            check_number("verbose", self.verbose, integer=True, inclusive=True)
        check_choice("loss", self.loss, LOSSES)

    # ---- kernels -------------------------------------------------------------------------------

    def _kernel_scores(self, X: Any, workers: Workers) -> np.ndarray:
        raise NotImplementedError

    def _row_scores(self, X: Any) -> np.ndarray:
        if not self._uses_kernel:
            return super()._row_scores(X)
        with Workers(self.n_jobs) as workers:
            return self._kernel_scores(X, workers).astype(X.dtype)

    def _local_models_of(self, X: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        self._require_linear()
        return super()._local_models_of(X)

    def _require_linear(self) -> None:
        if self._uses_kernel:
            raise AttributeError("a kernel has no weights per feature; fit with kernel='linear'.")

    # ---- fitted attributes ---------------------------------------------------------------------

    @property
    def cluster_centers_(self) -> np.ndarray:
        """Centres of the clusters that had training rows, ``(n_clusters, n_features)``."""
        return self._gate.anchors

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the clusters' models, ``(n_clusters, n_columns, p)``."""
        self._require_linear()
        return self._weights[..., :-1]
