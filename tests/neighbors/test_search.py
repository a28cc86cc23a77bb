"""Tests of hyperlocal.neighbors.search: exact, tree and approximate searches."""

import sys
import types

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hyperlocal.neighbors import search as neighbors
from hyperlocal.neighbors.search import (
    ExactSearch,
    Neighbors,
    TreeSearch,
    make_search,
    nearest_of_lists,
    without_self,
)
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
def test_tiles_blocks_and_threads_do_not_matter(dtype, storage, monkeypatch):
    """The answer is the same to the last bit however the work is cut."""
    X = make_rows(dtype, storage, n_rows=900, n_features=5)
    queries = make_rows(dtype, storage, n_rows=300, n_features=5, seed=1)
    whole = ExactSearch(X).query(queries, 9, ONE_THREAD)
    monkeypatch.setattr(neighbors, "ROWS_PER_TILE", 70)
    monkeypatch.setattr(neighbors, "QUERIES_PER_BLOCK", 17)
    with Workers(2) as two_threads:
        cut = ExactSearch(X).query(queries, 9, two_threads)
    np.testing.assert_array_equal(cut.indices, whole.indices)
    np.testing.assert_array_equal(cut.distances, whole.distances)


@pytest.fixture
def small_subspaces(monkeypatch):
    """Subspaces are looked for in few rows and features."""
    monkeypatch.setattr(neighbors, "FEWEST_ROWS_FOR_SUBSPACE", 20)
    monkeypatch.setattr(neighbors, "FEATURES_FOR_SUBSPACE", range(6, 100))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shift", [0.0, 100.0])
@pytest.mark.parametrize("outside", [0.0, 0.3, 0.5])
def test_rows_near_a_subspace_are_searched_exactly(small_subspaces, dtype, shift, outside):
    """Bounds from a subspace change nothing: queries may lie far outside it, rows may be equal."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 5)) @ rng.standard_normal((5, 20))
    X += outside * rng.standard_normal(X.shape)
    X[100:120] = X[:20]
    queries = np.vstack([X[:30], 3 * rng.standard_normal((30, 20))]) + shift
    X, queries = (X + shift).astype(dtype), queries.astype(dtype)
    search = ExactSearch(X)
    assert search._subspace is not None
    found = search.query(queries, 7, ONE_THREAD)
    search._subspace = None
    plain = search.query(queries, 7, ONE_THREAD)
    np.testing.assert_array_equal(found.indices, plain.indices)
    np.testing.assert_array_equal(found.distances, plain.distances)


def test_the_bounds_of_a_subspace_hold(small_subspaces):
    """No row is nearer than its bound says, and queries are sure where bounds are tight."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 5)) @ rng.standard_normal((5, 20))
    X += 0.3 * rng.standard_normal(X.shape)
    search, queries = ExactSearch(X), X[:40] + 0.1 * rng.standard_normal((40, 20))
    points = search._subspace.points(queries)
    keys = search._subspace.half_norms - points.values @ search._subspace.rows.T
    lowest = 2 * keys + points.squared_norms[:, None]
    distances = ((queries[:, None] - X[None]) ** 2).sum(axis=2)
    assert (lowest <= distances + 1e-9).all()
    _, is_sure = search._scan(search._subspace, queries, 5, ONE_THREAD)
    assert is_sure.mean() > 0.5


def test_round_rows_have_no_subspace(small_subspaces):
    """Where all directions matter, products are taken over all features."""
    assert ExactSearch(np.random.default_rng(0).standard_normal((300, 20)))._subspace is None


def test_many_equal_rows_are_no_trouble():
    """Ten thousand ties: the first rows are found."""
    found = ExactSearch(np.ones((10_000, 3), np.float32)).query(
        np.zeros((2, 3), np.float32), 5, ONE_THREAD
    )
    np.testing.assert_array_equal(found.indices, [[0, 1, 2, 3, 4]] * 2)


@pytest.mark.parametrize("n_features", [4, 20])
def test_trees_agree_with_the_exact_search(n_features):
    """A k-d tree and a ball tree find the same rows."""
    rng = np.random.default_rng(0)
    X, queries = rng.normal(size=(400, n_features)), rng.normal(size=(50, n_features))
    exact = ExactSearch(X).query(queries, 8, ONE_THREAD)
    tree = TreeSearch(X).query(queries, 8, ONE_THREAD)
    np.testing.assert_array_equal(tree.indices, exact.indices)
    np.testing.assert_allclose(tree.distances, exact.distances)


