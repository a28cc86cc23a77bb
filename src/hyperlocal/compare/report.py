"""Compare the locally linear SVMs with the usual classifiers on one data set.

:func:`prepare` splits and scales the rows once, :func:`run` fits one :class:`Contender` to them
(:func:`measure` if only the figures are wanted), :func:`format_table` prints what came out;
:func:`compare` does all but the printing.

Every contender has its default parameters, and sees the same scaled rows: the table tells what
one gets without tuning. One of them tunes itself, on its training rows.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC

from ..datasets import Dataset, is_sparse
from ..datasets.dataset import Rows
from ..estimators.clustered import ClusteredSVC
from ..estimators.landmark import LandmarkSVC
from ..estimators.latent import LatentLocallyLinearSVC
from ..estimators.local_coding import LocalCodingSVC
from ..estimators.local_deep import LocalDeepSVC
from ..estimators.locally_linear import LocallyLinearSVC
from ..estimators.locally_linear_cv import LocallyLinearSVCCV
from ..estimators.neighborhood import NeighborhoodSVC
from ..estimators.profile import ProfileSVC
from ..estimators.second_look import SecondLookSVC
from ..estimators.supervised_anchors import SupervisedAnchorSVC
from ..export.sizes import count_numbers

__all__ = [
    "Contender",
    "Experiment",
    "Outcome",
    "Row",
    "compare",
    "contenders",
    "format_table",
    "measure",
    "pick_contenders",
    "prepare",
    "run",
]

DEFAULT_TEST_SIZE = 0.25
MAX_DENSE_NUMBERS = 2**27  # sparse rows are made dense for a contender up to 1 GiB of float64


@dataclass(frozen=True)
class Contender:
    """A classifier that takes part in a comparison."""

    key: str  #: short name, as the command line takes it
    name: str  #: name in the table
    make: Callable[[], Any]  #: returns a new, unfitted estimator
    max_rows: int | None = None  #: training rows above which it is too slow to be run unasked
    needs_dense: bool = False  #: whether sparse rows must be made dense for it


def contenders(*, seed: int = 0, n_jobs: int | None = None) -> list[Contender]:
    """Return the classifiers that are compared, ours first.

    Parameters
    ----------
    seed : int, default=0
        Random state of every estimator that has one.
    n_jobs : int, optional
        Threads of the local SVMs; -1 for all cores.

    Examples
    --------
    >>> from hyperlocal.compare.report import contenders
    >>> [contender.key for contender in contenders()][:4]
    ['local-linear', 'local-quadratic', 'tuned', 'supervised-anchors']
    """

    def ours(kind: Callable[..., Any], **settings: Any) -> Callable[[], Any]:
        return lambda: kind(n_jobs=n_jobs, random_state=seed, **settings)

    return [
        Contender(
            "local-linear", "locally linear (linear)", ours(LocallyLinearSVC, feature_map=None)
        ),
        # "auto" is "quadratic", but for wide rows it takes products of principal components, since
        # those of all features would not fit in memory. On sparse rows it would be linear.
        Contender(
            "local-quadratic",
            "locally linear (quadratic)",
            ours(LocallyLinearSVC, feature_map="auto"),
            needs_dense=True,
        ),
        Contender(
            "tuned",
            "locally linear (tuned)",
            ours(LocallyLinearSVCCV),
            max_rows=20_000,
            needs_dense=True,
        ),
        Contender(
            "supervised-anchors", "supervised anchors", ours(SupervisedAnchorSVC), max_rows=50_000
        ),
        Contender(
            "second-look",
            "locally linear, second look",
            ours(SecondLookSVC, first_look=ours(LocallyLinearSVC)()),
            max_rows=50_000,
            needs_dense=True,
        ),
        Contender("local-coding", "linear SVM on codes", ours(LocalCodingSVC)),
        Contender("landmark", "landmarks (L3)", ours(LandmarkSVC), max_rows=20_000),
        Contender("clustered", "clustered (CSVM)", ours(ClusteredSVC), max_rows=20_000),
        Contender("profile", "profiles (PSVM)", ours(ProfileSVC), max_rows=20_000),
        Contender("local-deep", "tree of gates (LDKL)", ours(LocalDeepSVC), max_rows=20_000),
        Contender("latent", "latent mixes (ML3)", ours(LatentLocallyLinearSVC), max_rows=20_000),
        Contender(
            "neighborhood",
            "SVM per query (LSVM)",
            ours(NeighborhoodSVC),
            max_rows=20_000,
        ),
        Contender("linear", "linear SVM", lambda: LinearSVC(random_state=seed)),
        Contender("rbf", "RBF SVM", lambda: SVC(C=10), max_rows=50_000),
        Contender(
            "boosting",
            "gradient boosting",
            lambda: HistGradientBoostingClassifier(random_state=seed),
            needs_dense=True,
        ),
    ]


def pick_contenders(keys: Sequence[str], available: Iterable[Contender]) -> list[Contender]:
    """Return the contenders with these keys, in the order of the keys."""
    by_key = {contender.key: contender for contender in available}
    unknown = [key for key in keys if key not in by_key]
    if unknown:
        raise ValueError(f"unknown methods {', '.join(unknown)}; known are: {', '.join(by_key)}")
    return [by_key[key] for key in dict.fromkeys(keys)]


# The rows -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Experiment:
    """Scaled training and test rows, the same for every contender."""

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
    >>> from hyperlocal.compare.report import prepare
    >>> prepare(Dataset("banana", *make_banana(200, random_state=0))).summary
    'banana: 150 training and 50 test rows, 2 features, 2 classes'
    """
    _check_task(data)
    X_train, X_test, y_train, y_test = _split(data, test_size, seed)
    scaler = MaxAbsScaler() if is_sparse(X_train) else StandardScaler()
    return Experiment(
        data.name,
        scaler.fit_transform(X_train),
        y_train,
        scaler.transform(X_test),
        y_test,
        data.feature_names,
    )


