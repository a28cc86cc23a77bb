"""One column of a table as numbers: the parts of a fitted TableEncoder.

Each encoder knows the endings of the names of its output columns, their center and scale, and
writes its part of the output.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.table import Column

DAY = 86_400.0
CYCLES = {"year": 365.2425 * DAY, "week": 7 * DAY, "day": DAY}


class ColumnEncoder(ABC):
    """What all encoders of columns have; output columns are not scaled, unless they override it."""

    kind: str

    @property
    @abstractmethod
    def endings(self) -> list[str]:
        """What follows the name of the input column in the names of the output columns."""

    @property
    def centers(self) -> np.ndarray:
        """What is subtracted from each output column."""
        return np.zeros(len(self.endings))

    @property
    def scales(self) -> np.ndarray:
        """What each output column is divided by."""
        return np.ones(len(self.endings))

    @abstractmethod
    def write(self, column: Column, out: np.ndarray) -> None:
        """Write the encoded column into ``out``, an array of zeros."""


@dataclass(frozen=True)
class NumberEncoder(ColumnEncoder):
    """``(x - center) / scale``, missing values filled in, and an indicator of these.

    ``unit`` is a word that may follow the numbers in cells of text.
    """

    kind: str
    fill: float
    center: float
    scale: float
    has_indicator: bool
    decimal_comma: bool = False
    unit: str = ""

    @property
    def endings(self) -> list[str]:
        """The number itself, and the indicator."""
        return ["", " missing"] if self.has_indicator else [""]

    @property
    def centers(self) -> np.ndarray:
        """Zero for the indicator."""
        return np.array([self.center, 0.0])[: len(self.endings)]

    @property
    def scales(self) -> np.ndarray:
        """One for the indicator."""
        return np.array([self.scale, 1.0])[: len(self.endings)]

    def write(self, column: Column, out: np.ndarray) -> None:
        """Write the number and the indicator."""
        numbers = column.without(self.unit).as_numbers(self.decimal_comma)
        missing = ~np.isfinite(numbers)
        out[:, 0] = (np.where(missing, self.fill, numbers) - self.center) / self.scale
        if self.has_indicator:
            out[:, 1] = missing


@dataclass(frozen=True)
class CategoryEncoder(ColumnEncoder):
    """One column of 0 and 1 for each frequent value, for missing ones and for all others."""

    values: tuple[str, ...]
    has_missing: bool
    has_rare: bool
    kind: str = "category"

    @property
    def endings(self) -> list[str]:
        """The values."""
        others = ["=missing"] * self.has_missing + ["=(rare)"] * self.has_rare
        return [f"={value}" for value in self.values] + others

    def write(self, column: Column, out: np.ndarray) -> None:
        """Write ones; a row has none if its value is unknown and no value was rare at fit."""
        cells = column.as_cells()
        places: dict[str | None, int] = {value: j for j, value in enumerate(self.values)}
        if self.has_missing:
            places[None] = len(self.values)
        other = len(places) if self.has_rare else -1
        chosen = np.array([places.get(text, other) for text in column.texts], dtype=np.intp)
        chosen = chosen[cells.codes]
        rows = np.flatnonzero(chosen >= 0)
        out[rows, chosen[rows]] = 1


@dataclass(frozen=True)
class DateEncoder(ColumnEncoder):
    """Days since the first date, and where a date stands in the year, the week and the day."""

    style: str
    first: float
    fill: float
    center: float
    scale: float
    cycles: tuple[str, ...]
    has_indicator: bool
    kind: str = "date"

    @property
    def endings(self) -> list[str]:
        """Elapsed days, sine and cosine of each cycle, and the indicator."""
        parts = [f" {part} of {cycle}" for cycle in self.cycles for part in ("sine", "cosine")]
        return [" in days", *parts, *[" missing"] * self.has_indicator]

    @property
    def centers(self) -> np.ndarray:
        """Zero but for the days."""
        return np.array([self.center] + [0.0] * (len(self.endings) - 1))

    @property
    def scales(self) -> np.ndarray:
        """One but for the days."""
        return np.array([self.scale] + [1.0] * (len(self.endings) - 1))

    def write(self, column: Column, out: np.ndarray) -> None:
        """Write all parts; those of a missing date are zero."""
        seconds = column.as_times(self.style)
        missing = np.isnan(seconds)
        days = (np.where(missing, self.fill, seconds) - self.first) / DAY
        out[:, 0] = (days - self.center) / self.scale
        for j, cycle in enumerate(self.cycles):
            angle = 2 * np.pi * np.where(missing, 0, seconds) / CYCLES[cycle]
            out[:, 1 + 2 * j] = np.where(missing, 0, np.sin(angle))
            out[:, 2 + 2 * j] = np.where(missing, 0, np.cos(angle))
        if self.has_indicator:
            out[:, -1] = missing


@dataclass(frozen=True)
class TextEncoder(ColumnEncoder):
    """Words of free text by a vectorizer of scikit-learn."""

    vectorizer: Any
    words: tuple[str, ...]
    kind: str = "text"

    @property
    def endings(self) -> list[str]:
        """The words, or the numbers of hashes."""
        return [f": {word}" for word in self.words]

    def write(self, column: Column, out: np.ndarray) -> None:
        """Write the weights of the words."""
        codes = column.as_cells().codes
        assert codes is not None
        texts = [text or "" for text in column.texts]
        out[:] = self.vectorizer.transform([texts[code] for code in codes]).toarray()


def encoded(encoders: Sequence[Any], columns: Sequence[Column], dtype: Any) -> np.ndarray:
    """The dense rows of some columns; those whose encoder is None are left out."""
    pairs = [pair for pair in zip(encoders, columns, strict=True) if pair[0] is not None]
    ends = np.cumsum([0, *(len(encoder.endings) for encoder, _ in pairs)])
    out = np.zeros((len(columns[0]), ends[-1]), dtype=np.dtype(dtype))
    for (encoder, column), begin, end in zip(pairs, ends[:-1], ends[1:], strict=True):
        encoder.write(column, out[:, begin:end])
    return out
