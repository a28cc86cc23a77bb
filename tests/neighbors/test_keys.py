"""Tests of hyperlocal.neighbors.keys: keys rank rows by their distance."""

import numpy as np
import pytest

from hyperlocal.neighbors.keys import ROWS_TO_SAMPLE, Keys, sampled_rows
from hyperlocal.runtime.threads import Workers
from reference.neighborhood import squared_distances
from reference.problems import every_storage, make_rows
from reference.rows import written_out


def keys_and_points(X, queries):
    keys = Keys(X, Workers(1))
    points = keys.points(queries)
    products = points.values @ written_out(keys.rows).T
    return keys.half_norms - products, points


@every_storage
def test_keys_are_half_the_distances_but_for_a_constant(dtype, storage):
    """Twice a key plus the query's squared norm is the squared distance, up to the slack."""
    X = make_rows(dtype, storage, n_rows=80, n_features=6)
    queries = make_rows(dtype, storage, n_rows=20, n_features=6, seed=1)
    keys, points = keys_and_points(X, queries)
    distances = squared_distances(written_out(X), written_out(queries))
    found = 2 * keys + points.squared_norms[:, None]
    assert (np.abs(found - distances) <= 2 * points.slack[:, None]).all()
    assert (keys <= points.farthest_key(distances.T).T + points.rounding[:, None]).all()


@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_rows_far_from_the_origin_are_shifted(shift):
    """The slack does not grow with the distance of all rows from the origin."""
    X = make_rows("float32", n_rows=80, n_features=6)
    _, points = keys_and_points((X + shift).astype(np.float32), (X[:9] + shift).astype(np.float32))
    _, near = keys_and_points(X, X[:9])
    assert points.slack.max() < 2 * near.slack.max()


def test_a_sample_is_spread_over_the_rows():
    """It has at most a stated number of rows, the first among them."""
    X = np.arange(3.5 * ROWS_TO_SAMPLE)[:, None]
    sample = sampled_rows(X)
    assert len(sample) <= ROWS_TO_SAMPLE
    assert sample[0, 0] == 0
    assert (np.diff(sample[:, 0]) == 4).all()
