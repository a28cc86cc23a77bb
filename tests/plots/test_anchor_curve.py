"""Tests of hyperlocal.plots.anchor_curve."""

import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from estimators.data import make_ring
from hyperlocal import LocallyLinearSVC
from hyperlocal.linear import SDCASVC
from hyperlocal.papers import ClusteredSVC
from hyperlocal.plots import AnchorCurveDisplay


def test_error_against_anchors():
    """More anchors fit a ring better than one; two curves share axes."""
    X, y = make_ring(200)
    linear = LocallyLinearSVC(feature_map=None, C=3.0, global_intercept=False, random_state=0)
    model = make_pipeline(StandardScaler(), linear)
    first = AnchorCurveDisplay.from_estimator(model, X, y, n_anchors=(1, 8), cv=3)
    assert first.errors.shape == (2, 3)
    assert first.errors[1].mean() < first.errors[0].mean() / 2
    other = AnchorCurveDisplay.from_estimator(
        ClusteredSVC(random_state=0), X, y, n_anchors=(1, 8), cv=3, name="clusters", ax=first.ax_
    )
    assert other.errors[1].mean() < other.errors[0].mean()
    assert len(first.ax_.lines) == 2
    with pytest.raises(ValueError, match="SDCASVC has no parameter n_anchors"):
        AnchorCurveDisplay.from_estimator(SDCASVC(), X, y)
