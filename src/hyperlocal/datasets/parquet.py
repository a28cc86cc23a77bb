"""Parquet files as pandas data frames, whole or in blocks.

Needs pyarrow (``pip install hyperlocal[parquet]``), which is imported when such a file is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .delimited import import_pandas


def read_parquet(path: Path) -> Any:
    """Read a parquet file; the index counts rows from 0."""
    frames = list(read_parquet_blocks(path, 1 << 16))
    if not frames:
        raise ValueError(f"{path}: no rows; a table needs features, a label and rows")
    return frames[0] if len(frames) == 1 else import_pandas(path).concat(frames)


def read_parquet_blocks(path: Path, n_rows: int) -> Iterator[Any]:
    """Read a parquet file in frames of at most ``n_rows`` rows."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError(
            f"{path}: parquet files need pyarrow; pip install 'hyperlocal[parquet]', or save it as "
            ".csv or .npz"
        ) from error
    pandas = import_pandas(path)
    first = 0
    try:
        # Without buffers for columns ahead, a large row group is never in memory as a whole.
        with pq.ParquetFile(path, pre_buffer=False) as file:
            _check_columns(path, file.schema_arrow, pa)
            for batch in file.iter_batches(batch_size=n_rows):
                frame = batch.to_pandas().reset_index(drop=True)
                frame.columns = [str(name) for name in frame.columns]
                frame.index = pandas.RangeIndex(first, first + len(frame), name="row")
                first += len(frame)
                if len(frame):
                    yield frame
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path}: not a readable parquet file ({error})") from error


def _check_columns(path: Path, schema: Any, pa: Any) -> None:
    """Raise if a cell may hold several values."""
    for column in schema:
        if pa.types.is_nested(column.type):
            raise ValueError(
                f"{path}, column {column.name!r}: values of type {column.type} are not used; make "
                "them numbers or text, or drop the column"
            )
