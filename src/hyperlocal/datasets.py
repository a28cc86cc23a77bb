"""Data: named benchmark sets, readers of CSV, LIBSVM and npz files, and a synthetic set.

Everything comes back as a :class:`Dataset`: training rows, and test rows where a standard split
exists. Three ways in:

- :func:`load_dataset` finds a benchmark set by name, in a local folder or at OpenML;
- :func:`read_table` reads a user's own file, whatever its format;
- :func:`make_banana` draws a small problem in the plane.

A file that cannot be used is refused with a ``ValueError`` that names the file, the line and
column where possible, and what to do.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import os
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TextIO, TypeAlias, overload

import numpy as np
from scipy import sparse
from sklearn.datasets import fetch_openml, load_svmlight_file
from sklearn.utils import check_random_state

__all__ = ["Dataset", "known_datasets", "load_dataset", "make_banana", "read_table"]

Rows: TypeAlias = Any  # a 2-D numpy array, or scipy's CSR rows


def is_sparse(X: Any) -> bool:
    """Tell sparse rows from dense ones (a plain bool, which type checkers do not narrow by)."""
    return bool(sparse.issparse(X))


@dataclass(frozen=True)
class Dataset:
    """Training rows with labels, and test rows where the data has a standard split.

    Attributes
    ----------
    name : str
        What to call the data in a table.
    X_train : ndarray or CSR array of shape (n_train, n_features)
    y_train : ndarray of shape (n_train,)
    X_test : ndarray or CSR array of shape (n_test, n_features), or None
    y_test : ndarray of shape (n_test,), or None
    feature_names : tuple of str, or None
        One name per column, where the source has names.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.datasets import Dataset
    >>> data = Dataset("tiny", np.eye(2), np.array([0, 1]))
    >>> data.has_test_part
    False
    """

    name: str
    X_train: Rows
    y_train: np.ndarray
    X_test: Rows | None = None
    y_test: np.ndarray | None = None
    feature_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        _check_pair(self.name, "training", self.X_train, self.y_train)
        if (self.X_test is None) != (self.y_test is None):
            raise ValueError(f"{self.name}: X_test and y_test come together or not at all")
        if self.X_test is None or self.y_test is None:
            return
        _check_pair(self.name, "test", self.X_test, self.y_test)
        n_train, n_test = self.X_train.shape[1], self.X_test.shape[1]
        if n_train != n_test:
            raise ValueError(
                f"{self.name}: {n_train} features in the training rows, {n_test} in the test rows"
            )

    @property
    def has_test_part(self) -> bool:
        """Whether the data has a standard test part."""
        return self.X_test is not None

    def all_rows(self) -> tuple[Rows, np.ndarray]:
        """Return every row and label, the test part (if any) after the training part."""
        if self.X_test is None or self.y_test is None:
            return self.X_train, self.y_train
        parts = [self.X_train, self.X_test]
        X: Rows = sparse.vstack(parts, format="csr") if is_sparse(parts[0]) else np.vstack(parts)
        return X, np.concatenate([self.y_train, self.y_test])


def _check_pair(name: str, part: str, X: Rows, y: np.ndarray) -> None:
    if X.ndim != 2 or y.ndim != 1:
        raise ValueError(
            f"{name}: the {part} part needs a 2-D X and a 1-D y; got {X.ndim}-D and {y.ndim}-D"
        )
    if X.shape[0] != y.shape[0]:
        raise ValueError(f"{name}: {X.shape[0]} {part} rows but {y.shape[0]} labels")
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise ValueError(f"{name}: the {part} part is empty (shape {X.shape})")


# Named benchmark sets -----------------------------------------------------------------------------


@dataclass(frozen=True)
class OpenMLSource:
    """Where OpenML keeps a set, and how to find its published training rows there.

    OpenML stores one table per set. Whether its rows stand in the published order cannot be told
    from the table alone, so the split is taken only if the rows per class agree with
    ``train_counts``, the published ones (in the order of the sorted labels).
    """

    data_id: int
    openml_name: str
    target: str = "default-target"
    train_counts: tuple[int, ...] = ()
    train_rows: Literal["first", "repeated"] = "first"


_LETTER_COUNTS = (
    *(633, 630, 594, 638, 616, 622, 609, 583, 590, 599, 593, 604, 648),
    *(617, 614, 635, 615, 597, 587, 645, 645, 628, 613, 628, 641, 576),
)

OPENML_SOURCES: Mapping[str, OpenMLSource] = {
    "a9a": OpenMLSource(1430, "a9a", train_counts=(24720, 7841)),
    "balance-scale": OpenMLSource(11, "balance-scale"),
    "banana": OpenMLSource(1460, "banana"),
    # OpenML's default target is the number of drinks; the classification task is the selector.
    "bupa": OpenMLSource(8, "liver-disorders", target="selector"),
    "glass": OpenMLSource(41, "glass"),
    "hayes-roth": OpenMLSource(329, "hayes-roth", train_counts=(51, 51, 30)),
    "heart-statlog": OpenMLSource(53, "heart-statlog"),
    "hepatitis": OpenMLSource(55, "hepatitis"),
    # OpenML joins four files: the training rows, the test rows, and the training rows once more,
    # cut in two for validation. No row occurs twice by itself, so repetition tells them apart.
    "ijcnn1": OpenMLSource(1575, "ijcnn", train_counts=(45137, 4853), train_rows="repeated"),
    "ionosphere": OpenMLSource(59, "ionosphere"),
    "letter": OpenMLSource(6, "letter", train_counts=_LETTER_COUNTS),
    "magic04": OpenMLSource(1120, "MagicTelescope"),
    "mnist": OpenMLSource(
        554,
        "mnist_784",
        train_counts=(5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949),
    ),
    "monks-3": OpenMLSource(335, "monks-problems-3", train_counts=(62, 60)),
    "segment": OpenMLSource(36, "segment", train_counts=(30,) * 7),
    "skin": OpenMLSource(1502, "skin-segmentation"),
    "sonar": OpenMLSource(40, "sonar"),
    "tic-tac-toe": OpenMLSource(50, "tic-tac-toe"),
    "usps": OpenMLSource(
        41082,
        "USPS",
        train_counts=(1194, 1005, 731, 658, 652, 556, 664, 645, 542, 644),
    ),
}


def known_datasets() -> list[str]:
    """Return the names that :func:`load_dataset` can fetch from OpenML.

    Examples
    --------
    >>> from hyperlocal.datasets import known_datasets
    >>> known_datasets()[:3]
    ['a9a', 'balance-scale', 'banana']
    """
    return sorted(OPENML_SOURCES)


@overload
def load_dataset(
    name: str, *, return_X_y: Literal[False] = False, data_home: str | Path | None = None
) -> Dataset: ...


@overload
def load_dataset(
    name: str, *, return_X_y: Literal[True], data_home: str | Path | None = None
) -> tuple[Rows, np.ndarray]: ...


def load_dataset(
    name: str, *, return_X_y: bool = False, data_home: str | Path | None = None
) -> Dataset | tuple[Rows, np.ndarray]:
    """Load a benchmark set by name, from a local folder or from OpenML.

    If the environment variable ``HYPERLOCAL_DATA`` names a folder, ``<name>.npz`` is read from it
    (arrays ``X_train, y_train, X_test, y_test``, or ``X, y``; any name for which there is a file).
    Otherwise the set is fetched from OpenML and kept in scikit-learn's data folder.

    Parameters
    ----------
    name : str
        One of :func:`known_datasets`, or a file of the local folder without its ending.
    return_X_y : bool, default=False
        Return all rows as ``(X, y)`` instead of a :class:`Dataset`, training rows first.
    data_home : str or Path, optional
        Where scikit-learn keeps downloads. Not used with ``HYPERLOCAL_DATA``.

    Returns
    -------
    Dataset
        With a test part where a split is standard.

    Warns
    -----
    UserWarning
        If OpenML's copy does not keep the published order of a set that has a standard split. The
        set then comes without a test part. (letter is such a set, and segment may be.)

    Notes
    -----
    Standard splits, training / test rows:

    ==========  ===============  =============================================
    a9a         32,561 / 16,281  LIBSVM's a9a and a9a.t
    hayes-roth  132 / 28         UCI's hayes-roth.data and .test
    ijcnn1      49,990 / 91,701  LIBSVM's ijcnn1 and ijcnn1.t
    letter      16,000 / 4,000   UCI's order: the first 16,000 rows
    mnist       60,000 / 10,000  the first 60,000 rows
    monks-3     122 / 432        UCI's monks-3.train and .test
    segment     210 / 2,100      UCI's segmentation.data and .test
    usps        7,291 / 2,007    zip.train and zip.test
    ==========  ===============  =============================================

    The others have none. Skin and magic04 are sorted by class: shuffle before splitting.
    Values are raw: scale them. Nominal features are integer codes; hepatitis has missing values,
    kept as NaN. Labels are as the source spells them (USPS digits are 1 to 10 at OpenML).

    Examples
    --------
    >>> from hyperlocal.datasets import load_dataset
    >>> digits = load_dataset("mnist")  # doctest: +SKIP
    >>> digits.X_train.shape, digits.X_test.shape  # doctest: +SKIP
    ((60000, 784), (10000, 784))
    """
    folder = os.environ.get("HYPERLOCAL_DATA")
    if folder:
        data = _load_local(name, Path(folder))
    elif name in OPENML_SOURCES:
        data = _load_openml(name, OPENML_SOURCES[name], data_home)
    else:
        raise _unknown_name(name, known_datasets())
    return data.all_rows() if return_X_y else data


def _unknown_name(name: str, known: Sequence[str]) -> ValueError:
    return ValueError(f"unknown dataset {name!r}; known are: {', '.join(known)}")


def _load_local(name: str, folder: Path) -> Dataset:
    if not folder.is_dir():
        raise FileNotFoundError(f"HYPERLOCAL_DATA is set to {str(folder)!r}, which is not a folder")
    present = {path.stem: path for path in folder.glob("*.npz")}
    if name in present:
        return _read_npz(present[name])
    if name in OPENML_SOURCES:
        raise FileNotFoundError(
            f"no file {name}.npz in HYPERLOCAL_DATA={str(folder)!r}; "
            "add it, or unset HYPERLOCAL_DATA to fetch the set from OpenML"
        )
    raise _unknown_name(name, sorted({*present, *OPENML_SOURCES}))


def _load_openml(name: str, source: OpenMLSource, data_home: str | Path | None) -> Dataset:
    # liac-arff: the only parser that needs no pandas and turns nominal features into codes.
    try:
        table = fetch_openml(
            data_id=source.data_id,
            target_column=source.target,
            data_home=data_home,
            as_frame=False,
            parser="liac-arff",
        )
    except OSError as error:
        raise OSError(
            f"could not fetch {name} (OpenML data id {source.data_id}): {error}; check the "
            f"network, or set HYPERLOCAL_DATA to a folder that holds {name}.npz"
        ) from error
    X = table.data.toarray() if is_sparse(table.data) else np.asarray(table.data)
    y = _tidy_labels(table.target)
    names = tuple(table.feature_names)
    if not source.train_counts:
        return Dataset(name, X, y, feature_names=names)
    train, test = _published_rows(X, source)
    if _class_counts(y[train]) != source.train_counts:
        _warn_of_lost_split(name)
        return Dataset(name, X, y, feature_names=names)
    return Dataset(name, X[train], y[train], X[test], y[test], names)


def _published_rows(X: np.ndarray, source: OpenMLSource) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of the training rows and of the test rows, if the copy is as expected."""
    if source.train_rows == "repeated":
        _, first, repeats = np.unique(X, axis=0, return_index=True, return_counts=True)
        return np.sort(first[repeats == 2]), np.sort(first[repeats == 1])
    rows = np.arange(X.shape[0])
    n_train = sum(source.train_counts)
    return rows[:n_train], rows[n_train:]


