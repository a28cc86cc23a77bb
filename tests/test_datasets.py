"""Tests of hyperlocal.datasets: real files in a temporary folder, OpenML replaced by a stand-in."""

import gzip
import os
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file
from sklearn.svm import SVC, LinearSVC

from hyperlocal import datasets
from hyperlocal.datasets import Dataset, known_datasets, load_dataset, make_banana, read_table

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


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


# Dataset ------------------------------------------------------------------------------------------


def test_rows_and_labels_must_agree():
    """A dataset refuses parts that do not fit together."""
    X, y = np.eye(3), np.arange(3)
    with pytest.raises(ValueError, match="3 training rows but 2 labels"):
        Dataset("odd", X, y[:2])
    with pytest.raises(ValueError, match="come together"):
        Dataset("odd", X, y, X)
    with pytest.raises(ValueError, match=r"3 features in the training rows, 2 in the test rows"):
        Dataset("odd", X, y, X[:, :2], y)
    with pytest.raises(ValueError, match="2-D X and a 1-D y"):
        Dataset("odd", X[0], y)
    with pytest.raises(ValueError, match="empty"):
        Dataset("odd", X[:0], y[:0])


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_all_rows_puts_the_test_part_last(convert):
    """All rows of a split dataset are the training rows and then the test rows."""
    whole = np.arange(12.0).reshape(6, 2)
    X, y = Dataset(
        "split", convert(whole[:4]), np.arange(4), convert(whole[4:]), np.arange(4, 6)
    ).all_rows()
    assert sparse.issparse(X) == (convert is sparse.csr_array)
    np.testing.assert_array_equal(X.toarray() if sparse.issparse(X) else X, whole)
    np.testing.assert_array_equal(y, np.arange(6))


# Named sets ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BENCHMARKS)
def test_benchmark_is_in_the_openml_table(name):
    """Every benchmark name can be fetched from OpenML."""
    assert name in known_datasets()
    assert datasets.OPENML_SOURCES[name].data_id > 0


@pytest.mark.skipif("HYPERLOCAL_DATA" not in os.environ, reason="HYPERLOCAL_DATA is not set")
@pytest.mark.parametrize("name", BENCHMARKS)
def test_benchmark_loads_from_the_folder(name):
    """Every benchmark in HYPERLOCAL_DATA loads, with the split that the OpenML table expects."""
    data = load_dataset(name)
    expected = datasets.OPENML_SOURCES[name].train_counts
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

    monkeypatch.setattr(datasets, "fetch_openml", fetch)


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
    source = datasets.OpenMLSource(1, "joined", train_counts=(2, 1), train_rows="repeated")
    monkeypatch.setattr(datasets, "OPENML_SOURCES", {"joined": source})
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

    monkeypatch.setattr(datasets, "fetch_openml", fetch)
    with pytest.raises(OSError, match=r"could not fetch glass .*no route.*HYPERLOCAL_DATA.*glass"):
        load_dataset("glass")


# Tables -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("comma.csv", "a,b,label\n1,2.5,0\n3,4.5,1\n"),
        ("no-header.csv", "1,2.5,0\n3,4.5,1\n"),
        ("semicolon.csv", "a;b;label\n1;2.5;0\n3;4.5;1\n"),
        ("tab.tsv", "a\tb\tlabel\n1\t2.5\t0\n3\t4.5\t1\n"),
        ("bar.txt", "1|2.5|0\n3|4.5|1\n"),
        ("spaces.data", "  1   2.5  0 \n  3   4.5  1 \n"),
        ("windows.csv", "\ufeffa,b,label\r\n1,2.5,0\r\n\r\n3,4.5,1\r\n"),
        ("quoted.csv", '"a","b","label"\n"1","2.5","0"\n"3","4.5","1"\n'),
        ("after-comma.csv", "a, b, label\n1, 2.5, 0\n3, 4.5, 1\n"),
    ],
)
@pytest.mark.parametrize("way", ["fast", "slow"])
def test_delimited_text(name, text, way, tmp_path, monkeypatch):
    """Delimiter and header are found out, and the last column is the label, either way."""
    if way == "slow":
        monkeypatch.setattr(datasets, "_read_numbers", lambda layout: None)
    data = read_table(write(tmp_path / name, text))
    np.testing.assert_array_equal(data.X_train, [[1, 2.5], [3, 4.5]])
    np.testing.assert_array_equal(data.y_train, [0, 1])
    assert data.y_train.dtype == np.int64
    assert not data.has_test_part


