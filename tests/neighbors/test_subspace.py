"""Tests of hyperlocal.neighbors.subspace: bounds of distances from a part of the features."""

import numpy as np
import pytest

from hyperlocal.neighbors.exact import ExactSearch, scan
from hyperlocal.neighbors.keys import Keys
from hyperlocal.neighbors.subspace import USUAL_RULE, Subspace, SubspaceRule
from hyperlocal.runtime.threads import Workers

ONE_THREAD = Workers(1)
SMALL = SubspaceRule(fewest_rows=20, fewest_features=6, most_features=100)


def test_the_usual_rule_is_for_large_data():
    """Many rows of a few hundred features."""
    assert USUAL_RULE.allows(20_000, 784)
    assert not USUAL_RULE.allows(19_999, 784)
    assert not USUAL_RULE.allows(20_000, 127)
    assert not USUAL_RULE.allows(20_000, 1025)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shift", [0.0, 100.0])
@pytest.mark.parametrize("outside", [0.0, 0.3, 0.5])
def test_rows_near_a_subspace_are_searched_exactly(dtype, shift, outside):
    """Bounds from a subspace change nothing: queries may lie far outside it, rows may be equal."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 5)) @ rng.standard_normal((5, 20))
    X += outside * rng.standard_normal(X.shape)
    X[100:120] = X[:20]
    queries = np.vstack([X[:30], 3 * rng.standard_normal((30, 20))]) + shift
    X, queries = (X + shift).astype(dtype), queries.astype(dtype)
    search, plain_search = ExactSearch(X, rule=SMALL), ExactSearch(X)
    assert search.uses_subspace
    assert not plain_search.uses_subspace
    found = search.query(queries, 7, ONE_THREAD)
    plain = plain_search.query(queries, 7, ONE_THREAD)
    np.testing.assert_array_equal(found.indices, plain.indices)
    np.testing.assert_array_equal(found.distances, plain.distances)


def test_the_bounds_of_a_subspace_hold():
    """No row is nearer than its bound says, and queries are sure where bounds are tight."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 5)) @ rng.standard_normal((5, 20))
    X += 0.3 * rng.standard_normal(X.shape)
    queries = X[:40] + 0.1 * rng.standard_normal((40, 20))
    subspace = Subspace.found_in(Keys(X, ONE_THREAD), ONE_THREAD, SMALL)
    points = subspace.points(queries)
    keys = subspace.half_norms - points.values @ subspace.rows.T
    lowest = 2 * keys + points.squared_norms[:, None]
    distances = ((queries[:, None] - X[None]) ** 2).sum(axis=2)
    assert (lowest <= distances + 1e-9).all()
    _, is_sure = scan(X, subspace, queries, 5, ONE_THREAD)
    assert is_sure.mean() > 0.5


def test_round_rows_have_no_subspace():
    """Where all directions matter, products are taken over all features."""
    X = np.random.default_rng(0).standard_normal((300, 20))
    assert not ExactSearch(X, rule=SMALL).uses_subspace