def _class_counts(y: np.ndarray) -> tuple[int, ...]:
    return tuple(int(count) for count in np.unique(y, return_counts=True)[1])


def _warn_of_lost_split(name: str) -> None:
    warnings.warn(
        f"OpenML's copy of {name} is not in the published order, so it comes without its standard "
        f"test part; results are not comparable with published ones",
        UserWarning,
        stacklevel=4,
    )


def _tidy_labels(values: Any) -> np.ndarray:
    """Return labels as integers where all are whole numbers, else as they are."""
    labels = np.asarray(values)
    if labels.dtype.kind in "OSU":
        labels = labels.astype(str)
        try:
            numbers = labels.astype(np.float64)
        except ValueError:
            return labels
    elif labels.dtype.kind == "f":
        numbers = labels
    else:
        return labels
    if not np.isfinite(numbers).all():
        return labels
    whole = numbers.astype(np.int64)
    return whole if np.array_equal(whole, numbers) else numbers


# A user's own file --------------------------------------------------------------------------------

_COMPRESSED = (".gz", ".bz2")
_BINARY_FORMATS = (".parquet", ".feather", ".xlsx", ".xls", ".h5", ".hdf5", ".mat", ".pkl")
_SAMPLE_LINES = 100  # how much of a text file is looked at to tell its format


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
        return _refuse_missing(path, _read_npz(path))
    try:
        if _looks_like_svmlight(path):
            _refuse_target(path, target)
            return _refuse_missing(path, _read_svmlight(path))
        return _read_delimited(path, target)
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
                f"row {rows[0]}, counted from 0); {_REMEDY_FOR_MISSING}"
            )
    return data


