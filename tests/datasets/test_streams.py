"""Tests of hyperlocal.datasets.streams: the blocks of a file are the rows that read_table reads."""

import gzip
import shutil

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from hyperlocal import LocallyLinearSVC
from hyperlocal.datasets import read_table, stream
from hyperlocal.preprocessing import TableEncoder

N_ROWS = 110
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N_ROWS, 3)).round(3)
Y = RNG.integers(3, size=N_ROWS)
SPARSE = sparse.csr_array(RNG.random((N_ROWS, 20)) * RNG.binomial(1, 0.1, (N_ROWS, 20)))


def numbers_csv(folder):
    np.savetxt(folder / "a.csv", np.c_[X, Y], delimiter=",", fmt="%g")
    return folder / "a.csv"


def mixed_csv(folder):
    """Row numbers without a name, text, a missing category, blank lines, a text label at last."""
    lines = [",size,fur,label"]
    for i, (row, label) in enumerate(zip(X, Y, strict=True)):
        fur = "" if i == 90 else "abc"[label]
        lines += [f"{i},{row[0]},{fur},{'x' if i == 100 else label}"] + [""] * (i % 7 == 0)
    (folder / "b.csv").write_text("\n".join(lines))
    return folder / "b.csv"


def late_text_csv(folder):
    """A column that looks like numbers up to the end, and a cell with a line break in it."""
    cells = ["3"] * 105 + ["many", '"a\nb"', "3.0", "?", "4"]
    rows = [f"{row[0]};{cell};{y / 2}" for row, cell, y in zip(X, cells, Y, strict=True)]
    (folder / "c.csv").write_text("\n".join(["p;q;label", *rows]))
    return folder / "c.csv"


def svmlight(folder, zero_based=False):
    path = folder / f"d{zero_based}.svm"
    dump_svmlight_file(SPARSE, Y, str(path), zero_based=zero_based)
    return path


def zero_based_svmlight(folder):
    return svmlight(folder, zero_based=True)


def compressed_svmlight(folder):
    with open(svmlight(folder), "rb") as plain, gzip.open(folder / "d.svm.gz", "wb") as packed:
        shutil.copyfileobj(plain, packed)
    return folder / "d.svm.gz"


def plain_npz(folder):
    np.savez(folder / "e.npz", X=X, y=Y)
    return folder / "e.npz"


def packed_npz(folder):
    names = np.array(["no", "yes", "maybe"])[Y]
    arrays = {"X_train": X, "y_train": names, "X_test": X, "y_test": names}
    np.savez_compressed(folder / "f.npz", feature_names=["p", "q", "r"], **arrays)
    return folder / "f.npz"


def sparse_npz(folder):
    parts = {"data": SPARSE.data, "indices": SPARSE.indices, "indptr": SPARSE.indptr}
    np.savez(folder / "g.npz", shape=SPARSE.shape, y=Y.astype(float), **parts)
    return folder / "g.npz"


def parquet(folder):
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"size": X[:, 0], "fur": np.array(["a", "b", "c"])[Y], "label": Y})
    pytest.importorskip("pyarrow.parquet").write_table(table, folder / "h.parquet")
    return folder / "h.parquet"


def joined(blocks):
    rows, labels = zip(*blocks, strict=True)
    if sparse.issparse(rows[0]):
        return sparse.vstack(rows).toarray(), np.concatenate(labels)
    return np.vstack(rows), np.concatenate(labels)


@pytest.mark.parametrize("cache", [None, False], ids=["cached", "parsed again"])
@pytest.mark.parametrize(
    "make",
    [
        svmlight, zero_based_svmlight, compressed_svmlight, plain_npz, packed_npz, sparse_npz,
        numbers_csv,
    ],
)  # fmt: skip
def test_rows_of_read_table(tmp_path, make, cache):
    """Blocks one after the other, twice, are the rows, labels and names that read_table gives."""
    path = make(tmp_path)
    whole = read_table(path)
    rows = stream(path, block_rows=17, cache=cache)
    for _ in range(2):
        found, labels = joined(rows)
        expected = whole.X_train
        expected = expected.toarray() if sparse.issparse(expected) else expected
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(labels, whole.y_train)
        assert labels.dtype.kind == whole.y_train.dtype.kind
    assert (rows.n_rows, rows.n_features) == expected.shape
    assert rows.feature_names == whole.feature_names


@pytest.mark.parametrize("make", [numbers_csv, mixed_csv, late_text_csv, parquet])
def test_encoded_tables(tmp_path, make):
    """Encoded blocks are what the encoder makes of the whole table, labels have one type."""
    path = make(tmp_path)
    whole = read_table(path)
    rows = stream(path, block_rows=17, encoder=TableEncoder())
    found, labels = joined(rows)
    expected = TableEncoder().fit(whole.X_train)
    np.testing.assert_allclose(found, expected.transform(whole.X_train))
    np.testing.assert_array_equal(labels, whole.y_train)
    assert rows.feature_names == tuple(expected.get_feature_names_out())
    assert rows.n_features == found.shape[1]
    lines = [line for block in rows.raw_blocks() for line in block.X.index]
    assert lines == whole.X_train.index.tolist()


