"""Fit methods to the same rows; time and score them.

:func:`prepare` splits and scales the rows once, :func:`run` fits one :class:`~.methods.Method` to
them, and :func:`compare` does both for several methods. Every method has its default parameters and
gets the same scaled rows: the figures are those that one gets without tuning. One method,
``locally-linear-cv``, chooses its parameters on the training rows.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from ..datasets import Dataset, is_sparse
from ..datasets.dataset import REMEDY_FOR_MISSING, Rows
from ..export.sizes import count_numbers
from .methods import DEFAULT_METHODS, Method

DEFAULT_TEST_SIZE = 0.25
MAX_DENSE_NUMBERS = 2**27  # sparse rows are made dense for a method up to 1 GiB of float64


# The rows -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Experiment:
    """Scaled training and test rows, the same for every method."""

    name: str
    X_train: Rows
    y_train: np.ndarray
    X_test: Rows
    y_test: np.ndarray
    feature_names: tuple[str, ...] | None = None

    @property
    def summary(self) -> str:
        """The size of the data in words."""
        kind = "sparse " if is_sparse(self.X_train) else ""
        return (
            f"{self.name}: {self.X_train.shape[0]:,} training and {self.X_test.shape[0]:,} test "
            f"rows, {self.X_train.shape[1]:,} {kind}features, "
            f"{len(np.unique(self.y_train))} classes"
        )


def prepare(data: Dataset, *, test_size: float = DEFAULT_TEST_SIZE, seed: int = 0) -> Experiment:
    """Split and scale the rows.

    Parameters
    ----------
    data : Dataset
        If it has a test part, that is used, and ``test_size`` is not.
    test_size : float, default=0.25
        Part of the rows to hold out, in proportion for each class.
    seed : int, default=0
        Seed of the split.

    Returns
    -------
    Experiment
        Each feature scaled by the training rows: to mean 0 and variance 1, or to a largest
        absolute value of 1 for sparse rows, which keeps zeros.

    Examples
    --------
    >>> from hyperlocal.datasets import Dataset, make_banana
    >>> from hyperlocal.compare import prepare
    >>> prepare(Dataset("banana", *make_banana(200, random_state=0))).summary
    'banana: 150 training and 50 test rows, 2 features, 2 classes'
    """
    _check_task(data)
    X_train, X_test, y_train, y_test = _split(data, test_size, seed)
    scaler = make_scaler(X_train)
    return Experiment(
        data.name,
        scaler.fit_transform(X_train),
        y_train,
        scaler.transform(X_test),
        y_test,
        data.feature_names,
    )


def make_scaler(X: Rows) -> MaxAbsScaler | StandardScaler:
    """The scaler of rows of this kind, not fitted: one that keeps zeros if they are sparse."""
    return MaxAbsScaler() if is_sparse(X) else StandardScaler()


def _check_task(data: Dataset) -> None:
    for X in filter(lambda part: part is not None, (data.X_train, data.X_test)):
        if not np.isfinite(X.data if is_sparse(X) else X).all():
            raise ValueError(
                f"{data.name}: some values are missing or infinite; {REMEDY_FOR_MISSING}"
            )
    counts = check_labels(data.name, data.y_train)
    if not data.has_test_part and min(counts.values()) < 2:
        rarest = min(counts, key=lambda label: counts[label])
        raise ValueError(
            f"{data.name}: class {rarest!s} has only one row, so it cannot be "
            "in both the training and the test part; drop it, or is the target the right column?"
        )


def check_labels(name: str, y: np.ndarray) -> dict[Any, int]:
    """Raise unless these are labels of two classes or more; return how often each occurs."""
    check_whole(name, y)
    classes, counts = np.unique(y, return_counts=True)
    if len(classes) < 2:
        raise ValueError(f"{name}: all labels are {classes[0]!s}; two classes are needed")
    return dict(zip(classes.tolist(), counts.tolist(), strict=True))


def check_whole(name: str, y: np.ndarray) -> None:
    """Raise if the labels are numbers that are not whole."""
    if y.dtype.kind == "f":
        raise ValueError(
            f"{name}: the labels are not whole numbers (e.g. {y[0]}); these are "
            "classifiers, so is the target the right column?"
        )


def _split(data: Dataset, test_size: float, seed: int) -> Sequence[Any]:
    if data.X_test is not None and data.y_test is not None:
        return data.X_train, data.X_test, data.y_train, data.y_test
    if not 0 < test_size < 1:
        raise ValueError(f"test_size must be between 0 and 1; got {test_size}")
    X, y = data.X_train, data.y_train
    try:
        return train_test_split(X, y, test_size=test_size, random_state=seed, stratify=y)
    except ValueError as error:  # a part with fewer rows than classes
        raise ValueError(
            f"{data.name}: cannot hold out {test_size:g} of the rows: {error}"
        ) from error


# One method ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """The figures of one method; None if it was not run to the end."""

    method: str  #: its label
    accuracy: float | None = None  #: part of the test rows that were classified correctly
    fit_seconds: float | None = None  #: wall-clock time of the fit
    #: Wall-clock time of predicting the test rows all at once, per row: median of a few runs.
    predict_microseconds: float | None = None
    n_numbers: int | None = None  #: how many numbers the model needs in order to predict
    note: str = ""  #: why it was skipped or failed, or that it did not converge
    key: str = ""  #: of the method


@dataclass(frozen=True)
class Outcome:
    """A row of the table, with the model that it describes unless that was not run to the end."""

    row: Row
    needs_dense: bool = False  #: whether the model takes dense rows only
    model: Any = None
    predicted: np.ndarray | None = None  #: labels predicted for the test rows


def run(
    method: Method,
    experiment: Experiment,
    *,
    seed: int = 0,
    n_jobs: int | None = None,
    force: bool = False,
    max_dense_numbers: int = MAX_DENSE_NUMBERS,
) -> Outcome:
    """Fit a method, time it, and score it on the test rows.

    Parameters
    ----------
    method : Method
    experiment : Experiment
    seed : int, default=0
        Random state of the estimator.
    n_jobs : int, optional
        Its threads; -1 for all cores.
    force : bool, default=False
        Run it even if there are too many rows for it to be quick.
    max_dense_numbers : int
        Sparse rows are made dense, for a method that needs it, up to this size.

    Returns
    -------
    Outcome
        An estimator that raises makes a row with a note, not an error, so that the others are
        still compared.

    Examples
    --------
    >>> from hyperlocal.datasets import Dataset, make_banana
    >>> from hyperlocal.compare import METHODS, prepare, run
    >>> experiment = prepare(Dataset("banana", *make_banana(200, random_state=0)))
    >>> row = run(METHODS["linear-svc"], experiment).row
    >>> row.n_numbers, 0.7 < row.accuracy < 1
    (3, True)
    """
    reason = _reason_to_skip(method, experiment.X_train, force, max_dense_numbers)
    if reason:
        return Outcome(Row(method.label, note=f"skipped: {reason}", key=method.key))
    dense = method.needs_dense
    X_train, X_test = rows_for(experiment.X_train, dense), rows_for(experiment.X_test, dense)
    try:
        model = method.make(seed, n_jobs)
        fit_seconds, note = _timed_fit(model, X_train, experiment.y_train)
        predicted, seconds = _timed_predict(model, X_test)
    except (ValueError, MemoryError) as error:
        return Outcome(Row(method.label, note=f"failed: {_first_line(error)}", key=method.key))
    row = Row(
        method.label,
        accuracy=float(np.mean(predicted == experiment.y_test)),
        fit_seconds=fit_seconds,
        predict_microseconds=1e6 * seconds / X_test.shape[0],
        n_numbers=count_numbers(model),
        note=note,
        key=method.key,
    )
    return Outcome(row, dense, model, predicted)


def _reason_to_skip(method: Method, X: Rows, force: bool, max_dense_numbers: int) -> str:
    if not method.package.is_installed:
        return f"needs {method.package.name}; pip install {method.package.name}"
    if method.max_rows is not None and X.shape[0] > method.max_rows and not force:
        return f"slow above {method.max_rows:,} rows; name {method.key} in methods to run it"
    if method.needs_dense and is_too_large_to_be_dense(X, max_dense_numbers):
        return "needs dense rows, and these are too many to be made dense"
    return ""


def is_too_large_to_be_dense(X: Rows, max_numbers: int = MAX_DENSE_NUMBERS) -> bool:
    """Whether these rows are sparse, and would be too large as dense rows."""
    return is_sparse(X) and X.shape[0] * X.shape[1] > max_numbers


def rows_for(X: Rows, needs_dense: bool) -> Rows:
    """The rows, made dense where that is needed."""
    return X.toarray() if needs_dense and is_sparse(X) else X


def _timed_fit(model: Any, X: Rows, y: np.ndarray) -> tuple[float, str]:
    """Fit; return the seconds, and a note if it did not converge."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - start
    others = [one for one in caught if not issubclass(one.category, ConvergenceWarning)]
    for one in others:
        warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    return seconds, "did not converge" if len(others) < len(caught) else ""


