"""Tests of hyperlocal.datasets.delimited: layouts of tables, types of columns, and line numbers."""

import re

import numpy as np
import pytest

from hyperlocal.datasets import read_table, stream
from hyperlocal.datasets.delimited import (
    find_layout,
    import_pandas,
    read_delimited,
    read_delimited_blocks,
)


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
        ("old-mac.csv", "a,b,label\r1,2.5,0\r3,4.5,1\r"),
        ("quoted.csv", '"a","b","label"\n"1","2.5","0"\n"3","4.5","1"\n'),
        ("after-comma.csv", "a, b, label\n1, 2.5, 0\n3, 4.5, 1\n"),
        ("decimal-comma.csv", "a;b;label\n1;2,5;0\n3;4,5;1\n"),
        ("declared.csv", "sep=;\na;b;label\n1;2.5;0\n3;4.5;1\n"),
        ("title.csv", "Cats of 2020\n\na,b,label\n1,2.5,0\n3,4.5,1\n"),
        ("comments.csv", "# made by a tool, 2020\n# twice\na,b,label\n1,2.5,0\n3,4.5,1\n"),
        ("comments.data", "# a b label of cats\n1 2.5 0\n3 4.5 1\n"),
        ("hash-in-header.csv", "#a,b,label\n1,2.5,0\n3,4.5,1\n"),
        ("blank-lines.csv", "\n\na,b,label\n1,2.5,0\n\n3,4.5,1\n\n"),
    ],
)
def test_delimited_text(name, text, tmp_path):
    """Delimiter, header and decimal comma are recognized, and the last column is the label."""
    (tmp_path / name).write_bytes(text.encode())
    data = read_table(tmp_path / name)
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


def test_types_of_columns(write):
    """Numbers are numbers, with NaN where one is missing; text and codes such as 007 stay text."""
    frame, _ = read_delimited(write("a.csv", "n,text,code,y\n1,a,007,0\n?,b,012,1\n3,,100,0\n"))
    assert frame["n"].tolist()[::2] == [1, 3]
    assert frame.isna().sum().tolist() == [1, 1, 0, 0]
    assert frame["code"].tolist() == ["007", "012", "100"]


def test_the_index_is_the_line(write):
    """Empty lines are counted, but are no rows; a line of empty cells is a row."""
    text = 'a,b\n1,x\n\n2,"two\n\nlines"\n3,y\n,\n \n4,z\n\n'
    frame, _ = read_delimited(write("a.csv", text))
    assert frame.index.tolist() == [2, 4, 7, 8, 10]
    assert frame.index.name == "line"
    path = write("a.csv", text)
    layout = find_layout(path, None)
    blocks = list(read_delimited_blocks(path, 2, layout))
    assert [line for block in blocks for line in block.index] == [2, 4, 7, 8, 10]


def test_all_text_without_a_header(write):
    """A first row whose values occur again further down is data, not a header."""
    data = read_table(write("a.csv", "x,o,won\nx,x,lost\no,o,won\n"))
    assert data.X_train.shape == (3, 2)
    assert data.y_train.tolist() == ["won", "lost", "won"]


def test_numbered_header(write):
    """The header that counts the columns from 0 is not taken for data."""
    data = read_table(write("a.csv", "0,1,2,3,label\n5,6,7,8,0\n9,9,9,9,1\n"))
    assert data.X_train.shape == (2, 4)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a,b\nr1,1,0\nr2,2,1\n", ["Unnamed: 0", "a", "b"]),
        ("a,b\n1,0,\n2,1,\n", ["a", "b", "Unnamed: 2"]),
        (",a,b\n0,1,0\n1,2,1\n", ["Unnamed: 0", "a", "b"]),
        ("a,a,b\n0,1,0\n1,2,1\n", ["a", "a.1", "b"]),
        ("a,a,a.1,b\n0,1,2,0\n1,2,3,1\n", ["a", "a.2", "a.1", "b"]),
    ],
    ids=["row names of R", "comma at the end", "row numbers", "twice the same name", "name taken"],
)
def test_names_of_columns(text, names, write):
    """Cells without a name get one, and all names differ."""
    frame, layout = read_delimited(write("a.csv", text))
    assert frame.columns.tolist() == names
    assert layout.has_header
    assert frame["b"].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("a,y\nr1,1,0\nr2,2,1\n", "rows have 3 cells and the header 2.*column 'Unnamed: 0'"),
        ("a,a,y\n0,1,0\n1,2,1\n", "several columns are named 'a': a later one is 'a.1'"),
        ("a,y\n1,0,\n2,1,\n", None),
        ("a,y\n1,0\n2,1\n", None),
    ],
    ids=["a cell more", "twice the same name", "comma at the end", "nothing to say"],
)
def test_how_a_header_was_read_is_noted(text, note, write):
    """A header that is a cell short, or names two columns alike, is stated, also of a stream."""
    path = write("a.csv", text)
    given, streamed = read_table(path, target="y").notes, stream(path, "y").notes
    assert given == streamed
    assert len(given) == (note is not None)
    assert note is None or re.match(note, given[0])


def test_labels_that_are_not_whole_numbers(write):
    """Labels with decimals stay what they are; 1.0 is the integer 1."""
    assert read_table(write("a.csv", "1,0.5\n2,1.0\n")).y_train.tolist() == [0.5, 1.0]
    whole = read_table(write("b.csv", "1,1.0\n2,2.0\n")).y_train
    assert whole.dtype == np.int64


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a,b,c\n1,2,0\n1,2,3,1\n",
            "line 3: 4 cells where the others have 3; quote cells that hold ','",
        ),
        ('a,b\n1,0\n"2,1\n3,0\n', "a quote that is never closed"),
    ],
)
def test_faults_are_reported_by_line(text, message, write):
    """What cannot be parsed is refused with its line."""
    with pytest.raises(ValueError, match=rf"a\.csv.*{message}"):
        read_table(write("a.csv", text))


def test_lines_longer_than_the_sample(write):
    """A header of more than the bytes of a sample is read to its end, with the rows below it."""
    names = [f"column number {j}" for j in range(20_000)]
    rows = [["0.5"] * 19_999 + [label] for label in "ab"]
    text = "".join(",".join(line) + "\n" for line in (names, *rows))
    layout = find_layout(write("wide.csv", text), None)
    assert layout.has_header
    assert layout.names == tuple(names)


def test_short_rows_have_missing_cells(write):
    """Cells that a row lacks at its end are missing."""
    assert read_table(write("a.csv", "y,a,b\n0,1,2\n1,3\n"), target="y").X_train.isna().sum().sum()


def test_without_pandas(write, monkeypatch):
    """The error says what to install, and what reads plain numbers."""
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(ImportError, match=r"hyperlocal\[cli\].*numpy.loadtxt"):
        import_pandas(write("a.csv", ""))


def test_a_first_row_longer_than_the_header_is_named(tmp_path):
    """It is no row of names: a million of them took for ever."""
    path = tmp_path / "rows.csv"
    path.write_text("a,b,label\n" + "1," * 100_000 + "\n1,2,x\n")
    with pytest.raises(ValueError, match=r"rows.csv, line 2: 100001 cells where the header has 3"):
        read_delimited(path)
