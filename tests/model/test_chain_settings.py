"""Tests of hyperlocal.model.chain_settings: how gate and map are made."""

from dataclasses import replace

import numpy as np
import pytest

from estimators.data import make_data
from hyperlocal import LocallyLinearSVC
from hyperlocal.data.labelled import LabelledRows
from hyperlocal.maps.linear import InputMap
from hyperlocal.model.chain_settings import ChainSettings


def labelled_rows(n_classes=3):
    X, y = make_data(n_classes)
    return LabelledRows(X, y.astype(np.int32), np.arange(n_classes), np.ones(len(y)))


def test_settings_make_a_model_without_weights(workers):
    """Anchors, gate and map are fitted; weights are to be found."""
    data = labelled_rows()
    settings = ChainSettings(n_anchors=4, n_neighbors=2, feature_map=None, intercept_scaling=2.0)
    settings.check()
    chain = settings.fit(data, np.random.default_rng(0), workers)
    assert (chain.n_anchors, chain.gate.n_neighbors, chain.bias.value) == (4, 2, 2.0)
    assert chain.weights.size == 0
    relifted = replace(settings, normalize=False, intercept_scaling=3.0).relifted(chain)
    assert relifted.gate is chain.gate
    assert (relifted.normalize, relifted.bias.value) == (False, 3.0)


def test_an_integer_of_numpy_is_an_integer():
    """One anchor is one anchor, as a grid of numpy's integers gives it."""
    settings = ChainSettings.of(LocallyLinearSVC(np.int64(1), n_neighbors=1, feature_map=None))
    assert settings.is_linear


def test_settings_are_checked():
    """A bias that is zero leaves nothing of local models that are biases."""
    with pytest.raises(ValueError, match="intercept_scaling must be positive"):
        ChainSettings(feature_map="bias_only", intercept_scaling=0.0).check()
    with pytest.raises(ValueError, match="n_neighbors"):
        ChainSettings(n_neighbors=0).check()


@pytest.mark.parametrize(
    ("settings", "is_linear", "has_gradients", "has_contributions"),
    [
        (ChainSettings(1, feature_map=None), True, True, True),
        (ChainSettings(2, feature_map=None), False, True, True),
        (ChainSettings("levels"), False, True, True),
        (ChainSettings(feature_map="piecewise"), False, False, True),
        (ChainSettings(feature_map="nystroem"), False, False, False),
        (ChainSettings(code_on=InputMap(np.ones(2))), False, False, False),
    ],
    ids=str,
)
def test_what_settings_are(settings, is_linear, has_gradients, has_contributions):
    """One model of the row is linear; gradients and contributions are stated by some maps."""
    assert (settings.is_linear, settings.has_gradients) == (is_linear, has_gradients)
    assert settings.has_contributions == has_contributions
    assert not settings.may_use_labels or not isinstance(settings.code_on, str)


def test_given_anchors_are_in_the_features_as_given(workers):
    """A map before the chain maps given anchors too; the model shows them as they were given."""
    data = labelled_rows()
    anchors = data.X[:4].copy()
    factors = np.linspace(0.5, 2, data.X.shape[1])
    settings = ChainSettings(4, n_neighbors=2, anchors=anchors, before=InputMap(factors))
    chain = settings.fit(data, np.random.default_rng(0), workers)
    np.testing.assert_allclose(chain.gate.anchors, anchors * factors)
    np.testing.assert_allclose(chain.anchors, anchors)
