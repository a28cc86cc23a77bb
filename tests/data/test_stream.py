"""Tests of hyperlocal.data.stream: blocks of labelled rows in files."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from hyperlocal.data.stream import LabelBook, StoredRows, collect_stream

X = np.arange(40.0).reshape(20, 2)
Y = np.array(["b", "a", "c", "a"] * 5)


def blocks(rows=X, size=6):
    return [(rows[i : i + size], Y[i : i + size]) for i in range(0, 20, size)]


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_rows_come_back_as_they_were(tmp_path, convert):
    """Rows, labels and weights of classes, whatever the blocks."""
    with StoredRows(tmp_path, class_weight={"a": 3.0}) as rows:
        collect_stream(BaseEstimator(), blocks(convert(X)), rows)
        data = rows.read([(0, 20)])
        total = rows.total_weight
    found = data.X.toarray() if sp.issparse(data.X) else data.X
    np.testing.assert_array_equal(found, X)
    np.testing.assert_array_equal(data.labels, Y)
    np.testing.assert_array_equal(data.sample_weight, np.where(Y == "a", 3.0, 1.0))
    assert total == 10 + 3 * 10


def test_a_sample_is_drawn_without_replacement(tmp_path):
    """In the order of the rows; it knows of how many rows it is a sample."""
    with StoredRows(tmp_path) as rows:
        collect_stream(BaseEstimator(), blocks(), rows)
        sample = rows.sample(7, np.random.default_rng(0))
        everything = rows.sample(20, np.random.default_rng(0))
    assert sample.population == 20
    assert (np.diff(sample.X[:, 0]) > 0).all()
    assert len(sample.X) == 7
    assert everything.population is None


def test_labels_of_one_type():
    """Numbers after text, and labels that were not announced, are refused by name."""
    book = LabelBook()
    book.numbers(Y)
    with pytest.raises(TypeError, match="labels such as 1 come after labels such as 'a'"):
        book.numbers(np.array([1, 2]))
    with pytest.raises(ValueError, match=r"not in classes: \['d'\]"):
        LabelBook(np.array(["a", "b"])).numbers(np.array(["d"]))
