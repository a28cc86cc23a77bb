"""Tests of hyperlocal.plots.anchor_maps."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from estimators.data import make_data
from hyperlocal.papers import LatentLocallyLinearSVC
from hyperlocal.plots import PrototypeDisplay, WeightMapDisplay
from plots.fitted import local


def test_prototypes_and_weights():
    """An image per anchor, or a line per anchor with names; titles are predictions."""
    X, y = make_data(3, n_features=6)
    model = local(feature_map=None, relevance=None).fit(X, y)
    prototypes = PrototypeDisplay.from_estimator(model, image_shape=(2, 3), n_shown=5)
    np.testing.assert_array_equal(prototypes.values, model.anchors_[:5])
    titles = [f"{i}: {label}" for i, label in enumerate(model.predict(model.anchors_[:5]))]
    assert prototypes.titles == titles
    assert prototypes.axes_.shape == (2, 3)
    weights = WeightMapDisplay.from_estimator(model, label=1)
    np.testing.assert_array_equal(weights.values, model.coef_[:, 1])
    assert [t.get_text() for t in weights.ax_.get_xticklabels()] == [f"x{i}" for i in range(6)]
    with pytest.raises(ValueError, match="no weights for 'cow'"):
        WeightMapDisplay.from_estimator(model, label="cow")


def test_prototypes_in_the_units_of_the_given_rows():
    """The steps before the model are inverted; color images are drawn too."""
    X, y = make_data(3, n_features=12)
    frame = pd.DataFrame(50 + X, columns=[f"pixel {i}" for i in range(12)])
    model = make_pipeline(StandardScaler(), local()).fit(frame, y)
    display = PrototypeDisplay.from_estimator(model, image_shape=(2, 2, 3))
    assert abs(display.values.mean() - 50) < 1
    assert display.feature_names[3] == "pixel 3"
    lines = WeightMapDisplay.from_estimator(model)
    assert lines.feature_names[3] == "pixel 3"
    with pytest.raises(ValueError, match="have no inverse_transform"):
        PrototypeDisplay.from_estimator(make_pipeline(Normalizer(), local()).fit(X, y))


def test_models_without_anchors():
    """They have weights, but no prototypes."""
    X, y = make_data()
    model = LatentLocallyLinearSVC(4, C=10.0, max_iter=2, random_state=0).fit(X, y)
    assert WeightMapDisplay.from_estimator(model).values.shape == (4, 5)
    for other in (model, local(code_on=[0, 1]).fit(X, y)):
        with pytest.raises(ValueError, match="no anchors among the rows"):
            PrototypeDisplay.from_estimator(other)


def test_images_take_the_place_of_given_axes():
    """Images are drawn within the bounds of the axes, one map in the axes themselves."""
    X, y = make_data(3, n_features=6)
    model = local(feature_map=None).fit(X, y)
    figure, (left, right) = plt.subplots(1, 2, layout="constrained")
    images = PrototypeDisplay.from_estimator(model, image_shape=(2, 3), ax=left)
    assert images.figure_ is figure
    figure.canvas.draw()
    assert images.axes_[-1, -1].get_position().x1 < right.get_position().x0
    assert WeightMapDisplay.from_estimator(model, ax=right).ax_ is right
