"""Tests of hyperlocal.datasets.arrays: whole npz files, in any order of their numbers."""

import io
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.lib import format as npy

from hyperlocal.datasets.arrays import NpyFile, NpzFile, read_npz, read_raw_npz
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


def header_of(array, **changes):
    """The bytes of an npy file whose header is changed."""
    file = io.BytesIO()
    header = {**npy.header_data_from_array_1_0(array), **changes}
    npy.write_array_header_2_0(file, header)
    return file.getvalue() + array.tobytes()


HUGE = [(10**12, 3), (4, 10**12), (-4, 3), (2**40, 2**40)]


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("shape", HUGE, ids=str)
def test_a_header_that_promises_more_than_the_file_holds(shape, method, tmp_path):
    """It is refused before memory is reserved, in npz and in npy files."""
    (tmp_path / "a.npy").write_bytes(header_of(X, shape=shape))
    with pytest.raises(ValueError, match=r"cannot hold; the file is damaged"):
        NpyFile(tmp_path / "a.npy", None, Reading())
    with zipfile.ZipFile(tmp_path / "a.npz", "w", method) as archive:
        archive.writestr("X.npy", header_of(X, shape=shape))
        archive.writestr("y.npy", header_of(np.arange(4)))
    with pytest.raises(ValueError, match=r"X is said to have shape .* the file is damaged"):
        read_npz(tmp_path / "a.npz")


def csr_file(path, **changes):
    rows = sp.csr_array(X)
    parts = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr}
    np.savez(path, **{**parts, "shape": rows.shape, "y": np.arange(4), **changes})
    return path


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"indices": np.full(11, 3)}, "column indices must lie between 0 and 2"),
        ({"indices": np.full(11, -1)}, "column indices must lie between 0 and 2"),
        ({"indptr": np.array([0, 2, 1, 8, 11])}, "indptr decreases"),
        ({"indptr": np.array([0, 2, 5, 8, 10**12])}, "ends beyond the entries"),
        ({"indptr": np.array([0.0, 2, 5, 8, 11])}, "not those of CSR rows"),
        ({"indptr": np.array([0, 2])}, "indptr ends early"),
        ({"shape": (4, 10**12)}, "columns, but sparse rows may have at most"),
        ({"shape": (10**12, 3)}, "indptr ends early"),
        ({"shape": (4, -3)}, "rows of shape"),
        ({"shape": 4}, "rows of shape"),
        ({"data": np.array(["a"] * 11)}, "not those of CSR rows"),
    ],
    ids=str,
)
def test_malformed_sparse_rows_are_refused(changes, message, tmp_path):
    """Nothing is read or written outside of the arrays."""
    path = csr_file(tmp_path / "good.npz")
    np.testing.assert_array_equal(read_npz(path).X_train.toarray(), X)
    with pytest.raises(ValueError, match=message):
        read_npz(csr_file(tmp_path / "bad.npz", **changes))


def test_damaged_archives_are_refused(tmp_path):
    """A member that is missing, or whose entry is broken, is an error of the file."""
    path = csr_file(tmp_path / "a.npz")
    data = bytearray(path.read_bytes())
    place = data.rindex(b"indices.npy")
    data[place : place + 3] = b"xxx"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"a\.npz: "):
        read_npz(path)
