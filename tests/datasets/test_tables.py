"""Tests of hyperlocal.datasets.tables: files of every format, and npz."""

import gzip
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from hyperlocal.datasets import read_raw, read_table


def test_compressed_table(tmp_path):
    """A compressed table is read like a plain one, and named without its endings."""
    with gzip.open(tmp_path / "small.csv.gz", "wt") as file:
        file.write("1,2,yes\n3,4,no\n")
    data = read_table(tmp_path / "small.csv.gz")
    assert data.name == "small"
    assert data.y_train.tolist() == ["yes", "no"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.csv", b"", "empty"),
        ("blank.csv", b"\n \n", "empty"),
        ("header.csv", b"a,b,c\n", "a header but no rows"),
        ("single.csv", b"1\n2\n", "only one column"),
        ("labels.csv", b"a,b\n1,\n2,?\n", "no rows with a label"),
        ("table.feather", b"FEA1", "save it as .csv, .npz or .parquet"),
    ],
)
def test_unusable_files_are_named(name, content, message, tmp_path):
    """A file that is no table is refused by name, with the reason."""
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=f"{name}.*{message}"):
        read_table(tmp_path / name)


def test_no_such_file(tmp_path):
    """A file that does not exist is named."""
    with pytest.raises(FileNotFoundError, match=r"nothing\.csv: no such file"):
        read_table(tmp_path / "nothing.csv")


def test_target_is_for_tables(tmp_path, write):
    """A label column cannot be chosen where there are no columns."""
    np.savez(tmp_path / "a.npz", X=np.eye(2), y=[0, 1])
    for path in (tmp_path / "a.npz", write("a.svm", "1 1:1\n-1 2:1\n")):
        with pytest.raises(ValueError, match="target is for tables"):
            read_table(path, target="y")


def test_npz_with_all_rows(tmp_path):
    """X and y make training rows; a column of labels is flattened; names are read."""
    X = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.savez(tmp_path / "a.npz", X=X, y=[[0.0], [1.0], [0.0]], feature_names=["p", "q"])
    data = read_table(tmp_path / "a.npz")
    assert data.X_train.dtype == np.float32
    assert data.y_train.tolist() == [0, 1, 0]
    assert data.feature_names == ("p", "q")


def test_npz_with_sparse_rows(tmp_path):
    """The arrays of a CSR matrix together with y make sparse rows."""
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.random((5, 4)) * rng.binomial(1, 0.5, (5, 4)))
    np.savez(
        tmp_path / "a.npz",
        data=X.data,
        indices=X.indices,
        indptr=X.indptr,
        shape=X.shape,
        y=np.arange(5) % 2,
    )
    data = read_table(tmp_path / "a.npz")
    np.testing.assert_array_equal(data.X_train.toarray(), X.toarray())


def test_npz_without_labels(tmp_path):
    """An archive without labels is refused with what it holds and what is expected."""
    sparse.save_npz(tmp_path / "a.npz", sparse.csr_array(np.eye(2)))
    with pytest.raises(ValueError, match=r"a\.npz: holds \['_is_array', 'data'.* together with y"):
        read_table(tmp_path / "a.npz")


def test_npz_that_would_run_code(tmp_path):
    """Pickled objects are not loaded."""
    np.savez(tmp_path / "a.npz", X=np.array([{}], dtype=object), y=[0])
    with pytest.raises(ValueError, match=r"a\.npz: X holds Python objects"):
        read_table(tmp_path / "a.npz")


def test_npz_in_name_only(write):
    """A text file with the ending .npz is refused by name."""
    with pytest.raises(ValueError, match=r"a\.npz: not a readable npz file"):
        read_table(write("a.npz", "hello"))


def test_rows_without_a_label_are_left_out(write):
    """With a note; the others keep their lines."""
    data = read_table(write("a.csv", "a,b\n1,0\n2,\n3, \n4,1\n"))
    assert data.y_train.tolist() == [0, 1]
    assert data.X_train.index.tolist() == [2, 5]
    assert data.notes == ("2 rows without a label were left out",)


