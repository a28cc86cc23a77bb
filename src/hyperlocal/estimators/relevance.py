"""RelevanceScaler: features scaled by their importance."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.utils.validation import check_is_fitted

from ..data.arguments import check_number
from ..data.checks import check_labelled_rows, check_rows
from ..maps.plain import Step, scaling
from ..runtime.stamp import stamped


@dataclass(eq=False, repr=False)
@stamped
class RelevanceScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Scale each feature by a power of its importance in a forest of extremely random trees.

    Distances to anchors then depend mostly on relevant features, and weights on the others are
    penalized more. This helps if many features are nearly irrelevant. It can hurt if features are
    informative only in combination. Standardize the features first.

    Parameters
    ----------
    power : float, default=0.25
        Scales are ``(importance / mean importance) ** power``; zero changes nothing.
    n_estimators : int, default=100
        Trees of the forest.
    estimator : classifier with ``feature_importances_``, default=None
        Used instead of the forest.
    n_jobs : int or None, default=None
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    scale_ : ndarray of shape (n_features,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    See Also
    --------
    LocallyLinearSVCCV : Tries it with ``scalers=(None, RelevanceScaler())``.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.preprocessing import RelevanceScaler
    >>> X = np.random.default_rng(0).standard_normal((200, 3))
    >>> scaler = RelevanceScaler(random_state=0).fit(X, X[:, 0] > 0)
    >>> int(scaler.scale_.argmax())
    0
    """

    power: float = 0.25
    _: KW_ONLY
    n_estimators: int = 100
    estimator: Any = None
    n_jobs: int | None = None
    random_state: Any = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RelevanceScaler:
        """Fit the forest and compute the scales.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            Class labels.
        sample_weight : array-like of shape (n_rows,), default=None

        Returns
        -------
        self
        """
        check_number("power", self.power, inclusive=True)
        check_number("n_estimators", self.n_estimators, integer=True, above=1, inclusive=True)
        data = check_labelled_rows(self, X, y, sample_weight, None)
        forest = clone(self.estimator) if self.estimator is not None else self._forest()
        forest.fit(data.X, data.target, sample_weight=data.sample_weight)
        importance = np.asarray(forest.feature_importances_, dtype=np.float64)
        mean = importance.mean()
        relative = importance / mean if mean > 0 else np.ones_like(importance)
        self.scale_ = relative**self.power
        return self

    def _forest(self) -> ExtraTreesClassifier:
        return ExtraTreesClassifier(
            self.n_estimators, n_jobs=self.n_jobs, random_state=self.random_state
        )

    def transform(self, X: Any) -> Any:
        """Rows with scaled features; sparse rows stay sparse.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)

        Returns
        -------
        {ndarray, CSR} of shape (n_rows, n_features)
        """
        check_is_fitted(self, "scale_")
        X = check_rows(self, X, reset=False)
        scale = self.scale_.astype(X.dtype)
        if not sp.issparse(X):
            return X * scale
        return sp.csr_array((X.data * scale[X.indices], X.indices, X.indptr), shape=X.shape)

    def plain(self) -> list[Step]:
        """The factors as a plain step, for export."""
        return [scaling(self.scale_)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
