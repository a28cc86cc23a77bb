"""Tests of hyperlocal.compare.run: the split and the measurements."""

import warnings

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

    def __init__(self, action):
        self.action = action

    def fit(self, X, y):
        self.action()
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(X.shape[0], self.classes_[0])


def odd_method(action, **facts):
    return Method("odd", "odd", lambda seed, n_jobs: Odd(action), **facts)


def measure(method, experiment, **options):
    return run(method, experiment, **options).row


# Rows ---------------------------------------------------------------------------------------------


def test_split_is_stratified_and_repeatable(banana):
    """A quarter is held out, half of it of each class, the same for the same seed."""
    one, two, other = (prepare(banana, seed=seed) for seed in (1, 1, 2))
    assert one.X_test.shape == (50, 2)
    assert np.bincount(one.y_test).tolist() == [25, 25]
    np.testing.assert_array_equal(one.X_train, two.X_train)
    assert not np.array_equal(one.y_test, other.y_test)


def test_test_part_is_used_as_it_is():
    """A dataset with a test part keeps it, row for row."""
    X, y = make_banana(100, random_state=0)
    experiment = prepare(Dataset("split", X[:90], y[:90], X[90:], y[90:]), test_size=0.5)
    np.testing.assert_array_equal(experiment.y_test, y[90:])


def test_scaling_sees_training_rows_only():
    """Dense features have mean 0 and variance 1 over the training rows, not the test rows."""
    X, y = make_banana(100, random_state=0)
    experiment = prepare(Dataset("split", X[:80], y[:80], X[80:] + 9, y[80:]))
    np.testing.assert_allclose(experiment.X_train.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(experiment.X_train.std(axis=0), 1)
    assert experiment.X_test.mean() > 5


def test_sparse_rows_stay_sparse(sparse_banana):
    """Sparse features are scaled to largest absolute value 1 and can be fitted as they are."""
    experiment = prepare(sparse_banana)
    assert sparse.issparse(experiment.X_train)
    np.testing.assert_allclose(abs(experiment.X_train).max(axis=0).toarray(), 1)
    assert "2 sparse features" in experiment.summary
    for key in ("linear-svc", "svc"):
        assert measure(METHODS[key], experiment).accuracy > 0.7


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[1.0], [np.nan], [2.0], [3.0]], [0, 1, 0, 1], "missing or infinite"),
        ([[1.0], [5.0], [2.0], [3.0]], [7, 7, 7, 7], "all labels are 7"),
        ([[1.0], [5.0], [2.0], [3.0]], [0.5, 1.5, 0.5, 1.5], "labels are not whole numbers"),
        ([[1.0], [5.0], [2.0], [3.0]], ["a", "a", "a", "b"], "class b has only one row"),
        ([[1.0], [5.0], [2.0], [3.0]], [0, 1, 0, 1], "cannot hold out 0.25"),
    ],
)
def test_unfit_data_is_refused(X, y, message):
    """Data that cannot be compared on raise an error with their name and the reason."""
    with pytest.raises(ValueError, match=f"odd: .*{message}"):
        prepare(Dataset("odd", np.array(X), np.array(y)))


def test_test_size_must_be_a_fraction(banana):
    """A test size outside of (0, 1) is an error."""
    with pytest.raises(ValueError, match="test_size must be between 0 and 1; got 2"):
        prepare(banana, test_size=2)


# Methods -----------------------------------------------------------------------------------------


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


def test_same_seed_same_accuracy(banana):
    """Two comparisons with one seed agree in every accuracy and size."""
    one, two = (
        [(row.accuracy, row.n_numbers) for row in compare(banana, seed=5)] for _ in range(2)
    )
    assert one == two


def test_slow_method_is_skipped_unless_forced(banana):
    """A method that is slow on so many rows is skipped with a note, and runs when asked for."""
    slow = odd_method(lambda: None, max_rows=100)
    experiment = prepare(banana)
    row = measure(slow, experiment)
    assert row.accuracy is None
    assert row.note == "skipped: slow above 100 rows; name odd in methods to run it"
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
