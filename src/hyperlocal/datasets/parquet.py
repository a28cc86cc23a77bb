"""Parquet files: columns with names and types.

Needs pyarrow (``pip install hyperlocal[parquet]``), which is imported when such a file is read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .columns import Table

# What a data frame adds to remember its row numbers.
_INDEX_COLUMN = "__index_level_0__"


def read_parquet(path: Path) -> Table:
    """Read a parquet file; numbers and truth values become float64, text and categories text."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError(
            f"{path}: parquet files need pyarrow; pip install 'hyperlocal[parquet]', or save it as "
            ".csv or .npz"
        ) from error
    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path}: not a readable parquet file ({error})") from error
    columns = [j for j, name in enumerate(table.column_names) if name != _INDEX_COLUMN]
    if len(columns) < 2 or table.num_rows == 0:
        raise ValueError(
            f"{path}: {len(columns)} columns and {table.num_rows} rows; a table needs features, a "
            "label and rows"
        )
    names = tuple(str(table.column_names[j]) for j in columns)
    values = [_values(path, table.column_names[j], table.column(j), pa) for j in columns]
    return Table(path, names, values)


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
