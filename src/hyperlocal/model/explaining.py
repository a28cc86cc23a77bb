"""From rows to explanations, for every model that can state a linear model at a row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from ..maps.base import FeatureMap
from ..runtime.threads import Workers
from .boundary import first_changes
from .explanation import BoundaryPoint, Explanation, LocalRows
from .multiclass import best_and_rival, margins_over_rival, predicted_codes

# How far to search for the boundary, in multiples of the distance by the local linear model.
REACH = 4.0


class ExplainedModel(Protocol):
    """What predictions and explanations need of a fitted model."""

    @property
    def feature_map(self) -> FeatureMap:
        """The map whose features explanations are about."""

    @property
    def n_columns(self) -> int:
        """Columns of scores: one per class, or one for two classes."""

    @property
    def n_features_in(self) -> int:
        """Features of a row."""

    @property
    def dtype(self) -> np.dtype:
        """Precision of the scores."""

    def scores(self, X: Any, workers: Workers) -> np.ndarray:
        """Scores of rows, ``(n_rows, n_columns)``."""

    def local_rows(self, X: Any, workers: Workers) -> Iterator[LocalRows]:
        """The linear model at each row, in row blocks."""


def as_rows(X: Any) -> tuple[Any, Any]:
    """Rows of what may be one row, and their index if they have one.

    Examples
    --------
    >>> from hyperlocal.model.explaining import as_rows
    >>> as_rows([1.0, 2.0])[0].shape
    (1, 2)
    """
    index = getattr(X, "index", None)
    index = None if callable(index) else index  # a list's method
    if index is not None and np.ndim(X) == 1:  # a pandas Series keeps its feature names
        return X.to_frame().T, index
    if not sp.issparse(X) and np.ndim(X) == 1:
        return np.asarray(X).reshape(1, -1), index
    return X, index


def input_names(estimator: Any) -> np.ndarray:
    """Names of the features that an estimator was fitted to: its own, or x0, x1, …"""
    default = np.array([f"x{i}" for i in range(estimator.n_features_in_)], dtype=object)
    return getattr(estimator, "feature_names_in_", default)


def explain_rows(
    model: ExplainedModel, X: Any, classes: np.ndarray, names: np.ndarray, workers: Workers
) -> list[Explanation]:
    """Explanations of checked rows.

    Parameters
    ----------
    model : ExplainedModel
    X : ndarray or CSR of shape (n_rows, n_features)
    classes : ndarray of shape (n_classes,)
    names : ndarray of shape (n_features,)
        Names of the input's features.
    workers : Workers

    Returns
    -------
    list of Explanation
    """
    explanations: list[Explanation] = []
    names = model.feature_map.feature_names(names)
    for block in model.local_rows(X, workers):
        begin = len(explanations)
        rows = X[begin : begin + len(block.coef)]
        explanations += _explain_block(model, rows, block, classes, names, workers)
    return explanations


def _explain_block(
    model: ExplainedModel,
    X: Any,
    block: LocalRows,
    classes: np.ndarray,
    names: np.ndarray,
    workers: Workers,
) -> Iterator[Explanation]:
    contributions = block.contributions
    scores = contributions.sum(axis=2) + block.intercept
    best, rival = best_and_rival(scores)
    points = _boundary_points(model, X, block.coef, scores, classes, workers)
    for i, (anchors, weights, parts) in enumerate(block.active(best)):
        yield Explanation(
            prediction=classes[best[i]],
            classes=classes[-scores.shape[1] :],
            contributions=contributions[i],
            intercepts=block.intercept[i],
            scores=scores[i],
            feature_names=names,
            anchors=anchors,
            anchor_weights=weights,
            anchor_contributions=parts,
            values=block.values[i],
            rival=classes[rival[i]],
            boundary=points[i],
        )


def _boundary_points(
    model: ExplainedModel,
    X: Any,
    coef: np.ndarray,
    scores: np.ndarray,
    classes: np.ndarray,
    workers: Workers,
) -> list[BoundaryPoint | None]:
    """Where the prediction first changes along each row's local normal."""
    normals = _towards_rival(coef, scores)
    lengths = np.linalg.norm(normals, axis=1)
    if not (model.feature_map.explains_input and lengths.any()):
        return [None] * len(scores)
    rows = X.toarray() if sp.issparse(X) else X
    usable = lengths > 0
    normals[usable] /= lengths[usable, None]
    margins = margins_over_rival(scores).astype(np.float64)
    linear = np.divide(margins, lengths, out=np.zeros_like(lengths), where=usable)

    def predict(points: np.ndarray) -> np.ndarray:
        return predicted_codes(model.scores(points, workers))

    own = predicted_codes(scores)
    distances, codes = first_changes(predict, rows, own, normals, REACH * linear)
    found = np.isfinite(distances)
    distances = np.where(found, distances, linear)
    changes = distances[:, None] * normals
    return [
        BoundaryPoint(
            bool(found[i]),
            row + changes[i],
            classes[codes[i]],
            float(distances[i]),
            float(linear[i]),
            changes[i],
        )
        if usable[i]
        else None
        for i, row in enumerate(rows)
    ]


def _towards_rival(coef: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Directions that raise the rival's score above the best, by the local weights."""
    best, rival = best_and_rival(scores)
    if scores.shape[1] == 1:
        return np.where(best == 1, -1.0, 1.0)[:, None] * coef[:, 0]
    rows = np.arange(len(scores))
    return coef[rows, rival].astype(np.float64) - coef[rows, best]
