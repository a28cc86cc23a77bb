"""Tests of hyperlocal.datasets.benchmark: a temporary folder, and a stand-in for OpenML."""

import gzip
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from hyperlocal.datasets import benchmark, known_datasets, load_dataset
from hyperlocal.datasets.benchmark import ARRAYS, TABLES, ArraySource, load_openml

REGRESSIONS = {"california", "casp", "compactiv", "puma32h"}
FOLDER_ONLY = {"california", "casp", *TABLES}


@pytest.fixture
def no_folder(monkeypatch):
    monkeypatch.delenv("HYPERLOCAL_DATA", raising=False)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HYPERLOCAL_DATA", str(tmp_path))
    return tmp_path


def write_table(path, *lines):
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress("\n".join(lines).encode()))


@pytest.mark.parametrize("name", ARRAYS)
def test_sets_of_numbers_load_from_the_folder(name, folder):
    """A file with as many rows per class as the set has gives the set, split as published."""
    counts = ARRAYS[name].train_counts
    y = np.repeat(np.arange(len(counts) or 2), counts or 3).astype(float)
    X = np.zeros((len(y), 2), np.uint8)
    train = {"X_train": X, "y_train": y, "X_test": X[:1], "y_test": y[:1]}
    np.savez_compressed(folder / f"{name}.npz", **(train if counts else {"X": X, "y": y}))
    data = load_dataset(name)
    assert data.name == name
    assert data.X_train.shape == X.shape
    assert data.has_test_part == bool(counts)
    assert data.y_train.dtype.kind == ("f" if name in REGRESSIONS else "i")
    np.testing.assert_array_equal(data.y_train, y)


@pytest.mark.parametrize("name", sorted({*TABLES} - {"census-income"}))
def test_tables_load_from_the_folder(name, folder):
    """The label column is the set's own; text stays text, and missing values stay missing."""
    source = TABLES[name]
    delimiter, point = (";", ",") if name == "cells_excel" else (",", ".")
    names = ["size", source.target, "fur", *source.left_out]
    rows = [
        [f"1{point}5", "x", "long", *["1"] * len(source.left_out)],
        ["", "y", "?", *["2"] * len(source.left_out)],
    ]
    write_table(folder / "tables" / f"{name}.csv.gz", *map(delimiter.join, [names, *rows]))
    data = load_dataset(name)
    assert data.feature_names == ("size", "fur")
    assert data.y_train.tolist() == ["x", "y"]
    assert data.X_train[0].tolist() == [1.5, "long"]
    assert all(np.isnan(cell) for cell in data.X_train[1])


def test_table_with_two_parts(folder):
    """Rows are objects in both parts if some column is text in one."""
    for part, cell in (("train", "1"), ("test", " many")):
        write_table(
            folder / f"census-income-{part}.csv.gz", "c0,c1,income", f"3,{cell}, - 50000.", "4,2,+"
        )
    data = load_dataset("census-income")
    assert data.X_train.tolist() == [[3, 1], [4, 2]]
    assert data.X_test.tolist() == [[3, "many"], [4, "2"]]
    assert data.X_train.dtype == data.X_test.dtype == object
    assert data.y_test.tolist() == ["- 50000.", "+"]


def test_table_of_another_name(folder):
    """Any table in the folder loads; its last column holds the labels."""
    write_table(folder / "cats.csv.gz", "weight,age,tame", "4.5,3,yes", "5,,no")
    data = load_dataset("cats")
    assert data.y_train.tolist() == ["yes", "no"]
    assert data.X_train.dtype == np.float64


def test_carriage_return_in_a_cell(folder):
    """It is a space, and does not end the line."""
    write_table(folder / "a.csv.gz", "text,kind", "one\rtwo,x", "three,y")
    assert load_dataset("a").X_train.tolist() == [["one two"], ["three"]]


@pytest.mark.parametrize("name", known_datasets())
def test_sets_are_fetched_from_openml_or_need_the_folder(name, no_folder, monkeypatch):
    """Each set has a number at OpenML, or an error names the folder and the file."""
    calls = []
    stand_in_for_openml(monkeypatch, np.eye(2), ["0", "1"], calls)
    if name in FOLDER_ONLY:
        message = rf"{name} is not fetched from OpenML; set HYPERLOCAL_DATA .* holds .*{name}"
        with pytest.raises(ValueError, match=message):
            load_dataset(name)
        assert not calls
    elif not ARRAYS[name].train_counts:
        assert load_dataset(name).y_train.dtype.kind == ("f" if name in REGRESSIONS else "i")
        assert calls[0]["data_id"] == ARRAYS[name].openml_id


def test_folder_file_with_a_split(folder):
    """A file with the four split arrays gives training and test parts."""
    X, y = np.eye(4), np.array([0, 1, 0, 1], dtype=np.uint8)
    np.savez(folder / "mine.npz", X_train=X[:3], y_train=y[:3], X_test=X[3:], y_test=y[3:])
    data = load_dataset("mine")
    assert data.name == "mine"
    np.testing.assert_array_equal(data.X_test, X[3:])
    np.testing.assert_array_equal(data.y_train, y[:3])
    X_all, y_all = data.all_rows()
    assert X_all.shape == (4, 4)
    np.testing.assert_array_equal(y_all, y)


