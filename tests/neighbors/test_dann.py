"""Tests of hyperlocal.neighbors.dann: DANN's metric of each query."""

import numpy as np

from hyperlocal.neighbors.dann import RIDGE, ROUNDNESS, dann_rows
from reference.neighborhood import dann_metric


def make_pools(n_queries=6, n_pool=40, n_features=3, seed=0):
    rng = np.random.default_rng(seed)
    pools = rng.standard_normal((n_queries, n_pool, n_features))
    target = (pools[..., 0] > 0).astype(int) + (pools[..., 1] > 1)
    return pools, 0.3 * rng.standard_normal((n_queries, n_features)), target


def test_distances_are_those_of_the_plain_metric():
    """Mapped rows have the distances that the metric, computed by loops, gives."""
    pools, queries, target = make_pools()
    mapped = dann_rows(pools, queries, target, 3)
    for rows, pool, query, labels in zip(mapped, pools, queries, target, strict=True):
        metric = dann_metric(pool, query, labels, RIDGE, ROUNDNESS)
        expected = np.einsum("pd,de,pe->p", pool - query, metric, pool - query)
        np.testing.assert_allclose((rows**2).sum(axis=1), expected, rtol=1e-8)


def test_neighborhoods_shrink_across_the_boundary():
    """The direction that separates the classes counts most."""
    rng = np.random.default_rng(0)
    pools = rng.uniform(-1, 1, (1, 200, 2))
    mapped = dann_rows(pools, np.zeros((1, 2)), (pools[..., 0] > 0).astype(int), 2)
    map_ = np.linalg.lstsq(pools[0], mapped[0], rcond=None)[0].T
    metric = map_.T @ map_
    assert metric[0, 0] > 2 * metric[1, 1]


def test_degenerate_pools_stay_finite():
    """One class, one point, and a constant feature give numbers."""
    pools = np.zeros((3, 8, 2))
    pools[1:, :, 0] = np.arange(8)
    target = np.array([[0, 1] * 4, [0] * 8, [0, 1] * 4])
    assert np.isfinite(dann_rows(pools, np.zeros((3, 2)), target, 2)).all()
