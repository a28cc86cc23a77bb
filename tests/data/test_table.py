"""Tests of hyperlocal.data.table."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from hyperlocal.data.table import columns_of

DATA = {"number": [1, None, 3], "flag": [True, None, False], "text": ["a", None, "b"]}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_kinds(make):
    """Tables of all libraries give the same columns, missing values included."""
    number, flag, text = columns_of(make(DATA))
    np.testing.assert_array_equal(number.as_numbers(), [1, np.nan, 3])
    assert flag.kind == "flag"
    np.testing.assert_array_equal(flag.as_numbers(), [1, np.nan, 0])
    assert [text.texts[code] for code in text.codes] == ["a", None, "b"]
