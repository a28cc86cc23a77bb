"""Tests of hyperlocal.estimators.intervals."""

import numpy as np
import pytest
from mapie.regression import SplitConformalRegressor

from hyperlocal import LocallyLinearSVR


def noisy_rows(n_rows, seed):
    """A wave whose noise grows with the second feature."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 2, (n_rows, 2))
    return X, np.sin(3 * X[:, 0]) + (0.05 + 0.5 * X[:, 1]) * rng.standard_normal(n_rows)


@pytest.fixture(scope="module")
def model():
    return LocallyLinearSVR(12, relevance=None, random_state=0).fit(*noisy_rows(1500, 0))


@pytest.mark.parametrize("coverage", [0.8, 0.9])
def test_coverage(model, coverage):
    """New rows are covered as requested, near each anchor too."""
    X, y = noisy_rows(40_000, 2)
    model.calibrate(*noisy_rows(6_000, 1))
    low, high = model.predict_interval(X, coverage).T
    inside = (low <= y) & (y <= high)
    # 4,000 calibration rows: the coverage has a standard error of 0.5 to 0.6 points.
    assert inside.mean() == pytest.approx(coverage, abs=0.015)
    nearest = np.argmin(((X[:, None] - model.anchors_) ** 2).sum(axis=2), axis=1)
    by_anchor = [inside[nearest == j].mean() for j in range(len(model.anchors_))]
    # 300 calibration rows near an anchor: 1.7 to 2.3 points. With one width for all, it is 20 to
    # 45 points too high or too low near some.
    np.testing.assert_allclose(by_anchor, coverage, atol=0.07)


def test_intervals_follow_the_noise(model):
    """They are wider where the noise is larger."""
    model.calibrate(*noisy_rows(3_000, 1))
    quiet, loud = model.predict_interval([[1.0, 0.1], [1.0, 1.9]])
    assert np.diff(loud) > 2 * np.diff(quiet)


@pytest.mark.parametrize(("n_anchors", "n_neighbors"), [(1, 1), ("levels", 8)])
def test_models_without_anchors_of_their_own(n_anchors, n_neighbors):
    """Intervals of one model, and of levels of models, follow the noise too."""
    model = LocallyLinearSVR(n_anchors, n_neighbors=n_neighbors, C=1.0, random_state=0)
    model.fit(*noisy_rows(1_000, 0)).calibrate(*noisy_rows(3_000, 1))
    quiet, loud = model.predict_interval([[1.0, 0.1], [1.0, 1.9]])
    assert np.diff(loud) > 1.5 * np.diff(quiet)
    X, y = noisy_rows(10_000, 2)
    low, high = model.predict_interval(X, 0.9).T
    assert ((low <= y) & (y <= high)).mean() == pytest.approx(0.9, abs=0.02)


def test_mapie_wraps_it():
    """MAPIE's conformal regressors fit, calibrate and cover with it."""
    X, y = noisy_rows(2_000, 0)
    regressor = SplitConformalRegressor(
        LocallyLinearSVR(10, C=1.0, random_state=0), confidence_level=0.9, prefit=False
    )
    regressor.fit(X[:500], y[:500]).conformalize(X[500:1_000], y[500:1_000])
    low, high = regressor.predict_interval(X[1_000:])[1][:, :, 0].T
    # 500 calibration and 1,000 new rows: a standard error of 1.6 points.
    assert ((low <= y[1_000:]) & (y[1_000:] <= high)).mean() == pytest.approx(0.9, abs=0.06)


def test_several_targets():
    """Each target has its own interval, in its own units."""
    X, y = noisy_rows(600, 0)
    both = np.column_stack([y, 100 * y])
    model = LocallyLinearSVR(10, C=1.0, random_state=0).fit(X[:300], both[:300])
    intervals = model.calibrate(X[300:], both[300:]).predict_interval(X)
    assert intervals.shape == (600, 2, 2)
    np.testing.assert_allclose(intervals[:, 1], 100 * intervals[:, 0], rtol=1e-6)


def test_clear_errors(model):
    """What is missing is named."""
    X, y = noisy_rows(100, 0)
    fresh = LocallyLinearSVR(10, C=1.0, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="calibrate"):
        fresh.predict_interval(X)
    with pytest.raises(ValueError, match="coverage"):
        fresh.calibrate(X, y).predict_interval(X, 1.0)
    with pytest.raises(ValueError, match="calibrate"):
        fresh.fit(X, y).predict_interval(X)
    with pytest.raises(ValueError, match=r"y has the shape \(100, 2\); fit had 1 targets"):
        fresh.calibrate(X, np.column_stack([y, y]))
    several = LocallyLinearSVR(
        10, C=0.1, loss="quantile", quantiles=[0.1, 0.9], random_state=0
    ).fit(X, y)
    with pytest.raises(ValueError, match="one prediction per target"):
        several.calibrate(X, y)