def test_compressed_table(tmp_path):
    """A compressed table is read like a plain one, and named without its endings."""
    with gzip.open(tmp_path / "small.csv.gz", "wt") as file:
        file.write("1,2,yes\n3,4,no\n")
    data = read_table(tmp_path / "small.csv.gz")
    assert data.name == "small"
    assert data.y_train.tolist() == ["yes", "no"]


@pytest.mark.parametrize("target", ["kind", 0, "0", -3])
def test_target_by_name_or_number(target, tmp_path):
    """The label column may be given by name, by number, or from the end."""
    path = write(tmp_path / "a.csv", "kind,a,b\nx,1,2\ny,3,4\n")
    data = read_table(path, target=target)
    assert data.y_train.tolist() == ["x", "y"]
    assert data.feature_names == ("a", "b")


@pytest.mark.parametrize("target", ["species", 3, -4])
def test_unknown_target_lists_the_columns(target, tmp_path):
    """A label column that does not exist is answered with those that do."""
    path = write(tmp_path / "a.csv", "kind,a,b\nx,1,2\ny,3,4\n")
    with pytest.raises(ValueError, match=r"a\.csv: no column .*columns are kind, a, b .*0 to 2"):
        read_table(path, target=target)


def test_text_columns_are_one_hot(tmp_path):
    """A text column becomes one column per value, a missing value being one of them."""
    path = write(tmp_path / "a.csv", "size,color,label\n1,red,0\n2,?,1\n3,blue,0\n")
    data = read_table(path)
    assert data.feature_names == ("size", "color=?", "color=blue", "color=red")
    np.testing.assert_array_equal(data.X_train, [[1, 0, 0, 1], [2, 1, 0, 0], [3, 0, 1, 0]])


def test_text_after_the_first_chunk(tmp_path, monkeypatch):
    """A column whose first text comes late in the file is text from the beginning."""
    monkeypatch.setattr(datasets, "_CHUNK_ROWS", 2)
    path = write(tmp_path / "a.csv", "1,0\n2,1\n1,0\n2,1\nmany,0\n")
    data = read_table(path)
    np.testing.assert_array_equal(data.X_train, np.eye(3)[[0, 1, 0, 1, 2]])


def test_all_text_without_a_header(tmp_path):
    """A first row whose values come back further down is data, not a header."""
    data = read_table(write(tmp_path / "a.csv", "x,o,won\nx,x,lost\no,o,won\n"))
    assert data.X_train.shape == (3, 4)
    assert data.y_train.tolist() == ["won", "lost", "won"]


def test_numbered_header(tmp_path):
    """The header that counts the columns from 0 is not taken for data."""
    data = read_table(write(tmp_path / "a.csv", "0,1,2,3,label\n5,6,7,8,0\n9,9,9,9,1\n"))
    assert data.X_train.shape == (2, 4)


@pytest.mark.parametrize("label", ["0", "no"])
def test_row_numbers_are_left_out(label, tmp_path):
    """A nameless first column of row numbers is no feature; one with repeats is."""
    text = ",a,label\n{},1.5,1\n3,2.5,{}\n"
    data = read_table(write(tmp_path / "a.csv", text.format(7, label)))
    assert data.feature_names == ("a",)
    data = read_table(write(tmp_path / "b.csv", text.format(3, label)))
    assert data.feature_names == ("", "a")


