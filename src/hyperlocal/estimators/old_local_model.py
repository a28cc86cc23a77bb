"""A fitted local model: scores, labels, probabilities, and exact explanations of them.

Whatever fitted it left a gate, a code space, a feature map and weights ``(m, c, p + 1)``; the rest
follows from ``f_c(x) = Σ_j γ_j(x) (w_jc · φ(x) + b_jc)``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..data.checks import check_rows
from ..gates.code_on import CodeOn
from ..gates.codes import Codes
from ..gates.gate import Gate
from ..maps.base import FeatureMap
from ..maps.plain import Step, scaling
from ..model.boundary import first_changes
from ..model.explanation import BoundaryPoint, Explanation, Explanations, LocalRows
from ..model.lifting import LiftedRows
from ..model.local_model import Bias
from ..model.local_model import LocalModel as FittedChain
from ..model.multiclass import as_decisions, best_and_rival, margins_over_rival, predicted_codes
from ..runtime.threads import Workers, row_blocks

ROWS_PER_PREDICTION_BLOCK = 32_768
NUMBERS_PER_EXPLANATION_BLOCK = 1 << 22


# How far to look for the boundary, in distances at which the local linear model has it.
REACH = 4.0


def _loss_is_log(estimator: Any) -> bool:
    if estimator.loss != "log":
        raise AttributeError("predict_proba needs loss='log'.")
    return True


class StackedMap(FeatureMap):
    """Mapped rows and the scaled scores of an earlier model: its plain form only."""

    explains_input = False

    def __init__(self, base: FeatureMap, earlier: FittedChain, scale: float):
        super().__init__(base.n_features_in)
        self.base, self.earlier, self.scale = base, earlier, scale

    def feature_names(self, names: np.ndarray) -> np.ndarray:
        return self.base.feature_names(names)

    def plain(self) -> list[Step]:
        scores = [self.earlier.plain(), scaling(self.scale)]
        return [Step("beside", {"branches": [self.base.plain(), scores]})]


@dataclass(frozen=True)
class LearnedModel:
    """What export needs of models whose gate is learned."""

    feature_map: FeatureMap
    weights: np.ndarray
    step: Step

    @property
    def dtype(self) -> np.dtype:
        return self.weights.dtype

    @property
    def coef(self) -> np.ndarray:
        return self.weights[..., :-1]

    def plain(self) -> Step:
        return self.step


class LocalModel(ClassifierMixin, BaseEstimator):
    """Prediction and explanation by a gate, a feature map and weights."""

    @property
    def model_(self) -> Any:
        """The fitted chain."""
        if getattr(self, "_uses_kernel", False):
            raise AttributeError("a model with a kernel has no local linear models.")
        space, bias = self._code_space, Bias(self._bias, self._shared_bias)
        feature_map = self._feature_map
        for stage in getattr(self, "_earlier", []):
            chain = FittedChain(feature_map, space, stage.gate, bias, False, stage.weights)
            feature_map = StackedMap(self._feature_map, chain, float(stage.scale))
        return FittedChain(
            feature_map, space, self._gate, bias, bool(self._unit_rows), self._weights
        )

    def local_rows(self, X: Any) -> Iterator[LocalRows]:
        """The linear model at each row, in row blocks."""
        for coef, values, intercept in self._contributions_of(self._check_fitted_rows(X)):
            yield LocalRows(coef, intercept, values, lambda best: ())

    _gate: Gate
    _feature_map: FeatureMap
    _code_space: CodeOn
    _bias: float
    _shared_bias: bool = False
    _unit_rows: bool
    _weights: np.ndarray

    def _lift_rows(self, X: Any, workers: Workers) -> LiftedRows:
        return self._lift(X, self._encode(X, workers), workers)

    def _encode(self, X: Any, workers: Workers) -> Codes:
        return self._gate.encode(self._code_space.transform(X, self._feature_map), workers)

    def _lift(self, X: Any, codes: Codes, workers: Workers) -> LiftedRows:
        return self._lift_stored(self._feature_map.stored(X), codes, workers)

    def _lift_stored(
        self, stored: Any, codes: Codes, workers: Workers, row_norms: np.ndarray | None = None
    ) -> LiftedRows:
        return LiftedRows(
            self._feature_map.rows(stored), codes, self._gate.n_anchors,
            self._bias, self._unit_rows, workers,
            is_dense=not sp.issparse(stored), row_norms=row_norms, shared_bias=self._shared_bias,
        )  # fmt: skip

    # ---- prediction ----------------------------------------------------------------------------

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of rows.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,) for two classes, else (n_rows, n_classes)
        """
        scores = self._row_scores(self._rows_to_score(X))
        return as_decisions(scores)

    def _rows_to_score(self, X: Any) -> Any:
        """Rows as ``_row_scores`` takes them."""
        return self._check_fitted_rows(X)

    def _row_scores(self, X: Any) -> np.ndarray:
        """Scores of checked rows, ``(n_rows, n_columns)``."""
        scores = np.empty((X.shape[0], self._weights.shape[1]), self._weights.dtype)
        with Workers(self.n_jobs) as workers:
            for begin, end in row_blocks(X.shape[0], ROWS_PER_PREDICTION_BLOCK):
                lifted = self._lift_rows(X[begin:end], workers)
                scores[begin:end] = lifted.scores(self._weights)
        return scores

    def predict(self, X: Any) -> np.ndarray:
        """Predicted class labels of rows."""
        chosen = predicted_codes(self._row_scores(self._rows_to_score(X)))
        return self.classes_[chosen]

    @available_if(_loss_is_log)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities (``loss="log"``); one-vs-rest probabilities are scaled to sum to one.

        The most probable class is always the predicted one.
        """
        scores = self.decision_function(X)
        with np.errstate(over="ignore"):  # exp of a large score is infinite: a probability of 0
            probabilities = 1 / (1 + np.exp(-scores))
        if probabilities.ndim == 1:
            return np.column_stack([1 - probabilities, probabilities])
        # Where all classes underflow, the largest score still wins.
        tiny = np.finfo(probabilities.dtype).tiny
        least = np.where(scores == scores.max(axis=1, keepdims=True), 2 * tiny, tiny)
        probabilities = np.maximum(probabilities, least)
        return probabilities / probabilities.sum(axis=1, keepdims=True)

    def _check_fitted_rows(self, X: Any) -> Any:
        check_is_fitted(self, "classes_")
        X = check_rows(self, X, reset=False)
        return X.astype(self._weights.dtype, copy=False)

    # ---- explanation ---------------------------------------------------------------------------

    def local_coef(self, X: Any) -> np.ndarray:
        """The exact weight vector at each row: ``local_coef(x)·x + local_intercept(x) = f(x)``.

        In the input's features for the identity and quadratic maps, else in the mapped features.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_columns, n_features)
            One column per class, or one column for two classes.
        """
        blocks = [coef for coef, _ in self._local_models(X)]
        return np.concatenate(blocks)

    def local_intercept(self, X: Any) -> np.ndarray:
        """The exact intercept at each row, ``(n_rows, n_columns)``; see :meth:`local_coef`."""
        blocks = [intercept for _, intercept in self._local_models(X)]
        return np.concatenate(blocks)

    def explain(self, X: Any) -> Any:
        """What each feature contributed to the scores of rows, who spoke, and the way out.

        Parameters
        ----------
        X : array-like of shape (n_features,), or {array-like, CSR} of shape (n_rows, n_features)
            One row or several; a row of a DataFrame too.

        Returns
        -------
        Explanation, or Explanations for several rows
            Print it to read it. Contributions and intercept add up to the score.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from hyperlocal import SDCASVC
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> model = SDCASVC(random_state=0).fit(X, y == 0)
        >>> print(model.explain(X.iloc[60]))  # doctest: +ELLIPSIS
        predicted False; score of True:
          petal length (cm) -3.6...
          sepal length (cm) +1.5...
          sepal width (cm)  +0.8...
          petal width (cm)  -0.6...
          intercept         +0.1...
          score             -1.7...
          anchors: 0 (1.00)
          margin: 1.7... over True
          True at distance 1.29: petal length (cm) -1.02, petal width (cm) ...
        """
        index = getattr(X, "index", None)
        index = None if callable(index) else index  # a list's method
        if index is not None and np.ndim(X) == 1:  # a pandas Series keeps its feature names
            X = X.to_frame().T
        elif not sp.issparse(X) and np.ndim(X) == 1:
            X = np.asarray(X).reshape(1, -1)
        explanations = self._explain_rows(self._check_fitted_rows(X))
        return explanations[0] if len(explanations) == 1 else Explanations(explanations, index)

    def _explain_rows(self, X: Any) -> list[Explanation]:
        blocks = list(self._contributions_of(X))
        coef, values, intercepts = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
        contributions = coef * values[:, None]
        scores = contributions.sum(axis=2) + intercepts
        best, second = best_and_rival(scores)
        names = self._feature_map.feature_names(self._input_names())
        points = self._boundary_points(X, coef, scores, best, second)
        explanations = []
        for i, point in enumerate(points):
            anchors, weights, spoken = self._active_models(X[i : i + 1], int(best[i]))
            explanations.append(
                Explanation(
                    prediction=self.classes_[best[i]],
                    classes=self.classes_[1:] if scores.shape[1] == 1 else self.classes_,
                    contributions=contributions[i],
                    intercepts=intercepts[i],
                    scores=scores[i],
                    feature_names=names,
                    anchors=anchors,
                    anchor_weights=weights,
                    anchor_contributions=spoken,
                    values=values[i],
                    rival=self.classes_[second[i]],
                    boundary=point,
                )
            )
        return explanations

    def _contributions_of(self, X: Any) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Weights, the features that they weigh, and intercepts, of blocks of rows."""
        begin = 0
        for coef, intercept in self._local_models_of(X):
            rows = X[begin : begin + len(coef)]
            values = rows if self._feature_map.explains_input else self._feature_map.mapped(rows)
            yield coef, values.toarray() if sp.issparse(values) else values, intercept
            begin += len(coef)

    def _boundary_points(
        self, X: Any, coef: np.ndarray, scores: np.ndarray, best: np.ndarray, second: np.ndarray
    ) -> list[BoundaryPoint | None]:
        """Where the model first decides otherwise along each row's local normal."""
        normals = _towards(coef, scores, best, second)
        lengths = np.linalg.norm(normals, axis=1)
        if not (self._feature_map.explains_input and lengths.any()):
            return [None] * len(scores)
        rows = X.toarray() if sp.issparse(X) else X
        usable = lengths > 0
        normals[usable] /= lengths[usable, None]
        margins = margins_over_rival(scores).astype(np.float64)
        linear = np.divide(margins, lengths, out=np.zeros_like(lengths), where=usable)

        def predict(points: np.ndarray) -> np.ndarray:
            return predicted_codes(self._row_scores(points))

        own = predicted_codes(scores)
        distances, labels = first_changes(predict, rows, own, normals, REACH * linear)
        found = np.isfinite(distances)
        distances[~found] = linear[~found]
        points: list[BoundaryPoint | None] = []
        for i, row in enumerate(rows):
            changes = distances[i] * normals[i]
            points.append(
                BoundaryPoint(
                    bool(found[i]), row + changes, self.classes_[labels[i]], float(distances[i]),
                    float(linear[i]), changes,
                ) if usable[i] else None
            )  # fmt: skip
        return points

    def _active_models(self, X: Any, best: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The models that speak for class ``best`` at the one row of ``X``, how loudly, and what.

        What they say adds up to the deciding score (without a bias that all share).
        """
        with Workers(self.n_jobs) as workers:
            codes = self._encode(X, workers)
            lifted = self._lift_rows(X, workers)
        phi = np.empty((1, lifted.width), lifted.dtype)
        lifted.rows.gather(np.arange(1), phi)
        column = 0 if self._weights.shape[1] == 1 else best
        weights = self._weights[lifted.anchors[0], column]
        said = weights[:, :-1] @ phi[0]
        if not self._shared_bias:
            said = said + weights[:, -1] * lifted.dtype.type(self._bias)
        return codes.anchors[0], codes.weights[0], lifted.gate[0] * said

    def _input_names(self) -> np.ndarray:
        default = np.array([f"x{i}" for i in range(self.n_features_in_)], dtype=object)
        return getattr(self, "feature_names_in_", default)

    def _local_models(self, X: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        return self._local_models_of(self._check_fitted_rows(X))

    def _local_models_of(self, X: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Weights and intercepts of blocks of rows, ``Σ_j γ_j W_j`` pulled back to the input."""
        # Pulling back quadratic weights needs a d × d matrix per row and class.
        per_row = self._weights.shape[1] * max(1, 2 * self._feature_map.n_features_out)
        size = max(1, NUMBERS_PER_EXPLANATION_BLOCK // per_row)
        for begin, end in row_blocks(X.shape[0], size):
            rows = X[begin:end]
            with Workers(self.n_jobs) as workers:
                coef, intercept = self._models_at(rows, workers)
            coef, shift = self._feature_map.pull_back(rows, coef)
            yield coef, intercept + shift

    def _models_at(self, X: Any, workers: Workers) -> tuple[np.ndarray, np.ndarray]:
        """Weights on φ(x) and intercepts at rows."""
        return self._lift_rows(X, workers).local_models(self._weights)

    # ---- fitted attributes ---------------------------------------------------------------------

    @property
    def anchors_(self) -> np.ndarray:
        """Anchors, ``(n_anchors, width of what is coded)``."""
        return self._gate.anchors

    @property
    def beta_(self) -> float:
        """Sharpness of the soft coding."""
        return self._gate.beta

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the local models, ``(n_anchors, n_columns, p)``."""
        return self._weights[..., :-1]

    @property
    def intercept_(self) -> np.ndarray:
        """Intercepts of the local models, ``(n_anchors, n_columns)``."""
        return self._weights[..., -1] * self._weights.dtype.type(self._bias)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _towards(
    coef: np.ndarray, scores: np.ndarray, best: np.ndarray, second: np.ndarray
) -> np.ndarray:
    """Directions that raise the rival's score above the best, by the local weights."""
    if scores.shape[1] == 1:
        return np.where(best == 1, -1.0, 1.0)[:, None] * coef[:, 0]
    rows = np.arange(len(scores))
    return coef[rows, second].astype(np.float64) - coef[rows, best]
