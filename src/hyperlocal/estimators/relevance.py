"""RelevanceScaler: features scaled by their relevance."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.utils.validation import check_is_fitted

from ..data.arguments import check_choice, check_number, make_generator
from ..data.checks import check_labelled_rows, check_rows
from ..data.labelled import LabelledRows, merge_equal_rows
from ..maps.linear import InputMap
from ..maps.plain import Step
from ..model.chain_settings import ChainSettings
from ..runtime.stamp import stamped
from ..runtime.threads import Workers
from ..selection.relevance import COST, KINDS, learn_relevance, scales_of
from ..solvers.training import Training

METHODS = ("gradient", "trees")


@dataclass(eq=False, repr=False)
@stamped
class RelevanceScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Scale each feature by its relevance, or mix features by it.

    Distances to anchors then depend mostly on relevant features, and weights on the others are
    penalized more. This helps if many features are nearly irrelevant, or if few directions matter.
    Standardize the features first.

    By default relevance comes from the gradients of a locally linear model: with the mean product
    ``M`` of the gradients of its scores, features are multiplied by ``M_ii ** power`` or, as a
    whole, by the matrix ``M ** power``; then a model of the scaled features gives the next ``M``.
    Rounds, kind, and whether features are scaled at all are decided on held-out rows, so that this
    rarely hurts. It has the idea of recursive feature machines (Radhakrishnan et al., 2024).

    Parameters
    ----------
    power : float, default=0.25
        Zero changes nothing.
    method : {"gradient", "trees"}, default="gradient"
        "trees" takes the importance in a forest of extremely random trees for ``M_ii``. It can hurt
        if features are informative only in combination.
    kind : {"auto", "diagonal", "full"}, default="auto"
        "diagonal" multiplies features, "full" mixes them (not sparse rows, nor more than 64
        features). "auto" tries both. "trees" always multiplies.
    n_estimators : int, default=100
        Trees of the forest.
    estimator : classifier with ``feature_importances_``, default=None
        Used instead of the forest.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seeds whatever is drawn.

    Attributes
    ----------
    scale_ : ndarray of shape (n_features,) or (n_features, n_features)
        What rows are multiplied by; ones where held-out rows gain nothing. Squares have mean one.
    n_rounds_ : int
        Rounds of "gradient"; zero where held-out rows gain nothing.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    See Also
    --------
    LocallyLinearSVC : ``relevance="auto"`` does the same inside, and explains in the features as
        given.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.preprocessing import RelevanceScaler
    >>> X = np.random.default_rng(0).standard_normal((400, 5))
    >>> scaler = RelevanceScaler(kind="diagonal", random_state=0).fit(X, X[:, 0] * X[:, 1] > 0)
    >>> np.sort(scaler.scale_.argsort()[-2:])
    array([0, 1])
    """

    power: float = 0.25
    _: KW_ONLY
    method: str = "gradient"
    kind: str = "auto"
    n_estimators: int = 100
    estimator: Any = None
    n_jobs: int | None = None
    random_state: Any = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RelevanceScaler:
        """Find the scales.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            Class labels.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of the rows; one by default.

        Returns
        -------
        self
            The fitted estimator.
        """
        check_number("power", self.power, inclusive=True)
        check_choice("method", self.method, METHODS)
        check_choice("kind", self.kind, ("auto", *KINDS))
        check_number("n_estimators", self.n_estimators, integer=True, above=1, inclusive=True)
        data = check_labelled_rows(self, X, y, sample_weight, None)
        find = self._scales_by_gradients if self.method == "gradient" else self._scales_by_trees
        self.scale_, self.n_rounds_ = find(data)
        return self

    def _scales_by_gradients(self, data: LabelledRows) -> tuple[np.ndarray, int]:
        kinds = KINDS if self.kind == "auto" else (self.kind,)
        data = merge_equal_rows(data)
        with Workers(self.n_jobs) as workers:
            found = learn_relevance(
                ChainSettings(global_intercept=True), Training(COST, "squared_hinge"), data,
                make_generator(self.random_state), workers, kinds=kinds, power=self.power,
            )  # fmt: skip
        scale = np.ones(data.X.shape[1]) if found.before is None else found.before.factors
        return scale.astype(np.float64), found.n_rounds

    def _scales_by_trees(self, data: LabelledRows) -> tuple[np.ndarray, int]:
        forest = clone(self.estimator) if self.estimator is not None else self._forest()
        forest.fit(data.X, data.target, sample_weight=data.sample_weight)
        importance = np.asarray(forest.feature_importances_, dtype=np.float64)
        return scales_of(importance, "diagonal", self.power), 0

    def _forest(self) -> ExtraTreesClassifier:
        return ExtraTreesClassifier(
            self.n_estimators, n_jobs=self.n_jobs, random_state=self.random_state
        )

    def transform(self, X: Any) -> Any:
        """Scale the features of rows; sparse rows stay sparse.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)

        Returns
        -------
        {ndarray, CSR} of shape (n_rows, n_features)
            The scaled rows.
        """
        check_is_fitted(self, "scale_")
        return self.input_map().transform(check_rows(self, X, reset=False))

    def input_map(self) -> InputMap:
        """The scales as a map that pulls weights back to the features as given.

        Returns
        -------
        InputMap
            The map.
        """
        return InputMap(self.scale_)

    def plain(self) -> list[Step]:
        """The product as a plain step, for export.

        Returns
        -------
        list of Step
            One step.
        """
        return self.input_map().plain()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
