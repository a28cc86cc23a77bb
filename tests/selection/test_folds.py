"""Tests of hyperlocal.selection.folds."""

import numpy as np
import pytest

from hyperlocal.data.labelled import LabelledRows
from hyperlocal.selection.folds import default_folds, group_folds


def rows_of(target, is_numeric=False):
    X = np.zeros((len(target), 1))
    return LabelledRows(
        X, np.array(target), np.unique(target), np.ones(len(target)), is_numeric=is_numeric
    )


def test_classes_of_one_row_have_no_folds():
    """Stratified folds need a class of two rows; folds of values have two rows each."""
    rng = np.random.default_rng(0)
    assert default_folds(rows_of([0, 1, 2]), None, rng) is None
    assert default_folds(rows_of([0, 0, 1, 1]), None, rng).get_n_splits() == 2
    assert default_folds(rows_of(range(6), is_numeric=True), None, rng).get_n_splits() == 3
    assert default_folds(rows_of([0, 1, 2], is_numeric=True), None, rng) is None


def test_no_group_is_divided():
    """Rows of a group are all trained on, or all held out."""
    y, groups = np.arange(40) % 2, np.arange(40) // 4
    for train, test in group_folds(None, y, groups, np.random.default_rng(0)):
        assert not set(groups[train]) & set(groups[test])


def test_one_group_is_no_choice():
    """At least two groups are needed."""
    with pytest.raises(ValueError, match="at least two different values"):
        group_folds(3, np.arange(6) % 2, np.zeros(6), np.random.default_rng(0))
