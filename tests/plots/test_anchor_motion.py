"""Tests of hyperlocal.plots.anchor_motion."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from estimators.data import make_data, make_ring
from hyperlocal.plots import AnchorMotionDisplay
from plots.fitted import local, moving


def test_moving_anchors():
    """Arrows go from the first to the learned anchors, in the units of the given rows."""
    X, y = make_ring()
    model = make_pipeline(StandardScaler(), moving()).fit(100 + X, y)
    display = AnchorMotionDisplay.from_estimator(model, 100 + X, y)
    scaler, last = model
    np.testing.assert_allclose(display.end, scaler.inverse_transform(last.anchors_))
    np.testing.assert_allclose(display.start, scaler.inverse_transform(last.initial_anchors_))
    assert len(display.arrows_) == 6


def test_moving_anchors_of_many_features():
    """They are projected on principal axes, of the rows or of the anchors."""
    X, y = make_data()
    model = moving().fit(X, y)
    display = AnchorMotionDisplay.from_estimator(model, X)
    np.testing.assert_allclose(display.end, PCA(2).fit(X).transform(model.anchors_))
    assert AnchorMotionDisplay.from_estimator(model).rows is None
    with pytest.raises(ValueError, match="do not move"):
        AnchorMotionDisplay.from_estimator(local().fit(X, y))
