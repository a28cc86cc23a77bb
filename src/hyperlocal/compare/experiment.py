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
from ..datasets.tables import close_to
from ..estimators.table_encoder import TableEncoder

DEFAULT_TEST_SIZE = 0.25
MOST_DOUBLES = 2**25  # encoded numbers, 256 MB as float64; more are stored as float32
TASKS = ("auto", "classification", "regression")
# Whole numbers with more values than that, of few rows each, are rather a quantity. Of the sets
# that the benchmarks know, the one with the most classes has 100, of 72 rows each.
MOST_CLASSES, FEWEST_ROWS_PER_CLASS = 50, 20


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
        columns = f"{n_columns:,} columns, " if isinstance(self.encoder, TableEncoder) else ""
        return (
            f"{self.name}: {self.X_train.shape[0]:,} training and {self.X_test.shape[0]:,} test "
            f"rows, {columns}{n_features:,} {kind}features, {len(np.unique(self.y_train))} classes"
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
        Part of the rows to hold out, in proportion for each class.
    seed : int, default=0
        Seed of the split.
    encoder : TableEncoder, optional
        For tables, and for arrays with missing values; default: ``TableEncoder()``.
    task : {"auto", "classification"}, default="auto"
        "auto" refuses labels that look like a number to predict.
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
    y = check_labels(data.name, data.y_train, task)
    notes = list(data.notes)
    X_train, X_test, y_train, y_test = _split(data, y, test_size, seed, notes)
    fitted = fit_encoder(X_train, encoder)
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
        positive_class(y_train, positive),
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


# Labels -------------------------------------------------------------------------------------------


def check_labels(name: str, y: np.ndarray, task: str = "auto") -> np.ndarray:
    """Return the labels of two classes or more; refuse other ones, and numbers to predict."""
    if task == "regression":
        raise ValueError(f"{name}: numbers are not predicted yet; choose a target with classes")
    values = np.unique(y)
    if task == "auto" and looks_like_a_number(values, len(y)):
        raise ValueError(
            f"{name}: {len(values):,} different labels, e.g. {values[len(values) // 2]}: this "
            "looks like a number to predict, and these are classifiers. Is the target the right "
            "column? Else make classes of it, or let each number be one by --task classification"
        )
    if len(values) < 2:
        raise ValueError(f"{name}: all labels are {values[0]!s}; two classes are needed")
    return y.astype(str) if y.dtype.kind == "f" else y


def looks_like_a_number(values: np.ndarray, n_rows: int) -> bool:
    """Whether labels of these values are rather a quantity than classes.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.compare.experiment import looks_like_a_number
    >>> looks_like_a_number(np.arange(5000), 20_000), looks_like_a_number(np.arange(26), 20_000)
    (True, False)
    """
    if values.dtype.kind == "f":
        return True
    many = len(values) > MOST_CLASSES and n_rows < FEWEST_ROWS_PER_CLASS * len(values)
    return values.dtype.kind in "iu" and many


def positive_class(y: np.ndarray, asked: str | None) -> Any:
    """The positive one of two classes, None if there are more; an error if it is unknown."""
    classes, counts = np.unique(y, return_counts=True)
    if asked is not None:
        names = [str(label) for label in classes]
        if len(classes) != 2 or asked not in names:
            hint = close_to(asked, names) if len(classes) == 2 else " of two classes"
            raise ValueError(f"--positive: no class {asked!r}{hint}; they are {', '.join(names)}")
        return classes[names.index(asked)]
    return classes[int(np.argmin(counts))] if len(classes) == 2 else None


# Splitting ----------------------------------------------------------------------------------------


def _split(
    data: Dataset, y: np.ndarray, test_size: float, seed: int, notes: list[str]
) -> Sequence[Any]:
    if data.X_test is not None and data.y_test is not None:
        return data.X_train, data.X_test, y, data.y_test.astype(y.dtype)
    if not 0 < test_size < 1:
        raise ValueError(f"test_size must be between 0 and 1; got {test_size}")
    classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    X, kept = data.X_train, counts[codes] > 1
    if not kept.all():
        single = [str(label) for label in classes[counts == 1]]
        shown = ", ".join(single[:5]) + (", …" if single[5:] else "")
        rows = "row is" if len(single) == 1 else "rows are"
        notes.append(f"{len(single)} {rows} left out: the only one of class {shown}")
        X, y = take_rows(X, np.flatnonzero(kept)), y[kept]
    if kept.sum() == 0 or len(np.unique(y)) < 2:
        raise ValueError(f"{data.name}: fewer than two classes have more than one row")
    try:
        return train_test_split(X, y, test_size=test_size, random_state=seed, stratify=y)
    except ValueError as error:  # a part with fewer rows than classes
        raise ValueError(
            f"{data.name}: cannot hold out {test_size:g} of the rows: {error}"
        ) from error