_REMEDY_FOR_MISSING = "drop those rows or fill them in, e.g. with sklearn.impute.SimpleImputer"


def _bad_rows(X: Rows) -> np.ndarray:
    """Return the numbers of the rows that hold NaN or infinity."""
    if not is_sparse(X):
        return np.flatnonzero(~np.isfinite(X).all(axis=1))
    places = np.flatnonzero(~np.isfinite(X.data))
    return np.unique(np.searchsorted(X.indptr, places, side="right") - 1)


def _open_text(path: Path) -> TextIO:
    # "-sig" drops the byte-order mark that spreadsheets write.
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    if path.suffix == ".bz2":
        return bz2.open(path, "rt", encoding="utf-8-sig", newline="")
    return open(path, encoding="utf-8-sig", newline="")


def _table_name(path: Path) -> str:
    return Path(path.stem).stem if path.suffix in _COMPRESSED else path.stem


# npz ----------------------------------------------------------------------------------------------


def _read_npz(path: Path) -> Dataset:
    arrays = _npz_arrays(path)
    name = _table_name(path)
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
        X = _csr(arrays["data"], arrays["indices"], arrays["indptr"], arrays["shape"])
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


def _csr(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: Any) -> sparse.csr_array:
    # LIBLINEAR and LIBSVM take 32-bit indices only.
    small = max(data.size, *shape) < 2**31
    index = np.int32 if small else np.int64
    return sparse.csr_array(
        (data, indices.astype(index), indptr.astype(index)), shape=(int(shape[0]), int(shape[1]))
    )


