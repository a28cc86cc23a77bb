"""Files larger than memory, read in blocks of rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .array_stream import ArrayStream, NpyStream, NpzStream, SvmlightStream
from .row_stream import Reading, RowStream
from .table_stream import TableStream
from .tables import existing_file, is_svmlight, refuse_target


def stream(
    data: Any,
    target: Any = None,
    *,
    columns: Sequence[str] | None = None,
    part: str = "train",
    block_rows: Any = "auto",
    dtype: Any = None,
    cache: Any = None,
) -> RowStream:
    """Read labelled rows in blocks: more than memory holds, as often as wanted.

    Parameters
    ----------
    data : path or array
        A file of the formats of :func:`read_table` (CSV and its kin, LIBSVM, npz, parquet), an npy
        file with a 2-D array in C order, or an array, sparse rows or ``numpy.memmap`` in Python.
    target : optional
        The label column of a table or npy file, by name or by number from 0 (negative: from the
        end); by default the last. Of an npy file also the path of another one with the labels. Of
        an array in Python: the labels.
    columns : sequence of str, optional
        The columns of a table to read, in this order, as in :func:`read_raw`; there are no labels
        then, unless a target is named.
    part : {"train", "test"}, default="train"
        Which part of an npz file that has both.
    block_rows : int or "auto", default="auto"
        Rows per block. "auto" is about a million numbers.
    dtype : numpy dtype, optional
        Of the rows: float32 takes half the memory and disk. By default what is stored; float64 for
        text.
    cache : path or False, optional
        Where to keep the parsed rows of a text file in binary form; by default among the system's
        temporary files. They are removed together with the stream. False parses the text each time.

    Returns
    -------
    RowStream
        Iterate over it for blocks ``(X, y)``, with columns, text and labels treated as by
        :func:`read_table`.

    See Also
    --------
    hyperlocal.LocallyLinearSVC.fit_stream : Fit to the blocks.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from hyperlocal.datasets import stream
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "cats.csv")
    ...     _ = path.write_text("weight,fur,tame\\n4.1,long,yes\\n3.2,short,yes\\n9.5,long,no\\n")
    ...     cats = stream(path, "tame", block_rows=2)
    ...     [X.shape for X, y in cats], cats.feature_names
    ([(2, 3), (1, 3)], ('weight', 'fur=long', 'fur=short'))
    """
    reading = Reading(block_rows, None if dtype is None else np.dtype(dtype), cache)
    if not isinstance(data, (str, Path)):
        return ArrayStream(data, target, reading)
    path = existing_file(data)
    if path.suffix == ".npy":
        return NpyStream(path, target, reading)
    if path.suffix == ".npz":
        refuse_target(path, target)
        return NpzStream(path, part, reading)
    if is_svmlight(path):
        refuse_target(path, target)
        return SvmlightStream(path, reading)
    return TableStream(path, target, columns, reading)
