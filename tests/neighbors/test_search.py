"""Tests of hyperlocal.neighbors.search: searches by name."""

import numpy as np
import pytest
import scipy.sparse as sp

from hyperlocal.neighbors.cells import CellSearch
from hyperlocal.neighbors.exact import ExactSearch
from hyperlocal.neighbors.search import make_search
from hyperlocal.neighbors.tree import TreeSearch
from hyperlocal.runtime.threads import Workers


def blobs(n_rows):
    rng = np.random.default_rng(0)
    centers = 9 * rng.standard_normal((40, 4))
    return centers[rng.integers(40, size=n_rows)] + rng.standard_normal((n_rows, 4))


@pytest.mark.parametrize(
    ("algorithm", "kind"),
    [("exact", ExactSearch), ("tree", TreeSearch), ("approximate", CellSearch)],
)
def test_a_name_makes_its_search(algorithm, kind):
    """Each finds rows themselves."""
    X = blobs(5000)
    search = make_search(algorithm, X, 0, Workers(1))
    assert isinstance(search, kind)
    np.testing.assert_array_equal(search.query(X[:9], 3, Workers(1)).indices[:, 0], np.arange(9))


def test_the_approximate_search_finds_most_neighbors():
    """Nearly the same rows as the exact search, in order of their distances."""
    X, queries = blobs(5000)[:4500], blobs(5000)[4500:]
    search = make_search("approximate", X, 0, Workers(1))
    found = search.query(queries, 50, Workers(1))
    exact = ExactSearch(X).query(queries, 50, Workers(1))
    shared = [np.isin(a, b).mean() for a, b in zip(found.indices, exact.indices, strict=True)]
    assert np.mean(shared) > 0.97
    assert (np.diff(found.distances, axis=1) >= 0).all()


def test_rows_without_clusters_are_searched_exactly():
    """So are sparse rows."""
    X = np.random.default_rng(0).standard_normal((2000, 30))
    for rows in (X, sp.csr_array(blobs(500))):
        assert isinstance(make_search("approximate", rows, 0, Workers(1)), ExactSearch)