def _flat_labels(y: np.ndarray) -> np.ndarray:
    return _tidy_labels(y.ravel() if y.ndim == 2 and 1 in y.shape else y)


def _stored_names(arrays: Mapping[str, np.ndarray]) -> tuple[str, ...] | None:
    names = arrays.get("feature_names")
    return None if names is None else tuple(str(name) for name in names)


# LIBSVM -------------------------------------------------------------------------------------------

_SVMLIGHT_PAIR = re.compile(r"(qid|\d+):\S+")


def _looks_like_svmlight(path: Path) -> bool:
    """Tell ``label index:value …`` lines from a table; a row of zeros has no pairs at all."""
    with _open_text(path) as file:
        lines = [line.partition("#")[0].split() for line in islice(file, _SAMPLE_LINES)]
    pairs = [pair for line in lines for pair in line[1:]]
    return bool(pairs) and all(_SVMLIGHT_PAIR.fullmatch(pair) for pair in pairs)


def _read_svmlight(path: Path) -> Dataset:
    try:
        X, y = load_svmlight_file(str(path))
    except ValueError as error:
        fault = _svmlight_fault(path) or f": {error}"
        raise ValueError(f"{path}{fault}") from error
    rows = _csr(X.data, X.indices, X.indptr, X.shape)
    return Dataset(_table_name(path), rows, _tidy_labels(y))


def _svmlight_fault(path: Path) -> str | None:
    """Return where and why a LIBSVM file cannot be read, as ", line …: …"."""
    with _open_text(path) as file:
        for number, line in enumerate(file, start=1):
            cells = line.partition("#")[0].split()
            reason = _svmlight_line_fault(cells) if cells else None
            if reason:
                return f", line {number}: {reason}"
    return None


def _svmlight_line_fault(cells: Sequence[str]) -> str | None:
    label, *pairs = cells
    if _to_float(label) is None:
        return f"the label {label!r} is not a number"
    last = -1
    for pair in pairs:
        index, _, value = pair.partition(":")
        if index == "qid":
            continue
        if not index.isdigit() or _to_float(value) is None:
            return f"{pair!r} is not index:value"
        if int(index) <= last:
            return f"index {index} after {last}: indices must increase"
        last = int(index)
    return None


