"""Tests of hyperlocal.estimators.neighborhood_values: what a neighborhood regressor fits."""

import numpy as np

from hyperlocal import NeighborhoodSVR
from hyperlocal.estimators.neighborhood_values import CachedSvrs, QuerySvrs


def make_rows():
    X = np.random.default_rng(0).uniform(-2, 2, (300, 2))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] ** 2


def test_centers_cover_rows_and_are_fewer(workers):
    """The nearest of fewer centers than rows gives nearly what an SVR of the query's own does."""
    X, y = make_rows()
    own = NeighborhoodSVR().fit(X, y)
    cached = NeighborhoodSVR(cache_neighborhoods=True).fit(X, y)
    assert isinstance(own.model_, QuerySvrs)
    assert isinstance(cached.model_, CachedSvrs)
    assert 2 < len(cached.centers_) < len(X) / 5
    assert np.std(cached.predict(X) - own.predict(X)) < 0.15 * y.std()


def test_merit_is_r2(workers):
    """Scores that are right have 1, their mean has 0."""
    X, y = make_rows()
    svrs = NeighborhoodSVR().fit(X, y).model_
    values = svrs.rows.labels
    own = np.arange(len(values))
    assert svrs.merit(values[:, None], own) == 1
    mean = np.average(values, weights=svrs.rows.sample_weight)
    assert abs(svrs.merit(np.full((len(values), 1), mean), own)) < 1e-12
