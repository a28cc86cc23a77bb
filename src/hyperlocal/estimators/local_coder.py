"""LocalCoder: local codes of rows as a transformer."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..data.arguments import check_flag, check_n_jobs, make_generator
from ..data.checks import check_rows, check_sample_weight, warn_about_scales
from ..gates.anchors import choose_anchors, default_n_codes
from ..gates.gate import check_gate, fit_gate
from ..maps.plain import Step
from ..runtime.stamp import stamped
from ..runtime.threads import Workers


@dataclass(eq=False, repr=False)
@stamped
class LocalCoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Local codes of rows as a sparse matrix: ``k`` weights per row that sum to one.

    A row is stated by its nearest anchors: a linear model of the codes is one number per anchor.

    Parameters
    ----------
    n_anchors : int or "auto", default="auto"
        Number of anchors ``m``; "auto" is ``max(8, √N/4)``, at most N/2, of N distinct rows.
    n_neighbors : int, default=8
        Active anchors per row; all, where there are fewer.
    coding : {"soft", "inverse_distance", "lle", "llc", "lcc", "hard"}, default="soft"
    beta : float or "auto", default="auto"
        Sharpness of the soft coding.
    anchors : {"kmeans", "random"} or array of shape (n_anchors, n_features), default="kmeans"
    sparse_output : bool, default=True
        CSR, or a dense array (needed by ``set_output(transform="pandas")``).
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seeds whatever is drawn.

    Attributes
    ----------
    anchors_ : ndarray of shape (n_anchors, n_features)
    beta_ : float
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    See Also
    --------
    LocalCodingSVC : A linear SVM on the codes.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.preprocessing import LocalCoder
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> codes = LocalCoder(10, n_neighbors=3, random_state=0).fit_transform(X)
    >>> codes.shape, codes.nnz
    ((100, 10), 300)
    >>> bool(np.allclose(codes.sum(axis=1), 1))
    True
    """

    n_anchors: Any = "auto"
    _: KW_ONLY
    n_neighbors: int = 8
    coding: str = "soft"
    beta: Any = "auto"
    anchors: Any = "kmeans"
    sparse_output: bool = True
    n_jobs: int | None = None
    random_state: Any = None

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LocalCoder:
        """Find the anchors and the sharpness of the gate.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)
        y : ignored
            Ignored.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of the rows; one by default.

        Returns
        -------
        self
            The fitted estimator.
        """
        check_gate(self.n_anchors, self.anchors, self.n_neighbors, self.coding, self.beta)
        check_flag("sparse_output", self.sparse_output)
        check_n_jobs(self.n_jobs)
        X = check_rows(self, X, reset=True)
        weights = check_sample_weight(sample_weight, X.shape[0])
        kept = np.flatnonzero(weights)
        if len(kept) < len(weights):
            X, weights = X[kept], weights[kept]
        warn_about_scales(X)
        rng = make_generator(self.random_state)
        with Workers(self.n_jobs) as workers:
            anchors = choose_anchors(
                X, weights, self.anchors, self.n_anchors, rng, workers, default=default_n_codes
            )
            self._gate = fit_gate(
                X, weights, anchors, self.n_neighbors, self.coding, self.beta, rng, workers
            )
        self.anchors_ = self._gate.anchors
        self.beta_ = self._gate.beta
        return self

    def transform(self, X: Any) -> Any:
        """Compute the codes of rows.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        CSR matrix or ndarray of shape (n_rows, n_anchors)
            A weight for each anchor, zero for those that are not active.
        """
        check_is_fitted(self)
        X = check_rows(self, X, reset=False).astype(self.anchors_.dtype, copy=False)
        with Workers(self.n_jobs) as workers:
            codes = self._gate.encode(X, workers)
        # 32-bit indices where they suffice: LIBLINEAR and others do not read wider ones.
        index = np.int32 if codes.anchors.size <= np.iinfo(np.int32).max else np.int64
        starts = np.arange(0, codes.anchors.size + 1, codes.anchors.shape[1], dtype=index)
        columns = codes.anchors.ravel().astype(index, copy=False)
        shape = (X.shape[0], self._gate.n_anchors)
        matrix = sp.csr_array((codes.weights.ravel(), columns, starts), shape=shape)
        matrix.sort_indices()
        return matrix if self.sparse_output else matrix.toarray()

    def plain(self) -> list[Step]:
        """The code as a step, for export.

        Returns
        -------
        list of Step
            One step.
        """
        return [self._gate.plain()]

    @property
    def _n_features_out(self) -> int:
        return len(self.anchors_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