# Tables of columns --------------------------------------------------------------------------------

_MISSING = frozenset({"", "?", "na", "n/a", "nan", "null", "none"})
_MAX_CATEGORIES = 256  # more one-hot columns than that are rarely meant: an id, a date, a typo
_CHUNK_ROWS = 20_000  # strings of so many rows are held at once, not the whole file


@dataclass(frozen=True)
class _Layout:
    """How the columns of a text table stand in its file."""

    path: Path
    delimiter: str
    names: tuple[str, ...]
    has_header: bool


@dataclass(frozen=True)
class _Columns:
    """The columns of a table, numbers or text, and the line of the file each row stands in."""

    values: list[np.ndarray]
    lines: np.ndarray


def _read_delimited(path: Path, target: str | int | None) -> Dataset:
    layout = _find_layout(path, target)
    label_column = _column_index(layout, target)
    feature_columns = [j for j in range(len(layout.names)) if j != label_column]
    numbers = _read_numbers(layout)
    if numbers is not None:
        feature_columns = _without_row_numbers(layout, feature_columns, numbers[:, 0])
        names = tuple(layout.names[j] for j in feature_columns)
        y = _tidy_labels(numbers[:, label_column])
        return Dataset(_table_name(path), numbers[:, feature_columns], y, feature_names=names)
    is_text = _find_text_columns(layout)
    # Labels stay text here, so that a missing label is not confused with a number.
    is_text[label_column] = True
    columns = _read_columns(layout, is_text)
    y = _labels(layout, columns, label_column)
    _refuse_missing_numbers(layout, columns, feature_columns)
    feature_columns = _without_row_numbers(layout, feature_columns, columns.values[0])
    X, names = _encode_features(layout, columns, feature_columns)
    return Dataset(_table_name(path), X, y, feature_names=names)


def _find_layout(path: Path, target: str | int | None) -> _Layout:
    with _open_text(path) as file:
        sample = [line for line in islice(file, _SAMPLE_LINES) if line.strip()]
    if not sample:
        raise ValueError(f"{path}: the file is empty")
    delimiter = _sniff_delimiter(sample)
    records = [[cell.strip() for cell in cells] for _, cells in _records(path, sample, delimiter)]
    first = records[0]
    if len(first) < 2:
        raise ValueError(
            f"{path}: found only one column; a table needs features and a label, separated by "
            "comma, semicolon, tab, bar or spaces"
        )
    has_header = _is_header(first, records[1:], target)
    if has_header and len(records) == 1:
        raise ValueError(f"{path}: a header but no rows")
    names = first if has_header else [f"column {j}" for j in range(len(first))]
    return _Layout(path, delimiter, tuple(names), has_header)


def _sniff_delimiter(sample: Sequence[str]) -> str:
    """Choose the delimiter that cuts all lines into equally many cells.

    Comma after semicolon, because of decimal commas; space last, because text has spaces.
    """
    fallback = " "
    most_cells = 1
    for delimiter in ("\t", ";", "|", ","):
        widths = [len(cells) for cells in csv.reader(sample, delimiter=delimiter) if cells]
        if widths[0] > 1 and len(set(widths)) == 1:
            return delimiter
        if widths[0] > most_cells:
            fallback, most_cells = delimiter, widths[0]
    return fallback


def _records(
    path: Path, lines: Sequence[str] | TextIO, delimiter: str
) -> Iterator[tuple[int, list[str]]]:
    """Cut lines into cells; yield each with its line number, blank lines left out."""
    edge = " \r\n" if delimiter == " " else "\r\n"  # outer tabs are empty cells, outer spaces not
    reader = csv.reader(
        (line.strip(edge) for line in lines), delimiter=delimiter, skipinitialspace=True
    )
    try:
        for cells in reader:
            if any(cells):
                yield reader.line_num, cells
    except csv.Error as error:
        raise ValueError(f"{path}, line {reader.line_num}: {error}") from error