def _timed_predict(model: Any, X: Rows, repeats: int = 5) -> tuple[np.ndarray, float]:
    """Predict up to ``repeats`` times, fewer if it takes long; return the median time."""
    times: list[float] = []
    while len(times) < repeats and sum(times) < 2.0:
        start = time.perf_counter()
        predicted = model.predict(X)
        times.append(time.perf_counter() - start)
    return predicted, median(times)


def _first_line(error: BaseException) -> str:
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__


def explain_row(model: Any, row: Rows, names: Sequence[str]) -> Any:
    """Explain one row; where the model has no feature names, features get these."""
    explanation = model.explain(row)
    nameless = [f"x{j}" for j in range(len(names))]
    if list(explanation.feature_names) == nameless:
        return replace(explanation, feature_names=np.asarray(names, dtype=object))
    return explanation


# Several methods ----------------------------------------------------------------------------------


def compare(
    data: Dataset,
    methods: Iterable[Method] | None = None,
    *,
    test_size: float = DEFAULT_TEST_SIZE,
    seed: int = 0,
    n_jobs: int | None = None,
) -> list[Row]:
    """Compare methods on one data set; return a row for each.

    Parameters
    ----------
    data : Dataset
    methods : iterable of Method, optional
        Default: :data:`DEFAULT_METHODS`, without those that would be slow.
    test_size, seed
        See :func:`prepare`.
    seed, n_jobs
        See :func:`run`.

    Examples
    --------
    >>> from hyperlocal.datasets import Dataset, make_banana
    >>> from hyperlocal.compare import compare, pick_methods
    >>> data = Dataset("banana", *make_banana(200, random_state=0))
    >>> [row.method for row in compare(data, pick_methods(["linear-svc"]))]
    ['linear SVM']
    """
    experiment = prepare(data, test_size=test_size, seed=seed)
    force = methods is not None
    return [
        run(method, experiment, seed=seed, n_jobs=n_jobs, force=force).row
        for method in (DEFAULT_METHODS if methods is None else methods)
    ]
