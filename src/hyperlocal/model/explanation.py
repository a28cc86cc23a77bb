"""Why a row was classified as it was: exact contributions, as text and table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

FEATURES_SHOWN = 10
CHANGES_SHOWN = 3
# A remainder that is shown: relative to the contributions.
NEGLIGIBLE = 1e-3


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
    normals : ndarray of shape (n_rows, n_columns, n_values) or None
        Gradients at the rows, where they differ from the weights.
    """

    coef: np.ndarray
    intercept: np.ndarray
    values: np.ndarray
    active: Callable[[np.ndarray], Iterable[tuple[np.ndarray, np.ndarray, np.ndarray]]]
    normals: np.ndarray | None = None

    @property
    def scores(self) -> np.ndarray:
        """``coef · values + intercept``, ``(n_rows, n_columns)``."""
        return np.einsum("ncv,nv->nc", self.coef, self.values) + self.intercept


@dataclass(frozen=True)
class BoundaryPoint:
    """The nearest point of the other side of the boundary along the local normal.

    The local normal at a row is the direction along which its local linear model reaches the
    boundary to the rival class soonest (measured in standardized features, where the model has
    these). The point is searched for on that line with the whole model, gate and all, up to four
    times as far as the boundary of the local linear model.

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
    shares : ndarray of shape (n_features,)
        How much of the way each of them is, in features scaled as the model sees them: a change of
        one hundred in a feature of thousands is a small one.
    """

    found: bool
    row: np.ndarray
    prediction: object
    distance: float
    linear_distance: float
    changes: np.ndarray
    shares: np.ndarray

    def largest(self, most: int) -> np.ndarray:
        """The features that change most, the first ones first.

        Parameters
        ----------
        most : int
            How many.

        Returns
        -------
        ndarray of int, shape (n_changes,)
            Their indices; features that do not change are left out.
        """
        order = np.argsort(-self.shares, kind="stable")[:most]
        return order[self.changes[order] != 0]