def _is_header(
    first: Sequence[str], others: Sequence[Sequence[str]], target: str | int | None
) -> bool:
    """Tell column names from a first row of data."""
    if isinstance(target, str) and target in first:
        return True
    if _counts_from_zero(first):
        return True
    if any(_to_float(cell) is not None for cell in first):
        return False
    # All text: names do not come back as values further down.
    return not any(cell == name for row in others for cell, name in zip(row, first, strict=False))


def _counts_from_zero(cells: Sequence[str]) -> bool:
    """Recognise the header "0,1,2,…" that data frames without names are written with."""
    leading = list(cells[:-1])
    return len(leading) > 3 and leading == [str(j) for j in range(len(leading))]


def _column_index(layout: _Layout, target: str | int | None) -> int:
    names = layout.names
    if target is None:
        return len(names) - 1
    if isinstance(target, str) and target in names:
        return names.index(target)
    try:
        index = int(target)
    except ValueError:
        index = len(names)
    if not -len(names) <= index < len(names):
        raise ValueError(
            f"{layout.path}: no column {target!r}; columns are {', '.join(names)} "
            f"(or numbers 0 to {len(names) - 1})"
        )
    return index % len(names)


def _chunks(layout: _Layout) -> Iterator[tuple[Sequence[int], list[Sequence[str]]]]:
    """Yield line numbers and columns of cells, for some thousand rows at a time."""
    with _open_text(layout.path) as file:
        records = _records(layout.path, file, layout.delimiter)
        if layout.has_header:
            next(records)
        while chunk := list(islice(records, _CHUNK_ROWS)):
            for line, cells in chunk:
                if len(cells) != len(layout.names):
                    raise ValueError(
                        f"{layout.path}, line {line}: {len(cells)} cells where the first line has "
                        f"{len(layout.names)}"
                    )
            yield (
                [line for line, _ in chunk],
                list(zip(*(cells for _, cells in chunk), strict=True)),
            )


def _read_numbers(layout: _Layout) -> np.ndarray | None:
    """Read a table of nothing but numbers, several times as fast; None if it is not one.

    What is wrong with the table, if anything, is left to the slow way to find out.
    """
    try:
        with _open_text(layout.path) as file:
            numbers = np.loadtxt(
                file,
                delimiter=None if layout.delimiter == " " else layout.delimiter,
                skiprows=int(layout.has_header),
                comments=None,
                quotechar='"',
                ndmin=2,
            )
    except ValueError:
        return None
    as_expected = numbers.shape[1] == len(layout.names) and np.isfinite(numbers).all()
    return numbers if as_expected else None


def _without_row_numbers(
    layout: _Layout, feature_columns: list[int], first: np.ndarray
) -> list[int]:
    """Leave out a nameless first column of row numbers, which data frames are written with.

    Where rows are sorted by class, such a column would give the labels away.
    """
    is_index = (
        layout.names[0] == ""
        and first.dtype.kind == "f"
        and np.array_equal(first, np.round(first))
        and len(np.unique(first)) == len(first)
    )
    return [j for j in feature_columns if j != 0] if is_index else feature_columns


def _find_text_columns(layout: _Layout) -> np.ndarray:
    is_text = np.zeros(len(layout.names), dtype=bool)
    for _, columns in _chunks(layout):
        for j in np.flatnonzero(~is_text):
            is_text[j] = _to_floats(columns[j]) is None
    return is_text


def _read_columns(layout: _Layout, is_text: np.ndarray) -> _Columns:
    lines: list[int] = []
    pieces: list[list[np.ndarray]] = [[] for _ in layout.names]
    for chunk_lines, columns in _chunks(layout):
        lines.extend(chunk_lines)
        for j, cells in enumerate(columns):
            numbers = None if is_text[j] else _to_floats(cells)
            pieces[j].append(np.char.strip(cells) if numbers is None else numbers)
    return _Columns([np.concatenate(piece) for piece in pieces], np.array(lines))


def _to_floats(cells: Sequence[str]) -> np.ndarray | None:
    """Return cells as numbers, missing ones as NaN; None if some cell is text."""
    try:
        return np.fromiter(map(float, cells), np.float64, len(cells))
    except ValueError:
        pass
    numbers = [np.nan if _is_missing(cell) else _to_float(cell) for cell in cells]
    return None if None in numbers else np.array(numbers, dtype=np.float64)


