"""Tests of hyperlocal.datasets.parquet: types, missing values, and what is refused."""

import sys

import pandas as pd
import pytest

from hyperlocal.datasets import read_raw, read_table
from hyperlocal.preprocessing import TableEncoder

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def write_parquet(tmp_path):
    def write(**columns):
        pq.write_table(pa.table(columns), tmp_path / "a.parquet")
        return tmp_path / "a.parquet"

    return write


def test_types(write_parquet):
    """Columns keep their types, categories too; missing text is missing."""
    path = write_parquet(
        size=pa.array([1, 2, 3], pa.int8()),
        kind=pa.array(["a", "b", "a"]).dictionary_encode(),
        old=pa.array([True, False, True]),
        name=pa.array(["p", None, "p"]),
        y=pa.array([0, 1, 1]),
    )
    data = read_table(path, target="y")
    assert data.feature_names == ("size", "kind", "old", "name")
    encoder = TableEncoder().fit(data.X_train)
    assert list(encoder.kinds_.values()) == ["number", "category", "flag", "category"]
    assert data.X_train.isna().sum().tolist() == [0, 0, 0, 1]
    assert data.y_train.tolist() == [0, 1, 1]


def test_index_of_a_data_frame_is_left_out(tmp_path):
    """The row names that a data frame stores are no feature; rows are counted from 0."""
    frame = pd.DataFrame({"x": [1.0, 2.0], "y": ["a", "b"]}, index=[5, 6])
    frame.to_parquet(tmp_path / "a.parquet")
    rows = read_raw(tmp_path / "a.parquet")
    assert rows.columns == ("x",)
    assert rows.X.index.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"x": [[1.0], [2.0]], "y": [0, 1]}, "column 'x': values of type list"),
        ({"x": [1.0, 2.0]}, "only one column"),
    ],
)
def test_unusable_columns(columns, message, write_parquet):
    """What cannot be used is named."""
    with pytest.raises(ValueError, match=message):
        read_table(write_parquet(**columns))


def test_no_parquet_file(tmp_path):
    """A file that is no parquet file is refused by name."""
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(ValueError, match=r"a\.parquet: not a readable parquet file"):
        read_table(tmp_path / "a.parquet")


def test_without_pyarrow(write_parquet, monkeypatch):
    """Without pyarrow the error says what to install."""
    path = write_parquet(x=[1.0, 2.0], y=[0, 1])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'hyperlocal\[parquet\]'"):
        read_table(path)
