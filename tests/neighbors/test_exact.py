"""Tests of hyperlocal.neighbors.exact: the nearest rows, however the work is cut."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hyperlocal.neighbors.exact import ExactSearch, nearest_of_lists
from hyperlocal.runtime.threads import Workers
from reference.neighborhood import nearest_rows
from reference.problems import TOLERANCE, every_storage, make_rows
from reference.rows import written_out

ONE_THREAD = Workers(1)

integer_rows = st.tuples(st.integers(1, 3), st.integers(1, 4), st.integers(1, 30)).flatmap(
    lambda shape: st.tuples(
        arrays(np.float64, (shape[1], shape[0]), elements=st.integers(-2, 2).map(float)),
        arrays(np.float64, (shape[2], shape[0]), elements=st.integers(-2, 2).map(float)),
        st.integers(1, shape[2]),
    )
)


@every_storage
@pytest.mark.parametrize("k", [1, 7, 300])
def test_the_nearest_rows_are_found(dtype, storage, k):
    """Rows and distances are those of a plain computation."""
    X = make_rows(dtype, storage, n_rows=300, n_features=6)
    queries = make_rows(dtype, storage, n_rows=40, n_features=6, seed=1)
    found = ExactSearch(X).query(queries, k, ONE_THREAD)
    _, distances = nearest_rows(written_out(X), written_out(queries), k)
    assert found.indices.dtype == np.int32
    assert found.distances.dtype == X.dtype
    np.testing.assert_allclose(found.distances, distances, atol=100 * TOLERANCE[dtype])
    assert all(len(set(row)) == k for row in found.indices.tolist())


@pytest.mark.parametrize("shift", [0.0, 1e4])
@given(integer_rows)
def test_equal_distances_are_ordered_by_row(shift, drawn):
    """Of equally near rows the first come first, also far from the origin."""
    queries, X, k = drawn
    expected, _ = nearest_rows(X, queries, k)
    found = ExactSearch(X + shift).query(queries + shift, k, ONE_THREAD)
    np.testing.assert_array_equal(found.indices, expected)
    sparse = ExactSearch(sp.csr_array(X)).query(sp.csr_array(queries), k, ONE_THREAD)
    np.testing.assert_array_equal(sparse.indices, expected)


@every_storage
def test_tiles_blocks_and_threads_do_not_matter(dtype, storage):
    """The result is the same to the last bit however the work is cut."""
    X = make_rows(dtype, storage, n_rows=900, n_features=5)
    queries = make_rows(dtype, storage, n_rows=300, n_features=5, seed=1)
    whole = ExactSearch(X).query(queries, 9, ONE_THREAD)
    with Workers(2) as two_threads:
        cut = ExactSearch(X).query(queries, 9, two_threads, rows_per_tile=70, queries_per_block=17)
    np.testing.assert_array_equal(cut.indices, whole.indices)
    np.testing.assert_array_equal(cut.distances, whole.distances)


def test_many_equal_rows_are_no_trouble():
    """Ten thousand ties: the first rows are found."""
    found = ExactSearch(np.ones((10_000, 3), np.float32)).query(
        np.zeros((2, 3), np.float32), 5, ONE_THREAD
    )
    np.testing.assert_array_equal(found.indices, [[0, 1, 2, 3, 4]] * 2)


def test_a_copy_finds_the_same():
    """Only the rows are saved; the rest is prepared again."""
    X = make_rows(n_rows=300, n_features=6)
    copy = pickle.loads(pickle.dumps(ExactSearch(X)))
    found, again = (search.query(X[:40], 5, ONE_THREAD) for search in (ExactSearch(X), copy))
    np.testing.assert_array_equal(again.indices, found.indices)
    np.testing.assert_array_equal(again.distances, found.distances)


@every_storage
def test_the_nearest_of_lists_are_found(dtype, storage):
    """Rows that stand twice in a list count once; equal distances are ordered by row."""
    X = make_rows(dtype, storage, n_rows=60, n_features=6)
    queries = make_rows(dtype, storage, n_rows=20, n_features=6, seed=1)
    lists = np.random.default_rng(0).integers(60, size=(20, 30), dtype=np.int32)
    found = nearest_of_lists(X, queries, lists, 5, ONE_THREAD)
    for query, own, chosen in zip(written_out(queries), lists, found.indices, strict=True):
        own = np.unique(own)
        expected, _ = nearest_rows(written_out(X)[own], query[None], 5)
        np.testing.assert_array_equal(chosen, own[expected[0]])
    with pytest.raises(ValueError, match="k different rows"):
        nearest_of_lists(X, queries, np.zeros((20, 3), np.int32), 2, ONE_THREAD)