def test_labels_that_are_not_whole_numbers(tmp_path):
    """Labels with decimals stay what they are; 1.0 is the integer 1."""
    assert read_table(write(tmp_path / "a.csv", "1,0.5\n2,1.0\n")).y_train.tolist() == [0.5, 1.0]
    whole = read_table(write(tmp_path / "b.csv", "1,1.0\n2,2.0\n")).y_train
    assert whole.dtype == np.int64


@pytest.mark.parametrize("cell", ["", "NA", "nan", "?", "inf"])
def test_missing_numbers_are_reported(cell, tmp_path):
    """A missing or infinite number is refused with line, column and remedy."""
    path = write(tmp_path / "a.csv", f"a,b,label\n1,2,0\n\n3,{cell},1\n4,{cell},1\n")
    with pytest.raises(ValueError, match=r"a\.csv: 2 rows .*line 4, column 'b'\); drop .*Imputer"):
        read_table(path)


def test_missing_label_is_reported(tmp_path):
    """A row without a label is refused with its line."""
    path = write(tmp_path / "a.csv", "a,b\n1,0\n2,\n3,1\n")
    with pytest.raises(ValueError, match=r"a\.csv, line 3: no label in column 'b' \(1 rows"):
        read_table(path)


def test_ragged_rows_are_reported(tmp_path):
    """A row of another length is refused with its line."""
    path = write(tmp_path / "a.csv", "a,b,c\n1,2,0\n1,2,3,1\n")
    with pytest.raises(ValueError, match=r"a\.csv, line 3: 4 cells where the first line has 3"):
        read_table(path)


def test_too_many_text_values_are_reported(tmp_path):
    """A text column with too many values is refused, with the first cell that is no number."""
    lines = [f"{i},{i % 2}" for i in range(300)]
    lines[7] = "seven,1"
    path = write(tmp_path / "a.csv", "id,label\n" + "\n".join(lines))
    with pytest.raises(ValueError, match=r"line 9, column 'id': 'seven' is not a number.* 300 dif"):
        read_table(path)


def test_decimal_comma_is_reported(tmp_path):
    """Decimal commas are named as such instead of being taken for text."""
    path = write(tmp_path / "a.csv", "a;b\n1,5;0\n2,5;1\n")
    with pytest.raises(ValueError, match=r"line 2, column 'a': '1,5' has a decimal comma"):
        read_table(path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.csv", b"", "empty"),
        ("blank.csv", b"\n \n", "empty"),
        ("header.csv", b"a,b,c\n", "a header but no rows"),
        ("single.csv", b"1\n2\n", "only one column"),
        ("latin.csv", b"a,b\n\xe9\xe8,1\n", "not a text file in UTF-8"),
        ("table.parquet", b"PAR1", "save it as .csv or .npz"),
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


# LIBSVM -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["svm", "libsvm", "svmlight", "txt", "t", "scale"])
def test_svmlight_is_recognised_by_its_lines(ending, tmp_path):
    """A LIBSVM file is recognised whatever its name, and gives CSR rows that sklearn takes."""
    X = np.array([[0, 1.5, 0], [2, 0, 0], [0, 0, 0], [0, 1, 3]])
    y = np.array([1, -1, -1, 1])
    path = tmp_path / f"small.{ending}"
    dump_svmlight_file(X, y, str(path), zero_based=False)
    data = read_table(path)
    assert data.X_train.format == "csr"
    np.testing.assert_array_equal(data.X_train.toarray(), X)
    np.testing.assert_array_equal(data.y_train, y)
    assert data.y_train.dtype == np.int64
    LinearSVC().fit(data.X_train, data.y_train)
    SVC().fit(data.X_train, data.y_train)


def test_compressed_svmlight(tmp_path):
    """A compressed LIBSVM file is read like a plain one."""
    with gzip.open(tmp_path / "small.svm.gz", "wt") as file:
        file.write("# a comment\n1 1:2 3:4 # another\n-1 2:1\n")
    data = read_table(tmp_path / "small.svm.gz")
    assert data.name == "small"
    np.testing.assert_array_equal(data.X_train.toarray(), [[2, 0, 4], [0, 1, 0]])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("yes 1:2", "the label 'yes' is not a number"),
        ("1 2:1 1:2", "index 1 after 2: indices must increase"),
        ("1 1:two", "'1:two' is not index:value"),
    ],
)
def test_svmlight_faults_name_the_line(line, message, tmp_path):
    """A bad LIBSVM line is refused with its number and the reason."""
    path = write(tmp_path / "bad.svm", f"1 1:1\n-1 2:1\n{line}\n")
    with pytest.raises(ValueError, match=f"bad.svm, line 3: {message}"):
        read_table(path)


