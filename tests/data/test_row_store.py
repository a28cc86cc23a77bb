"""Tests of hyperlocal.data.row_store: rows come back from files as they were."""

import errno

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from hyperlocal.data.row_store import (
    MOST_ADJACENT,
    NumberFile,
    count_rows,
    deal_chunks,
    open_store,
    single_rows,
    working_folder,
)
from reference.problems import every_storage, make_rows


@every_storage
def test_rows_come_back(tmp_path, dtype, storage):
    """Any ranges of rows that were appended in pieces are the same rows of the whole."""
    X = make_rows(dtype, storage)
    store = open_store(tmp_path, "rows", X[:0])
    for begin, end in [(0, 3), (3, 3), (3, 39), (39, 40)]:
        store.append(X[begin:end])
    assert store.n_rows == 40
    for ranges in ([(0, 40)], [(2, 5), (5, 6), (30, 40)], single_rows([0, 7, 39])):
        rows = np.concatenate([np.arange(*part) for part in ranges])
        found, expected = store.read(ranges), X[rows]
        assert found.dtype == X.dtype
        assert sp.issparse(found) == sp.issparse(X)
        difference = found - expected
        assert not (difference.nnz if sp.issparse(X) else difference.any())
    store.close()
    assert not list(tmp_path.iterdir())


def test_rows_of_no_numbers(tmp_path):
    """Rows without features are rows still."""
    store = open_store(tmp_path, "rows", np.empty((0, 0)))
    store.append(np.empty((5, 0)))
    assert store.n_rows == 5
    assert store.read([(1, 3)]).shape == (2, 0)
    store.close()


def test_numbers_are_replaced(tmp_path):
    """What is written to some ranges is read from there, and the rest stays zero."""
    with NumberFile(tmp_path / "numbers", np.float32, 2) as file:
        file.extend(6)
        file.write([(1, 2), (4, 6)], np.arange(6, dtype=np.float32).reshape(3, 2))
        found = file.read([(0, 6)])
    assert found.tolist() == [[0, 0], [0, 1], [0, 0], [0, 0], [2, 3], [4, 5]]


def test_file_cut_short(tmp_path):
    """A file that lost its end is an error, not rows of chance."""
    with NumberFile(tmp_path / "numbers", np.float64) as file:
        file.append(np.arange(4.0))
        (tmp_path / "numbers").write_bytes(b"")
        with pytest.raises(OSError, match="shorter"):
            file.read([(0, 4)])


@given(st.integers(1, 5_000), st.integers(1, 2_000), st.integers(0, 9))
def test_blocks_are_a_partition(n_rows, block_rows, seed):
    """Every row is dealt once; blocks differ by little and are about as large as wanted."""
    blocks = deal_chunks(n_rows, block_rows, np.random.default_rng(seed))
    rows = np.concatenate([np.arange(*chunk) for block in blocks for chunk in block])
    assert np.array_equal(np.sort(rows), np.arange(n_rows))
    assert max(map(count_rows, blocks)) <= block_rows + min(MOST_ADJACENT, block_rows)


def test_a_working_folder_is_removed(tmp_path):
    """Also after an error, which names the folder and the remedy if the disk is full."""
    with working_folder(tmp_path) as folder:
        assert folder.parent == tmp_path
    full = OSError(errno.ENOSPC, "No space left on device")
    with (
        pytest.raises(
            OSError, match=f"{tmp_path}: rows cannot be stored .*No space.*give a folder"
        ),
        working_folder(tmp_path),
    ):
        raise full
    with pytest.raises(FileNotFoundError), working_folder(tmp_path / "none"):
        pass
    assert list(tmp_path.iterdir()) == []
