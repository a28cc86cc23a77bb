"""A user's own file, of whatever format; npz files are read here.

:func:`read_table` gives labelled rows, ready for a classifier. :func:`read_raw` gives the rows as
the file has them, text as text and labels if there are any, for a pipeline that encodes them.

A file that cannot be used is refused with a ``ValueError`` that names the file, the line and
column where possible, and what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .columns import Table
from .dataset import REMEDY_FOR_MISSING, Dataset, Rows, csr_rows, is_sparse, tidy_labels
from .delimited import read_delimited
from .parquet import read_parquet
from .svmlight import looks_like_svmlight, read_svmlight
from .text import table_name

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
        return _refuse_missing(path, read_npz(path))
    if is_svmlight(path):
        refuse_target(path, target)
        return _refuse_missing(path, read_svmlight(path))
    return _read_columns(path, target).encoded(target)


@dataclass(frozen=True)
class RawRows:
    """Rows as a file has them: nothing encoded, nothing scaled.

    Attributes
    ----------
    name : str
        What to call the data in a table.
    X : ndarray or CSR array of shape (n_rows, n_columns)
        Objects if some columns are text, else numbers.
    y : ndarray of shape (n_rows,), or None
    columns : tuple of str, or None
        Names of the columns of ``X``; None if the format has no names.
    target : str or None
        Name of the label column, in a table.
    text_columns : tuple of int
        Columns of ``X`` that are text.
    has_names : bool
        Whether the names come from the file.
    """

    name: str
    X: Rows
    y: np.ndarray | None
    columns: tuple[str, ...] | None = None
    target: str | None = None
    text_columns: tuple[int, ...] = ()
    has_names: bool = False


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
    name = table_name(path)
    if path.suffix == ".npz":
        refuse_target(path, target)
        return _raw_npz(path, part)
    if is_svmlight(path):
        refuse_target(path, target)
        data = _refuse_missing(path, read_svmlight(path))
        return RawRows(name, data.X_train, data.y_train)
    # A known column name in the first line tells that it is a header.
    known = columns[0] if columns and not isinstance(target, str) else target
    table = _read_columns(path, known)
    label_column = table.column(target) if columns is None or target is not None else None
    chosen = table.features(label_column)
    if columns is not None:
        chosen = find_columns(table, columns, chosen)
    return RawRows(
        name,
        table.rows(chosen),
        None if label_column is None else table.labels(label_column),
        tuple(table.names[j] for j in chosen),
        None if label_column is None else table.names[label_column],
        tuple(place for place, j in enumerate(chosen) if table.is_text(j)),
        table.has_names,
    )


def find_columns(table: Table, columns: Sequence[str], others: list[int]) -> list[int]:
    """Numbers of the columns of these names; ``others`` if there are as many without names."""
    if not table.has_names and len(others) == len(columns):
        return others
    missing = [name for name in columns if name not in table.names]
    if missing:
        shown = ", ".join(repr(name) for name in missing[:5]) + (", …" if missing[5:] else "")
        raise ValueError(
            f"{table.path}: lacks {len(missing)} of the {len(columns)} columns needed: {shown}; "
            f"columns are {', '.join(table.names)}"
        )
    return [table.names.index(name) for name in columns]


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
    """Read a text file; raise a ValueError if it is none."""
    try:
        return read(path)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not a text file in UTF-8; save it as .csv or .npz") from error


def _raw_npz(path: Path, part: str) -> RawRows:
    arrays = _npz_arrays(path)
    if "X" in arrays and "y" not in arrays:
        n_rows = len(arrays["X"])
        data = Dataset(
            table_name(path), arrays["X"], np.zeros(n_rows), feature_names=_stored_names(arrays)
        )
        return RawRows(data.name, _refuse_missing(path, data).X_train, None, data.feature_names)
    data = _refuse_missing(path, read_npz(path))
    X, y = data.X_train, data.y_train
    if part == "test" and data.X_test is not None and data.y_test is not None:
        X, y = data.X_test, data.y_test
    return RawRows(data.name, X, y, data.feature_names, has_names=data.feature_names is not None)


def refuse_target(path: Path, target: Any) -> None:
    """Raise if a label column is named in a file that has none."""
    if target is not None:
        raise ValueError(
            f"{path}: target is for tables with columns; LIBSVM and npz files hold their labels"
        )


def _refuse_missing(path: Path, data: Dataset) -> Dataset:
    for part, X in (("training", data.X_train), ("test", data.X_test)):
        if X is None:
            continue
        rows = bad_rows(X)
        if rows.size:
            raise ValueError(
                f"{path}: {rows.size} {part} rows have missing or infinite values (the first is "
                f"row {rows[0]}, counted from 0); {REMEDY_FOR_MISSING}"
            )
    return data


def bad_rows(X: Rows) -> np.ndarray:
    """Return the numbers of the rows that hold NaN or infinity."""
    if not is_sparse(X):
        return np.flatnonzero(~np.isfinite(X).all(axis=1))
    places = np.flatnonzero(~np.isfinite(X.data))
    return np.unique(np.searchsorted(X.indptr, places, side="right") - 1)


def read_npz(path: Path) -> Dataset:
    """Read an npz file; missing values are left as they are."""
    arrays = _npz_arrays(path)
    name = table_name(path)
    if {"X_train", "y_train"} <= arrays.keys():
        y_test = arrays.get("y_test")
        return Dataset(
            name,
            arrays["X_train"],
            _flat_labels(arrays["y_train"]),
            arrays.get("X_test"),
            None if y_test is None else _flat_labels(y_test),
            _stored_names(arrays),
        )
    if {"X", "y"} <= arrays.keys():
        y = _flat_labels(arrays["y"])
        return Dataset(name, arrays["X"], y, feature_names=_stored_names(arrays))
    if {"data", "indices", "indptr", "shape", "y"} <= arrays.keys():
        X = csr_rows(arrays["data"], arrays["indices"], arrays["indptr"], arrays["shape"])
        return Dataset(name, X, _flat_labels(arrays["y"]))
    raise ValueError(
        f"{path}: holds {sorted(arrays)}; expected X and y, or X_train, y_train, X_test and "
        "y_test, or CSR rows as data, indices, indptr and shape together with y"
    )


def _npz_arrays(path: Path) -> dict[str, np.ndarray]:
    # No pickles: reading a data file must not be able to run code.
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {key: archive[key] for key in archive.files}
    except Exception as error:  # zipfile, zlib, EOF and value errors: all mean a bad file
        raise ValueError(f"{path}: not a readable npz file of plain arrays ({error})") from error


def _flat_labels(y: np.ndarray) -> np.ndarray:
    return tidy_labels(y.ravel() if y.ndim == 2 and 1 in y.shape else y)


def _stored_names(arrays: Mapping[str, np.ndarray]) -> tuple[str, ...] | None:
    names = arrays.get("feature_names")
    return None if names is None else tuple(str(name) for name in names)
