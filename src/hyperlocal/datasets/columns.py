"""A :class:`Table` of named columns, numbers or text, as its file has them.

Readers of tables (delimited text, parquet) make one. It is either encoded at once, by
:meth:`Table.encoded`, or given as it is to a pipeline that stores its encoding with the model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .dataset import REMEDY_FOR_MISSING, Dataset, RawRows, tidy_labels
from .text import is_missing, table_name, to_float

MAX_CATEGORIES = 256  # more one-hot columns than that are rarely meant: an id, a date, a typo


@dataclass(frozen=True)
class Table:
    """Columns of a file.

    Attributes
    ----------
    path : Path
    names : tuple of str
        "column 0", "column 1", … if the file has no names.
    values : list of ndarray of shape (n_rows,)
        float64 with NaN where a number is missing, or text.
    lines : ndarray of shape (n_rows,), or None
        The line of the file in which each row stands; 0 or None if it is not known.
    has_names : bool
        Whether the names come from the file.
    first_row : int
        Number of the first row in the file; not 0 in a later block of a large file.
    """

    path: Path
    names: tuple[str, ...]
    values: list[np.ndarray]
    lines: np.ndarray | None = None
    has_names: bool = True
    first_row: int = 0

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.values[0])

    def is_text(self, column: int) -> bool:
        """Whether a column holds text."""
        return self.values[column].dtype.kind != "f"

    def place(self, row: int) -> str:
        """Where a row stands in the file, in words."""
        if self.lines is None or not self.lines[row]:
            return f"row {self.first_row + row}, counted from 0"
        return f"line {self.lines[row]}"

    def column(self, target: str | int | None) -> int:
        """Number of the column with this name or number; of the last one by default."""
        if target is None:
            return len(self.names) - 1
        if isinstance(target, str) and target in self.names:
            return self.names.index(target)
        try:
            index = int(target)
        except ValueError:
            index = len(self.names)
        if not -len(self.names) <= index < len(self.names):
            raise ValueError(
                f"{self.path}: no column {target!r}; columns are {', '.join(self.names)} "
                f"(or numbers 0 to {len(self.names) - 1})"
            )
        return index % len(self.names)

    def features(self, label_column: int | None) -> list[int]:
        """All columns but the labels and a nameless first one of row numbers.

        Data frames are written with such numbers. If rows are sorted by class, they determine the
        labels.
        """
        left_out = {label_column, 0 if self.begins_with_row_numbers() else None}
        return [j for j in range(len(self.names)) if j not in left_out]

    def begins_with_row_numbers(self) -> bool:
        """Whether the first column is nameless and holds different whole numbers."""
        first = self.values[0]
        return (
            self.names[0] == ""
            and not self.is_text(0)
            and np.array_equal(first, np.round(first))
            and len(np.unique(first)) == len(first)
        )

    def labels(self, column: int) -> np.ndarray:
        """The labels in a column; refused if some are missing."""
        return tidy_labels(self.label_cells(column))

    def label_cells(self, column: int) -> np.ndarray:
        """The labels in a column as the file has them; refused if some are missing."""
        cells = self.values[column]
        missing = (
            np.flatnonzero([is_missing(cell) for cell in cells])
            if self.is_text(column)
            else np.flatnonzero(np.isnan(cells))
        )
        if missing.size:
            raise ValueError(
                f"{self.path}, {self.place(missing[0])}: no label in column "
                f"{self.names[column]!r} ({missing.size} rows in all); drop those rows"
            )
        return cells

    def check_columns(self, columns: Sequence[int]) -> None:
        """Raise if a number is missing or a text column has too many different values."""
        self._refuse_missing_numbers(columns)
        for j in columns:
            if self.is_text(j):
                self.categories(j)

    def rows(self, columns: Sequence[int]) -> np.ndarray:
        """Columns side by side, not encoded: float64, or objects if some are text."""
        if not any(self.is_text(j) for j in columns):
            return np.column_stack([self.values[j] for j in columns])
        rows = np.empty((self.n_rows, len(columns)), dtype=object)
        for place, j in enumerate(columns):
            rows[:, place] = self.values[j]
        return rows

    def raw(
        self, columns: Sequence[int], label_column: int | None, y: np.ndarray | None
    ) -> RawRows:
        """Checked columns side by side, not encoded, with these labels."""
        self.check_columns(columns)
        return RawRows(
            table_name(self.path),
            self.rows(columns),
            y,
            tuple(self.names[j] for j in columns),
            None if label_column is None else self.names[label_column],
            tuple(place for place, j in enumerate(columns) if self.is_text(j)),
            self.has_names,
        )

    def find(self, columns: Sequence[str], others: list[int]) -> list[int]:
        """Numbers of the columns of these names; ``others`` if there are as many without names."""
        if not self.has_names and len(others) == len(columns):
            return others
        missing = [name for name in columns if name not in self.names]
        if missing:
            shown = ", ".join(repr(name) for name in missing[:5]) + (", …" if missing[5:] else "")
            raise ValueError(
                f"{self.path}: lacks {len(missing)} of the {len(columns)} columns needed: {shown}; "
                f"columns are {', '.join(self.names)}"
            )
        return [self.names.index(name) for name in columns]

    def encoded(self, target: str | int | None) -> Dataset:
        """Labels, numbers as they are, and text one-hot with a name for every column."""
        label_column = self.column(target)
        y = self.labels(label_column)
        columns = self.features(label_column)
        categories = {j: self.categories(j) for j in columns if self.is_text(j)}
        names = self.encoded_names(columns, categories)
        X = self.encode(columns, categories)
        return Dataset(table_name(self.path), X, y, feature_names=names)

    def categories(self, j: int) -> np.ndarray:
        """The different values of a text column, sorted; refused if they are too many."""
        categories = np.unique(self.values[j])
        self.check_categories(j, categories)
        return categories

    def encode(self, columns: Sequence[int], categories: Mapping[int, np.ndarray]) -> np.ndarray:
        """Numbers as they are and text one-hot, side by side; refused if a number is missing."""
        self._refuse_missing_numbers(columns)
        blocks = [
            np.eye(len(categories[j]))[np.searchsorted(categories[j], self.values[j])]
            if j in categories
            else self.values[j][:, np.newaxis]
            for j in columns
        ]
        return np.hstack(blocks)

    def encoded_names(
        self, columns: Sequence[int], categories: Mapping[int, np.ndarray]
    ) -> tuple[str, ...]:
        """Names of the columns that :meth:`encode` makes."""
        names: list[str] = []
        for j in columns:
            values = categories.get(j)
            own = self.names[j]
            names.extend([own] if values is None else (f"{own}={value}" for value in values))
        return tuple(names)

    def _refuse_missing_numbers(self, columns: Sequence[int]) -> None:
        numeric = [j for j in columns if not self.is_text(j)]
        n_bad = np.zeros(self.n_rows, dtype=np.int64)
        for j in numeric:
            n_bad += ~np.isfinite(self.values[j])
        rows = np.flatnonzero(n_bad)
        if not rows.size:
            return
        column = next(self.names[j] for j in numeric if not np.isfinite(self.values[j][rows[0]]))
        raise ValueError(
            f"{self.path}: {rows.size} rows have missing or infinite values (the first is "
            f"{self.place(rows[0])}, column {column!r}); {REMEDY_FOR_MISSING}"
        )

    def check_categories(self, j: int, categories: np.ndarray) -> None:
        """Raise if text is a number in another format, or has too many values to be encoded."""
        row, cell = self._first_text_cell(j)
        where = f"{self.path}, {self.place(row)}, column {self.names[j]!r}"
        if re.fullmatch(r"[-+]?\d+,\d+", cell):
            raise ValueError(f"{where}: {cell!r} has a decimal comma; write a point")
        if len(categories) > MAX_CATEGORIES:
            raise ValueError(
                f"{where}: {cell!r} is not a number, and as text the column has {len(categories)} "
                "different values, too many to one-hot encode; correct it or drop the column"
            )

    def _first_text_cell(self, j: int) -> tuple[int, str]:
        """The cell that makes column ``j`` one of text, and its row.

        A column that was stored as text, in a file with types, may hold none.
        """
        cells = enumerate(self.values[j])
        texts = ((i, str(cell)) for i, cell in cells if to_float(cell) is None)
        return next(((i, cell) for i, cell in texts if not is_missing(cell)), (0, ""))


def joined(blocks: Sequence[Table]) -> Table:
    """Blocks of a file, one after the other, as one table; each column has one type in all."""
    first = blocks[0]
    values = [np.concatenate(pieces) for pieces in zip(*(b.values for b in blocks), strict=True)]
    lines = None
    if any(block.lines is not None for block in blocks):
        unknown = (np.zeros(b.n_rows, int) if b.lines is None else b.lines for b in blocks)
        lines = np.concatenate(list(unknown))
    return Table(first.path, first.names, values, lines, first.has_names)
