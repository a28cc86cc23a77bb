"""Tests of hyperlocal.selection.folds."""

import numpy as np
import pytest

from hyperlocal import LocallyLinearSVCCV
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


GIVEN = np.arange(30)


@pytest.mark.parametrize(
    ("folds", "message"),
    [
        ([], "no fold with rows"),
        ([(GIVEN[:20], [])], "no fold with rows"),
        ([(np.zeros(30, bool), np.ones(30, bool))], "no fold with rows"),
        ([(GIVEN, GIVEN + 1)], "rows from 1 to 30; there are 30"),
        ([(GIVEN, -GIVEN)], "rows from -29 to 0"),
        ([(GIVEN * 1.0, GIVEN)], "numbers of rows, not float64"),
        ([(np.ones(3, bool), GIVEN)], "numbers of rows, not bool"),
        ([GIVEN], "pairs of numbers of rows"),
        ([3], "pairs of numbers of rows"),
        ("5", "cv must be an integer"),
    ],
)
def test_folds_that_make_no_sense_are_named(folds, message):
    """Numbers beyond the rows, of no rows, and no numbers."""
    X = np.random.default_rng(0).standard_normal((30, 2))
    with pytest.raises((ValueError, TypeError), match=message):
        LocallyLinearSVCCV(n_anchors=1, Cs=(1.0,), cv=folds).fit(X, GIVEN % 2)


def test_folds_may_be_masks():
    """They are the rows at which they are true, not rows 0 and 1."""
    X = np.random.default_rng(0).standard_normal((30, 2))
    masks = [(GIVEN < 20, GIVEN >= 20), (GIVEN >= 10, GIVEN < 10)]
    numbers = [tuple(np.flatnonzero(one) for one in pair) for pair in masks]
    found = [
        LocallyLinearSVCCV(n_anchors=(1, 2), cv=cv, random_state=0).fit(X, GIVEN % 2).best_score_
        for cv in (masks, numbers)
    ]
    assert found[0] == found[1]
