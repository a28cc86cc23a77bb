"""From rows to explanations, for every model that can state a linear model at a row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol, overload

import numpy as np
import scipy.sparse as sp

from ..data.checks import longest_row
from ..maps.base import FeatureMap
from ..runtime.threads import Workers
from .boundary import first_changes, way_shares
from .contributions import Contributions
from .explanation import BoundaryPoint, Explanation, LocalRows
from .multiclass import best_and_rival, margins_over_rival, predicted_codes

# How far to search for the boundary, in multiples of the distance by the local linear model.
REACH = 4.0

#: Of each row, the active local models with their weights and contributions; and boundary points.
Places = tuple[list[Any], list["BoundaryPoint | None"]]


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

    def path_weights(
        self, X: Any, references: np.ndarray, workers: Workers
    ) -> Iterator[np.ndarray]:
        """Gradients averaged on the way to rows, for one reference after the other."""


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


class ExplainedRows(Sequence[Explanation]):
    """Explanations of rows that are made when they are asked for.

    Boundary points are searched for at the first request, for all rows at once.

    Parameters
    ----------
    found : Contributions
    classes : ndarray or None
        All classes; None where the score is the prediction.
    names : ndarray of shape (n_features,)
    places : callable or None
        Returns the active local models of all rows and their boundary points.
    predicted : ndarray of shape (n_rows,), optional
        Predicted classes as indices, where they are not those of the largest scores.
    """

    def __init__(
        self,
        found: Contributions,
        classes: np.ndarray | None,
        names: np.ndarray,
        places: Callable[[], Places] | None = None,
        predicted: np.ndarray | None = None,
    ):
        self.classes, self.names = classes, names
        self.contributions, self.scores, self.values = found.values, found.scores, found.seen
        self.references, self.remainders = found.references, found.remainders
        self.predicted = predicted
        self._find_places = places
        self._places: Places | None = None

    def __len__(self) -> int:
        return len(self.scores)

    @overload
    def __getitem__(self, position: int) -> Explanation: ...

    @overload
    def __getitem__(self, position: slice) -> Sequence[Explanation]: ...

    def __getitem__(self, position: int | slice) -> Explanation | Sequence[Explanation]:
        if isinstance(position, slice):
            return [self[i] for i in range(*position.indices(len(self)))]
        i = range(len(self))[position]
        one = Explanation(
            prediction=float(self.scores[i, 0]),
            classes=None,
            contributions=self.contributions[i],
            references=self.references[i],
            remainders=self.remainders[i],
            scores=self.scores[i],
            feature_names=self.names,
            anchors=np.empty(0, np.intp),
            anchor_weights=np.empty(0),
            values=self.values[i],
        )
        return one if self.classes is None else self._classified(one, i, self.classes)

    def _classified(self, one: Explanation, i: int, classes: np.ndarray) -> Explanation:
        best, rival = best_and_rival(self.scores[i : i + 1])
        if self.predicted is not None and best[0] != self.predicted[i]:
            best, rival = self.predicted[i : i + 1], best
        one = replace(
            one,
            prediction=classes[best[0]],
            classes=classes[-self.scores.shape[1] :],
            rival=classes[rival[0]],
        )
        if self._find_places is None:
            return one
        if self._places is None:
            self._places = self._find_places()
        (anchors, weights, parts), boundary = self._places[0][i], self._places[1][i]
        return replace(
            one,
            anchors=anchors,
            anchor_weights=weights,
            anchor_contributions=parts,
            boundary=boundary,
        )


def local_places(model: ExplainedModel, X: Any, classes: np.ndarray) -> Places:
    """The active local models of rows, and where predictions change."""
    active: list[Any] = []
    points: list[BoundaryPoint | None] = []
    with Workers(1) as workers:
        for block in model.local_rows(X, workers):
            rows = X[len(active) : len(active) + len(block.coef)]
            scores = block.scores
            active += block.active(best_and_rival(scores)[0])
            normals = block.coef if block.normals is None else block.normals
            points += _boundary_points(model, rows, normals, scores, classes, workers)
    return active, points


def _boundary_points(
    model: ExplainedModel,
    X: Any,
    coef: np.ndarray,
    scores: np.ndarray,
    classes: np.ndarray,
    workers: Workers,
) -> list[BoundaryPoint | None]:
    """Where the prediction first changes along each row's local normal."""
    if not model.feature_map.explains_input:
        return [None] * len(scores)
    # The nearest point in units of very different sizes would change the smallest one alone.
    unit = 1.0 if model.feature_map.unit is None else model.feature_map.unit.astype(np.float64)
    weights = _towards_rival(coef, scores)
    normals, usable = _directions(weights / unit / unit)
    margins = margins_over_rival(scores).astype(np.float64)
    slopes = np.einsum("nd,nd->n", weights, normals)
    with np.errstate(over="ignore"):
        linear = np.divide(margins, slopes, out=np.zeros_like(slopes), where=usable)
    usable &= np.isfinite(linear)
    if not usable.any():
        return [None] * len(scores)
    rows = X.toarray() if sp.issparse(X) else X
    # No farther than rows may be that a model takes.
    room = 0.5 * longest_row(rows.dtype) - np.linalg.norm(rows, axis=1)
    reach = np.where(usable, np.clip(REACH * linear, 0, np.maximum(room, 0)), 0)

    def predict(points: np.ndarray) -> np.ndarray:
        return predicted_codes(model.scores(points, workers))

    own = predicted_codes(scores)
    distances, codes = first_changes(predict, rows, own, normals, reach)
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
            way_shares(changes[i] / unit),
        )
        if usable[i]
        else None
        for i, row in enumerate(rows)
    ]


def _directions(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Vectors scaled to length one, and which of them have a length; squares may vanish."""
    largest = np.abs(vectors).max(axis=1, initial=0)
    has_length = np.isfinite(largest) & (largest > 0)
    found = np.divide(vectors, largest[:, None], where=has_length[:, None], out=0 * vectors)
    lengths = np.linalg.norm(found, axis=1)
    return found / np.where(has_length, lengths, 1)[:, None], has_length


def _towards_rival(coef: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Directions that raise the rival's score above the best, by the local weights."""
    best, rival = best_and_rival(scores)
    if scores.shape[1] == 1:
        return np.where(best == 1, -1.0, 1.0)[:, None] * coef[:, 0]
    rows = np.arange(len(scores))
    return coef[rows, rival].astype(np.float64) - coef[rows, best]
