"""Benchmark sets by name, from a local folder or from OpenML."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, overload

import numpy as np
from sklearn.datasets import fetch_openml

from .arrays import read_npz
from .dataset import Dataset, Rows, is_sparse, tidy_labels


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
    """Return the names that ``load_dataset`` can fetch from OpenML.

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
        return read_npz(present[name], allow_missing=True)
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
    y = tidy_labels(table.target)
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
