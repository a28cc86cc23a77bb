"""Tests of hyperlocal.datasets.arrays: whole npz files, in any order of their numbers."""

import zipfile

import numpy as np
import pytest

from hyperlocal.datasets.arrays import NpzFile, read_npz, read_raw_npz
from hyperlocal.datasets.reading import Reading

X = np.arange(12.0).reshape(4, 3)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_stored_by_columns(tmp_path, save):
    """They are read whole, and refused in blocks with a remedy."""
    save(tmp_path / "a.npz", X=np.asfortranarray(X), y=np.arange(4))
    np.testing.assert_array_equal(read_npz(tmp_path / "a.npz").X_train, X)
    with pytest.raises(ValueError, match="X is stored column by column; save"):
        list(NpzFile(tmp_path / "a.npz", "train", Reading(2)).blocks())


def test_names_under_either_key(tmp_path):
    """Features are named by ``feature_names`` or ``names``."""
    for key in ("feature_names", "names"):
        np.savez(tmp_path / "a.npz", X=X, y=np.arange(4), **{key: ["p", "q", "r"]})
        assert read_raw_npz(tmp_path / "a.npz", "train").columns == ("p", "q", "r")


def test_damaged_member(tmp_path):
    """Numbers that cannot be unpacked are an error of the file."""
    np.savez(tmp_path / "a.npz", X=X, y=np.arange(4))
    data = bytearray((tmp_path / "a.npz").read_bytes())
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        start = archive.getinfo("X.npy").header_offset
    data[start + 200] ^= 0xFF
    (tmp_path / "a.npz").write_bytes(data)
    with pytest.raises(ValueError, match=r"a\.npz: X is not a readable array .*CRC"):
        read_npz(tmp_path / "a.npz")


def test_test_rows_without_labels(tmp_path):
    """Both halves of the test part are needed."""
    np.savez(tmp_path / "a.npz", X_train=X, y_train=np.arange(4), X_test=X, y_test=np.arange(3))
    with pytest.raises(ValueError, match="y_test of shape"):
        read_npz(tmp_path / "a.npz")
