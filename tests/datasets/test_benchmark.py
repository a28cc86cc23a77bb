"""Tests of hyperlocal.datasets.benchmark: a temporary folder, and a stand-in for OpenML."""

import os
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from hyperlocal.datasets import benchmark, known_datasets, load_dataset

BENCHMARKS = [
    *("a9a", "balance-scale", "banana", "bupa", "glass", "hayes-roth", "heart-statlog"),
    *("hepatitis", "ijcnn1", "ionosphere", "letter", "magic04", "mnist", "monks-3", "segment"),
    *("skin", "sonar", "tic-tac-toe", "usps"),
]


@pytest.fixture
def no_folder(monkeypatch):
    monkeypatch.delenv("HYPERLOCAL_DATA", raising=False)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HYPERLOCAL_DATA", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("name", BENCHMARKS)
def test_benchmark_is_in_the_openml_table(name):
    """Every benchmark name can be fetched from OpenML."""
    assert name in known_datasets()
    assert benchmark.OPENML_SOURCES[name].data_id > 0


@pytest.mark.skipif("HYPERLOCAL_DATA" not in os.environ, reason="HYPERLOCAL_DATA is not set")
@pytest.mark.parametrize("name", BENCHMARKS)
def test_benchmark_loads_from_the_folder(name):
    """Every benchmark in HYPERLOCAL_DATA loads, with the split that the OpenML table expects."""
    data = load_dataset(name)
    expected = benchmark.OPENML_SOURCES[name].train_counts
    assert data.has_test_part == bool(expected)
    if expected:
        assert tuple(np.unique(data.y_train, return_counts=True)[1]) == expected


def test_folder_file_with_a_split(folder):
    """A file with the four split arrays gives training and test parts."""
    X, y = np.eye(4), np.array([0, 1, 0, 1], dtype=np.uint8)
    np.savez(folder / "mine.npz", X_train=X[:3], y_train=y[:3], X_test=X[3:], y_test=y[3:])
    data = load_dataset("mine")
    assert data.name == "mine"
    np.testing.assert_array_equal(data.X_test, X[3:])
    np.testing.assert_array_equal(data.y_train, y[:3])
    X_all, y_all = load_dataset("mine", return_X_y=True)
    assert X_all.shape == (4, 4)
    np.testing.assert_array_equal(y_all, y)


def test_folder_keeps_missing_values(folder):
    """A benchmark set with missing values loads with NaN in their place."""
    np.savez(folder / "hepatitis.npz", X=np.array([[1.0, np.nan], [0.0, 1.0]]), y=[0, 1])
    data = load_dataset("hepatitis")
    assert not data.has_test_part
    assert np.isnan(data.X_train[0, 1])


def test_missing_file_of_a_known_name(folder):
    """A known name without a file says which file is missing and what else to do."""
    with pytest.raises(FileNotFoundError, match=r"no file letter\.npz in .*unset HYPERLOCAL_DATA"):
        load_dataset("letter")


def test_missing_folder(tmp_path, monkeypatch):
    """A folder that does not exist is named in the error."""
    monkeypatch.setenv("HYPERLOCAL_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match=r"HYPERLOCAL_DATA is set to .*not a folder"):
        load_dataset("letter")


@pytest.mark.parametrize("name", ["no-such-set", "../letter", ""])
def test_unknown_name_lists_the_known_ones(name, folder):
    """An unknown name is answered with the known ones, those of the folder included."""
    np.savez(folder / "mine.npz", X=np.eye(2), y=[0, 1])
    with pytest.raises(ValueError, match=r"unknown dataset .*letter, magic04, mine, mnist"):
        load_dataset(name)


def test_unknown_name_without_a_folder(no_folder):
    """Without a folder, only OpenML's names are known."""
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
    """A set without a standard split comes whole, with the target column the table names."""
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
    """A set in another order comes without a test part, and a warning says so."""
    X, y = monks_in_published_order()
    stand_in_for_openml(monkeypatch, X[::-1], y[::-1])
    with pytest.warns(UserWarning, match="monks-3 is not in the published order") as caught:
        data = load_dataset("monks-3")
    assert caught[0].filename == __file__
    assert not data.has_test_part


def test_openml_set_with_repeated_training_rows(no_folder, monkeypatch):
    """Where the training rows stand twice, they are found by that, wherever they stand."""
    source = benchmark.OpenMLSource(1, "joined", train_counts=(2, 1), train_rows="repeated")
    monkeypatch.setattr(benchmark, "OPENML_SOURCES", {"joined": source})
    train, test = np.array([[3.0], [1.0], [5.0]]), np.array([[4.0], [2.0]])
    X = sparse.csr_array(np.vstack([train[:1], test, train, train[1:]]))
    y = ["-1", "1", "-1", "-1", "-1", "1", "-1", "1"]
    stand_in_for_openml(monkeypatch, X, y)
    data = load_dataset("joined")
    np.testing.assert_array_equal(data.X_train, train)
    np.testing.assert_array_equal(data.y_train, [-1, -1, 1])
    np.testing.assert_array_equal(data.X_test, test)
    np.testing.assert_array_equal(data.y_test, [1, -1])


def test_openml_out_of_reach(no_folder, monkeypatch):
    """Without a network, the error names the set and the local folder as a way out."""

    def fetch(**arguments):
        raise ConnectionError("no route")

    monkeypatch.setattr(benchmark, "fetch_openml", fetch)
    with pytest.raises(OSError, match=r"could not fetch glass .*no route.*HYPERLOCAL_DATA.*glass"):
        load_dataset("glass")
