"""Explanations in the columns and units of a file: what each column adds to the score of a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..datasets.dataset import take_rows
from ..estimators.table_encoder import TableEncoder

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


def explain_row(model: Any, encoder: Any, encoded: Any, raw: Any, names: Any) -> RowExplanation:
    """Explain one row.

    Parameters
    ----------
    model : fitted classifier with ``explain``
    encoder : what encoded the row: a TableEncoder, or a scaler of scikit-learn
    encoded : {ndarray, CSR} of shape (1, n_features)
    raw : DataFrame, ndarray or CSR of shape (1, n_columns)
        The row as the file has it.
    names : sequence of str
        Names of the encoded features.
    """
    explanation = model.explain(encoded)
    contributions = explanation.contributions[explanation.column]
    if len(contributions) != len(names):  # of mapped features, which have names of their own
        pairs = zip(explanation.feature_names, contributions, strict=True)
        parts = [Part(str(name), "", float(value)) for name, value in pairs]
    elif isinstance(encoder, TableEncoder):
        parts = _by_columns(encoder, contributions, raw)
    else:
        dense = raw.toarray()[0] if hasattr(raw, "toarray") else np.asarray(raw)[0]
        cells = zip(names, dense, contributions, strict=True)
        parts = [Part(str(name), _short(cell), float(value)) for name, cell, value in cells]
    parts.sort(key=lambda part: -abs(part.contribution))
    return RowExplanation(_place(raw), explanation, parts, _changes(encoder, explanation, names))


def _by_columns(encoder: TableEncoder, contributions: np.ndarray, raw: Any) -> list[Part]:
    groups = encoder.groups_
    sums = np.bincount(groups, weights=contributions, minlength=encoder.n_features_in_)
    cells = take_rows(raw, [0])
    cells = cells.to_numpy(dtype=object)[0] if hasattr(cells, "iloc") else np.asarray(cells)[0]
    columns = dict(zip(groups.tolist(), encoder.columns_, strict=True))
    return [Part(str(column), _short(cells[j]), float(sums[j])) for j, column in columns.items()]


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


def _changes(encoder: Any, explanation: Any, names: Any) -> list[tuple[str, float]]:
    point = explanation.boundary
    if point is None or not point.found or len(point.changes) != len(names):
        return []
    scale = getattr(encoder, "scale_", None)
    changes = point.changes * (1.0 if scale is None else scale)
    # The largest by what they count in the model, in the units of the file.
    order = np.argsort(-np.abs(point.changes), kind="stable")[:CHANGES_SHOWN]
    return [(str(names[j]), float(changes[j])) for j in order if point.changes[j]]
