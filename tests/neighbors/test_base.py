"""Tests of hyperlocal.neighbors.base: lists of neighbors."""

import numpy as np

from hyperlocal.neighbors.base import Neighbors, without_self
from hyperlocal.neighbors.exact import ExactSearch
from hyperlocal.runtime.threads import Workers

ONE_THREAD = Workers(1)


def test_own_rows_are_left_out():
    """A row is not its own neighbor, wherever it stands in the list."""
    X = np.array([[0.0], [0.0], [1.0], [3.0]])
    found = ExactSearch(X).query(X, 3, ONE_THREAD)
    left = without_self(found, np.arange(4))
    np.testing.assert_array_equal(left.indices, [[1, 2], [0, 2], [0, 1], [2, 0]])


def test_fewer_neighbors_are_the_first_ones():
    """``first`` cuts the lists."""
    found = Neighbors(np.arange(6).reshape(2, 3), np.arange(6.0).reshape(2, 3))
    np.testing.assert_array_equal(found.first(2).indices, [[0, 1], [3, 4]])
    assert found.first(2).distances.flags.c_contiguous


def test_some_queries_get_other_neighbors():
    """``replace`` overwrites the lists of the queries named."""
    found, new = (Neighbors(np.full((n, 2), n), np.full((n, 2), float(n))) for n in (3, 1))
    found.replace(np.array([1]), new)
    np.testing.assert_array_equal(found.indices, [[3, 3], [1, 1], [3, 3]])
    np.testing.assert_array_equal(found.distances, [[3, 3], [1, 1], [3, 3]])
