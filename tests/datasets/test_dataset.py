"""Tests of hyperlocal.datasets.dataset: which parts make a dataset."""

import numpy as np
import pytest
from scipy import sparse

from hyperlocal.datasets import Dataset


def test_rows_and_labels_must_agree():
    """A dataset refuses parts that do not fit together."""
    X, y = np.eye(3), np.arange(3)
    with pytest.raises(ValueError, match="3 training rows but 2 labels"):
        Dataset("odd", X, y[:2])
    with pytest.raises(ValueError, match="come together"):
        Dataset("odd", X, y, X)
    with pytest.raises(ValueError, match=r"3 features in the training rows, 2 in the test rows"):
        Dataset("odd", X, y, X[:, :2], y)
    with pytest.raises(ValueError, match="2-D X and a 1-D y"):
        Dataset("odd", X[0], y)
    with pytest.raises(ValueError, match="empty"):
        Dataset("odd", X[:0], y[:0])


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_all_rows_puts_the_test_part_last(convert):
    """All rows of a split dataset are the training rows and then the test rows."""
    whole = np.arange(12.0).reshape(6, 2)
    X, y = Dataset(
        "split", convert(whole[:4]), np.arange(4), convert(whole[4:]), np.arange(4, 6)
    ).all_rows()
    assert sparse.issparse(X) == (convert is sparse.csr_array)
    np.testing.assert_array_equal(X.toarray() if sparse.issparse(X) else X, whole)
    np.testing.assert_array_equal(y, np.arange(6))
