"""Tests of hyperlocal.preprocessing.TableEncoder."""

import numpy as np
import pandas as pd

from hyperlocal.preprocessing import TableEncoder

CATS = pd.DataFrame({"weight": [4.0, 3.0, None, 9.0], "fur": ["long", "bald", "long", None]})


def test_output_maps_back_to_the_table():
    """Each output column knows its input column, and its units can be restored."""
    encoder = TableEncoder().fit(CATS)
    assert encoder.columns_.tolist() == ["weight"] * 2 + ["fur"] * 3
    assert encoder.groups_.tolist() == [0, 0, 1, 1, 1]
    units = encoder.to_units(encoder.transform(CATS))
    np.testing.assert_allclose(units[:, 0], [4, 3, 4, 9])
    np.testing.assert_array_equal(units[:, 1], [0, 0, 1, 0])


def test_sparse_and_dense_output_agree():
    """CSR rows hold the same numbers."""
    dense = TableEncoder().fit_transform(CATS)
    np.testing.assert_array_equal(
        TableEncoder(sparse_output=True).fit_transform(CATS).toarray(), dense
    )
