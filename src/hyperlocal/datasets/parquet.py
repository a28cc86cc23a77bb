"""Parquet files: columns with names and types.

Needs pyarrow (``pip install hyperlocal[parquet]``), which is imported when such a file is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from .columns import Table, joined

# The column in which a data frame stores its row numbers.
_INDEX_COLUMN = "__index_level_0__"
ROWS_PER_BATCH = 1 << 16


def read_parquet(path: Path) -> Table:
    """Read a parquet file; numbers and truth values become float64, text and categories text."""
    blocks = list(read_parquet_blocks(path, ROWS_PER_BATCH))
    if not blocks:
        raise ValueError(f"{path}: no rows; a table needs features, a label and rows")
    return joined(blocks)


def read_parquet_blocks(path: Path, n_rows: int) -> Iterator[Table]:
    """Read a parquet file in blocks of at most ``n_rows`` rows."""
    first_row = 0
    with _readable(path) as (pa, file):
        for batch in file.iter_batches(batch_size=n_rows):
            if batch.num_rows:
                yield _as_table(path, pa.Table.from_batches([batch]), first_row, pa)
                first_row += batch.num_rows


@contextmanager
def _readable(path: Path) -> Iterator[tuple[Any, Any]]:
    """The module pyarrow, and the open file."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError(
            f"{path}: parquet files need pyarrow; pip install 'hyperlocal[parquet]', or save it as "
            ".csv or .npz"
        ) from error
    try:
        # Without buffers for columns ahead, a large row group is never in memory as a whole.
        with pq.ParquetFile(path, pre_buffer=False) as file:
            yield pa, file
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path}: not a readable parquet file ({error})") from error


def _as_table(path: Path, table: Any, first_row: int, pa: Any) -> Table:
    columns = [j for j, name in enumerate(table.column_names) if name != _INDEX_COLUMN]
    if len(columns) < 2:
        raise ValueError(
            f"{path}: {len(columns)} columns and {table.num_rows} rows; a table needs features, a "
            "label and rows"
        )
    names = tuple(str(table.column_names[j]) for j in columns)
    values = [_values(path, table.column_names[j], table.column(j), pa) for j in columns]
    return Table(path, names, values, first_row=first_row)


def _values(path: Path, name: str, column: Any, pa: Any) -> np.ndarray:
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return np.asarray(column.to_numpy(), dtype=np.float64)
    if pa.types.is_decimal(kind):
        return np.asarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return np.array(["" if cell is None else cell for cell in column.to_pylist()], dtype=str)
    raise ValueError(
        f"{path}, column {name!r}: values of type {kind} are not used; make them numbers or text, "
        "or drop the column"
    )
