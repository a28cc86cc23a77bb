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


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_cells_that_no_encoder_takes(make):
    """The error names the column."""
    with pytest.raises(TypeError, match="column 'b' holds cells other than numbers, text"):
        columns_of(make({"a": [1, 2], "b": [[1], [2, 3]]}))


def test_numbers_too_large_to_multiply():
    """They are infinite, as numbers and as text."""
    number, text = columns_of(pd.DataFrame({"a": [1.0, -1e300], "b": ["2", "1e300"]}))
    np.testing.assert_array_equal(number.as_numbers(), [1, np.inf])
    np.testing.assert_array_equal(text.as_numbers(), [2, np.nan])


def test_dates_are_no_numbers():
    """Where a table declares one, and the other is wanted, that is an error; not if all are
    missing."""
    date, number, nothing = columns_of(
        pd.DataFrame({"a": pd.to_datetime(["2020-01-01"]), "b": [1.5], "c": [np.nan]})
    )
    with pytest.raises(TypeError, match="column 'a' holds dates, but held numbers"):
        date.as_numbers()
    with pytest.raises(TypeError, match="column 'b' holds numbers, but held dates"):
        number.as_times("iso")
    assert np.isnan(nothing.as_times("iso")).all()
