"""Tests of hyperlocal.data.splits: parts of the training rows."""

import numpy as np
import pytest
import scipy.sparse as sp

from hyperlocal.data.labelled import LabelledRows, part_of
from hyperlocal.data.splits import deal_folds, split_held_out


def make_data(n_rows, n_classes=3, convert=np.asarray):
    X = convert(np.arange(2.0 * n_rows).reshape(n_rows, 2) + 1)
    target = (np.arange(n_rows) % n_classes).astype(np.int32)
    return LabelledRows(X, target, np.arange(n_classes), np.arange(n_rows) + 1.0)


def first_column(data):
    X = data.X.toarray() if sp.issparse(data.X) else data.X
    return X[:, 0]


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_parts_are_disjoint_and_stratified(convert):
    """A quarter of each class is held out, with its labels and weights."""
    data = make_data(120, convert=convert)
    train, test = split_held_out(data, np.random.default_rng(0))
    assert not set(first_column(train)) & set(first_column(test))
    np.testing.assert_array_equal(np.bincount(test.target), [10, 10, 10])
    np.testing.assert_array_equal(np.bincount(train.target), [30, 30, 30])
    for part in (train, test):
        np.testing.assert_array_equal(first_column(part), 2 * part.sample_weight - 1)


def test_large_data_are_thinned():
    """No more rows are used than a choice needs."""
    train, test = split_held_out(make_data(600), np.random.default_rng(0), most_rows=60)
    assert train.X.shape[0] + test.X.shape[0] == 60


def test_few_rows_are_not_split():
    """A handful of rows says nothing about settings."""
    assert split_held_out(make_data(39), np.random.default_rng(0)) is None
    assert split_held_out(make_data(60, n_classes=60), np.random.default_rng(0)) is None


def test_a_rare_class_stays_in_training():
    """A class of one row is never held out."""
    data = make_data(100, n_classes=2)
    target = np.zeros(100, np.int32)
    target[0] = 1
    data = LabelledRows(data.X, target, data.classes, data.sample_weight)
    train, test = split_held_out(data, np.random.default_rng(0))
    assert 1 in train.target
    assert 1 not in test.target


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_parts_keep_the_order_of_the_rows(convert):
    """A part has its rows in their order, however they are named."""
    data, expected = make_data(9, convert=convert), [2, 5, 7]
    part = part_of(data, np.array([7, 2, 5]))
    np.testing.assert_array_equal(part.sample_weight, data.sample_weight[expected])
    np.testing.assert_array_equal(part.target, data.target[expected])
    np.testing.assert_array_equal(first_column(part), 2 * part.sample_weight - 1)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_folds_spread_classes_evenly(n_classes):
    """Every fold has its share of every class."""
    target = np.random.default_rng(0).integers(n_classes, size=200)
    fold = deal_folds(target, 5, np.random.default_rng(1))
    for label in range(n_classes):
        counts = np.bincount(fold[target == label], minlength=5)
        assert counts.max() - counts.min() <= 1
    assert deal_folds(np.array([0, 1]), 5, np.random.default_rng(0)).max() == 1