def test_labels_of_text(write):
    """Outer blanks are no part of a label, and truth values are text in every file."""
    for text in ("a,b\n1,True \n2, False\n", "a,b\n1,True\n2,False\n"):
        assert read_table(write("a.csv", text)).y_train.tolist() == ["True", "False"]


def test_labels_stay_as_they_are_written(write):
    """Codes keep their zeros and truth values their case."""
    for labels in (["01", "02"], ["TRUE", "FALSE"], ["true", "false"]):
        text = "a,b\n" + "".join(f"{j},{label}\n" for j, label in enumerate(labels))
        assert read_table(write("a.csv", text)).y_train.tolist() == labels


def test_very_many_columns_are_not_all_named(write):
    """A message names the first ones."""
    names = ",".join(f"c{j}" for j in range(500))
    with pytest.raises(ValueError, match=r"no column 'label'; columns are c0, .*c29, … \(or"):
        read_table(write("a.csv", f"{names}\n{','.join('1' * 500)}\n"), target="label")


def test_a_folder(tmp_path):
    """It is not said to be missing."""
    with pytest.raises(IsADirectoryError, match="a folder; give a file of it"):
        read_table(tmp_path)


def test_raw_rows_are_not_encoded(write):
    """Text stays text; the target is left out; columns can be chosen by name, in any order."""
    path = write("a.csv", "size,fur,tame\n1,long,yes\n2,short,no\n")
    rows = read_raw(path)
    assert rows.X.to_numpy(object).tolist() == [[1, "long"], [2, "short"]]
    assert (rows.columns, rows.target) == (("size", "fur"), "tame")
    chosen = read_raw(path, columns=["fur", "size"])
    assert chosen.X.to_numpy(object).tolist() == [["long", 1], ["short", 2]]
    assert chosen.y is None
    with pytest.raises(ValueError, match="lacks 1 of the 1 columns needed: 'age'"):
        read_raw(path, columns=["age"])
    assert read_raw(path, columns=["size", "age"], optional=["age"]).X["age"].isna().all()


def test_close_names_are_suggested(write):
    """A target that is nearly a column is answered with that column."""
    with pytest.raises(ValueError, match=r"no column 'Taem' \(did you mean 'tame'"):
        read_table(write("a.csv", "size,tame\n1,yes\n2,no\n"), target="Taem")


@pytest.mark.parametrize("kind", ["csv", "svm", "parquet"])
def test_standard_input(kind, tmp_path, monkeypatch):
    """A file that comes from standard input is recognized by its content."""
    path = tmp_path / "a"
    if kind == "parquet":
        pd.DataFrame({"a": [1.0, 2.0], "y": [0, 1]}).to_parquet(path)
    else:
        path.write_text("a,y\n1,0\n2,1\n" if kind == "csv" else "0 1:1\n1 1:2\n")
    with open(path) as file:
        monkeypatch.setattr(sys, "stdin", file)
        assert read_table("-").y_train.tolist() == [0, 1]


def test_raw_rows_of_npz(tmp_path):
    """X alone needs no labels; of two parts the one asked for is taken."""
    np.savez(tmp_path / "a.npz", X=np.eye(2))
    assert read_raw(tmp_path / "a.npz").y is None
    np.savez(tmp_path / "b.npz", X_train=np.eye(2), y_train=[0, 1], X_test=np.eye(2), y_test=[1, 0])
    for part, labels in (("train", [0, 1]), ("test", [1, 0])):
        assert read_raw(tmp_path / "b.npz", part=part).y.tolist() == labels


def test_a_column_number_makes_no_header(write):
    """The target "0" is a column, even where the first row has a 0."""
    data = read_table(write("a.csv", "0,1.5\n1,2.5\n0,3.5\n"), target="0")
    assert data.y_train.tolist() == [0, 1, 0]