def _to_float(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _is_missing(cell: str) -> bool:
    return cell.strip().lower() in _MISSING


def _labels(layout: _Layout, columns: _Columns, label_column: int) -> np.ndarray:
    cells = columns.values[label_column]
    missing = np.flatnonzero([_is_missing(cell) for cell in cells])
    if missing.size:
        raise ValueError(
            f"{layout.path}, line {columns.lines[missing[0]]}: no label in column "
            f"{layout.names[label_column]!r} ({missing.size} rows in all); drop those rows"
        )
    return _tidy_labels(cells)


def _refuse_missing_numbers(
    layout: _Layout, columns: _Columns, feature_columns: Sequence[int]
) -> None:
    n_bad = np.zeros(len(columns.lines), dtype=np.int64)
    for j in feature_columns:
        if columns.values[j].dtype.kind == "f":
            n_bad += ~np.isfinite(columns.values[j])
    rows = np.flatnonzero(n_bad)
    if not rows.size:
        return
    row = rows[0]
    column = next(
        layout.names[j]
        for j in feature_columns
        if columns.values[j].dtype.kind == "f" and not np.isfinite(columns.values[j][row])
    )
    raise ValueError(
        f"{layout.path}: {rows.size} rows have missing or infinite values (the first is line "
        f"{columns.lines[row]}, column {column!r}); {_REMEDY_FOR_MISSING}"
    )


def _encode_features(
    layout: _Layout, columns: _Columns, feature_columns: Sequence[int]
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return numbers as they are and text one-hot, with a name for every column."""
    blocks: list[np.ndarray] = []
    names: list[str] = []
    for j in feature_columns:
        values = columns.values[j]
        if values.dtype.kind == "f":
            blocks.append(values[:, np.newaxis])
            names.append(layout.names[j])
            continue
        categories, codes = np.unique(values, return_inverse=True)
        _check_categories(layout, columns, j, categories)
        blocks.append(np.eye(len(categories))[codes])
        names.extend(f"{layout.names[j]}={category}" for category in categories)
    return np.hstack(blocks), tuple(names)


def _check_categories(layout: _Layout, columns: _Columns, j: int, categories: np.ndarray) -> None:
    line, cell = _first_text_cell(columns, j)
    where = f"{layout.path}, line {line}, column {layout.names[j]!r}"
    if re.fullmatch(r"[-+]?\d+,\d+", cell):
        raise ValueError(f"{where}: {cell!r} has a decimal comma; write a point")
    if len(categories) > _MAX_CATEGORIES:
        raise ValueError(
            f"{where}: {cell!r} is not a number, and as text the column has {len(categories)} "
            "different values, too many to one-hot encode; correct it or drop the column"
        )


def _first_text_cell(columns: _Columns, j: int) -> tuple[int, str]:
    """Return the cell that makes column ``j`` one of text, and its line."""
    return next(
        (int(line), str(cell))
        for line, cell in zip(columns.lines, columns.values[j], strict=True)
        if _to_float(cell) is None and not _is_missing(cell)
    )


# Synthetic ----------------------------------------------------------------------------------------


def make_banana(
    n_samples: int = 400,
    noise: float = 0.15,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw two interleaved crescents in the plane, one per class.

    Class 0 is an arc of the unit circle, open below; class 1 the same arc, open above, moved so
    that each crescent's tip lies inside the other. No straight line separates them, a few do.

    Parameters
    ----------
    n_samples : int, default=400
        How many points; the classes get half each (class 0 the odd one).
    noise : float, default=0.15
        Standard deviation of the normal noise added to each coordinate; about 0.3 makes the
        classes overlap.
    random_state : int, RandomState or None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,)
        Labels 0 and 1, in random order.

    Examples
    --------
    >>> from hyperlocal.datasets import make_banana
    >>> X, y = make_banana(100, random_state=0)
    >>> X.shape, int(y.sum())
    ((100, 2), 50)
    """
    if n_samples < 2:
        raise ValueError(f"n_samples must be at least 2, one for each class; got {n_samples}")
    if noise < 0:
        raise ValueError(f"noise must not be negative; got {noise}")
    rng = check_random_state(random_state)
    y = rng.permutation(np.arange(n_samples) % 2)
    angle = rng.uniform(0.0, np.pi, n_samples)
    arc = np.column_stack([np.cos(angle), np.sin(angle)])
    X = np.where((y == 0)[:, np.newaxis], arc, [1.0, 0.6] - arc)
    return X + rng.normal(scale=noise, size=X.shape), y
