"""The rows of a comparison: split once, encoded once, the same for every method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from ..data.table import is_table
from ..datasets import Dataset, is_sparse
from ..datasets.dataset import Rows, take_rows
from ..estimators.table_encoder import TableEncoder
from .targets import (
    CLASSIFICATION,
    REGRESSION,
    Target,
    counted,
    find_target,
    numbers_of,
    positive_class,
)

DEFAULT_TEST_SIZE = 0.25
MOST_DOUBLES = 2**25  # encoded numbers, 256 MB as float64; more are stored as float32


@dataclass(frozen=True)
class Experiment:
    """Encoded training and test rows, the same for every method.

    Attributes
    ----------
    name : str
    X_train, y_train, X_test, y_test : arrays
    feature_names : tuple of str, or None
        Names of the encoded features.
    encoder : TableEncoder, StandardScaler or MaxAbsScaler, fitted
        What made the rows of those that the file has.
    raw_test : DataFrame or array, optional
        The test rows as the file has them.
    notes : tuple of str
        What was dropped, filled in or pooled.
    positive : label, optional
        Of two classes, the one that precision and recall are of.
    task : {"classification", "regression"}
        Whether ``y`` are classes or values.
    target : str or None
        Name of the column that is predicted.
    """

    name: str
    X_train: Rows
    y_train: np.ndarray
    X_test: Rows
    y_test: np.ndarray
    feature_names: tuple[str, ...] | None = None
    encoder: Any = None
    raw_test: Any = None
    notes: tuple[str, ...] = ()
    positive: Any = None
    task: str = CLASSIFICATION
    target: str | None = None

    @property
    def is_regression(self) -> bool:
        """Whether values are predicted, rather than classes."""
        return self.task == REGRESSION

    @property
    def center(self) -> np.ndarray:
        """What the encoder subtracts from each feature."""
        for name in ("center_", "mean_"):
            if hasattr(self.encoder, name):
                return np.asarray(getattr(self.encoder, name))
        return np.zeros(self.X_train.shape[1])

    @property
    def scale(self) -> np.ndarray:
        """What it divides each feature by."""
        return np.asarray(self.encoder.scale_)

    @property
    def summary(self) -> str:
        """The size of the data in words."""
        kind = "sparse " if is_sparse(self.X_train) else ""
        n_columns, n_features = self.encoder.n_features_in_, self.X_train.shape[1]
        is_table = isinstance(self.encoder, TableEncoder)
        columns = f"{counted(n_columns, 'column')}, " if is_table else ""
        return (
            f"{self.name}: {self.X_train.shape[0]:,} training and "
            f"{counted(self.X_test.shape[0], 'test row')}, "
            f"{columns}{counted(n_features, f'{kind}feature')}, "
            f"{Target(self.y_train, self.task).summary(self.target)}"
        )


def prepare(
    data: Dataset,
    *,
    test_size: float = DEFAULT_TEST_SIZE,
    seed: int = 0,
    encoder: TableEncoder | None = None,
    task: str = "auto",
    positive: str | None = None,
) -> Experiment:
    """Split and encode the rows.

    Parameters
    ----------
    data : Dataset
        If it has a test part, that is used, and ``test_size`` is not.
    test_size : float, default=0.25
        Part of the rows to hold out; in proportion for each class, if there are classes.
    seed : int, default=0
        Seed of the split.
    encoder : TableEncoder, optional
        For tables, and for arrays with missing values; default: ``TableEncoder()``.
    task : {"auto", "classification", "regression"}, default="auto"
        "auto" predicts a number if labels look like one, which ``notes`` states.
    positive : str, optional
        The positive one of two classes; default: the rarer.

    Returns
    -------
    Experiment
        Rows encoded by what the training rows hold. Plain arrays are scaled to mean 0 and variance
        1, sparse rows to a largest absolute value of 1, which keeps zeros.

    Examples
    --------
    >>> from hyperlocal.datasets import Dataset, make_banana
    >>> from hyperlocal.compare import prepare
    >>> prepare(Dataset("banana", *make_banana(200, random_state=0))).summary
    'banana: 150 training and 50 test rows, 2 features, 2 classes'
    """
    target = find_target(data.name, data.y_train, task)
    if positive is not None and target.task == REGRESSION:
        raise ValueError(f"--positive: {data.name} has numbers to predict, not classes")
    notes = [*target.notes, *data.notes]
    X_train, X_test, y_train, y_test = _split(data, target, test_size, seed, notes)
    # In the order of the file, in which the numbers of rows increase.
    fitted = fit_encoder(X_train.sort_index() if is_table(X_train) else X_train, encoder)
    names = getattr(fitted, "get_feature_names_out", lambda _: None)(_input_names(data, fitted))
    return Experiment(
        data.name,
        fitted.transform(X_train),
        y_train,
        fitted.transform(X_test),
        y_test,
        None if names is None else tuple(map(str, names)),
        fitted,
        X_test,
        (*notes, *getattr(fitted, "notes_", ())),
        positive_class(y_train, positive) if target.task == CLASSIFICATION else None,
        target.task,
        data.target,
    )


def _input_names(data: Dataset, encoder: Any) -> list[str] | None:
    if hasattr(encoder, "feature_names_in_") or data.feature_names is None:
        return None
    return list(data.feature_names)


def fit_encoder(X: Rows, encoder: TableEncoder | None = None) -> Any:
    """Fit what encodes such rows: a TableEncoder for tables and where values are missing."""
    if is_sparse(X):
        if not np.isfinite(X.data).all():
            raise ValueError("sparse rows have missing or infinite values; leave these rows out")
        return MaxAbsScaler().fit(X)
    if not is_table(X) and encoder is None and np.isfinite(X).all():
        return StandardScaler().fit(X)
    fitted = (TableEncoder() if encoder is None else encoder).fit(X)
    if X.shape[0] * len(fitted.columns_) > MOST_DOUBLES:
        fitted.set_params(dtype="float32")
    return fitted


# Splitting ----------------------------------------------------------------------------------------


def _split(
    data: Dataset, target: Target, test_size: float, seed: int, notes: list[str]
) -> Sequence[Any]:
    X, y = target.with_rows(data.X_train)
    if data.X_test is not None and data.y_test is not None:
        if target.task == CLASSIFICATION:
            return X, data.X_test, y, data.y_test.astype(y.dtype)
        X_test, y_test = Target(numbers_of(data.y_test), REGRESSION).with_rows(data.X_test)
        return X, X_test, y, y_test
    if not 0 < test_size < 1:
        raise ValueError(f"test_size must be between 0 and 1; got {test_size}")
    if target.task == REGRESSION:
        return train_test_split(X, y, test_size=test_size, random_state=seed)
    X, y = _without_single_rows(data.name, X, y, notes)
    try:
        return train_test_split(X, y, test_size=test_size, random_state=seed, stratify=y)
    except ValueError as error:  # a part with fewer rows than classes
        raise ValueError(
            f"{data.name}: {test_size:g} of {len(y)} rows cannot hold all classes; hold out more "
            "by test_size, or give more rows"
        ) from error


def _without_single_rows(
    name: str, X: Rows, y: np.ndarray, notes: list[str]
) -> tuple[Rows, np.ndarray]:
    """The rows of classes that have two or more."""
    classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    kept = counts[codes] > 1
    if kept.all():
        return X, y
    single = [str(label) for label in classes[counts == 1]]
    if len(np.unique(y[kept])) < 2:
        raise ValueError(
            f"{name}: fewer than two classes have more than one row; is the target the right "
            "column?"
        )
    shown = ", ".join(single[:5]) + (", …" if single[5:] else "")
    rows = "row is" if len(single) == 1 else "rows are"
    notes.append(f"{len(single)} {rows} left out: the only one of class {shown}")
    return take_rows(X, np.flatnonzero(kept)), y[kept]
