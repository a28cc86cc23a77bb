"""Fit methods to the same rows; time and score them.

:func:`run` fits one :class:`~.methods.Method` to the rows of an
:class:`~.experiment.Experiment`, and :func:`compare` several. Every method has its default
parameters and gets the same encoded rows: the figures are those that one gets without tuning. One
method, ``locally-linear-cv``, chooses its parameters on the training rows.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from ..data.splits import hold_out
from ..datasets import Dataset, is_sparse
from ..datasets.dataset import Rows
from ..export.sizes import count_numbers
from .experiment import DEFAULT_TEST_SIZE, Experiment, prepare
from .methods import Method, default_methods
from .metrics import measures

MAX_DENSE_NUMBERS = 2**27  # sparse rows are made dense for a method up to 1 GiB of float64
TRIAL_ROWS = 4_000  # from the time of which that of many rows is predicted
TRIAL_QUERIES = 200
PATIENCE = 60.0  # seconds that an unasked method may take
# Up to so many, OpenMP (gradient boosting, neighbors) gets one thread: several save little, and on
# a busy machine they wait for each other a thousand times as long as they work.
NUMBERS_FOR_ONE_THREAD = 2**18


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
    balanced_accuracy: float | None = None  #: mean over the classes of the part that is found
    auc: float | None = None  #: area under the ROC curve; the classes' mean if there are many
    average_precision: float | None = None  #: of the positive class, or the classes' mean
    log_loss: float | None = None  #: of methods with probabilities
    r2: float | None = None  #: part of the variance of values that is explained
    rmse: float | None = None  #: root of the mean squared error, in the units of the values
    mae: float | None = None  #: mean absolute error

    @property
    def is_measured(self) -> bool:
        """Whether the method was run to the end."""
        return self.predict_microseconds is not None


@dataclass(frozen=True)
class Outcome:
    """A row of the table, with the model that it describes unless that was not run to the end."""

    row: Row  #: the figures
    needs_dense: bool = False  #: whether the model takes dense rows only
    model: Any = None  #: fitted to the training rows
    predicted: np.ndarray | None = None  #: labels predicted for the test rows
    probabilities: np.ndarray | None = None  #: of the classes, where the method has them


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
        What is fitted.
    experiment : Experiment
        The rows.
    seed : int, default=0
        Random state of the estimator.
    n_jobs : int, optional
        Its threads; -1 for all cores.
    force : bool, default=False
        Run it even if it is expected to take more than a minute.
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
    dense = method.needs_dense
    try:
        reason = _reason_to_skip(method, experiment.X_train, max_dense_numbers)
        if not (reason or force):
            reason = _too_slow(method, experiment, seed, n_jobs)
        if reason:
            return Outcome(Row(method.label, note=f"skipped: {reason}", key=method.key))
        X_train, X_test = rows_for(experiment.X_train, dense), rows_for(experiment.X_test, dense)
        model = method.make(seed, n_jobs)
        is_small = X_train.shape[0] * X_train.shape[1] <= NUMBERS_FOR_ONE_THREAD
        with threadpool_limits(1 if is_small else None, user_api="openmp"):
            fit_seconds, note = _timed_fit(model, X_train, experiment.y_train)
            predicted, seconds = _timed_predict(model, X_test)
    except (ValueError, MemoryError) as error:
        return Outcome(Row(method.label, note=f"failed: {_first_line(error)}", key=method.key))
    figures, probabilities = measures(model, X_test, predicted, experiment)
    row = Row(
        method.label,
        fit_seconds=fit_seconds,
        predict_microseconds=1e6 * seconds / X_test.shape[0],
        n_numbers=count_numbers(model),
        note=note,
        key=method.key,
        **figures,
    )
    return Outcome(row, dense, model, predicted, probabilities)


def _reason_to_skip(method: Method, X: Rows, max_dense_numbers: int) -> str:
    if not method.package.is_installed:
        return f"needs {method.package.name}; pip install {method.package.name}"
    if method.needs_dense and is_too_large_to_be_dense(X, max_dense_numbers):
        return "needs dense rows, and these are too many to be made dense"
    return ""


def _too_slow(method: Method, experiment: Experiment, seed: int, n_jobs: int | None) -> str:
    """Why a method is not run unasked; nothing if it is expected to take little time."""
    n_rows = experiment.X_train.shape[0]
    if method.max_rows is None or n_rows <= method.max_rows:
        return ""
    seconds = predicted_seconds(method, experiment, seed, n_jobs)
    if seconds <= PATIENCE:
        return ""
    return f"about {_about(seconds)}; name {method.key} in methods to run it"


def predicted_seconds(
    method: Method, experiment: Experiment, seed: int, n_jobs: int | None
) -> float:
    """What fitting and predicting are expected to take, from the time of a few rows.

    The time of a fit grows with a power of the number of rows, ``method.growth``, and that of a
    prediction with ``method.query_growth``. Test rows are predicted at least twice: labels and
    scores.
    """
    n_rows, n_test = experiment.X_train.shape[0], experiment.X_test.shape[0]
    share = min(TRIAL_ROWS / n_rows, 1.0)
    strata = np.zeros(n_rows) if experiment.is_regression else experiment.y_train
    few = np.flatnonzero(hold_out(strata, share, np.random.default_rng(seed)))
    model = method.make(seed, n_jobs)
    queries = rows_for(experiment.X_test[:TRIAL_QUERIES], method.needs_dense)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        model.fit(rows_for(experiment.X_train[few], method.needs_dense), experiment.y_train[few])
        between = time.perf_counter()
        model.predict(queries)
        end = time.perf_counter()
    ratio = n_rows / len(few)
    fit = (between - start) * ratio**method.growth
    predict = 2 * (end - between) * n_test / queries.shape[0]
    return fit + predict * ratio**method.query_growth


def _about(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 180 else f"{seconds / 60:.0f} minutes"


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


# Several methods ----------------------------------------------------------------------------------


def compare(
    data: Dataset,
    methods: Iterable[Method] | None = None,
    *,
    test_size: float = DEFAULT_TEST_SIZE,
    seed: int = 0,
    n_jobs: int | None = None,
    task: str = "auto",
) -> list[Row]:
    """Compare methods on one data set; return a row for each.

    Parameters
    ----------
    data : Dataset
        Rows and their target.
    methods : iterable of Method, optional
        Default: those of the task that run unasked, without those that would be slow.
    test_size : float, default=0.25
        Share of the rows to test on, where the data have no test rows of their own.
    seed : int, default=0
        Seeds the split and the methods.
    n_jobs : int or None, default=None
        Threads of the methods that take it.
    task : {"auto", "classification", "regression"}, default="auto"
        What is predicted, as in :func:`prepare`.

    Returns
    -------
    list of Row
        The figures of each method.

    Examples
    --------
    >>> from hyperlocal.datasets import Dataset, make_banana
    >>> from hyperlocal.compare import compare, pick_methods
    >>> data = Dataset("banana", *make_banana(200, random_state=0))
    >>> [row.method for row in compare(data, pick_methods(["linear-svc"]))]
    ['linear SVM']
    """
    experiment = prepare(data, test_size=test_size, seed=seed, task=task)
    force = methods is not None
    return [
        run(method, experiment, seed=seed, n_jobs=n_jobs, force=force).row
        for method in (default_methods(experiment.task) if methods is None else methods)
    ]
