"""Tests of hyperlocal.datasets.svmlight: LIBSVM files, good and bad."""

import gzip

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file
from sklearn.svm import SVC, LinearSVC

from hyperlocal.datasets import read_table, stream


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
def test_svmlight_faults_name_the_line(line, message, write):
    """A bad LIBSVM line is refused with its number and the reason."""
    path = write("bad.svm", f"1 1:1\n-1 2:1\n{line}\n")
    with pytest.raises(ValueError, match=f"bad.svm, line 3: {message}"):
        read_table(path)


@pytest.mark.parametrize("index", [10**8 + 1, 10**12, 10**30])
def test_a_huge_index_is_refused(index, write):
    """It would become a weight vector of that length."""
    path = write("bad.svm", f"1 1:1\n-1 2:1\n1 {index}:1\n")
    for read in (read_table, lambda path: list(stream(path))):
        with pytest.raises(ValueError, match=f"bad.svm, line 3: index {index}; sparse rows may"):
            read(path)
