"""Tests of hyperlocal.neighbors.covering: centers whose neighborhoods cover all rows."""

import numpy as np
import pytest

from hyperlocal.neighbors import covering
from hyperlocal.neighbors.base import Neighbors
from hyperlocal.neighbors.covering import cover_rows
from hyperlocal.neighbors.exact import ExactSearch
from hyperlocal.runtime.threads import Workers

ONE_THREAD = Workers(1)


def make_rows(n_rows=600, seed=0):
    X = np.random.default_rng(seed).standard_normal((n_rows, 3))
    return X, (X[:, 0] > 0).astype(np.int32)


@pytest.mark.parametrize("k", [1, 2, 12, 60])
def test_every_row_lies_in_the_inner_part_of_a_neighborhood(k):
    """Few rows where classes meet, half of the neighborhood elsewhere."""
    X, target = make_rows()
    centers, found = cover_rows(X, target, ExactSearch(X), k, ONE_THREAD)
    is_covered = np.zeros(len(X), bool)
    is_covered[centers] = True
    for near in found.indices:
        pure = len(np.unique(target[near])) == 1
        share = max(1, round(covering.INNER_SHARE_OF_ONE_CLASS * k))
        is_covered[near[: share if pure else covering.INNER_ROWS]] = True
    assert is_covered.all()
    np.testing.assert_array_equal(found.indices[:, 0], centers)
    assert found.indices.shape == (len(centers), k)


def test_fewer_centers_than_rows_are_needed():
    """Larger neighborhoods of one class need fewer centers."""
    X, target = make_rows()
    few, _ = cover_rows(X, target, ExactSearch(X), 60, ONE_THREAD)
    many, _ = cover_rows(X, target, ExactSearch(X), 10, ONE_THREAD)
    assert len(few) < len(many) < len(X)


def test_the_order_of_rows_plays_no_part():
    """The same points are centers however the rows stand."""
    X, target = make_rows()
    order = np.random.default_rng(1).permutation(len(X))
    centers, _ = cover_rows(X, target, ExactSearch(X), 20, ONE_THREAD)
    X, target = X[order], target[order]
    others, _ = cover_rows(X, target, ExactSearch(X), 20, ONE_THREAD)
    np.testing.assert_array_equal(np.sort(order[others]), np.sort(centers))


def test_equal_rows_are_covered_too():
    """A row that finds an equal row before itself still ends as covered."""
    X, target = np.zeros((10, 2)), np.arange(10, dtype=np.int32) % 2
    centers, _ = cover_rows(X, target, ExactSearch(X), 4, ONE_THREAD)
    assert 1 <= len(centers) <= 10


class BlindSearch(ExactSearch):
    """Never finds the query's own row."""

    def query(self, X, k, workers):
        """All but the nearest."""
        found = super().query(X, k + 1, workers)
        return Neighbors(found.indices[:, 1:].copy(), found.distances[:, 1:].copy())


def test_a_row_that_the_search_misses_is_put_first():
    """Models are about their center, so it must be the first of their rows."""
    X, target = make_rows(100)
    centers, found = cover_rows(X, target, BlindSearch(X), 5, ONE_THREAD)
    np.testing.assert_array_equal(found.indices[:, 0], centers)
    assert not found.distances[:, 0].any()
    _, exact = cover_rows(X, target, ExactSearch(X), 5, ONE_THREAD)
    np.testing.assert_array_equal(found.indices, exact.indices)