@dataclass(frozen=True, repr=False)
class Explanation:
    """The exact explanation of one prediction, relative to reference rows.

    Attributes
    ----------
    prediction : label or float
        The predicted class, or the predicted number.
    classes : ndarray or None
        The class whose score each row of ``contributions`` adds up to (for two classes: the
        second); None for a predicted number.
    contributions : ndarray of shape (n_columns, n_features)
        What each feature adds to the score, on the way from the references to the row.
    references : ndarray of shape (n_columns,)
        The mean scores of the reference rows.
    remainders : ndarray of shape (n_columns,)
        What no feature adds: jumps, where another local model becomes active.
    scores : ndarray of shape (n_columns,)
        ``references + contributions.sum(axis=1) + remainders``: the decision function.
    feature_names : ndarray of str
    anchors, anchor_weights : ndarray of shape (n_active,)
        The active local models (those of the predicted class, where classes have their own), and
        their weights; empty for models that are not local.
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
    classes: np.ndarray | None
    contributions: np.ndarray
    references: np.ndarray
    remainders: np.ndarray
    scores: np.ndarray
    feature_names: np.ndarray
    anchors: np.ndarray
    anchor_weights: np.ndarray
    anchor_contributions: np.ndarray | None = None
    values: np.ndarray | None = None
    rival: object = None
    boundary: BoundaryPoint | None = None

    @property
    def intercepts(self) -> np.ndarray:
        """What is not of features: ``references + remainders``."""
        return self.references + self.remainders

    @property
    def column(self) -> int:
        """The deciding column: the predicted class's own, or the only one there is."""
        if self.classes is None:
            return 0
        own = np.flatnonzero(self.classes == self.prediction)
        return int(own[0]) if len(own) else 0

    @property
    def score_names(self) -> list[str]:
        """What each column is: the score of a class, or a prediction (one per target, quantile)."""
        if self.classes is None:
            return ["prediction", *(f"prediction {i}" for i in range(1, len(self.scores)))]
        return [f"score of {label}" for label in self.classes]

    @property
    def margin(self) -> float:
        """How far the score is above the rival's (two classes: from zero)."""
        if len(self.scores) == 1:
            return float(abs(self.scores[0]))
        return float(self.scores[self.column] - np.delete(self.scores, self.column).max())

    def of_class(self, label: object) -> np.ndarray:
        """Return the contributions to the score of one class.

        Parameters
        ----------
        label : label
            The class.

        Returns
        -------
        ndarray of shape (n_features,)
            The contributions.
        """
        return self.contributions[self.position(label)]

    def position(self, label: object) -> int:
        """The column of a class; an error where it has none.

        Parameters
        ----------
        label : label
            The class.

        Returns
        -------
        int
            Its index.
        """
        classes = [] if self.classes is None else self.classes.tolist()
        if label not in classes:
            raise ValueError(f"no score for {label!r}; there are scores for {classes}.")
        return classes.index(label)

    # ---- text ----------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return (
            f"<Explanation: predicted {_short(self.prediction)}, {len(self.feature_names)} "
            "features; print it, or see contributions, to_frame()>"
        )

    def __str__(self) -> str:
        column = self.column
        pairs = self.largest(self.contributions[column], FEATURES_SHOWN, with_values=True)
        pairs += self.constants(column)
        pairs.append(("score", float(self.scores[column])))
        width = max(9, *(len(name) for name, _ in pairs))
        lines = [f"predicted {_short(self.prediction)}; {self.score_names[column]}:"]
        lines += [f"  {name:<{width}} {value:+.4f}" for name, value in pairs]
        if len(self.anchors):
            lines.append(f"  anchors: {self._active_text()}")
        if self.rival is not None:
            lines.append(f"  margin: {self.margin:.4f} over {self.rival}")
        if self.boundary is not None:
            lines.append(f"  {self._boundary_text(self.boundary)}")
        return "\n".join(lines)

    def constants(self, column: int) -> list[tuple[str, float]]:
        """What is not of features, by name; jumps of the gate only where there are any.

        Parameters
        ----------
        column : int
            The column of a class.

        Returns
        -------
        list of (str, float)
            Names and numbers.
        """
        pairs = [("reference", float(self.references[column]))]
        remainder, size = float(self.remainders[column]), np.abs(self.contributions[column]).sum()
        if abs(remainder) > NEGLIGIBLE * max(size, abs(pairs[0][1])):
            pairs.insert(0, ("gate", remainder))
        return pairs

    def largest(
        self, contributions: np.ndarray, most: int, *, with_values: bool = False
    ) -> list[tuple[str, float]]:
        """The largest contributions by name, and the sum of the others.

        Parameters
        ----------
        contributions : ndarray of shape (n_features,)
            One row of contributions.
        most : int
            How many to return.
        with_values : bool, default=False
            Whether names include the row's values.

        Returns
        -------
        list of (str, float)
            Names and contributions, the largest first.
        """
        order = np.argsort(-np.abs(contributions), kind="stable")
        shown, rest = order[:most], order[most:]
        pairs = [(self._name(i, with_values), float(contributions[i])) for i in shown]
        if len(rest):
            pairs.append(
                (f"{len(rest)} other{'s' * (len(rest) > 1)}", float(contributions[rest].sum()))
            )
        return pairs

    def _name(self, feature: int, with_value: bool) -> str:
        name = str(self.feature_names[feature])
        if not with_value or self.values is None:
            return name
        return f"{name} = {_short(self.values[feature])}"

    def _active_text(self) -> str:
        return ", ".join(
            f"{anchor} ({weight:.2f})"
            for anchor, weight in zip(self.anchors, self.anchor_weights, strict=True)
        )

    def _boundary_text(self, boundary: BoundaryPoint) -> str:
        if not boundary.found:
            return "boundary: none along the local normal"
        order = boundary.largest(CHANGES_SHOWN)
        shown = [f"{self.feature_names[i]} {boundary.changes[i]:+.3g}" for i in order]
        if len(boundary.changes) > CHANGES_SHOWN:
            shown.append("…")
        return (
            f"predicted {boundary.prediction} at distance {boundary.distance:.3g}: "
            f"{', '.join(shown)}"
        )

    # ---- table ---------------------------------------------------------------------------------

    def to_frame(self) -> Any:
        """A pandas DataFrame with a line per feature, one for the reference and one for the gate.

        Returns
        -------
        pandas.DataFrame
            Columns "value", "contribution to …" for each score, which they add up to, and
            "change to …" where there is a boundary point.
        """
        names = [*self.feature_names, "(gate)", "(reference)"]
        columns: dict[str, Any] = {}
        if self.values is not None:
            columns["value"] = [*self.values, np.nan, np.nan]
        for name, contributions, *others in zip(
            self._labels(), self.contributions, self.remainders, self.references, strict=True
        ):
            columns[f"contribution{name}"] = np.append(contributions, others)
        if self.boundary is not None and self.boundary.found:
            columns[f"change to {self.boundary.prediction}"] = np.append(
                self.boundary.changes, [np.nan, np.nan]
            )
        return import_pandas().DataFrame(
            columns, index=import_pandas().Index(names, name="feature")
        )

    def to_html(self) -> str:
        """A table with bars; notebooks show it.

        Returns
        -------
        str
            The table.
        """
        column = self.column
        pairs = self.largest(self.contributions[column], FEATURES_SHOWN, with_values=True)
        title = f"predicted {_short(self.prediction)}; {self.score_names[column]}"
        return bar_table(
            title, [*pairs, *self.constants(column)], ("score", float(self.scores[column]))
        )

    def _repr_html_(self) -> str:
        return self.to_html()

    def _labels(self) -> list[str]:
        if self.classes is None:
            return ["", *(f" to {name}" for name in self.score_names[1:])]
        return [f" to {label}" for label in self.classes]


def bar_table(title: str, pairs: Sequence[tuple[str, float]], total: tuple[str, float]) -> str:
    """Contributions as an HTML table with bars.

    Parameters
    ----------
    title : str
    pairs : sequence of (name, contribution)
    total : (name, sum)

    Returns
    -------
    str
    """
    widest = max(abs(value) for _, value in pairs) or 1.0
    cell = 'style="text-align:left;padding:1px 8px"'
    line = 'style="border-top:1px solid"'
    lines = []
    for name, value in pairs:
        length = 50 * abs(value) / widest
        start, color = (50, "#d9822b") if value >= 0 else (50 - length, "#2f6fab")
        lines.append(
            f'<tr><th {cell}>{escape(name)}</th><td style="width:220px;position:relative">'
            f'<span style="position:absolute;top:20%;height:60%;left:{start:.1f}%;'
            f'width:{length:.1f}%;background:{color}"></span></td><td>{value:+.4f}</td></tr>'
        )
    return (
        '<table style="margin-bottom:1em;border-collapse:collapse">'
        f"<caption>{escape(title)}</caption><tbody>{''.join(lines)}</tbody><tfoot><tr {line}>"
        f"<th {cell}>{escape(total[0])}</th><td></td><td>{total[1]:+.4f}</td></tr></tfoot></table>"
    )


def _short(value: Any) -> str:
    """A value in few digits; a text as it is."""
    return f"{value:.4g}" if isinstance(value, (float, np.floating)) else str(value)


def import_pandas() -> Any:
    """The package, or an error that says how to get it."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("a table needs pandas; pip install pandas.") from error
    return pandas
