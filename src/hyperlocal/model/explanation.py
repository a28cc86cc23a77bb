"""Why a row was classified as it was: exact contributions, as text and table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

FEATURES_SHOWN = 10
CHANGES_SHOWN = 3


@dataclass(frozen=True)
class LocalRows:
    """The linear model at each of some rows.

    Attributes
    ----------
    coef : ndarray of shape (n_rows, n_columns, n_values)
        Weights of the values, such that ``coef · values + intercept`` are the scores.
    intercept : ndarray of shape (n_rows, n_columns)
    values : ndarray of shape (n_rows, n_values)
        The features that the weights are of: the input's, or the mapped ones.
    active : callable classes → iterable of (anchors, weights, contributions)
        For each row, given the index of a class: the active local models, their weights, and what
        each adds to that class's score (without an intercept that all share).
    """

    coef: np.ndarray
    intercept: np.ndarray
    values: np.ndarray
    active: Callable[[np.ndarray], Iterable[tuple[np.ndarray, np.ndarray, np.ndarray]]]

    @property
    def contributions(self) -> np.ndarray:
        """``coef * values``, ``(n_rows, n_columns, n_values)``."""
        return self.coef * self.values[:, None]


@dataclass(frozen=True)
class BoundaryPoint:
    """The nearest point of the other side of the boundary along the local normal.

    The local normal at a row is the direction along which its local linear model reaches the
    boundary to the rival class soonest. The point is searched for on that line with the whole
    model, gate and all, up to four times as far as the boundary of the local linear model.

    Attributes
    ----------
    found : bool
        Whether the prediction changes somewhere on the line.
    row : ndarray of shape (n_features,)
        The first point at which it does; where there is none, the point at which that of the local
        linear model would.
    prediction : label
        The prediction there.
    distance : float
        Distance to ``row``, in the input's units.
    linear_distance : float
        Distance to the boundary of the local linear model: margin over the length of the weights.
    changes : ndarray of shape (n_features,)
        The differences of ``row`` to the row that is explained.
    """

    found: bool
    row: np.ndarray
    prediction: object
    distance: float
    linear_distance: float
    changes: np.ndarray


@dataclass(frozen=True)
class Explanation:
    """The exact linear explanation of one prediction.

    Attributes
    ----------
    prediction : label
        The predicted class.
    classes : ndarray
        The class whose score each row of ``contributions`` adds up to (for two classes: the
        second).
    contributions : ndarray of shape (n_columns, n_features)
        What each feature adds to the score: its local weight times its value.
    intercepts : ndarray of shape (n_columns,)
        The constant part of each score.
    scores : ndarray of shape (n_columns,)
        ``contributions.sum(axis=1) + intercepts``: the decision function.
    feature_names : ndarray of str
    anchors, anchor_weights : ndarray of shape (n_active,)
        The active local models (those of the predicted class, where classes have their own), and
        their weights.
    anchor_contributions : ndarray of shape (n_active,) or None
        What each of them adds to the deciding score: its weight times its own score.
    values : ndarray of shape (n_features,) or None
        The row's features.
    rival : label
        The class with the second largest score.
    boundary : BoundaryPoint or None
        The nearest point of the other side along the local normal; None where local models have no
        weights on the input's features.
    """

    prediction: object
    classes: np.ndarray
    contributions: np.ndarray
    intercepts: np.ndarray
    scores: np.ndarray
    feature_names: np.ndarray
    anchors: np.ndarray
    anchor_weights: np.ndarray
    anchor_contributions: np.ndarray | None = None
    values: np.ndarray | None = None
    rival: object = None
    boundary: BoundaryPoint | None = None

    @property
    def column(self) -> int:
        """The deciding column: the predicted class's own, or the only one there is."""
        own = np.flatnonzero(self.classes == self.prediction)
        return int(own[0]) if len(own) else 0

    @property
    def margin(self) -> float:
        """How far the score is above the rival's (two classes: from zero)."""
        if len(self.scores) == 1:
            return float(abs(self.scores[0]))
        return float(self.scores[self.column] - np.delete(self.scores, self.column).max())

    def of_class(self, label: object) -> np.ndarray:
        """Contributions to the score of one class."""
        return self.contributions[self.position(label)]

    def position(self, label: object) -> int:
        """The column of a class; an error where it has none."""
        position = np.flatnonzero(self.classes == label)
        if not len(position):
            raise ValueError(
                f"no score for {label!r}; there are scores for {self.classes.tolist()}."
            )
        return int(position[0])

    # ---- text ----------------------------------------------------------------------------------

    def __str__(self) -> str:
        column = self.column
        pairs = self.largest(self.contributions[column], FEATURES_SHOWN)
        pairs.append(("intercept", float(self.intercepts[column])))
        pairs.append(("score", float(self.scores[column])))
        width = max(9, *(len(name) for name, _ in pairs))
        lines = [f"predicted {self.prediction}; score of {self.classes[column]}:"]
        lines += [f"  {name:<{width}} {value:+.4f}" for name, value in pairs]
        lines.append(f"  anchors: {self._active_text()}")
        if self.rival is not None:
            lines.append(f"  margin: {self.margin:.4f} over {self.rival}")
        if self.boundary is not None:
            lines.append(f"  {self._boundary_text(self.boundary)}")
        return "\n".join(lines)

    def largest(self, contributions: np.ndarray, most: int) -> list[tuple[str, float]]:
        """The largest contributions by name, and the sum of the others."""
        order = np.argsort(-np.abs(contributions), kind="stable")
        shown, rest = order[:most], order[most:]
        pairs = [(str(self.feature_names[i]), float(contributions[i])) for i in shown]
        if len(rest):
            pairs.append((f"{len(rest)} others", float(contributions[rest].sum())))
        return pairs

    def _active_text(self) -> str:
        return ", ".join(
            f"{anchor} ({weight:.2f})"
            for anchor, weight in zip(self.anchors, self.anchor_weights, strict=True)
        )

    def _boundary_text(self, boundary: BoundaryPoint) -> str:
        if not boundary.found:
            return "boundary: none along the local normal"
        changes = self.largest(boundary.changes, CHANGES_SHOWN)[:CHANGES_SHOWN]
        shown = [f"{name} {change:+.3g}" for name, change in changes if change]
        if len(boundary.changes) > CHANGES_SHOWN:
            shown.append("…")
        return f"{boundary.prediction} at distance {boundary.distance:.3g}: {', '.join(shown)}"

    # ---- table ---------------------------------------------------------------------------------

    def to_frame(self) -> Any:
        """A pandas DataFrame with a line per feature and one for the intercept.

        Returns
        -------
        pandas.DataFrame
            Columns "value", "contribution to …" for each score, which they add up to, and
            "change to …" where there is a boundary point.
        """
        names = [*self.feature_names, "(intercept)"]
        columns: dict[str, np.ndarray] = {}
        if self.values is not None:
            columns["value"] = np.append(self.values, np.nan)
        for label, contributions, intercept in zip(
            self.classes, self.contributions, self.intercepts, strict=True
        ):
            columns[f"contribution to {label}"] = np.append(contributions, intercept)
        if self.boundary is not None and self.boundary.found:
            columns[f"change to {self.boundary.prediction}"] = np.append(
                self.boundary.changes, np.nan
            )
        return _pandas().DataFrame(columns, index=_pandas().Index(names, name="feature"))


