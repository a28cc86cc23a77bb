"""A user's own file, of any of the formats.

:func:`read_table` gives labelled rows, ready for a classifier. :func:`read_raw` gives the rows as
the file has them, text as text and labels if there are any, for a pipeline that encodes them.

A file that cannot be used is refused with a ``ValueError`` that names the file, the line and
column where possible, and what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .arrays import read_npz, read_raw_npz
from .columns import Table
from .dataset import Dataset, RawRows, refuse_missing
from .delimited import read_delimited
from .parquet import read_parquet
from .svmlight import looks_like_svmlight, read_svmlight

_BINARY_FORMATS = (".feather", ".xlsx", ".xls", ".h5", ".hdf5", ".mat", ".pkl")


def read_table(path: str | Path, *, target: str | int | None = None) -> Dataset:
    """Read labelled rows from a CSV, LIBSVM (svmlight), npz or parquet file.

    Parameters
    ----------
    path : str or Path
        - ``.npz``: arrays ``X, y``, or ``X_train, y_train, X_test, y_test``; or CSR rows as
          ``data, indices, indptr, shape`` (the arrays of :func:`scipy.sparse.save_npz`) and ``y``.
        - text: LIBSVM if every line reads ``label index:value …``, else a table of columns
          separated by comma, semicolon, tab, bar or spaces, with or without a header line.
          May be compressed (``.gz``, ``.bz2``).
        - ``.parquet``: a table of columns; needs pyarrow.
    target : str or int, optional
        The label column of a table: its name, or its number from 0 (negative: from the end).
        Default: the last column.

    Returns
    -------
    Dataset
        CSR rows for LIBSVM files. Text columns of a table are one-hot encoded, a missing value
        among them as a value of its own. A nameless first column of row numbers is left out.
        Labels are integers where all are whole numbers.

    Raises
    ------
    ValueError
        If the file is not of these formats, a number is missing or infinite, rows differ in
        length, a text column has too many values, or the target is not a column.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from hyperlocal.datasets import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "cats.csv")
    ...     _ = path.write_text("weight,fur,tame\\n4.1,long,yes\\n3.2,short,yes\\n9.5,long,no\\n")
    ...     cats = read_table(path)
    >>> cats.feature_names
    ('weight', 'fur=long', 'fur=short')
    >>> cats.y_train
    array(['yes', 'yes', 'no'], dtype='<U3')
    """
    path = existing_file(path)
    if path.suffix == ".npz":
        refuse_target(path, target)
        return read_npz(path)
    if is_svmlight(path):
        refuse_target(path, target)
        return _read_svmlight(path)
    return _read_columns(path, target).encoded(target)


def read_raw(
    path: str | Path, *, target: str | int | None = None, columns: Sequence[str] | None = None,
    part: str = "train",
) -> RawRows:  # fmt: skip
    """Read rows as they are, to be encoded by a pipeline.

    Parameters
    ----------
    path : str or Path
        A file of the formats of :func:`read_table`. An npz file may hold ``X`` alone.
    target : str or int, optional
        The label column of a table, by name or number. Default: the last, or none if ``columns``
        are given.
    columns : sequence of str, optional
        The columns of ``X``, in this order; others are left out. A table without names that has
        just as many columns, besides the target, is taken as it is. Default: all but the labels.
    part : {"train", "test"}, default="train"
        Which part of an npz file that has both.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from hyperlocal.datasets import read_raw
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "cats.csv")
    ...     _ = path.write_text("weight,fur,tame\\n4.1,long,yes\\n3.2,short,yes\\n9.5,long,no\\n")
    ...     cats = read_raw(path)
    >>> cats.columns, cats.text_columns, cats.target
    (('weight', 'fur'), (1,), 'tame')
    """
    path = existing_file(path)
    if path.suffix == ".npz":
        refuse_target(path, target)
        return read_raw_npz(path, part)
    if is_svmlight(path):
        refuse_target(path, target)
        data = _read_svmlight(path)
        return RawRows(data.name, data.X_train, data.y_train)
    table = _read_columns(path, known_column(target, columns))
    label_column = table.column(target) if columns is None or target is not None else None
    chosen = table.features(label_column)
    if columns is not None:
        chosen = table.find(columns, chosen)
    y = None if label_column is None else table.labels(label_column)
    return table.raw(chosen, label_column, y)


def known_column(target: Any, columns: Sequence[str] | None) -> Any:
    """A column that is known to exist: if its name is in the first line, that is a header."""
    return columns[0] if columns and not isinstance(target, str) else target


def existing_file(path: str | Path) -> Path:
    """The path of a file that exists and may be of a format that is read."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file")
    if path.suffix in _BINARY_FORMATS:
        raise ValueError(
            f"{path}: {path.suffix} files are not read; save it as .csv, .npz or .parquet"
        )
    return path


def is_svmlight(path: Path) -> bool:
    """Whether the file looks like one of LIBSVM."""
    return path.suffix != ".parquet" and as_text(path, looks_like_svmlight)


def _read_columns(path: Path, target: str | int | None) -> Table:
    if path.suffix == ".parquet":
        return read_parquet(path)
    return as_text(path, lambda path: read_delimited(path, target))


def as_text(path: Path, read: Callable[[Path], Any]) -> Any:
    """Read a text file; raise a ValueError if it is not one."""
    try:
        return read(path)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not a text file in UTF-8; save it as .csv or .npz") from error


def refuse_target(path: Path, target: Any) -> None:
    """Raise if a label column is named for a file without columns."""
    if target is not None:
        raise ValueError(
            f"{path}: target is for tables with columns; LIBSVM and npz files hold their labels"
        )


def _read_svmlight(path: Path) -> Dataset:
    data = read_svmlight(path)
    refuse_missing(path, data.X_train, "training ")
    return data
