"""Tests of hyperlocal.plots.gate."""

import numpy as np
import pytest

from estimators.data import make_data, make_ring
from hyperlocal.plots import GateDisplay
from hyperlocal.preprocessing import LocalCoder


def coder(coding="soft"):
    return LocalCoder(6, n_neighbors=3, coding=coding, random_state=0)


def test_weights_are_the_codes_of_the_grid():
    """Each point has the weight that the coder gives to the anchor there."""
    X, _ = make_ring()
    model = coder().fit(X)
    display = GateDisplay.from_estimator(model, X, anchor=2, n_points=30)
    point = np.array([[display.across[7], display.up[4]]])
    assert display.weights[4, 7] == model.transform(point).toarray()[0, 2]
    assert display.image_.axes is display.ax_


def test_the_anchor_in_the_middle_is_shown():
    """Without a number, the anchor nearest to the mean is shown, on the plane of the anchors."""
    X, _ = make_ring()
    model = coder("hard").fit(X)
    display = GateDisplay.from_estimator(model, n_points=30)
    distances = np.linalg.norm(model.anchors_ - model.anchors_.mean(axis=0), axis=1)
    assert display.anchor == distances.argmin()
    assert set(np.unique(display.weights)) == {0, 1}


def test_more_features_are_refused():
    """Only a plane can be drawn."""
    with pytest.raises(ValueError, match="two features only"):
        GateDisplay.from_estimator(coder().fit(make_data()[0]))
