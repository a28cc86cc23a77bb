"""npy and npz files whose headers lie, and sparse matrices of other formats: one line of error."""

import struct
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp

from hyperlocal.cli import main
from hyperlocal.datasets import read_table, stream

NUMBERS = np.arange(20.0).tobytes()


def header(shape="(10, 2)", dtype="<f8", order="False"):
    """The text in an npy header."""
    return f"{{'descr': {dtype!r}, 'fortran_order': {order}, 'shape': {shape}, }}"


def npy(text, data=NUMBERS, *, version=1, length=None, magic=b"\x93NUMPY"):
    """An npy file with a header of that text, said to be so long."""
    text = text.encode("latin1") + b"\n"
    length = len(text) if length is None else length
    size = struct.pack("<H" if version == 1 else "<I", length)
    return magic + bytes([version, 0]) + size + text + data


LYING = {
    "negative": npy(header("(-10, 2)")),
    "huge": npy(header("(1000000000000000000, 2)")),
    "product overflows": npy(header("(4611686018427387904, 4)")),
    "no rows": npy(header("(0, 2)")),
    "no columns": npy(header("(10, 0)")),
    "scalar": npy(header("()")),
    "three": npy(header("(5, 2, 2)")),
    "fraction": npy(header("(10.0, 2)")),
    "text": npy(header("('a', 2)")),
    "deep": npy(header("(" * 20_000 + ")" * 20_000)),
    "code": npy("__import__('os').abort()"),
    "no dict": npy("[1, 2]"),
    "missing": npy("{'descr': '<f8', 'shape': (10, 2)}"),
    "objects": npy(header(dtype="|O"), b"cos\nabort\n(tR."),
    "raw": npy(header(dtype="|V8")),
    "wide text": npy(header("(10, 2)", "<U1000000000")),
    "complex": npy(header("(10, 1)", "<c16")),
    "dates": npy(header(dtype="<M8[ns]")),
    "unknown": npy(header(dtype="????")),
    "hidden shape": npy(header("(1, 1)", "(1000000000, 1000000000)f8")),
    "order": npy(header(order="'yes'")),
    "cut": npy(header(), NUMBERS[:50]),
    "long header": npy(header(), length=60_000),
    "no header": npy(header(), length=0),
    "longest header": npy(header(), version=2, length=2**32 - 1),
    "magic": npy(header(), magic=b"\x93NUMPX"),
    "zeros": npy("\0" * 50),
    "many digits": npy(header("(" + "9" * 5000 + ", 2)")),
    "empty": b"",
    "pickle": b"\x80\x04cos\nabort\n(tR.",
}
LABELS = npy(header("(10,)", "<i8"), (np.arange(10) % 2).tobytes())
ROWS = npy(header())


def errors_of(path):
    """What reading a file whole, in blocks and by the command says."""
    readers = [] if path.suffix == ".npy" else [lambda: read_table(path)]
    for read in (*readers, lambda: list(stream(path, block_rows=3))):
        with pytest.raises((ValueError, OSError)) as caught:
            read()
        yield str(caught.value)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("member", ["X", "y", "npy"])
@pytest.mark.parametrize("name", LYING)
def test_lying_headers_are_errors_of_one_line(name, member, tmp_path, capsys):
    """They name the file, run nothing and reserve no memory for what is not there."""
    path = tmp_path / ("rows.npy" if member == "npy" else "rows.npz")
    if member == "npy":
        path.write_bytes(LYING[name])
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("X.npy", LYING[name] if member == "X" else ROWS)
            archive.writestr("y.npy", LYING[name] if member == "y" else LABELS)
    for error in errors_of(path):
        assert str(path) in error
        assert len(error.splitlines()) == 1
    assert main(["fit", str(path), "-o", str(tmp_path / "m.skops")]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 1


def parts(**changed):
    """The arrays of a small CSR matrix with labels."""
    arrays = {"data": np.arange(4.0), "indices": np.array([0, 1, 0, 1]), "indptr": np.arange(5),
              "shape": np.array([4, 2]), "y": np.array([0, 1, 0, 1])}  # fmt: skip
    return arrays | changed


@pytest.mark.parametrize(
    "changed",
    [
        {"shape": np.array([-4, 2])}, {"shape": np.array([4, 2**40])},
        {"shape": np.array([2**40, 2])}, {"shape": np.array([4])},
        {"shape": np.array([4, 2, 1])}, {"shape": np.array([4.5, 2])},
        {"shape": np.array(["4", "2"])}, {"shape": np.array([np.nan, 2])},
        {"indices": np.array([0, -1, 0, 1])}, {"indices": np.array([0, 7, 0, 1])},
        {"indices": np.array([0, 2**63, 0, 1], np.uint64)}, {"indices": np.ones(4)},
        {"indptr": np.array([0, 3, 2, 3, 4])}, {"indptr": np.array([0, 1, 2, 3, 400])},
        {"indptr": np.array([-1, 1, 2, 3, 4])}, {"indptr": np.array([0, 1, 2, 3, 2**62])},
        {"data": np.zeros((2, 2))}, {"data": np.array(list("abcd"))}, {"data": np.arange(2.0)},
        {"y": np.array([0, 1])}, {"y": np.zeros((4, 2))}, {"format": np.array(b"csc")},
        {"format": np.array(3)},
    ],
    ids=str,
)  # fmt: skip
def test_arrays_that_are_no_csr_rows_are_errors_of_one_line(changed, tmp_path):
    """Sizes and indices out of range, other kinds of numbers, and other formats."""
    path = tmp_path / "rows.npz"
    np.savez(path, **parts(**changed))
    for error in errors_of(path):
        assert str(path) in error
        assert len(error.splitlines()) == 1


def test_square_matrices_stored_by_columns_are_not_read_as_rows(tmp_path):
    """As scipy writes them; the arrays alone would be those of the transposed matrix."""
    path = tmp_path / "rows.npz"
    sp.save_npz(path, sp.csc_array(np.tri(5)))
    with pytest.raises(ValueError, match=r"format b'csc'; save X.tocsr\(\)"):
        list(stream(path))
