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
    assert "a: 1 infinite or huge value read as missing" in encoder.notes_


def test_numbers_with_a_unit():
    """A word that follows almost all numbers is no part of them, at fit and later."""
    table = pd.DataFrame({"way": [f"{i * i} km" for i in range(59)] + ["far"]})
    encoder = TableEncoder().fit(table)
    assert encoder.kinds_ == {"way": "number"}
    assert encoder.notes_[0] == "way: 1 cell is not a number ('far'): read as missing"
    new = pd.DataFrame({"way": ["7 km", "7KM", "7", "near"]})
    units = encoder.to_units(encoder.transform(new))
    np.testing.assert_allclose(units, [[7, 0], [7, 0], [7, 0], [29 * 29, 1]])
    mixed = pd.DataFrame({"way": [f"{i % 3} {'km' if i % 2 else 'm'}" for i in range(60)]})
    assert TableEncoder().fit(mixed).kinds_ == {"way": "category"}


def test_truth_values_may_come_as_text():
    """Flags at fit, and words later, as a file with one odd cell has them."""
    encoder = TableEncoder().fit(pd.DataFrame({"open": [True, False, True, False]}))
    found = encoder.transform(pd.DataFrame({"open": ["TRUE", "false", "True", "maybe"]}))
    np.testing.assert_array_equal(found[:, 0], [1, 0, 1, 0])
    assert TableEncoder().fit(pd.DataFrame({"a": ["TRUE", "FALSE"]})).kinds_ == {"a": "flag"}


def test_a_column_of_huge_numbers():
    """It is dropped, and the notes say that it had values."""
    encoder = TableEncoder().fit(pd.DataFrame({"a": [1e300, 2e300], "b": [1.0, 2.0]}))
    assert encoder.notes_ == [
        "a: 2 infinite or huge values read as missing", "a: dropped: no values",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "table", "message"),
    [
        ({}, pd.DataFrame(index=range(3)), "X has 3 rows and 0 columns"),
        ({"drop": "fur"}, CATS, "drop must be a sequence of names of columns, not 'fur'"),
        ({"categorical": 1}, CATS, "categorical must be a sequence of names of columns"),
        ({"drop": ["fur", "weight"]}, CATS, "no column is left to encode"),
        ({"n_text_features": 10**9}, CATS, "n_text_features must be at most 1,048,576"),
    ],
)
def test_errors_name_what_is_wrong(given, table, message):
    """Before anything is encoded."""
    with pytest.raises((ValueError, TypeError), match=message):
        TableEncoder(**given).fit(table)