def test_encoder_of_a_sample(tmp_path, monkeypatch):
    """Of many rows, the encoder is fitted to a uniform sample."""
    monkeypatch.setattr("hyperlocal.datasets.streams._Sample.__init__.__defaults__", (40,))
    path = tmp_path / "sorted.csv"
    path.write_text("x,y\n" + "".join(f"{i},{i % 2}\n" for i in range(1000)))
    rows = stream(path, block_rows=17, encoder=TableEncoder(standardize=False))
    fitted = rows.fitted_encoder
    assert rows.n_rows == 1000
    assert fitted.kinds_ == {"x": "number"}
    medians = []
    for _ in range(2):  # the same sample each time
        fresh = stream(path, block_rows=17, encoder=TableEncoder())
        medians.append(fresh.fitted_encoder.center_[0])
    assert medians[0] == medians[1]
    assert 300 < medians[0] < 700


def test_rows_without_a_label(tmp_path):
    """They are left out, with a note, in blocks too; a block may have none that has one."""
    path = tmp_path / "a.csv"
    path.write_text("x,y\n" + "".join(f"{i},{'' if i < 5 else i % 2}\n" for i in range(20)))
    rows = stream(path, block_rows=4)
    assert sum(len(block.y) for block in rows.raw_blocks()) == rows.n_rows == 15
    assert rows.notes == ("5 rows without a label were left out",)


def test_target_and_columns(tmp_path):
    """Labels and columns may be named; raw blocks have text as text."""
    path = mixed_csv(tmp_path)
    assert stream(path, "size").feature_names == ("Unnamed: 0", "fur", "label")
    rows = stream(path, columns=["fur", "size"], block_rows=50)
    block = next(rows.raw_blocks())
    assert block.columns == ("fur", "size")
    assert block.y is None
    assert block.X.iloc[0, 1] == X[0, 0]


def test_arrays(tmp_path):
    """Labels of an npy file are a column or another file; arrays and sparse rows do as well."""
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", Y)
    np.save(tmp_path / "both.npy", np.c_[Y, X].astype(np.float32))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    for rows in (
        stream(tmp_path / "X.npy", str(tmp_path / "y.npy"), block_rows=17),
        stream(mapped, Y, block_rows=17),
        stream(sparse.csr_array(X), Y, block_rows=17),
    ):
        found, labels = joined(rows)
        np.testing.assert_array_equal(found, X)
        np.testing.assert_array_equal(labels, Y)
        assert (rows.n_rows, rows.n_features) == X.shape
    rows = stream(tmp_path / "both.npy", 0, block_rows=17)
    found, labels = joined(rows)
    np.testing.assert_array_equal(found, X.astype(np.float32))
    assert labels.dtype.kind == "i"
    assert next(iter(stream(mapped, Y, dtype=np.float32)))[0].dtype == np.float32


def test_stream_to_model(tmp_path):
    """What a stream reads is what fit_stream takes."""
    path = mixed_csv(tmp_path)
    model = LocallyLinearSVC(4, n_neighbors=2, random_state=0)
    model.fit_stream(stream(path, "label", block_rows=17, encoder=TableEncoder()))
    assert model.classes_.tolist() == ["0", "1", "2", "x"]


IS_OLD_PANDAS = tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        pytest.param(
            "a.csv",
            "p,q,y\n1,0,5\n2,1,4\n3,2.5,x,4\n",
            "line 4: 4 cells",
            marks=pytest.mark.xfail(IS_OLD_PANDAS, reason="it cuts the first row of a block"),
        ),
        ("a.csv", "p,y\n", "a header but no rows"),
        ("a.svm", "1 1:2\n0 2:5\n1 3:1 2:7\n", "line 3: index 2 after 3"),
    ],
)
def test_bad_rows(write, name, text, message):
    """Errors in a file are reported with their place, as by read_table."""
    path = write(name, text)
    with pytest.raises(ValueError, match=message):
        list(stream(path, block_rows=2))


def test_bad_arguments(tmp_path):
    """What cannot be read is refused with a remedy."""
    path = plain_npz(tmp_path)
    np.save(tmp_path / "X.npy", np.asfortranarray(X))
    with pytest.raises(ValueError, match="column by column"):
        list(stream(tmp_path / "X.npy", block_rows=17))
    with pytest.raises(FileNotFoundError, match="no such file"):
        stream(tmp_path / "nothing.csv")
    with pytest.raises(ValueError, match="hold their labels"):
        stream(path, "y")
    with pytest.raises(ValueError, match="block_rows"):
        stream(path, block_rows=0)
    with pytest.raises(ValueError, match="floating-point"):
        stream(path, dtype=int)
    with pytest.raises(ValueError, match="must hold the labels"):
        stream(X)
    with pytest.raises(TypeError, match="must be a path"):
        stream([[1.0]], [0])
    with pytest.raises(ValueError, match="no column"):
        list(stream(mixed_csv(tmp_path), "colour"))


def test_cache_is_removed(tmp_path):
    """Parsed rows are stored in the given folder until the stream is deleted."""
    cache = tmp_path / "cache"
    cache.mkdir()
    rows = stream(svmlight(tmp_path), block_rows=17, cache=cache)
    assert not list(cache.iterdir())
    assert rows.n_rows == N_ROWS
    assert len(list(cache.iterdir())) == 1
    del rows
    assert not list(cache.iterdir())
