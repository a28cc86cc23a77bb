"""Tests of hyperlocal.data.cells."""

import numpy as np
import pytest

from hyperlocal.data.cells import date_style, has_decimal_commas, number_of, seconds_of, text_of


@pytest.mark.parametrize("cell", ["", " ? ", "NA", None, float("nan"), "null"])
def test_missing_cells(cell):
    """All usual signs of a missing value are known."""
    assert text_of(cell) is None


def test_numbers():
    """Thousands and decimal commas are read; codes with leading zeros are text."""
    assert number_of("1,204.5") == 1204.5
    assert has_decimal_commas(["1,5", "2"])
    assert number_of("1,5", decimal_comma=True) == 1.5
    assert np.isnan(number_of("0012"))


def test_dates():
    """A style is chosen in which all texts are dates."""
    assert date_style(["2020-01-31", None]) == "iso"
    assert date_style(["31.01.2020"]) == "%d.%m.%Y"
    assert date_style(["31.01.2020", "soon"]) is None
    assert date_style(["20200131"]) is None
    assert date_style(["01/02/2020"] * 20 + ["31/01/2020"] * 9 + ["soon"]) == "%d/%m/%Y"
    assert date_style(["09:30", "17:05"]) == "%H:%M"
    assert seconds_of("1970-01-02", "iso") == 86_400


def test_money_and_per_cent():
    """Signs around a number are left out; they alone are no number."""
    texts = ["$1,200", "-$3.5", "€ 7", "12 %", "1.204,5 €", "$$", "3 kg"]
    found = [number_of(text, decimal_comma="," in text[2:] and "€" in text) for text in texts]
    assert found[:5] == [1200.0, -3.5, 7.0, 12.0, 1204.5]
    assert np.isnan(found[5:]).all()


def test_spellings_of_thousands_and_minus():
    """Blanks and apostrophes between thousands, and parentheses around what is owed."""
    texts = ["1 204", "12\u202f204", "1'204'000", "(1,204)", "($3.50)", "1 20", "(a)", "()"]
    found = [number_of(text) for text in texts]
    assert found[:5] == [1204.0, 12204.0, 1204000.0, -1204.0, -3.5]
    assert np.isnan(found[5:]).all()
    assert has_decimal_commas(["1,5 €", "2,25 €"])
