"""Tests of hyperlocal.neighbors.approximate: the index of pynndescent, and what it misses."""

import sys
import types

import numpy as np
import pytest

from hyperlocal.neighbors.approximate import ApproximateSearch
from hyperlocal.neighbors.exact import ExactSearch
from hyperlocal.neighbors.search import make_search
from hyperlocal.runtime.threads import Workers
from reference.neighborhood import nearest_rows
from reference.problems import make_rows

ONE_THREAD = Workers(1)


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


def test_the_approximate_index_is_used(monkeypatch):
    """An index is built with the seed, whatever the number of neighbors asked for."""
    monkeypatch.setitem(sys.modules, "pynndescent", types.SimpleNamespace(NNDescent=FakeIndex))
    X = make_rows(n_rows=60)
    search = ApproximateSearch(X, 7, ONE_THREAD)
    assert search.index.made_with == (30, 7, 1)
    found = search.query(X[:5], 3, ONE_THREAD)
    np.testing.assert_array_equal(found.indices, nearest_rows(X, X[:5], 3)[0])


def test_the_real_index_finds_most_neighbors():
    """Nearly the same rows as by the exact search, in order of their distances."""
    X, queries = make_rows("float32", n_rows=2000), make_rows("float32", n_rows=100, seed=1)
    search = make_search("approximate", X, 7, ONE_THREAD)
    assert isinstance(search, ApproximateSearch)
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
    search = ApproximateSearch(X, 7, ONE_THREAD)
    expected = search.query(X[:5], 3, ONE_THREAD)

    def lossy(queries, k, epsilon):
        indices, distances = FakeIndex(X, 0, 0, 1).query(queries, k, epsilon)
        indices[2, -1], distances[2, -1] = -1, np.inf
        return indices, distances

    monkeypatch.setattr(search.index, "query", lossy)
    np.testing.assert_array_equal(search.query(X[:5], 3, ONE_THREAD).indices, expected.indices)


def test_a_missing_index_says_what_to_install(monkeypatch):
    """Without pynndescent the error names the extra."""
    monkeypatch.setitem(sys.modules, "pynndescent", None)
    with pytest.raises(ImportError, match=r"hyperlocal\[approximate\]"):
        ApproximateSearch(make_rows(), 0, ONE_THREAD)
