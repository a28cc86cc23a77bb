"""Explanations in the columns and units of a file: what each column adds to the score of a row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from ..estimators.table_encoder import TableEncoder
from ..model.through import explain

COLUMNS_SHOWN = 10
CHANGES_SHOWN = 3


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
    """Why a row of a file was classified as it was.

    Attributes
    ----------
    place : str
        Where the row stands in the file, e.g. "line 12".
    explanation : Explanation
        Of the encoded features.
    parts : list of Part
        The columns, largest contributions to the deciding score first.
    changes : list of (str, float)
        The largest changes that lead to the other side of the boundary, in the units of the file.
    """

    place: str
    explanation: Any
    parts: list[Part]
    changes: list[tuple[str, float]]

    @property
    def score(self) -> float:
        """The deciding score."""
        return float(self.explanation.scores[self.explanation.column])

    @property
    def constants(self) -> list[tuple[str, float]]:
        """What is not of columns: the reference, and jumps of the gate."""
        return self.explanation.constants(self.explanation.column)

    @property
    def label(self) -> object:
        """The class whose score it is."""
        return self.explanation.classes[self.explanation.column]

    def largest(self, most: int) -> list[tuple[str, float]]:
        """The largest parts, and the sum of the others."""
        pairs = [(part.label, part.contribution) for part in self.parts[:most]]
        rest = self.parts[most:]
        if rest:
            pairs.append((f"{len(rest)} others", sum(part.contribution for part in rest)))
        return pairs

    def boundary_text(self) -> str:
        """The nearest point of the other side in words; nothing if there is none."""
        point = self.explanation.boundary
        if point is None or not point.found:
            return ""
        changes = ", ".join(f"{name} {change:+.3g}" for name, change in self.changes)
        return f"predicted {point.prediction} after the changes {changes}"

    def __str__(self) -> str:
        pairs = [*self.largest(COLUMNS_SHOWN), *self.constants, ("score", self.score)]
        width = max(len(name) for name, _ in pairs)
        lines = [f"{self.place}: predicted {self.explanation.prediction}; score of {self.label}:"]
        lines += [f"  {name:<{width}} {value:+.4f}" for name, value in pairs]
        if self.explanation.rival is not None:
            lines.append(f"  margin: {self.explanation.margin:.4f} over {self.explanation.rival}")
        boundary = self.boundary_text()
        return "\n".join([*lines, *([f"  {boundary}"] if boundary else [])])


def explain_row(model: Any, encoder: Any, raw: Any, encoded: Any, names: Any) -> RowExplanation:
    """Explain one row by :func:`hyperlocal.explain`, in the columns of the file.

    Parameters
    ----------
    model : fitted classifier of this library, SVM or linear model of scikit-learn
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
    changes = _changes(explanation.boundary, 1.0, names)
    if isinstance(encoder, TableEncoder) and hasattr(model, "explain"):
        point = model.explain(encoded).boundary
        explanation = replace(explanation, boundary=point)
        changes = _changes(point, encoder.scale_, names)
    return RowExplanation(_place(raw), explanation, parts, changes)


def _short(cell: Any) -> str:
    """A cell in a few characters."""
    if cell is None or cell != cell:
        return "missing"
    if isinstance(cell, (float, np.floating)):
        return f"{cell:.6g}"
    text = " ".join(str(cell).split())
    return text if len(text) <= 30 else f"{text[:29]}…"


def _place(raw: Any) -> str:
    index = getattr(raw, "index", None)
    return "" if index is None else f"{index.name or 'row'} {index[0]}"


def _changes(point: Any, scale: Any, names: Any) -> list[tuple[str, float]]:
    """The largest changes by what they count in the model, in the units of the file."""
    if point is None or not point.found or len(point.changes) != len(names):
        return []
    order = np.argsort(-np.abs(point.changes), kind="stable")[:CHANGES_SHOWN]
    changes = point.changes * scale
    return [(str(names[j]), float(changes[j])) for j in order if point.changes[j]]
