"""Classifiers that are a weighted sum of kernel values with some training rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..data.checks import check_rows
from ..kernels import NEEDS_HISTOGRAMS, Kernel
from ..model.expansion import ExpansionModel
from ..runtime.stamp import stamped
from ..runtime.threads import Workers
from ..solvers.kernel_pegasos import expansion_scores
from .base import LocalClassifier
from .explained import ExplainMixin


@stamped
class KernelExpansionClassifier(LocalClassifier, BaseEstimator, ExplainMixin):
    """Base of classifiers with ``f_c(x) = Σ_j dual_coef_cj k(x, x_j) + intercept_c``."""

    _kernel: Kernel
    support_: np.ndarray
    support_vectors_: Any
    dual_coef_: np.ndarray
    intercept_: np.ndarray
    objective_: float
    duality_gap_: float

    def _row_scores(self, X: Any) -> np.ndarray:
        X = self._checked_rows(X)
        with Workers(self.n_jobs) as workers:
            return expansion_scores(self._values, X, self.dual_coef_, self.intercept_, workers)

    def _explained_model(self) -> ExpansionModel:
        if self._is_precomputed:
            raise ValueError(
                "kernel='precomputed' does not know the features, so that none of them can be "
                "explained; give the kernel by name or as a function."
            )
        support = self.support_vectors_
        support = support.toarray() if sp.issparse(support) else support
        return ExpansionModel(
            self._kernel, support.astype(np.float64), self.dual_coef_.T.astype(np.float64),
            self.intercept_,
        )  # fmt: skip

    def _checked_rows(self, X: Any) -> Any:
        check_is_fitted(self, "classes_")
        return check_rows(self, X, reset=False).astype(self.dual_coef_.dtype, copy=False)

    @property
    def dual_objective_(self) -> float:
        """A lower bound of the optimum."""
        return self.objective_ - self.duality_gap_

    @property
    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _values(self, rows: Any, part: slice) -> np.ndarray:
        """Kernel values of rows with a part of the support; the constant is in the intercept."""
        if self._kernel.name == "precomputed":
            return rows[:, self.support_[part]]
        return self._kernel.values(rows, self.support_vectors_[part])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed
        tags.input_tags.sparse = not self._is_precomputed
        tags.input_tags.positive_only = isinstance(self.kernel, str) and (
            self.kernel in NEEDS_HISTOGRAMS
        )
        return tags
