"""Tests of hyperlocal.data.labelled: equal rows are made one."""

from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from hyperlocal.data.checks import check_labelled_rows
from hyperlocal.data.labelled import (
    MOST_ROWS_TO_MERGE,
    LabelledRows,
    equal_neighbors,
    merge_equal_rows,
)
from reference.problems import every_storage, make_rows
from reference.rows import written_out

Y = np.arange(40) % 3


def labelled(X=None, y=Y):
    return check_labelled_rows(BaseEstimator(), make_rows() if X is None else X, y)


def test_merged_rows_can_keep_their_order():
    """Equal rows of a class become one, which stands where the first of them stood."""
    X = np.array([[3.0], [1.0], [3.0], [2.0], [1.0], [3.0]])
    target = np.array([0, 1, 0, 0, 1, 1], np.int32)
    data = LabelledRows(X, target, np.arange(2), np.arange(1.0, 7.0))
    merged = merge_equal_rows(data, keep_order=True)
    np.testing.assert_array_equal(merged.X[:, 0], [3, 1, 2, 3])
    np.testing.assert_array_equal(merged.target, [0, 1, 0, 1])
    np.testing.assert_array_equal(merged.sample_weight, [4, 7, 4, 6])
    assert merge_equal_rows(merged, keep_order=True) is merged


def test_wide_rows_are_told_apart_by_all_their_features():
    """Rows that are equal in the middle, where one looks first, are merged only if all is equal."""
    X = np.random.default_rng(0).standard_normal((6, 300))
    X[1:3] = X[0]
    X[1, 0] += 1
    data = LabelledRows(X, np.zeros(6, np.int32), np.arange(2), np.ones(6))
    merged = merge_equal_rows(data, keep_order=True)
    np.testing.assert_array_equal(merged.X, X[[0, 1, 3, 4, 5]])
    np.testing.assert_array_equal(merged.sample_weight, [2, 1, 1, 1, 1])
    assert merge_equal_rows(merged, keep_order=True) is merged


@every_storage
def test_equal_rows_with_different_labels_are_found(dtype, storage):
    """After merging, rows that are equal but for their labels follow each other, in groups."""
    X = make_rows(dtype, storage)
    X = sp.vstack([X, X[:8], X[:3]], format="csr") if storage == "csr" else np.r_[X, X[:8], X[:3]]
    y = np.concatenate([Y, (Y[:8] + 1) % 3, (Y[:3] + 2) % 3])
    data = merge_equal_rows(labelled(X, y))
    groups = equal_neighbors(data.X, data.target)
    assert sorted(np.diff(groups.starts).tolist()) == [2] * 5 + [3] * 3
    rows = written_out(data.X)
    for begin, end in pairwise(groups.starts):
        members = groups.rows[begin:end]
        assert (rows[members] == rows[members[0]]).all()
        assert len(set(data.target[members])) == len(members)


def test_distinct_rows_have_no_equal_neighbors():
    """Nor have equal rows of one label, nor rows too many to be merged."""
    data = merge_equal_rows(labelled())
    assert equal_neighbors(data.X, data.target) is None
    assert equal_neighbors(np.ones((4, 2)), np.zeros(4, np.int32)) is None
    many = np.ones((MOST_ROWS_TO_MERGE + 1, 1))
    assert equal_neighbors(many, np.arange(len(many)) % 2) is None
