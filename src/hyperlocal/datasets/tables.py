"""A user's own file: :func:`read_table` finds out its format; npz files are read here.

A file that cannot be used is refused with a ``ValueError`` that names the file, the line and
column where possible, and what to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from .dataset import REMEDY_FOR_MISSING, Dataset, Rows, csr_rows, is_sparse, tidy_labels
from .delimited import read_delimited
from .svmlight import looks_like_svmlight, read_svmlight
from .text import table_name

_BINARY_FORMATS = (".parquet", ".feather", ".xlsx", ".xls", ".h5", ".hdf5", ".mat", ".pkl")


def read_table(path: str | Path, *, target: str | int | None = None) -> Dataset:
    """Read labelled rows from a CSV, LIBSVM (svmlight) or npz file.

    Parameters
    ----------
    path : str or Path
        - ``.npz``: arrays ``X, y``, or ``X_train, y_train, X_test, y_test``; or CSR rows as
          ``data, indices, indptr, shape`` (the arrays of :func:`scipy.sparse.save_npz`) and ``y``.
        - text: LIBSVM if every line reads ``label index:value …``, else a table of columns
          separated by comma, semicolon, tab, bar or spaces, with or without a header line.
          May be compressed (``.gz``, ``.bz2``).
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
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file")
    if path.suffix in _BINARY_FORMATS:
        raise ValueError(f"{path}: {path.suffix} files are not read; save it as .csv or .npz")
    if path.suffix == ".npz":
        _refuse_target(path, target)
        return _refuse_missing(path, read_npz(path))
    try:
        if looks_like_svmlight(path):
            _refuse_target(path, target)
            return _refuse_missing(path, read_svmlight(path))
        return read_delimited(path, target)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not a text file in UTF-8; save it as .csv or .npz") from error


def _refuse_target(path: Path, target: str | int | None) -> None:
    if target is not None:
        raise ValueError(
            f"{path}: target is for tables with columns; LIBSVM and npz files hold their labels"
        )


def _refuse_missing(path: Path, data: Dataset) -> Dataset:
    for part, X in (("training", data.X_train), ("test", data.X_test)):
        if X is None:
            continue
        rows = _bad_rows(X)
        if rows.size:
            raise ValueError(
                f"{path}: {rows.size} {part} rows have missing or infinite values (the first is "
                f"row {rows[0]}, counted from 0); {REMEDY_FOR_MISSING}"
            )
    return data


def _bad_rows(X: Rows) -> np.ndarray:
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
