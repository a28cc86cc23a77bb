"""Tests of hyperlocal.neighbors.search: searches by name."""

import numpy as np
import pytest

from hyperlocal.neighbors.exact import ExactSearch
from hyperlocal.neighbors.search import make_search
from hyperlocal.neighbors.tree import TreeSearch
from hyperlocal.runtime.threads import Workers


@pytest.mark.parametrize(("algorithm", "kind"), [("exact", ExactSearch), ("tree", TreeSearch)])
def test_a_name_makes_its_search(algorithm, kind):
    """The approximate one is tested with its index, which takes long to compile."""
    X = np.random.default_rng(0).standard_normal((60, 4))
    search = make_search(algorithm, X, 0, Workers(1))
    assert isinstance(search, kind)
    np.testing.assert_array_equal(search.query(X[:9], 3, Workers(1)).indices[:, 0], np.arange(9))
