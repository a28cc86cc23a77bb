"""Tests of hyperlocal.estimators.column_encoders."""

import numpy as np

from hyperlocal.data.table import columns_of
from hyperlocal.estimators.column_encoders import CategoryEncoder


def test_unknown_categories_count_as_rare():
    """An unknown value is in the column of rare ones, or in none if there is no such column."""
    column = columns_of(np.array([["a"], ["new"]], dtype=object))[0]
    for has_rare, expected in ((True, [[1, 0], [0, 1]]), (False, [[1], [0]])):
        encoder = CategoryEncoder(("a",), False, has_rare)
        out = np.zeros((2, len(encoder.endings)))
        encoder.write(column, out)
        np.testing.assert_array_equal(out, expected)
