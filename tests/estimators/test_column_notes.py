"""Tests of hyperlocal.estimators.column_notes: what is said of rows to predict."""

import pandas as pd

from hyperlocal.data.table import columns_of
from hyperlocal.estimators.column_notes import notes_on
from hyperlocal.preprocessing import TableEncoder

ROWS = 40
TRAINED = pd.DataFrame(
    {
        "x": [i / 8 for i in range(ROWS)],
        "way": [f"{3 * i} km" for i in range(ROWS)],
        "day": pd.date_range("2020-01-01", periods=ROWS).astype(str),
        "fur": ["long", "bald"] * (ROWS // 2),
        "town": ["A"] * 38 + ["B", "C"],
        "note": [f"text {i}" for i in range(ROWS)],
    }
)


def notes(**columns):
    """Notes on two rows, with these cells instead of those of training."""
    encoder = TableEncoder(min_frequency=2).fit(TRAINED)
    encoders = dict(zip(encoder.kinds_, encoder.encoders_, strict=True))
    return notes_on(encoders, columns_of(TRAINED.iloc[:2].assign(**columns)))


def test_rows_such_as_those_of_training():
    """Nothing is said of them, nor of a column that is left out."""
    assert notes() == notes(note=[None, "other"]) == []


def test_cells_that_are_filled_in():
    """Numbers, with or without unit, and dates."""
    assert notes(x=["7", "?"]) == ["x: 1 missing value filled in by 2.4375"]
    assert notes(way=["7 km", "soon"]) == [
        "way: 1 cell is not a number ('soon'): read as missing",
        "way: 1 missing value filled in by 58.5",
    ]
    assert notes(day=["2020-02-03", "later"]) == [
        "day: 1 cell is not a date ('later'): read as missing",
        "day: 1 missing date",
    ]


def test_values_that_training_had_not():
    """They are named; where rare values were pooled, an unknown one counts as one of them."""
    assert notes(fur=["curly", None]) == [
        "fur: 1 row has a value that training had not ('curly')",
        "fur: 1 missing",
    ]
    assert notes(fur=["a", "b"]) == ["fur: 2 rows have a value that training had not ('a', 'b')"]
    assert notes(town=["D", "A"]) == []
