"""Tests of hyperlocal.datasets.delimited: layouts of tables, text columns, and faults by line."""

import numpy as np
import pytest

from hyperlocal.datasets import read_table
from hyperlocal.datasets.delimited import read_delimited


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("comma.csv", "a,b,label\n1,2.5,0\n3,4.5,1\n"),
        ("no-header.csv", "1,2.5,0\n3,4.5,1\n"),
        ("semicolon.csv", "a;b;label\n1;2.5;0\n3;4.5;1\n"),
        ("tab.tsv", "a\tb\tlabel\n1\t2.5\t0\n3\t4.5\t1\n"),
        ("bar.txt", "1|2.5|0\n3|4.5|1\n"),
        ("spaces.data", "  1   2.5  0 \n  3   4.5  1 \n"),
        ("windows.csv", "\ufeffa,b,label\r\n1,2.5,0\r\n\r\n3,4.5,1\r\n"),
        ("quoted.csv", '"a","b","label"\n"1","2.5","0"\n"3","4.5","1"\n'),
        ("after-comma.csv", "a, b, label\n1, 2.5, 0\n3, 4.5, 1\n"),
    ],
)
@pytest.mark.parametrize("fast", [True, False])
def test_delimited_text(name, text, fast, write):
    """Delimiter and header are recognized, and the last column is the label, fast or not."""
    data = read_delimited(write(name, text), fast=fast).encoded(None)
    np.testing.assert_array_equal(data.X_train, [[1, 2.5], [3, 4.5]])
    np.testing.assert_array_equal(data.y_train, [0, 1])
    assert data.y_train.dtype == np.int64
    assert not data.has_test_part


@pytest.mark.parametrize("target", ["kind", 0, "0", -3])
def test_target_by_name_or_number(target, write):
    """The label column may be given by name, by number, or from the end."""
    path = write("a.csv", "kind,a,b\nx,1,2\ny,3,4\n")
    data = read_table(path, target=target)
    assert data.y_train.tolist() == ["x", "y"]
    assert data.feature_names == ("a", "b")


@pytest.mark.parametrize("target", ["species", 3, -4])
def test_unknown_target_lists_the_columns(target, write):
    """A label column that does not exist is answered with those that do."""
    path = write("a.csv", "kind,a,b\nx,1,2\ny,3,4\n")
    with pytest.raises(ValueError, match=r"a\.csv: no column .*columns are kind, a, b .*0 to 2"):
        read_table(path, target=target)


def test_text_columns_are_one_hot(write):
    """A text column becomes one column per value, a missing value being one of them."""
    path = write("a.csv", "size,color,label\n1,red,0\n2,?,1\n3,blue,0\n")
    data = read_table(path)
    assert data.feature_names == ("size", "color=?", "color=blue", "color=red")
    np.testing.assert_array_equal(data.X_train, [[1, 0, 0, 1], [2, 1, 0, 0], [3, 0, 1, 0]])


def test_text_after_the_first_chunk(write):
    """A column whose first text comes late in the file is text from the beginning."""
    path = write("a.csv", "1,0\n2,1\n1,0\n2,1\nmany,0\n")
    data = read_delimited(path, chunk_rows=2).encoded(None)
    np.testing.assert_array_equal(data.X_train, np.eye(3)[[0, 1, 0, 1, 2]])


def test_missing_number_after_the_first_chunk(write):
    """Its line is known although the rows before were read without line numbers."""
    path = write("a.csv", "a,b\n1,0\n2,1\n1,0\n,1\n")
    with pytest.raises(ValueError, match=r"the first is line 5, column 'a'"):
        read_delimited(path, chunk_rows=2).encoded(None)


def test_decimal_commas_can_be_read(write):
    """With a decimal comma, numbers are numbers and other text stays text."""
    table = read_delimited(write("a.csv", "a;b;c\n1,5;x,y;0\n2;z;1\n"), decimal=",")
    assert [values.tolist() for values in table.values] == [[1.5, 2], ["x,y", "z"], [0, 1]]


def test_all_text_without_a_header(write):
    """A first row whose values occur again further down is data, not a header."""
    data = read_table(write("a.csv", "x,o,won\nx,x,lost\no,o,won\n"))
    assert data.X_train.shape == (3, 4)
    assert data.y_train.tolist() == ["won", "lost", "won"]


def test_numbered_header(write):
    """The header that counts the columns from 0 is not taken for data."""
    data = read_table(write("a.csv", "0,1,2,3,label\n5,6,7,8,0\n9,9,9,9,1\n"))
    assert data.X_train.shape == (2, 4)


@pytest.mark.parametrize("label", ["0", "no"])
def test_row_numbers_are_left_out(label, write):
    """A nameless first column of row numbers is not a feature; one with repeats is."""
    text = ",a,label\n{},1.5,1\n3,2.5,{}\n"
    data = read_table(write("a.csv", text.format(7, label)))
    assert data.feature_names == ("a",)
    data = read_table(write("b.csv", text.format(3, label)))
    assert data.feature_names == ("", "a")


def test_labels_that_are_not_whole_numbers(write):
    """Labels with decimals stay what they are; 1.0 is the integer 1."""
    assert read_table(write("a.csv", "1,0.5\n2,1.0\n")).y_train.tolist() == [0.5, 1.0]
    whole = read_table(write("b.csv", "1,1.0\n2,2.0\n")).y_train
    assert whole.dtype == np.int64


@pytest.mark.parametrize("cell", ["", "NA", "nan", "?", "inf"])
def test_missing_numbers_are_reported(cell, write):
    """A missing or infinite number is refused with line, column and remedy."""
    path = write("a.csv", f"a,b,label\n1,2,0\n\n3,{cell},1\n4,{cell},1\n")
    with pytest.raises(ValueError, match=r"a\.csv: 2 rows .*line 4, column 'b'\); drop .*Imputer"):
        read_table(path)


def test_missing_label_is_reported(write):
    """A row without a label is refused with its line."""
    path = write("a.csv", "a,b\n1,0\n2,\n3,1\n")
    with pytest.raises(ValueError, match=r"a\.csv, line 3: no label in column 'b' \(1 rows"):
        read_table(path)


def test_ragged_rows_are_reported(write):
    """A row of another length is refused with its line."""
    path = write("a.csv", "a,b,c\n1,2,0\n1,2,3,1\n")
    with pytest.raises(ValueError, match=r"a\.csv, line 3: 4 cells where the first line has 3"):
        read_table(path)


def test_too_many_text_values_are_reported(write):
    """A text column with too many values is refused, with the first cell that is not a number."""
    lines = [f"{i},{i % 2}" for i in range(300)]
    lines[7] = "seven,1"
    path = write("a.csv", "id,label\n" + "\n".join(lines))
    with pytest.raises(ValueError, match=r"line 9, column 'id': 'seven' is not a number.* 300 dif"):
        read_table(path)


def test_decimal_comma_is_reported(write):
    """Decimal commas are named as such instead of being taken for text."""
    path = write("a.csv", "a;b\n1,5;0\n2,5;1\n")
    with pytest.raises(ValueError, match=r"line 2, column 'a': '1,5' has a decimal comma"):
        read_table(path)
