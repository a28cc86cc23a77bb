"""Tests of hyperlocal.dask.collections: the parts of collections, and what has none."""

import dask
import dask.array as da
import dask.bag as db
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from hyperlocal.dask import DaskLocallyLinearSVC
from hyperlocal.dask.collections import check_collection, is_lazy, row_parts

X = np.arange(20.0).reshape(10, 2)
y = np.arange(10)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, pd.DataFrame, list])
def test_data_in_memory_are_divided_evenly(convert):
    """Into as many parts as are asked for, with their labels."""
    assert not is_lazy(convert(X))
    parts = dask.compute(*row_parts(convert(X), y, None, n_parts=3))
    assert [rows.shape[0] for rows, _, _ in parts] == [3, 3, 4]
    np.testing.assert_array_equal(np.concatenate([labels for _, labels, _ in parts]), y)
    assert {weights for _, _, weights in parts} == {None}


def test_labels_are_divided_as_the_rows_are():
    """Whatever their own chunks."""
    rows, labels = da.from_array(X, chunks=((4, 6), 1)), da.from_array(y, chunks=5)
    assert is_lazy(rows)
    parts = dask.compute(*row_parts(rows, labels, y, n_parts=9))
    assert [part[0].shape for part in parts] == [(4, 2), (6, 2)]
    assert parts[0][1].tolist() == parts[0][2].tolist() == [0, 1, 2, 3]


def test_futures_and_delayed_values_are_refused(client):
    """Their shape is unknown; the error names the way to a collection."""
    future, delayed = client.scatter(X), dask.delayed(X)
    for values in (future, [future, future], delayed, [delayed]):
        with pytest.raises(TypeError, match=r"(?s)X is a .*from_delayed"):
            DaskLocallyLinearSVC(client).fit(values, y)
    with pytest.raises(TypeError, match="y is a Future"):
        DaskLocallyLinearSVC(client).fit(X, future)
    with pytest.raises(TypeError, match="not a Dask Bag"):
        check_collection("X", db.from_sequence([1, 2]))