def test_svmlight_missing_values(tmp_path):
    """NaN in a LIBSVM file is refused with the row."""
    path = write(tmp_path / "bad.svm", "1 1:1\n-1 2:1\n1 1:2 2:nan\n")
    with pytest.raises(ValueError, match=r"1 training rows have missing .*row 2, counted from 0"):
        read_table(path)


def test_target_is_for_tables(tmp_path):
    """A label column cannot be chosen where there are no columns."""
    np.savez(tmp_path / "a.npz", X=np.eye(2), y=[0, 1])
    for path in (tmp_path / "a.npz", write(tmp_path / "a.svm", "1 1:1\n-1 2:1\n")):
        with pytest.raises(ValueError, match="target is for tables"):
            read_table(path, target="y")


# npz ----------------------------------------------------------------------------------------------


def test_npz_with_all_rows(tmp_path):
    """X and y make training rows; a column of labels is flattened; names are kept."""
    X = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.savez(tmp_path / "a.npz", X=X, y=[[0.0], [1.0], [0.0]], feature_names=["p", "q"])
    data = read_table(tmp_path / "a.npz")
    assert data.X_train.dtype == np.float32
    assert data.y_train.tolist() == [0, 1, 0]
    assert data.feature_names == ("p", "q")


def test_npz_with_sparse_rows(tmp_path):
    """The arrays of a CSR matrix together with y make sparse rows."""
    X = sparse.random_array((5, 4), density=0.5, rng=np.random.default_rng(0), format="csr")
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
    with pytest.raises(ValueError, match=r"a\.npz: not a readable npz file of plain arrays"):
        read_table(tmp_path / "a.npz")


def test_npz_that_is_none(tmp_path):
    """A file that only has the ending is refused by name."""
    with pytest.raises(ValueError, match=r"a\.npz: not a readable npz file"):
        read_table(write(tmp_path / "a.npz", "hello"))


def test_npz_missing_values_in_the_test_part(tmp_path):
    """Missing values are looked for in the test part too."""
    X = np.eye(2)
    np.savez(tmp_path / "a.npz", X_train=X, y_train=[0, 1], X_test=X / [1, np.nan], y_test=[0, 1])
    with pytest.raises(ValueError, match="2 test rows have missing"):
        read_table(tmp_path / "a.npz")


# Synthetic ----------------------------------------------------------------------------------------


def test_banana_is_local():
    """The crescents are beyond a line and within reach of a kernel."""
    X, y = make_banana(600, random_state=0)
    assert np.bincount(y).tolist() == [300, 300]
    linear = LinearSVC().fit(X[:300], y[:300]).score(X[300:], y[300:])
    kernel = SVC().fit(X[:300], y[:300]).score(X[300:], y[300:])
    assert linear < 0.92
    assert kernel > 0.95


def test_banana_repeats():
    """The same seed gives the same points, another seed others."""
    np.testing.assert_array_equal(
        make_banana(50, random_state=3)[0], make_banana(50, random_state=3)[0]
    )
    assert not np.array_equal(
        make_banana(50, random_state=3)[0], make_banana(50, random_state=4)[0]
    )


def test_banana_refuses_nonsense():
    """Too few points or negative noise are refused by name."""
    with pytest.raises(ValueError, match="n_samples must be at least 2"):
        make_banana(1)
    with pytest.raises(ValueError, match="noise must not be negative"):
        make_banana(10, noise=-1)
