"""Tests of hyperlocal.datasets.text: packing, encodings and line ends."""

import bz2
import gzip
import io
import lzma
import zipfile
from pathlib import Path

import pytest
import zstandard

from hyperlocal.datasets import read_table
from hyperlocal.datasets.text import open_text, sample_lines, table_name

TEXT = "a,b\n1,é\n"


def zipped(data):
    with zipfile.ZipFile(file := io.BytesIO(), "w") as archive:
        archive.writestr("inner/table.csv", data)
    return file.getvalue()


@pytest.mark.parametrize(
    "pack",
    [bytes, gzip.compress, bz2.compress, lzma.compress, zipped, zstandard.compress],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1"])
def test_files_as_they_come(tmp_path, pack, encoding):
    """The text comes back whatever the packing (the name does not matter) and the encoding."""
    path = tmp_path / "table.csv"
    path.write_bytes(pack(TEXT.encode(encoding)))
    with open_text(path) as file:
        assert file.read() == TEXT


def test_utf16_without_a_mark(tmp_path):
    """UTF-16 is recognized by its zeros."""
    for encoding in ("utf-16-le", "utf-16-be"):
        (tmp_path / "a.csv").write_bytes("a,b\n1,2\n".encode(encoding))
        assert sample_lines(tmp_path / "a.csv") == ["a,b", "1,2", ""]


def test_one_byte_of_another_encoding(tmp_path):
    """A cp1252 character in UTF-8 text does not change the others."""
    (tmp_path / "a.csv").write_bytes("é,".encode() + b"\x80" + ",é\n".encode())
    with open_text(tmp_path / "a.csv") as file:
        assert file.read() == "é,€,é\n"


def test_stray_carriage_returns(tmp_path):
    """Within a line of a file with line feeds, a carriage return is a space; zeros vanish."""
    (tmp_path / "a.csv").write_bytes(b"a,b\r\nx\ry,1\r\nz\0,2\n")
    with open_text(tmp_path / "a.csv") as file:
        assert "".join(iter(lambda: file.read(3), "")) == "a,b\nx y,1\nz,2\n"
    with open_text(tmp_path / "a.csv") as file:
        assert list(file) == ["a,b\n", "x y,1\n", "z,2\n"]


def test_a_zip_file_of_several_tables(tmp_path):
    """It is refused, with the remedy."""
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.csv", TEXT)
        archive.writestr("b.csv", TEXT)
    with pytest.raises(ValueError, match=r"a\.zip: holds 2 files; pack the table alone"):
        read_table(tmp_path / "a.zip")


def test_names_lose_their_endings():
    """Only an ending of compression hides another one."""
    assert table_name(Path("folder/iris.csv")) == "iris"
    assert table_name(Path("iris.csv.zst")) == "iris"
    assert table_name(Path("v1.2.csv")) == "v1.2"


def test_without_zstandard(tmp_path, monkeypatch):
    """The error says what to install."""
    monkeypatch.setitem(__import__("sys").modules, "zstandard", None)
    (tmp_path / "a.csv.zst").write_bytes(zstandard.compress(TEXT.encode()))
    with pytest.raises(ImportError, match=r"hyperlocal\[cli\]"):
        read_table(tmp_path / "a.csv.zst")


def test_what_is_no_text(tmp_path):
    """Other bytes are refused, rather than read as names of columns."""
    (tmp_path / "a.csv").write_bytes(bytes(range(256)) * 20)
    with pytest.raises(ValueError, match=r"a\.csv: not a text; save it as \.csv"):
        read_table(tmp_path / "a.csv")
