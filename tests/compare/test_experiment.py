"""Tests of hyperlocal.compare.experiment: labels, the split and the encoding."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from hyperlocal.compare import METHODS, prepare, run
from hyperlocal.compare.experiment import fit_encoder
from hyperlocal.datasets import Dataset, make_banana
from hyperlocal.preprocessing import TableEncoder


@pytest.fixture
def banana():
    return Dataset("banana", *make_banana(200, random_state=0))


@pytest.fixture
def sparse_banana(banana):
    return Dataset("banana", sparse.csr_array(banana.X_train), banana.y_train)


def table_of(n=80, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    table = pd.DataFrame({"x": x, "kind": rng.choice(["a", "b"], n)})
    table.loc[3, "x"] = np.nan
    return Dataset("t", table, np.where(x > 0.5, "yes", "no"), notes=("one note",))


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
        assert run(METHODS[key], experiment).row.accuracy > 0.7


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[1.0], [5.0], [2.0], [3.0]], [7, 7, 7, 7], "all labels are 7"),
        ([[1.0], [5.0], [2.0], [3.0]], ["a", "a", "a", "b"], "fewer than two classes have more"),
        ([[1.0], [5.0], [2.0], [3.0]], [0, 1, 0, 1], "0.25 of 4 rows cannot hold all classes"),
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


def test_tables_are_encoded():
    """By the training rows; the test rows are kept as they are, and notes are collected."""
    experiment = prepare(table_of())
    assert experiment.feature_names[-2:] == ("kind=a", "kind=b")
    assert experiment.raw_test.shape == (20, 2)
    np.testing.assert_array_equal(
        experiment.X_test, experiment.encoder.transform(experiment.raw_test)
    )
    assert experiment.notes[0] == "one note"
    assert experiment.positive == "yes"


def test_numbers_of_rows_are_left_out_of_a_comparison():
    """Those of the training rows have gaps, and an order that the split has changed."""
    table = pd.DataFrame(
        {"row": np.arange(200) + 10, "x": np.random.default_rng(0).normal(size=200)}
    )
    experiment = prepare(Dataset("t", table, np.arange(200) % 2))
    assert experiment.feature_names == ("x",)


def test_arrays_with_missing_values_are_encoded():
    """Missing numbers of an array are filled in, with a note; those of sparse rows are refused."""
    X, y = make_banana(100, random_state=0)
    X[5, 0] = np.nan
    experiment = prepare(Dataset("gap", X, y))
    assert isinstance(experiment.encoder, TableEncoder)
    assert any("filled in" in note for note in experiment.notes)
    with pytest.raises(ValueError, match="sparse rows have missing"):
        fit_encoder(sparse.csr_array(X))


def test_many_numbers_are_encoded_as_float32(monkeypatch):
    """Memory is halved where it is large."""
    monkeypatch.setattr("hyperlocal.compare.experiment.MOST_DOUBLES", 100)
    assert prepare(table_of()).X_train.dtype == np.float32


def test_classes_of_one_row_are_left_out():
    """With a note that names them."""
    X, y = make_banana(60, random_state=0)
    y[0] = 9
    experiment = prepare(Dataset("odd", X, y))
    assert set(experiment.y_train) == {0, 1}
    assert experiment.notes == ("1 row is left out: the only one of class 9",)


def test_values_are_split_without_classes():
    """Values that look like a number are predicted as such; rows without one are left out."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 2)), rng.normal(size=80)
    y[3] = np.nan
    experiment = prepare(Dataset("odd", X, y))
    assert experiment.is_regression
    assert experiment.positive is None
    assert experiment.y_train.shape == (59,)
    assert "values from " in experiment.summary
    assert experiment.notes[1] == "1 row is left out: the target is not a number there"
    assert not prepare(
        Dataset("odd", X, np.repeat(y[4:6], 40)), task="classification"
    ).is_regression
    with pytest.raises(ValueError, match="--positive: odd has numbers to predict"):
        prepare(Dataset("odd", X, y), positive="1")


def test_values_of_a_test_part():
    """Test rows without a number are left out too."""
    X, y = np.arange(30.0).reshape(10, 3), np.arange(10.0) / 4
    y_test = np.array(["1", "x", "2.5"])
    experiment = prepare(Dataset("split", X, y, X[:3], y_test))
    assert experiment.y_test.tolist() == [1.0, 2.5]
