"""Benchmark sets by name, from a local folder or from OpenML."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sklearn.datasets import fetch_openml

from .arrays import read_npz
from .dataset import Dataset, is_sparse, tidy_labels
from .tables import read_raw


@dataclass(frozen=True)
class ArraySource:
    """A set of numbers: its number at OpenML, and how to find its published training rows there.

    OpenML stores one table per set. Whether its rows are in the published order cannot be seen in
    the table alone, so the split is made only if the rows per class agree with ``train_counts``,
    the published ones (in the order of the sorted labels).
    """

    openml_id: int | None
    target: str = "default-target"
    train_counts: tuple[int, ...] = ()
    train_rows: Literal["first", "repeated"] = "first"
    is_regression: bool = False


@dataclass(frozen=True)
class TableSource:
    """A table in a CSV file: its label column, and columns to leave out."""

    target: str
    left_out: tuple[str, ...] = ()


_LETTER_COUNTS = (
    *(633, 630, 594, 638, 616, 622, 609, 583, 590, 599, 593, 604, 648),
    *(617, 614, 635, 615, 597, 587, 645, 645, 628, 613, 628, 641, 576),
)
_MNIST_COUNTS = (5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949)
_USPS_COUNTS = (1194, 1005, 731, 658, 652, 556, 664, 645, 542, 644)

ARRAYS: Mapping[str, ArraySource] = {
    "a9a": ArraySource(1430, train_counts=(24720, 7841)),
    "balance-scale": ArraySource(11),
    "banana": ArraySource(1460),
    # OpenML's default target is the number of drinks; the classification task is the selector.
    "bupa": ArraySource(8, target="selector"),
    "california": ArraySource(None, is_regression=True),
    "casp": ArraySource(None, is_regression=True),
    "compactiv": ArraySource(197, is_regression=True),
    "covtype": ArraySource(1596),
    "creditcard": ArraySource(1597),
    "glass": ArraySource(41),
    "hayes-roth": ArraySource(329, train_counts=(51, 51, 30)),
    "heart-statlog": ArraySource(53),
    "hepatitis": ArraySource(55),
    # OpenML joins four files: the training rows, the test rows, and the training rows once more,
    # cut in two for validation. No row occurs twice by itself, so repetition tells them apart.
    "ijcnn1": ArraySource(1575, train_counts=(45137, 4853), train_rows="repeated"),
    "ionosphere": ArraySource(59),
    "letter": ArraySource(6, train_counts=_LETTER_COUNTS),
    "magic04": ArraySource(1120),
    "mnist": ArraySource(554, train_counts=_MNIST_COUNTS),
    "monks-3": ArraySource(335, train_counts=(62, 60)),
    "puma32h": ArraySource(308, is_regression=True),
    "segment": ArraySource(36, train_counts=(30,) * 7),
    "skin": ArraySource(1502),
    "sonar": ArraySource(40),
    "tic-tac-toe": ArraySource(50),
    "usps": ArraySource(41082, train_counts=_USPS_COUNTS),
}
TABLES: Mapping[str, TableSource] = {
    "caravan": TableSource("Purchase"),
    "cells_excel": TableSource("class"),
    "census-income": TableSource("income"),
    "covid_testing": TableSource("result"),
    # Who was hurt how badly, and the case, determine the label.
    "crash": TableSource("dead", left_out=("caseid", "injSeverity", "weight")),
    "credit": TableSource("Status"),
    "diamonds": TableSource("cut"),
    "hpc": TableSource("class"),
    "penguins": TableSource("species"),
    "storms": TableSource("status"),
    "telco_churn": TableSource("churn"),
    "tweets": TableSource("source"),
}


def known_datasets() -> list[str]:
    """Return the names of the benchmark sets.

    Returns
    -------
    list of str
        Names that :func:`load_dataset` takes.

    Examples
    --------
    >>> from hyperlocal.datasets import known_datasets
    >>> known_datasets()[:3]
    ['a9a', 'balance-scale', 'banana']
    """
    return sorted({*ARRAYS, *TABLES})


def load_dataset(name: str, *, data_home: str | Path | None = None) -> Dataset:
    """Load a benchmark set by name, from a local folder or from OpenML.

    If the environment variable ``HYPERLOCAL_DATA`` names a folder, the set is read from there, for
    any name for which there is a file: ``<name>.npz`` (arrays ``X_train, y_train, X_test, y_test``,
    or ``X, y``), or a table ``<name>.csv.gz`` in the folder or in its subfolder ``tables``, or two
    tables ``<name>-train.csv.gz`` and ``<name>-test.csv.gz``. Otherwise it is fetched from OpenML,
    if it is there, and stored in scikit-learn's data folder.

    Parameters
    ----------
    name : str
        One of :func:`known_datasets`, or a file of the local folder without its ending.
    data_home : str or Path, optional
        Where scikit-learn stores downloads. Not used with ``HYPERLOCAL_DATA``.

    Returns
    -------
    Dataset
        With a test part if a split is standard. Rows of a table are not encoded: they are objects
        if some columns are text, with NaN for missing values; rows without a label are left out.

    Warns
    -----
    UserWarning
        If OpenML's copy is not in the published order of a set that has a standard split. The set
        then has no test part. (letter is such a set, and segment may be.)

    Notes
    -----
    Standard splits, training / test rows:

    =============  =================  =============================================
    a9a            32,561 / 16,281    LIBSVM's a9a and a9a.t
    census-income  199,523 / 99,762   UCI's census-income.data and .test
    hayes-roth     132 / 28           UCI's hayes-roth.data and .test
    ijcnn1         49,990 / 91,701    LIBSVM's ijcnn1 and ijcnn1.t
    letter         16,000 / 4,000     UCI's order: the first 16,000 rows
    mnist          60,000 / 10,000    the first 60,000 rows
    monks-3        122 / 432          UCI's monks-3.train and .test
    segment        210 / 2,100        UCI's segmentation.data and .test
    usps           7,291 / 2,007      zip.train and zip.test
    =============  =================  =============================================

    The others have none. Skin and magic04 are sorted by class: shuffle before splitting;
    creditcard is in the order of time: split by time. Values are raw: scale them. Nominal features
    of sets of numbers are integer codes; hepatitis has missing values, which are NaN. Labels are as
    the source has them (USPS digits are 1 to 10 at OpenML). The targets of california, casp,
    compactiv and puma32h are numbers to predict, not classes.

    Examples
    --------
    >>> from hyperlocal.datasets import load_dataset
    >>> digits = load_dataset("mnist")  # doctest: +SKIP
    >>> digits.X_train.shape, digits.X_test.shape  # doctest: +SKIP
    ((60000, 784), (10000, 784))
    """
    folder = os.environ.get("HYPERLOCAL_DATA")
    if folder:
        return _load_local(name, Path(folder))
    if name not in known_datasets():
        raise _unknown_name(name, set())
    return load_openml(name, ARRAYS.get(name, ArraySource(None)), data_home)


def _unknown_name(name: str, present: set[str]) -> ValueError:
    names = ", ".join(sorted({*known_datasets(), *present}))
    return ValueError(f"unknown dataset {name!r}; known are: {names}")


# ---- a local folder ------------------------------------------------------------------------------


def _load_local(name: str, folder: Path) -> Dataset:
    if not folder.is_dir():
        raise FileNotFoundError(f"HYPERLOCAL_DATA is set to {str(folder)!r}, which is not a folder")
    files = [*folder.glob("*.npz"), *folder.glob("*.csv.gz"), *folder.glob("tables/*.csv.gz")]
    present = {path.name.removesuffix(".npz").removesuffix(".csv.gz"): path for path in files}
    train, test = present.get(name, present.get(f"{name}-train")), present.get(f"{name}-test")
    if train is None:
        raise _missing_file(name, folder, set(present))
    if train.suffix == ".gz":
        return read_benchmark_table(name, TABLES.get(name), train, test)
    data = read_npz(train)
    if name in ARRAYS and ARRAYS[name].is_regression:
        return replace(data, y_train=data.y_train.astype(np.float64))
    return data


def _missing_file(name: str, folder: Path, present: set[str]) -> Exception:
    if name not in known_datasets():
        return _unknown_name(name, present)
    return FileNotFoundError(
        f"no file {_file_of(name)} in HYPERLOCAL_DATA={str(folder)!r}; add it, or unset "
        "HYPERLOCAL_DATA to fetch the set from OpenML"
    )


def _file_of(name: str) -> str:
    if name in ARRAYS:
        return f"{name}.npz"
    return f"{name}-train.csv.gz" if name == "census-income" else f"tables/{name}.csv.gz"


def read_benchmark_table(
    name: str, source: TableSource | None, train_path: Path, test_path: Path | None = None
) -> Dataset:
    """Read a table, and its test part if it has one, with missing values and without encoding."""
    target = None if source is None else source.target
    left_out = () if source is None else source.left_out
    parts = [read_raw(path, target=target) for path in (train_path, test_path) if path is not None]
    frames = [part.X.drop(columns=list(left_out)) for part in parts]
    kinds = {getattr(kind, "kind", "O") for frame in frames for kind in frame.dtypes}
    kind = np.float64 if kinds <= set("iufb") else object
    arrays = [frame.to_numpy(dtype=kind) for frame in frames]
    X_test, y_test = (arrays[1], parts[1].y) if len(parts) > 1 else (None, None)
    y_train: Any = parts[0].y
    return Dataset(name, arrays[0], y_train, X_test, y_test, tuple(frames[0].columns))


# ---- OpenML --------------------------------------------------------------------------------------


def load_openml(name: str, source: ArraySource, data_home: str | Path | None = None) -> Dataset:
    """Fetch a set from OpenML, and split it as published if its rows are in the right order."""
    remedy = f"set HYPERLOCAL_DATA to a folder that holds {_file_of(name)}"
    if source.openml_id is None:
        raise ValueError(f"{name} is not fetched from OpenML; {remedy}")
    # liac-arff: the only parser that needs no pandas and turns nominal features into codes.
    try:
        table = fetch_openml(
            data_id=source.openml_id,
            target_column=source.target,
            data_home=data_home,
            as_frame=False,
            parser="liac-arff",
        )
    except OSError as error:
        raise OSError(
            f"could not fetch {name} (OpenML data id {source.openml_id}): {error}; check the "
            f"network, or {remedy}"
        ) from error
    X = table.data.toarray() if is_sparse(table.data) else np.asarray(table.data)
    y = table.target.astype(np.float64) if source.is_regression else tidy_labels(table.target)
    names = tuple(table.feature_names)
    if not source.train_counts:
        return Dataset(name, X, y, feature_names=names)
    train, test = _published_rows(X, source)
    if _class_counts(y[train]) != source.train_counts:
        _warn_of_lost_split(name)
        return Dataset(name, X, y, feature_names=names)
    return Dataset(name, X[train], y[train], X[test], y[test], names)


def _published_rows(X: np.ndarray, source: ArraySource) -> tuple[np.ndarray, np.ndarray]:
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
        f"OpenML's copy of {name} is not in the published order, so it has no standard test "
        f"part; results are not comparable with published ones",
        UserWarning,
        stacklevel=4,
    )
