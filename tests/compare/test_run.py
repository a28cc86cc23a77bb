"""Tests of hyperlocal.compare.run: the measurements."""

import re
import sys
import time
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning

from hyperlocal.compare import (
    DEFAULT_METHODS,
    METHODS,
    Method,
    Package,
    Row,
    compare,
    prepare,
    run,
)
from hyperlocal.datasets import Dataset, make_banana


@pytest.fixture
def banana():
    return Dataset("banana", *make_banana(200, random_state=0))


@pytest.fixture
def sparse_banana(banana):
    return Dataset("banana", sparse.csr_array(banana.X_train), banana.y_train)


class Odd(ClassifierMixin, BaseEstimator):
    """Calls a function in fit; predicts the first class."""

    def __init__(self, action, query=lambda: None):
        self.action = action
        self.query = query

    def fit(self, X, y):
        self.action()
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        self.query()
        return np.full(X.shape[0], self.classes_[0])


def odd_method(action, **facts):
    return Method("odd", "odd", lambda seed, n_jobs: Odd(action), **facts)


def measure(method, experiment, **options):
    return run(method, experiment, **options).row


def test_every_default_method_is_measured(banana):
    """All are fitted and measured; local models beat a linear one on crescents."""
    rows = {row.key: row for row in compare(banana)}
    assert list(rows) == [method.key for method in DEFAULT_METHODS]
    for row in rows.values():
        assert row.note == ""
        assert row.fit_seconds > 0
        assert row.predict_microseconds > 0
        assert row.n_numbers > 0
    for key in ("locally-linear-identity", "locally-linear", "svc"):
        assert rows[key].accuracy > rows["linear-svc"].accuracy


def test_a_method_whose_predictions_would_be_slow_is_skipped(banana, monkeypatch):
    """Their time grows with the training rows, of which the trial has few."""
    monkeypatch.setattr(sys.modules[run.__module__], "PATIENCE", 1.0)
    monkeypatch.setattr(sys.modules[run.__module__], "TRIAL_ROWS", 15)
    make = lambda seed, n_jobs: Odd(lambda: None, lambda: time.sleep(0.02))  # noqa: E731
    fixed = Method("odd", "odd", make, max_rows=100)
    experiment = prepare(banana)
    assert measure(fixed, experiment).note == ""
    assert "skipped" in measure(replace(fixed, query_growth=2.0), experiment).note


def test_same_seed_same_accuracy(banana):
    """Two comparisons with one seed agree in every accuracy and size."""
    one, two = (
        [(row.accuracy, row.n_numbers) for row in compare(banana, seed=5)] for _ in range(2)
    )
    assert one == two


def test_slow_method_is_skipped_unless_forced(banana, monkeypatch):
    """A method is skipped if its time, predicted from a few rows, is long; and runs when asked."""
    monkeypatch.setattr(sys.modules[run.__module__], "PATIENCE", 1.0)
    monkeypatch.setattr(sys.modules[run.__module__], "TRIAL_ROWS", 15)
    slow = odd_method(lambda: time.sleep(0.02), max_rows=100, growth=2.0)
    experiment = prepare(banana)
    row = measure(slow, experiment)
    assert row.accuracy is None
    assert re.fullmatch(r"skipped: about \d+ s; name odd in methods to run it", row.note)
    assert measure(odd_method(lambda: None, max_rows=100), experiment).accuracy == 0.5
    assert measure(slow, experiment, force=True).accuracy == 0.5
    assert compare(banana, [slow])[0].accuracy == 0.5


def test_missing_package_is_a_note(banana):
    """A method whose package is not installed is skipped with the command that installs it."""
    absent = odd_method(lambda: None, package=Package("no-such-package", "no_such_module"))
    row = measure(absent, prepare(banana), force=True)
    assert row.note == "skipped: needs no-such-package; pip install no-such-package"


def test_sparse_rows_are_made_dense_where_needed(sparse_banana):
    """Boosting gets dense rows if they are few enough, else it is skipped with a note."""
    experiment, boosting = prepare(sparse_banana), METHODS["boosting"]
    assert measure(boosting, experiment).accuracy > 0.8
    skipped = measure(boosting, experiment, force=True, max_dense_numbers=10)
    assert skipped.note.startswith("skipped: needs dense rows")


def test_non_convergence_is_a_note(banana):
    """A ConvergenceWarning becomes a note; other warnings pass through."""

    def act():
        warnings.warn("too few iterations", ConvergenceWarning, stacklevel=1)

    assert measure(odd_method(act), prepare(banana)).note == "did not converge"

    def act_otherwise():
        warnings.warn("something else", UserWarning, stacklevel=1)

    with pytest.warns(UserWarning, match="something else"):
        assert measure(odd_method(act_otherwise), prepare(banana)).note == ""


def test_failure_is_a_note(banana):
    """An estimator that raises leaves the others to be measured."""

    def act():
        raise ValueError("cannot do this\nand more")

    failed, fine = compare(banana, [odd_method(act), odd_method(lambda: None)])
    assert failed == Row("odd", note="failed: cannot do this", key="odd")
    assert fine.accuracy == 0.5
