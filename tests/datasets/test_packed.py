"""Tests of hyperlocal.datasets.packed: files that are packed, and damaged."""

import bz2
import gzip
import io
import lzma
import zipfile

import numpy as np
import pytest
import zstandard

from hyperlocal.datasets import read_table
from hyperlocal.datasets.packed import open_bytes

ROWS = np.random.default_rng(0).normal(size=(20_000, 2)).round(4)
TEXT = ("a,b\n" + "".join(f"{a},{int(b > 0)}\n" for a, b in ROWS)).encode()


def zipped(data):
    """A zip file of one table."""
    with zipfile.ZipFile(file := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("table.csv", data)
    return file.getvalue()


def zstandard_of_unknown_size(data):
    """As a pipe writes it: its first bytes do not say how long it is."""
    return zstandard.ZstdCompressor(write_content_size=False).compress(data)


PACKERS = [
    gzip.compress, bz2.compress, lzma.compress, zipped, zstandard.compress,
    zstandard_of_unknown_size,
]  # fmt: skip


@pytest.mark.parametrize("pack", PACKERS)
def test_whole_files(pack, tmp_path):
    """All bytes come back, however many are read at a time."""
    (tmp_path / "a").write_bytes(pack(TEXT))
    with open_bytes(tmp_path / "a") as file:
        assert b"".join(iter(lambda: file.read(77_777), b"")) == TEXT


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, zstandard.compress])
def test_files_that_follow_one_another(pack, tmp_path):
    """As ``cat a.gz b.gz`` makes them; an empty one too."""
    (tmp_path / "a").write_bytes(pack(b"one ") + pack(b"two") + pack(b""))
    with open_bytes(tmp_path / "a") as file:
        assert file.read() == b"one two"


@pytest.mark.parametrize("part", [0.1, 0.5, 0.99])
@pytest.mark.parametrize("pack", PACKERS)
def test_a_file_that_ends_early(pack, part, tmp_path):
    """It is an error that names the file; the rows before the end are not taken for all."""
    packed = pack(TEXT)
    (tmp_path / "a.csv").write_bytes(packed[: int(part * len(packed))])
    with pytest.raises(ValueError, match=r"a\.csv: cannot be unpacked .*copy or pack it again"):
        read_table(tmp_path / "a.csv")


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, zipped])
def test_changed_bytes(pack, tmp_path):
    """Sums of checks do not agree, or the data make no sense."""
    packed = bytearray(pack(TEXT))
    packed[len(packed) // 2] ^= 255
    (tmp_path / "a.csv").write_bytes(packed)
    with pytest.raises(ValueError, match=r"a\.csv: cannot be unpacked"):
        read_table(tmp_path / "a.csv")


def test_a_zip_file_with_a_password(tmp_path):
    """It is refused with the reason."""
    packed = bytearray(zipped(TEXT))
    packed[6] |= 1
    packed[packed.index(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "a.zip").write_bytes(packed)
    with pytest.raises(ValueError, match=r"a\.zip: cannot be unpacked .*password"):
        read_table(tmp_path / "a.zip")


def test_an_excel_file_under_another_name(tmp_path):
    """Which is a zip file, too."""
    with zipfile.ZipFile(tmp_path / "a.csv", "w") as archive:
        archive.writestr("[Content_Types].xml", "<x/>")
        archive.writestr("xl/workbook.xml", "<x/>")
    with pytest.raises(ValueError, match=r"a\.csv: an Excel file; save it as \.csv"):
        read_table(tmp_path / "a.csv")
