"""Tests of hyperlocal.neighbors.tree: the same rows as the exact search."""

import numpy as np
import pytest
import scipy.sparse as sp

from hyperlocal.neighbors.exact import ExactSearch
from hyperlocal.neighbors.tree import TreeSearch
from hyperlocal.runtime.threads import Workers

ONE_THREAD = Workers(1)


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
        TreeSearch(sp.csr_array(np.eye(3)))
