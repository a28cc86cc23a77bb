"""Explanations in the columns and units of a file: what each column adds to the score of a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import floor, log10
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from ..estimators.table_encoder import TableEncoder
from ..model.boundary import first_changes
from ..model.through import explain
from .targets import in_short

COLUMNS_SHOWN = 10
CHANGES_SHOWN = 3
COLUMNS_CHANGED = 100  # those with the largest contributions; each makes rows of full width
MISSING = "missing"  # instead of a value
REACH = 4.0  # how far single numbers are followed, in standard deviations


@dataclass(frozen=True)
class Part:
    """What one column adds to a score, and its value in the row as the file has it."""

    column: str
    value: str
    contribution: float

    @property
    def label(self) -> str:
        """Column and value."""
        return f"{self.column} = {self.value}" if self.value else self.column


@dataclass(frozen=True)
class RowExplanation:
    """Why a row of a file has its prediction.

    Attributes
    ----------
    place : str
        Where the row stands in the file, e.g. "line 12".
    explanation : Explanation
        Of the encoded features.
    parts : list of Part
        The columns, largest contributions to the deciding score first.
    changes : list of (str, float)
        What leads to another prediction, in the units of the file. Of a table: changes of single
        numbers, each of which suffices, the smallest first (in standard deviations). Else the
        largest of the changes that lead to the other side of the boundary together.
    other : object
        The prediction after the changes.
    each : bool
        Whether each change suffices.
    """

    place: str
    explanation: Any
    parts: list[Part]
    changes: list[tuple[str, float]]
    other: object = None
    each: bool = False

    @property
    def score(self) -> float:
        """The deciding score."""
        return float(self.explanation.scores[self.explanation.column])

    @property
    def constants(self) -> list[tuple[str, float]]:
        """What is not of columns: the reference, and jumps of the gate."""
        return self.explanation.constants(self.explanation.column)

    @property
    def score_name(self) -> str:
        """Whose score it is: that of a class, or the predicted value itself."""
        return str(self.explanation.score_names[self.explanation.column])

    @property
    def prediction(self) -> str:
        """The predicted class or value."""
        value = self.explanation.prediction
        return in_short(value) if self.explanation.classes is None else str(value)

    def largest(self, most: int) -> list[tuple[str, float]]:
        """The largest parts, and the sum of the others."""
        pairs = [(part.label, part.contribution) for part in self.parts[:most]]
        rest = self.parts[most:]
        if rest:
            pairs.append(
                (
                    f"{len(rest)} other{'s' * (len(rest) > 1)}",
                    sum(part.contribution for part in rest),
                )
            )
        return pairs

    def boundary_text(self) -> str:
        """What leads to another prediction in words; nothing if that was not found."""
        if not self.changes:
            return ""
        changes = [f"{name} {change:+.3g}" for name, change in self.changes]
        if self.each:
            return f"predicted {self.other} after {' or '.join(changes)} alone"
        return f"predicted {self.other} after the changes {', '.join(changes)}"

    def __str__(self) -> str:
        is_value = self.explanation.classes is None
        total, what = ("prediction", "the sum of") if is_value else ("score", self.score_name)
        pairs = [*self.largest(COLUMNS_SHOWN), *self.constants, (total, self.score)]
        names, figures = [name for name, _ in pairs], signed([value for _, value in pairs])
        width, digits = max(map(len, names)), max(map(len, figures))
        place = f"{self.place}: " if self.place else ""
        lines = [f"{place}predicted {self.prediction}; {what}:"]
        lines += [
            f"  {name:<{width}} {figure:>{digits}}"
            for name, figure in zip(names, figures, strict=True)
        ]
        if self.explanation.rival is not None:
            lines.append(f"  margin: {self.explanation.margin:.4f} over {self.explanation.rival}")
        boundary = self.boundary_text()
        return "\n".join([*lines, *([f"  {boundary}"] if boundary else [])])


def signed(values: Sequence[float]) -> list[str]:
    """Numbers with their signs, in as many decimals as the largest needs.

    Examples
    --------
    >>> from hyperlocal.compare.explaining import signed
    >>> signed([0.5, -1.25]), signed([1234.56, -0.3])
    (['+0.5000', '-1.2500'], ['+1,234.6', '-0.3'])
    """
    largest = max(map(abs, values), default=0.0)
    if 0 < largest < 1e-3 or largest >= 1e9:
        return [f"{value:+.3e}" for value in values]
    decimals = max(0, 4 - floor(log10(max(largest, 1.0))))
    return [f"{value:+,.{decimals}f}" for value in values]


def explain_row(model: Any, encoder: Any, raw: Any, encoded: Any, names: Any) -> RowExplanation:
    """Explain one row by :func:`hyperlocal.explain`, in the columns of the file.

    Parameters
    ----------
    model : fitted estimator of this library, SVM or linear model of scikit-learn
    encoder : what encodes rows: a TableEncoder, or a scaler of scikit-learn
    raw : DataFrame, ndarray or CSR of shape (1, n_columns)
        The row as the file has it.
    encoded : {ndarray, CSR} of shape (1, n_features)
    names : sequence of str
        Names of the encoded features.
    """
    explanation: Any = explain(Pipeline([("encode", encoder), ("model", model)]), raw)
    columns, values = explanation.feature_names, explanation.values
    contributions = explanation.contributions[explanation.column]
    if not isinstance(encoder, TableEncoder) and len(names) == len(columns):
        columns = names
    cells = [""] * len(columns) if values is None else map(_short, values)
    pairs = zip(columns, cells, contributions, strict=True)
    parts = [Part(str(column), cell, float(value)) for column, cell, value in pairs]
    parts.sort(key=lambda part: -abs(part.contribution))
    explanation = replace(explanation, feature_names=np.asarray(columns, dtype=object))
    place, point = _place(raw), explanation.boundary
    if not isinstance(encoder, TableEncoder):
        other = None if point is None else point.prediction
        return RowExplanation(place, explanation, parts, _changes(point, names), other)
    if explanation.classes is None:
        return RowExplanation(place, explanation, parts, [])
    known = {part.column for part in parts[:COLUMNS_CHANGED] if part.value != MISSING}
    changes, other = _changes_of_numbers(model, encoder, encoded, names, known)
    return RowExplanation(place, explanation, parts, changes, other, each=True)


def _changes_of_numbers(
    model: Any, encoder: TableEncoder, row: np.ndarray, names: Any, known: set[str]
) -> tuple[list[tuple[str, float]], object]:
    """The smallest changes of single known numbers that lead to another class, and this class."""
    kinds = [encoder.kinds_[str(column)] for column in encoder.columns_]
    numbers = [
        j
        for j, (name, kind) in enumerate(zip(names, kinds, strict=True))
        if kind == "number" and name == encoder.columns_[j] and name in known
    ]
    if not numbers:
        return [], None
    directions = np.zeros((2 * len(numbers), row.shape[1]))
    directions[np.arange(len(directions)), numbers * 2] = np.repeat([1.0, -1.0], len(numbers))
    rows = np.repeat(row, len(directions), axis=0)
    own, reach = model.predict(rows), np.full(len(rows), REACH)
    distances, labels = first_changes(model.predict, rows, own, directions, reach)
    order = np.argsort(distances)[: np.isfinite(distances).sum()]
    if not len(order):
        return [], None
    other = labels[order[0]]
    changes: dict[str, float] = {}
    for j in order[labels[order] == other]:
        feature = numbers[j % len(numbers)]
        after = encoder.to_units(rows[j] + distances[j] * directions[j])
        change = float((after - encoder.to_units(row[0]))[feature])
        changes.setdefault(str(names[feature]), change)
    return list(changes.items())[:CHANGES_SHOWN], other


def _short(cell: Any) -> str:
    """A cell in a few characters."""
    if cell is None or cell != cell:
        return MISSING
    if isinstance(cell, (float, np.floating)):
        return f"{cell:.6g}"
    text = " ".join(str(cell).split())
    return text if len(text) <= 30 else f"{text[:29]}…"


def _place(raw: Any) -> str:
    index = getattr(raw, "index", None)
    return "" if index is None else f"{index.name or 'row'} {index[0]}"


def _changes(point: Any, names: Any) -> list[tuple[str, float]]:
    """The largest changes that lead to a boundary point together."""
    if point is None or not point.found or len(point.changes) != len(names):
        return []
    return [(str(names[j]), float(point.changes[j])) for j in point.largest(CHANGES_SHOWN)]
