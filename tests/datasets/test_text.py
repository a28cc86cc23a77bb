"""Tests of hyperlocal.datasets.text."""

import bz2
import gzip
from pathlib import Path

import numpy as np
import pytest

from hyperlocal.datasets.text import is_missing, open_text, records, table_name, to_float, to_floats

SOMEWHERE = Path("table.csv")


@pytest.mark.parametrize(
    ("ending", "pack"), [("csv", bytes), ("csv.gz", gzip.compress), ("csv.bz2", bz2.compress)]
)
def test_files_open_compressed_or_not(tmp_path, ending, pack):
    """The text comes back without a byte-order mark, whatever the packing."""
    path = tmp_path / f"table.{ending}"
    path.write_bytes(pack("\ufeffa,b\n1,é\n".encode()))
    with open_text(path) as file:
        assert file.read() == "a,b\n1,é\n"


def test_names_lose_their_endings():
    """Only an ending of compression hides another one."""
    assert table_name(Path("folder/iris.csv")) == "iris"
    assert table_name(Path("iris.csv.gz")) == "iris"
    assert table_name(Path("v1.2.csv")) == "v1.2"


def test_records_count_lines_and_skip_blank_ones():
    """Each record knows its line; quotes protect delimiters; outer tabs are empty cells."""
    lines = ["a, b\n", "\n", '"1,5",2\n']
    assert list(records(SOMEWHERE, lines, ",")) == [(1, ["a", "b"]), (3, ["1,5", "2"])]
    assert list(records(SOMEWHERE, ["\t1\t\r\n"], "\t")) == [(1, ["", "1", ""])]
    assert list(records(SOMEWHERE, ["  1 2  \n"], " ")) == [(1, ["1", "2"])]


def test_broken_records_name_file_and_line():
    """What the csv module refuses is an error of the file."""
    with pytest.raises(ValueError, match=r"table\.csv, line 2"):
        list(records(SOMEWHERE, ["a\n", "b" * 200_000], ","))


def test_cells_become_numbers():
    """Missing cells are NaN; one cell of text makes the column text."""
    np.testing.assert_array_equal(to_floats(["1", " 2.5 ", "?", "NA"]), [1, 2.5, np.nan, np.nan])
    assert to_floats(["1", "red"]) is None
    assert to_float("1e3") == 1000
    assert to_float("red") is None


@pytest.mark.parametrize("cell", ["", " ", "?", "N/A", "null", "None", "NaN"])
def test_missing_cells(cell):
    """All usual signs of a missing value are known."""
    assert is_missing(cell)
    assert not is_missing("0")
