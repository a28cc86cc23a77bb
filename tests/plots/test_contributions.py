"""Tests of hyperlocal.plots.contributions: rows as a heat map, a feature by its value."""

import numpy as np
import pytest

from hyperlocal.plots import ContributionMapDisplay, DependenceDisplay
from model.models import fitted


def test_heat_maps_and_dependence():
    """A cell per row and feature shown; a point per row."""
    pytest.importorskip("matplotlib").use("Agg")
    plt = pytest.importorskip("matplotlib.pyplot")
    model, X = fitted("linear")
    image = ContributionMapDisplay.from_estimator(model, X[:9], n_features=3).ax_.images[0]
    assert image.get_array().shape == (9, 3)
    found = model.explain(X[:20])
    ax = DependenceDisplay(found, "x2").plot(label=1).ax_
    points = ax.collections[0].get_offsets()
    np.testing.assert_allclose(points[:, 0], X[:20, 2])
    np.testing.assert_allclose(points[:, 1], found.contributions[:, 1, 2])
    plt.close("all")
