"""Tests of hyperlocal.model.target_scale."""

import numpy as np
import pytest

from hyperlocal.data.labelled import LabelledRows
from hyperlocal.model.chain_settings import ChainSettings
from hyperlocal.model.target_scale import TargetScale
from hyperlocal.runtime.threads import Workers


def numeric_rows(values, weights=None):
    weights = np.ones(len(values)) if weights is None else weights
    X = np.random.default_rng(0).standard_normal((len(values), 2))
    return LabelledRows(X, np.arange(len(values)), values, weights, is_numeric=True)


@pytest.mark.parametrize("unit", [1.0, 1e-200, 1e200])
def test_scaled_values(unit):
    """Scaled values have weighted mean 0 and deviation 1, whatever the units."""
    rng = np.random.default_rng(0)
    weights = rng.uniform(0.1, 2, 50)
    data = numeric_rows(unit * (3 + 2 * rng.standard_normal((50, 2))), weights)
    scaled = TargetScale.of(data).scaled(data).labels
    np.testing.assert_allclose(np.average(scaled, axis=0, weights=weights), 0, atol=1e-12)
    np.testing.assert_allclose(np.average(scaled**2, axis=0, weights=weights), 1)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e12])
def test_constant_values(value):
    """A constant has the scale 1."""
    scale = TargetScale.of(numeric_rows(np.full(3, value)))
    assert scale.scale == [1.0]
    np.testing.assert_allclose(scale.center, value)


@pytest.mark.parametrize("global_intercept", [False, True])
def test_units(global_intercept):
    """A model in units predicts scaled predictions in units, and its weights can be scaled back."""
    data = numeric_rows(np.linspace(5.0, 9.0, 40))
    settings = ChainSettings(n_anchors=3, feature_map=None, global_intercept=global_intercept)
    with Workers(1) as workers:
        chain = settings.fit(data, np.random.default_rng(0), workers)
        weights = np.random.default_rng(1).standard_normal((chain.n_blocks, 1, 3))
        model, scale = chain.trained(weights), TargetScale.of(data)
        found = scale.in_units(model)
        expected = scale.center + scale.scale * model.scores(data.X, workers)
        np.testing.assert_allclose(found.scores(data.X, workers), expected)
    np.testing.assert_allclose(scale.scaled_weights(found, chain.n_blocks), weights)


def test_targets_stay_as_many():
    """Rows with another number of targets are refused."""
    scale = TargetScale.of(numeric_rows(np.arange(3.0)))
    with pytest.raises(ValueError, match="earlier rows had 1"):
        scale.scaled(numeric_rows(np.ones((3, 2))))