class Explanations(Sequence[Explanation]):
    """Explanations of several rows, in their order.

    Parameters
    ----------
    explanations : sequence of Explanation
    index : sequence, optional
        Names of the rows, for the table.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hyperlocal import LocallyLinearSVC, explain
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = LocallyLinearSVC(random_state=0).fit(X, y)
    >>> several = explain(model, X.iloc[[0, 60]])
    >>> [int(one.prediction) for one in several]
    [0, 1]
    """

    def __init__(self, explanations: Sequence[Explanation], index: Any = None):
        self._explanations = list(explanations)
        self._index = index

    @overload
    def __getitem__(self, position: int) -> Explanation: ...

    @overload
    def __getitem__(self, position: slice) -> Explanations: ...

    def __getitem__(self, position: int | slice) -> Explanation | Explanations:
        if isinstance(position, slice):
            index = None if self._index is None else self._index[position]
            return Explanations(self._explanations[position], index)
        return self._explanations[position]

    def __len__(self) -> int:
        return len(self._explanations)

    def __iter__(self) -> Iterator[Explanation]:
        return iter(self._explanations)

    def __str__(self) -> str:
        return "\n\n".join(map(str, self._explanations))

    def to_frame(self) -> Any:
        """A pandas DataFrame with a line per row.

        Returns
        -------
        pandas.DataFrame
            "prediction", "margin", "score", "intercept", and the contribution of each feature to
            the deciding score.
        """
        pandas = _pandas()
        heads = pandas.DataFrame(
            [
                (e.prediction, e.margin, float(e.scores[e.column]), float(e.intercepts[e.column]))
                for e in self
            ],
            columns=["prediction", "margin", "score", "intercept"],
            index=self._index,
        )
        contributions = pandas.DataFrame(
            np.array([e.contributions[e.column] for e in self]),
            columns=list(self[0].feature_names),
            index=self._index,
        )
        return pandas.concat([heads, contributions], axis=1)


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError("a table needs pandas; pip install pandas.") from error
    return pandas
