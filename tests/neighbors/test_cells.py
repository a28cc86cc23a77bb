"""Tests of hyperlocal.neighbors.cells: the nearest points among those in the nearest cells."""

import pickle

import numpy as np
import pytest

from hyperlocal import _core
from hyperlocal.data.rows import core_rows
from hyperlocal.neighbors import cells
from hyperlocal.neighbors.cells import CellSearch
from hyperlocal.runtime.threads import Workers
from reference.neighborhood import nearest_rows, squared_distances
from reference.problems import TOLERANCE, make_rows

ONE_THREAD = Workers(1)
every_dtype = pytest.mark.parametrize("dtype", ["float32", "float64"])


@every_dtype
@pytest.mark.parametrize("k", [1, 3, 60])
def test_few_points_are_searched_exactly(dtype, k):
    """All of them are measured; equal distances are ordered by the point's index."""
    X = make_rows(dtype, n_rows=60, n_features=5)
    X[40:] = X[:20]
    queries = make_rows(dtype, n_rows=30, n_features=5, seed=1)
    found = CellSearch(X, ONE_THREAD).query(queries, k, ONE_THREAD)
    indices, distances = nearest_rows(X, queries, k)
    assert found.distances.dtype == X.dtype
    np.testing.assert_allclose(found.distances, distances, atol=100 * TOLERANCE[dtype])
    np.testing.assert_array_equal(found.indices[:, 0], indices[:, 0])
    assert all(len(set(row)) == k for row in found.indices.tolist())


@every_dtype
@pytest.mark.parametrize(("n_probes", "k"), [(1, 2), (3, 2), (1, 40), (2, 90)])
def test_the_nearest_cells_are_searched(dtype, n_probes, k):
    """The nearest of all points in the cells probed; of all there are where these have too few."""
    rng = np.random.default_rng(0)
    points, queries = (rng.standard_normal((n, 3)).astype(dtype) for n in (90, 50))
    middles, cell = rng.standard_normal((7, 3)).astype(dtype), rng.integers(7, size=90)
    cell[cell == 3] = 4  # a cell may be empty
    chosen, distances = np.zeros((50, k), np.int32), np.zeros((50, k), dtype)
    _core.cells(points, cell.astype(np.int32), middles).nearest(
        core_rows(queries), 0, 50, n_probes, chosen, distances
    )
    for query, found in zip(queries, chosen, strict=True):
        order = np.argsort(squared_distances(middles, query[None])[0])
        members = np.flatnonzero(np.isin(cell, order[:n_probes]))
        members = members if len(members) >= k else np.arange(90)
        nearest, _ = nearest_rows(points[members], query[None], k)
        np.testing.assert_array_equal(found, members[nearest[0]])


def test_most_of_the_nearest_of_many_points_are_found():
    """Cells lose few; copies and threads do not matter."""
    X = make_rows("float32", n_rows=3000, n_features=8)
    queries = make_rows("float32", n_rows=600, n_features=8, seed=1)
    search = CellSearch(X, ONE_THREAD)
    found = search.query(queries, 2, ONE_THREAD)
    assert len(search.centers) == round(cells.CELLS_PER_ROOT * np.sqrt(3000))
    assert np.mean(found.indices[:, 0] == nearest_rows(X, queries, 1)[0][:, 0]) > 0.9
    copy = pickle.loads(pickle.dumps(search))
    with Workers(2) as two_threads:
        other = CellSearch(X, two_threads)
        for same in (copy, other):
            again = same.query(queries, 2, two_threads)
            np.testing.assert_array_equal(again.indices, found.indices)
            np.testing.assert_array_equal(again.distances, found.distances)


def test_as_many_cells_are_searched_as_are_needed():
    """Neighbors of points without clusters lie in many cells; a copy searches in as many."""
    X = make_rows("float32", n_rows=3000, n_features=8)
    search = CellSearch(X, ONE_THREAD)
    few = search.query(X[:100], 40, ONE_THREAD)
    search.probe_enough(0, ONE_THREAD)
    assert search.n_probes > cells.N_PROBES
    many = search.query(X[:100], 40, ONE_THREAD)
    _, nearest = nearest_rows(X, X[:100], 40)
    found = [(f.distances <= 1.001 * nearest[:, -1:] + 1e-6).mean() for f in (few, many)]
    assert found[0] < 0.95 < 0.98 < found[1]
    assert pickle.loads(pickle.dumps(search)).n_probes == search.n_probes


def test_equal_points_are_no_trouble():
    """There are no more cells than distinct points."""
    X = np.repeat(np.arange(4.0)[:, None], 100, axis=0)
    found = CellSearch(X, ONE_THREAD).query(np.array([[1.9]]), 3, ONE_THREAD)
    np.testing.assert_array_equal(found.indices, [[200, 201, 202]])
