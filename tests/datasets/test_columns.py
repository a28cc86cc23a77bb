"""Tests of hyperlocal.datasets.columns: types, places and joined blocks."""

from pathlib import Path

import numpy as np
import pytest

from hyperlocal.datasets.columns import MAX_CATEGORIES, Table, joined

PATH = Path("cats.csv")


def table(lines=(2, 3), first_row=0):
    values = [np.array([1.5, np.nan]), np.array(["long", "short"]), np.array([0.0, 1.0])]
    where = None if lines is None else np.array(lines)
    return Table(PATH, ("weight", "fur", "tame"), values, where, first_row=first_row)


def test_rows_keep_missing_values():
    """Columns side by side are not checked: numbers are numbers, NaN where they are missing."""
    rows = table().rows([0, 1])
    assert rows[0].tolist() == [1.5, "long"]
    assert np.isnan(rows[1, 0])


def test_raw_rows_are_checked():
    """Raw rows for a pipeline are refused if a number is missing, with its place."""
    with pytest.raises(ValueError, match="the first is line 3, column 'weight'"):
        table().raw([0, 1], 2, np.array([0, 1]))
    raw = table().raw([1], 2, np.array([0, 1]))
    assert (raw.name, raw.columns, raw.target, raw.text_columns) == ("cats", ("fur",), "tame", (0,))


@pytest.mark.parametrize(
    ("lines", "place"),
    [((2, 3), "line 3"), ((2, 0), "row 8, counted from 0"), (None, "row 8, counted from 0")],
)
def test_place_of_a_row(lines, place):
    """A row is named by its line; by its number in the file if the line is not known."""
    assert table(lines, first_row=7).place(1) == place


def test_joined_blocks():
    """Rows follow each other; lines that are not known are zero."""
    whole = joined([table(None), table((5, 6))])
    assert whole.n_rows == 4
    assert whole.lines.tolist() == [0, 0, 5, 6]
    assert whole.values[1].tolist() == ["long", "short"] * 2
    assert joined([table(None), table(None)]).lines is None


def test_columns_by_name():
    """Columns come in the order asked for; a table without names is taken as it is."""
    assert table().find(["tame", "weight"], [0, 1, 2]) == [2, 0]
    nameless = Table(PATH, ("column 0", "column 1"), table().values[:2], has_names=False)
    assert nameless.find(["a", "b"], [0, 1]) == [0, 1]


def test_limit_of_categories():
    """A text column may have as many values as the limit, and no more."""
    values = np.array([f"v{i}" for i in range(MAX_CATEGORIES + 1)])
    within = Table(PATH, ("a", "b"), [values[:-1], values[:-1]])
    assert len(within.categories(0)) == MAX_CATEGORIES
    with pytest.raises(ValueError, match=f"{MAX_CATEGORIES + 1} different values, too many"):
        Table(PATH, ("a", "b"), [values, values]).categories(0)
