"""What all streams of rows have in common.

What a block means depends on the whole file: which columns are text and what values they have,
whether labels are whole numbers, how many features a LIBSVM file has. So the first use of a stream
is a survey of the file. Text is parsed in the survey, kept in binary form, and not parsed again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .dataset import Rows
from .tables import RawRows

NUMBERS_PER_BLOCK = 1 << 20
FEWEST_ROWS, MOST_ROWS = 64, 65_536
ROWS_OF_UNKNOWN_WIDTH = 8_192


@dataclass(frozen=True)
class Reading:
    """How rows are read."""

    block_rows: Any
    dtype: np.dtype | None
    cache: Any

    def __post_init__(self) -> None:
        is_number = isinstance(self.block_rows, (int, np.integer))
        if self.block_rows != "auto" and not (is_number and self.block_rows > 0):
            raise ValueError(
                f"block_rows must be a positive integer or 'auto', not {self.block_rows!r}"
            )
        if self.dtype is not None and self.dtype.kind != "f":
            raise ValueError(f"dtype must be a type of floating-point numbers, not {self.dtype}")

    def rows(self, width: int | None) -> int:
        """Rows per block."""
        if self.block_rows != "auto":
            return int(self.block_rows)
        if width is None:
            return ROWS_OF_UNKNOWN_WIDTH
        return min(MOST_ROWS, max(FEWEST_ROWS, NUMBERS_PER_BLOCK // max(1, width)))

    def cast(self, X: Rows) -> Rows:
        """Rows in the wanted precision."""
        return X if self.dtype is None else X.astype(self.dtype, copy=False)


class RowStream:
    """Blocks of rows of a file or an array; iterate as often as wanted.

    To know the numbers of rows and of columns, some formats must be read to the end.
    """

    #: What to call the data in a table.
    name: str

    def __init__(self, name: str, reading: Reading):
        self.name = name
        self._reading = reading

    def __iter__(self) -> Iterator[tuple[Rows, np.ndarray | None]]:
        for block in self.raw_blocks():
            yield self._reading.cast(block.X), block.y

    def raw_blocks(self) -> Iterator[RawRows]:
        """Blocks as the file has them: text as text, for a pipeline that encodes it."""
        raise NotImplementedError

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        raise NotImplementedError

    @property
    def n_features(self) -> int:
        """Number of columns of ``X``."""
        raise NotImplementedError

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """One name per column, where the source has names."""
        return None

    @property
    def categories(self) -> list[np.ndarray]:
        """The values of each text column of raw blocks."""
        return []