def _check_task(data: Dataset) -> None:
    for X in filter(lambda part: part is not None, (data.X_train, data.X_test)):
        if not np.isfinite(X.data if is_sparse(X) else X).all():
            raise ValueError(
                f"{data.name}: some values are missing or infinite; drop those rows or fill them "
                "in, e.g. with sklearn.impute.SimpleImputer"
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
    classes, counts = np.unique(y, return_counts=True)
    if len(classes) < 2:
        raise ValueError(f"{name}: all labels are {classes[0]!s}; two classes are needed")
    if classes.dtype.kind == "f":
        raise ValueError(
            f"{name}: the labels are not whole numbers (e.g. {classes[0]}); these are "
            "classifiers, so is the target the right column?"
        )
    return dict(zip(classes.tolist(), counts.tolist(), strict=True))


def _split(data: Dataset, test_size: float, seed: int) -> Sequence[Any]:
    if data.X_test is not None and data.y_test is not None:
        return data.X_train, data.X_test, data.y_train, data.y_test
    if not 0 < test_size < 1:
        raise ValueError(f"test_size must be between 0 and 1; got {test_size}")
    try:
        return train_test_split(
            *(data.X_train, data.y_train),
            test_size=test_size,
            random_state=seed,
            stratify=data.y_train,
        )
    except ValueError as error:  # a part with fewer rows than classes
        raise ValueError(
            f"{data.name}: cannot hold out {test_size:g} of the rows: {error}"
        ) from error


# One contender ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """What one contender did; the figures are None if it was not run to the end."""

    method: str  #: name of the contender
    accuracy: float | None = None  #: part of the test rows that were classified correctly
    fit_seconds: float | None = None  #: wall-clock time of the fit
    #: Wall-clock time of predicting the test rows all at once, per row: median of a few runs.
    predict_microseconds: float | None = None
    n_numbers: int | None = None  #: how many numbers the model needs in order to predict
    note: str = ""  #: why it was skipped or failed, or that it did not converge


@dataclass(frozen=True)
class Outcome:
    """A row of the table, with the model behind it unless it was not run to the end."""

    row: Row
    needs_dense: bool = False  #: whether the model takes dense rows only
    model: Any = None
    predicted: np.ndarray | None = None  #: labels predicted for the test rows


def measure(contender: Contender, experiment: Experiment, *, force: bool = False) -> Row:
    """Fit a contender and time it; see :func:`run`.

    Examples
    --------
    >>> from hyperlocal.datasets import Dataset, make_banana
    >>> from hyperlocal.compare.report import contenders, measure, pick_contenders, prepare
    >>> experiment = prepare(Dataset("banana", *make_banana(200, random_state=0)))
    >>> linear = pick_contenders(["linear"], contenders())[0]
    >>> row = measure(linear, experiment)
    >>> row.n_numbers, 0.7 < row.accuracy < 1
    (3, True)
    """
    return run(contender, experiment, force=force).row


def run(contender: Contender, experiment: Experiment, *, force: bool = False) -> Outcome:
    """Fit a contender and time it.

    Parameters
    ----------
    contender : Contender
    experiment : Experiment
    force : bool, default=False
        Run it even if it has too many rows to be quick.

    Returns
    -------
    Outcome
        An estimator that refuses the data makes a row with a note, not an error, so that the
        others are still compared.
    """
    reason = _reason_to_skip(contender, experiment, force)
    if reason:
        return Outcome(Row(contender.name, note=f"skipped: {reason}"))
    dense = contender.needs_dense
    X_train, X_test = rows_for(experiment.X_train, dense), experiment.X_test
    try:
        model, fit_seconds, note = _timed_fit(contender.make(), X_train, experiment.y_train)
        predicted, seconds = _timed_predict(model, rows_for(X_test, dense))
    except (ValueError, MemoryError) as error:
        return Outcome(Row(contender.name, note=f"failed: {_first_line(error)}"))
    row = Row(
        contender.name,
        accuracy=float(np.mean(predicted == experiment.y_test)),
        fit_seconds=fit_seconds,
        predict_microseconds=1e6 * seconds / X_test.shape[0],
        n_numbers=count_numbers(model),
        note=note,
    )
    return Outcome(row, dense, model, predicted)


def _reason_to_skip(contender: Contender, experiment: Experiment, force: bool) -> str:
    X = experiment.X_train
    if contender.max_rows is not None and X.shape[0] > contender.max_rows and not force:
        return f"slow above {contender.max_rows:,} rows; name {contender.key} in methods to run it"
    if contender.needs_dense and is_sparse(X) and X.shape[0] * X.shape[1] > MAX_DENSE_NUMBERS:
        return "needs dense rows, and these are too many to be made dense"
    return ""


def rows_for(X: Rows, needs_dense: bool) -> Rows:
    """The rows, made dense if need be."""
    return X.toarray() if needs_dense and is_sparse(X) else X


def _timed_fit(model: Any, X: Rows, y: np.ndarray) -> tuple[Any, float, str]:
    """Fit; return the model, the seconds, and a note if it did not converge."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - start
    note = ""
    for warning in caught:
        if issubclass(warning.category, ConvergenceWarning):
            note = "did not converge"
        else:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )
    return model, seconds, note


def _timed_predict(model: Any, X: Rows, repeats: int = 5) -> tuple[np.ndarray, float]:
    """Predict up to ``repeats`` times, fewer if it takes long; return the median time."""
    times: list[float] = []
    while len(times) < repeats and sum(times) < 2.0:
        start = time.perf_counter()
        predicted = model.predict(X)
        times.append(time.perf_counter() - start)
    return predicted, median(times)


def explain_row(model: Any, row: Rows, names: Sequence[str]) -> Any:
    """Explain one row; features are called by these names where the model knows none."""
    explanation = model.explain(row)
    nameless = [f"x{j}" for j in range(len(names))]
    if list(explanation.feature_names) == nameless:
        return replace(explanation, feature_names=np.asarray(names, dtype=object))
    return explanation


def _first_line(error: BaseException) -> str:
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__


def compare(
    data: Dataset,
    entrants: Iterable[Contender] | None = None,
    *,
    test_size: float = DEFAULT_TEST_SIZE,
    seed: int = 0,
    n_jobs: int | None = None,
) -> list[Row]:
    """Compare classifiers on one data set; return a row for each.

    Parameters
    ----------
    data : Dataset
    entrants : iterable of Contender, optional
        Default: all of :func:`contenders`, those that would be slow left out.
    test_size, seed
        See :func:`prepare`.
    n_jobs : int, optional
        See :func:`contenders`; only for the default entrants.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> from hyperlocal.datasets import Dataset, make_banana
    >>> from hyperlocal.compare.report import Contender, compare
    >>> data = Dataset("banana", *make_banana(200, random_state=0))
    >>> [row.accuracy for row in compare(data, [Contender("dummy", "dummy", DummyClassifier)])]
    [0.5]
    """
    experiment = prepare(data, test_size=test_size, seed=seed)
    if entrants is None:
        return [measure(one, experiment) for one in contenders(seed=seed, n_jobs=n_jobs)]
    return [measure(one, experiment, force=True) for one in entrants]


# The table ----------------------------------------------------------------------------------------

HEADINGS = ("method", "accuracy", "fit s", "predict µs/row", "numbers stored", "note")


def format_table(rows: Iterable[Row]) -> str:
    """Return rows as aligned plain text.

    Examples
    --------
    >>> from hyperlocal.compare.report import Row, format_table
    >>> print(format_table([Row("one", 0.985, 1.25, 7.5, 12345), Row("two", note="skipped")]))
    method  accuracy  fit s  predict µs/row  numbers stored  note
    ------  --------  -----  --------------  --------------  -------
    one      98.50 %   1.25            7.50          12,345
    two            –      –               –               –  skipped
    """
    cells = [HEADINGS, *(formatted(row) for row in rows)]
    if not any(line[-1] for line in cells[1:]):
        cells = [line[:-1] for line in cells]
    widths = [max(len(cell) for cell in column) for column in zip(*cells, strict=True)]
    cells.insert(1, tuple("-" * width for width in widths))
    return "\n".join(_aligned(line, widths) for line in cells)


def formatted(row: Row) -> tuple[str, ...]:
    """A row as the table shows it, one text for each heading."""
    return (
        row.method,
        "–" if row.accuracy is None else f"{100 * row.accuracy:.2f} %",
        _three_digits(row.fit_seconds),
        _three_digits(row.predict_microseconds),
        "–" if row.n_numbers is None else f"{row.n_numbers:,}",
        row.note,
    )


def _three_digits(value: float | None) -> str:
    if value is None:
        return "–"
    decimals = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:,.{decimals}f}" if value >= 0.1 else f"{value:.3f}"


def _aligned(line: Sequence[str], widths: Sequence[int]) -> str:
    """Put words at the left and figures at the right of their columns."""
    is_text = [heading in ("method", "note") for heading in HEADINGS]
    cells = (
        cell.ljust(width) if text else cell.rjust(width)
        for cell, width, text in zip(line, widths, is_text, strict=False)
    )
    return "  ".join(cells).rstrip()
