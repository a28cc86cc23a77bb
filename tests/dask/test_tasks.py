"""Tests of hyperlocal.dask.tasks that need no cluster: what workers make of a partition."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from hyperlocal.dask.tasks import read_part

X = np.arange(12, dtype=np.float32).reshape(4, 3)
y = np.array(["a", "b", "a", "b"])


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, pd.DataFrame])
def test_rows_of_weight_zero_are_left_out(convert):
    """Also where they are all rows of a partition, which is no error."""
    part = read_part(0, convert(X), y, np.array([1, 0, 2, 0]))
    rows = part.X.toarray() if sp.issparse(part.X) else part.X
    np.testing.assert_array_equal(rows, X[::2])
    assert part.labels.tolist() == ["a", "a"]
    assert part.weights.tolist() == [1, 2]
    nothing = read_part(0, convert(X), y, np.zeros(4))
    assert nothing.X.shape == (0, 3)
    assert nothing.X.dtype == np.float32
    assert len(nothing.labels) == len(nothing.weights) == 0


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, pd.DataFrame])
def test_a_partition_may_be_empty(convert):
    """It still has the number of features and the precision."""
    part = read_part(0, convert(X)[:0], y[:0], None)
    assert part.X.shape == (0, 3)
    assert part.X.dtype == np.float32
    assert sp.issparse(part.X) == (convert is sp.csr_array)


def test_names_of_columns_are_kept():
    """Names of a frame's columns are among the facts."""
    frame = pd.DataFrame(X, columns=["p", "q", "r"])
    assert read_part(0, frame, y, None).names == ("p", "q", "r")
    assert read_part(0, frame[:0], y[:0], None).names == ("p", "q", "r")
    assert read_part(0, pd.DataFrame(X), y, None).names is None


@pytest.mark.parametrize(
    ("rows", "labels", "weights", "message"),
    [
        (X * np.nan, y, None, "X contains NaN"),
        (X * np.float32(1e19), y, None, "overflow"),
        (X, y[:3], None, "inconsistent numbers of samples"),
        (X[:0], y, None, "y has 4 rows; X has none"),
        (X, np.array([0, 1, np.nan, 1]), None, "y contains NaN"),
        (X, y, np.array([1, 1, -1, 1]), "sample_weight"),
        (X, y, np.ones(3), "sample_weight"),
    ],
)
def test_errors_name_the_partition(rows, labels, weights, message):
    """An error in a partition names it."""
    with pytest.raises(ValueError, match=f"(?s)partition 7: .*{message}"):
        read_part(7, rows, labels, weights)
