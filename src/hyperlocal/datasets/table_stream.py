"""Streams of tables: delimited text and parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .cache import BlockCache
from .columns import Table
from .dataset import Rows, labels_alike, tidy_labels
from .delimited import read_delimited_blocks
from .parquet import read_parquet_blocks
from .row_stream import Reading, RowStream
from .tables import RawRows, as_text, find_columns
from .text import table_name


@dataclass
class _Survey:
    """What a table looks like as a whole."""

    n_rows: int = 0
    texts: set[int] = field(default_factory=set)
    numeric: set[int] = field(default_factory=set)
    kinds: set[str] = field(default_factory=set)
    categories: dict[int, np.ndarray] = field(default_factory=dict)
    has_row_numbers: bool = True

    def see(self, table: Table, label_column: int | None) -> None:
        """Take in a block."""
        self.n_rows += table.n_rows
        self.has_row_numbers &= table.begins_with_row_numbers()
        if label_column is not None:
            self.kinds.add(tidy_labels(table.label_cells(label_column)).dtype.kind)
        for j in range(len(table.names)):
            if not table.is_text(j):
                self.numeric.add(j)
                continue
            self.texts.add(j)
            if j != label_column:
                seen = self.categories.get(j, np.empty(0, "U1"))
                self.categories[j] = np.union1d(seen, table.values[j])

    @property
    def mixed(self) -> set[int]:
        """Columns that are text in some blocks only."""
        return self.texts & self.numeric


class TableStream(RowStream):
    """Rows of a table: delimited text or parquet."""

    def __init__(self, path: Path, target: Any, columns: Sequence[str] | None, reading: Reading):
        super().__init__(table_name(path), reading)
        self._path, self._target, self._columns = path, target, columns
        # A known column name in the first line tells that it is a header.
        self._known = columns[0] if columns and not isinstance(target, str) else target
        self._cache: BlockCache | None = None
        self._found: _Survey | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._survey().n_rows

    @property
    def n_features(self) -> int:
        """Number of columns, when text is encoded."""
        return len(self.feature_names)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the encoded columns."""
        categories = self._survey().categories
        return self._head.encoded_names(self._chosen, categories)

    @property
    def categories(self) -> list[np.ndarray]:
        """The values of each text column of raw blocks."""
        found = self._survey().categories
        return [found[j] for j in self._chosen if j in found]

    def __iter__(self) -> Iterator[tuple[Rows, np.ndarray | None]]:
        categories = self._survey().categories
        for table in self._tables():
            yield self._reading.cast(table.encode(self._chosen, categories)), self._labels(table)

    def raw_blocks(self) -> Iterator[RawRows]:
        """Blocks as the file has them."""
        self._survey()
        names, target = self._head.names, self._label_column
        for table in self._tables():
            yield RawRows(
                self.name,
                table.rows(self._chosen),
                self._labels(table),
                tuple(names[j] for j in self._chosen),
                None if target is None else names[target],
                tuple(place for place, j in enumerate(self._chosen) if table.is_text(j)),
                table.has_names,
            )

    def _labels(self, table: Table) -> np.ndarray | None:
        if self._label_column is None:
            return None
        return labels_alike(table.label_cells(self._label_column), self._survey().kinds)

    def _survey(self) -> _Survey:
        if self._found is None:
            found = self._scan(set())
            if found.mixed:  # what was read as numbers in some blocks must be kept as text
                found = self._scan(found.texts)
            others = self._head.features(self._label_column)
            if self._head.begins_with_row_numbers() and not found.has_row_numbers:
                others = [0, *others]
            self._chosen = others
            if self._columns is not None:
                self._chosen = find_columns(self._head, self._columns, others)
            found.categories = {
                j: found.categories[j] for j in self._chosen if j in found.categories
            }
            self._found = found
        return self._found

    def _scan(self, texts: set[int]) -> _Survey:
        found = _Survey()
        cache = None if self._is_quick() else BlockCache(self._reading.cache)
        for table in self._parsed(texts):
            if found.n_rows == 0:
                self._head = table
                wanted = self._columns is None or self._target is not None
                self._label_column = table.column(self._target) if wanted else None
            found.see(table, self._label_column)
            for j, values in found.categories.items():
                if table.is_text(j):
                    table.check_categories(j, values)
            if cache is not None:
                cache.append(_arrays_of(table))
        if not found.n_rows:
            raise ValueError(f"{self._path}: no rows")
        self._texts, self._cache = texts, cache
        return found

    def _is_quick(self) -> bool:
        return self._reading.cache is False or self._path.suffix == ".parquet"

    def _tables(self) -> Iterator[Table]:
        if self._cache is None:
            return self._parsed(self._texts)
        return self._cached(self._cache)

    def _cached(self, cache: BlockCache) -> Iterator[Table]:
        first_row = 0
        for arrays in cache:
            head = self._head
            values = _columns_of(arrays, len(head.names))
            lines = arrays.get("lines")
            table = Table(head.path, head.names, values, lines, head.has_names, first_row)
            first_row += table.n_rows
            yield table

    def _parsed(self, texts: set[int]) -> Iterator[Table]:
        if self._path.suffix == ".parquet":
            n_rows = self._reading.rows(None)
            yield from read_parquet_blocks(self._path, n_rows)
            return
        width = as_text(self._path, lambda path: _width(path, self._known))
        yield from read_delimited_blocks(
            self._path, self._reading.rows(width), target=self._known, texts=texts
        )


def _width(path: Path, target: Any) -> int:
    return len(next(read_delimited_blocks(path, 1, target=target)).names)


def _arrays_of(table: Table) -> dict[str, np.ndarray]:
    """A block as arrays: numbers side by side, each column of text by itself."""
    numeric = [values for values in table.values if values.dtype.kind == "f"]
    arrays = {f"text {j}": table.values[j] for j in range(len(table.names)) if table.is_text(j)}
    if numeric:
        arrays["numbers"] = np.column_stack(numeric)
    if table.lines is not None:
        arrays["lines"] = table.lines
    return arrays


def _columns_of(arrays: dict[str, np.ndarray], n_columns: int) -> list[np.ndarray]:
    numeric = iter(arrays["numbers"].T if "numbers" in arrays else ())
    return [
        arrays[f"text {j}"] if f"text {j}" in arrays else next(numeric) for j in range(n_columns)
    ]