def test_folder_keeps_missing_values(folder):
    """A benchmark set with missing values loads with NaN in their place."""
    np.savez(folder / "hepatitis.npz", X=np.array([[1.0, np.nan], [0.0, 1.0]]), y=[0, 1])
    data = load_dataset("hepatitis")
    assert not data.has_test_part
    assert np.isnan(data.X_train[0, 1])


def test_missing_file_of_a_known_name(folder):
    """The error names the missing file and what else to do."""
    with pytest.raises(FileNotFoundError, match=r"no file letter\.npz in .*unset HYPERLOCAL_DATA"):
        load_dataset("letter")


def test_missing_folder(tmp_path, monkeypatch):
    """A folder that does not exist is named in the error."""
    monkeypatch.setenv("HYPERLOCAL_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match=r"HYPERLOCAL_DATA is set to .*not a folder"):
        load_dataset("letter")


@pytest.mark.parametrize("name", ["no-such-set", "../letter", ""])
def test_unknown_name_lists_the_known_ones(name, folder):
    """The error for an unknown name lists the known ones, those of the folder included."""
    np.savez(folder / "mine.npz", X=np.eye(2), y=[0, 1])
    with pytest.raises(ValueError, match=r"unknown dataset .*letter, magic04, mine, mnist"):
        load_dataset(name)


def test_unknown_name_without_a_folder(no_folder):
    """Without a folder, only the names of the benchmark sets are known."""
    with pytest.raises(ValueError, match="unknown dataset 'mine'; known are: a9a, balance-scale"):
        load_dataset("mine")


def stand_in_for_openml(monkeypatch, X, y, calls=None):
    def fetch(**arguments):
        if calls is not None:
            calls.append(arguments)
        names = [f"x{j}" for j in range(X.shape[1])]
        return SimpleNamespace(data=X, target=np.asarray(y, dtype=object), feature_names=names)

    monkeypatch.setattr(benchmark, "fetch_openml", fetch)


def test_openml_set_without_a_split(no_folder, monkeypatch):
    """A set without a standard split is returned whole, with the set's own target column."""
    calls = []
    stand_in_for_openml(monkeypatch, np.eye(4), ["1", "2", "2", "1"], calls)
    data = load_dataset("bupa", data_home="somewhere")
    assert not data.has_test_part
    np.testing.assert_array_equal(data.y_train, [1, 2, 2, 1])
    assert data.feature_names == ("x0", "x1", "x2", "x3")
    assert calls[0]["data_id"] == 8
    assert calls[0]["target_column"] == "selector"
    assert calls[0]["data_home"] == "somewhere"


def monks_in_published_order():
    y = np.repeat(["0", "1", "0", "1"], [62, 60, 204, 228])
    return np.arange(len(y), dtype=float)[:, np.newaxis], y


def test_openml_set_in_published_order(no_folder, monkeypatch):
    """The first rows are the training part if their class counts are the published ones."""
    X, y = monks_in_published_order()
    stand_in_for_openml(monkeypatch, X, y)
    data = load_dataset("monks-3")
    np.testing.assert_array_equal(data.X_train, X[:122])
    np.testing.assert_array_equal(data.X_test, X[122:])


def test_openml_set_in_another_order(no_folder, monkeypatch):
    """A set in another order has no test part, and a warning says so."""
    X, y = monks_in_published_order()
    stand_in_for_openml(monkeypatch, X[::-1], y[::-1])
    with pytest.warns(UserWarning, match="monks-3 is not in the published order") as caught:
        data = load_dataset("monks-3")
    assert caught[0].filename == __file__
    assert not data.has_test_part


def test_openml_set_with_repeated_training_rows(no_folder, monkeypatch):
    """Where the training rows occur twice, they are found by that, in any order."""
    source = ArraySource(1, train_counts=(2, 1), train_rows="repeated")
    train, test = np.array([[3.0], [1.0], [5.0]]), np.array([[4.0], [2.0]])
    X = sparse.csr_array(np.vstack([train[:1], test, train, train[1:]]))
    y = ["-1", "1", "-1", "-1", "-1", "1", "-1", "1"]
    stand_in_for_openml(monkeypatch, X, y)
    data = load_openml("joined", source)
    np.testing.assert_array_equal(data.X_train, train)
    np.testing.assert_array_equal(data.y_train, [-1, -1, 1])
    np.testing.assert_array_equal(data.X_test, test)
    np.testing.assert_array_equal(data.y_test, [1, -1])


def test_openml_out_of_reach(no_folder, monkeypatch):
    """Without a network, the error names the set and the local folder as a remedy."""

    def fetch(**arguments):
        raise ConnectionError("no route")

    monkeypatch.setattr(benchmark, "fetch_openml", fetch)
    with pytest.raises(OSError, match=r"could not fetch glass .*no route.*HYPERLOCAL_DATA.*glass"):
        load_dataset("glass")
