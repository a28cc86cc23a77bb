"""Tests of hyperlocal.plots.contributions: rows as a heat map, a feature by its value."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hyperlocal import LocallyLinearSVC
from hyperlocal.plots import ContributionMapDisplay, DependenceDisplay, InteractionDisplay
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


def test_pixels_are_drawn_as_images():
    """Two images per row: itself, and its contributions to the deciding score."""
    plt = pytest.importorskip("matplotlib.pyplot")
    model, X = fitted("linear")
    X = X[:, :4] if X.shape[1] > 4 else X
    model = LocallyLinearSVC(C=1.0, random_state=0).fit(X, X[:, 0] > 0)
    found = model.explain(X[:3])
    display = ContributionMapDisplay(found).plot(image_shape=(2, 2))
    images = [ax.images[0].get_array() for ax in display.figure_.axes if ax.images]
    assert len(images) >= 6
    np.testing.assert_allclose(images[3].ravel(), found.contributions[0, 0])
    plt.close("all")


def test_interactions_of_the_largest_pairs():
    """A cell per pair, and the pair that decides is the largest."""
    plt = pytest.importorskip("matplotlib.pyplot")
    X = np.random.default_rng(0).normal(size=(400, 5)) * [1, 10, 1, 0.1, 1]
    pipeline = make_pipeline(
        StandardScaler(), LocallyLinearSVC(feature_map="quadratic", C=1.0, random_state=0)
    ).fit(X, X[:, 1] * X[:, 3] > 0)
    display = InteractionDisplay.from_estimator(pipeline, X, n_features=3)
    cells = display.ax_.images[0].get_array()
    assert cells.shape == (3, 3)
    assert {label.get_text() for label in display.ax_.get_xticklabels()[:2]} == {"x1", "x3"}
    assert cells[0, 1] == cells.max()
    plt.close("all")