def test_trees_order_equal_distances_by_row():
    """Equal rows come in their order."""
    found = TreeSearch(np.zeros((6, 2))).query(np.zeros((1, 2)), 6, ONE_THREAD)
    np.testing.assert_array_equal(found.indices, [np.arange(6)])


def test_trees_need_dense_rows():
    """The error names the argument and the remedy."""
    with pytest.raises(ValueError, match="algorithm='exact'"):
        make_search("tree", sp.csr_array(np.eye(3)), 0, ONE_THREAD)


class FakeIndex:
    """What pynndescent's index does, exactly."""

    def __init__(self, X, n_neighbors, random_state, n_jobs):
        self.X, self.made_with = X, (n_neighbors, random_state, n_jobs)

    def prepare(self):
        """Nothing to do."""

    def query(self, queries, k, epsilon):
        """Rows and distances."""
        indices, squared = nearest_rows(self.X, queries, k)
        return indices, np.sqrt(squared)


def test_the_approximate_index_is_asked(monkeypatch):
    """An index is built with the seed, whatever the number of neighbours asked for."""
    monkeypatch.setitem(sys.modules, "pynndescent", types.SimpleNamespace(NNDescent=FakeIndex))
    X = make_rows(n_rows=60)
    search = make_search("approximate", X, 7, ONE_THREAD)
    assert search._index.made_with == (30, 7, 1)
    found = search.query(X[:5], 3, ONE_THREAD)
    np.testing.assert_array_equal(found.indices, nearest_rows(X, X[:5], 3)[0])


def test_the_real_index_finds_most_neighbours():
    """With the extra installed: nearly the same rows, in order of their distances."""
    pytest.importorskip("pynndescent")
    X, queries = make_rows("float32", n_rows=2000), make_rows("float32", n_rows=100, seed=1)
    search = make_search("approximate", X, 7, ONE_THREAD)
    found = search.query(queries, 40, ONE_THREAD)
    exact = ExactSearch(X).query(queries, 40, ONE_THREAD)
    shared = [np.isin(a, b).mean() for a, b in zip(found.indices, exact.indices, strict=True)]
    assert np.mean(shared) > 0.95
    np.testing.assert_allclose(found.distances[:, 0], exact.distances[:, 0], rtol=1e-2)
    assert (np.diff(found.distances, axis=1) >= 0).all()


def test_queries_that_the_index_loses_are_searched_for_exactly(monkeypatch):
    """An index marks what it did not find by −1."""
    monkeypatch.setitem(sys.modules, "pynndescent", types.SimpleNamespace(NNDescent=FakeIndex))
    X = make_rows(n_rows=60)
    search = make_search("approximate", X, 7, ONE_THREAD)
    expected = search.query(X[:5], 3, ONE_THREAD)

    def lossy(queries, k, epsilon):
        indices, distances = FakeIndex(X, 0, 0, 1).query(queries, k, epsilon)
        indices[2, -1], distances[2, -1] = -1, np.inf
        return indices, distances

    monkeypatch.setattr(search._index, "query", lossy)
    np.testing.assert_array_equal(search.query(X[:5], 3, ONE_THREAD).indices, expected.indices)


def test_a_missing_index_says_what_to_install(monkeypatch):
    """Without pynndescent the error names the extra."""
    monkeypatch.setitem(sys.modules, "pynndescent", None)
    with pytest.raises(ImportError, match=r"hyperlocal\[approximate\]"):
        make_search("approximate", make_rows(), 0, ONE_THREAD)


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


def test_own_rows_are_left_out():
    """A row is not its own neighbour, wherever it stands in the list."""
    X = np.array([[0.0], [0.0], [1.0], [3.0]])
    found = ExactSearch(X).query(X, 3, ONE_THREAD)
    left = without_self(found, np.arange(4))
    np.testing.assert_array_equal(left.indices, [[1, 2], [0, 2], [0, 1], [2, 0]])


def test_fewer_neighbours_are_the_first_ones():
    """``first`` cuts the lists."""
    found = Neighbors(np.arange(6).reshape(2, 3), np.arange(6.0).reshape(2, 3))
    np.testing.assert_array_equal(found.first(2).indices, [[0, 1], [3, 4]])
    assert found.first(2).distances.flags.c_contiguous
