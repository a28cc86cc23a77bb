"""Tests of hyperlocal.preprocessing.TableEncoder."""

import numpy as np
import pandas as pd
import pytest

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


def test_dates_may_come_as_text():
    """Declared dates at fit, and text in ISO form later, as a file has it."""
    days = pd.DataFrame({"day": pd.date_range("2020-01-01", periods=30, freq="9D")})
    encoder = TableEncoder().fit(days)
    np.testing.assert_allclose(encoder.transform(days.astype(str)), encoder.transform(days))


@pytest.mark.parametrize("value", [np.inf, 1.7e308, -1e300])
def test_what_is_encoded_is_finite(value):
    """Numbers that are infinite, or whose products would be, count as missing."""
    table = pd.DataFrame({"a": [value, *np.arange(9.0)]})
    encoder = TableEncoder().fit(table)
    assert np.isfinite(encoder.transform(table)).all()
    assert "a: 1 infinite values read as missing" in encoder.notes_


@pytest.mark.parametrize(
    ("given", "table", "message"),
    [
        ({}, pd.DataFrame(index=range(3)), "X has 3 rows and 0 columns"),
        ({"drop": "fur"}, CATS, "drop must be a sequence of names of columns, not 'fur'"),
        ({"categorical": 1}, CATS, "categorical must be a sequence of names of columns"),
        ({"n_text_features": 10**9}, CATS, "n_text_features must be at most 1,048,576"),
    ],
)
def test_errors_name_what_is_wrong(given, table, message):
    """Before anything is encoded."""
    with pytest.raises((ValueError, TypeError), match=message):
        TableEncoder(**given).fit(table)
