"""Tests of hyperlocal.plots.boundary: lines, regions, margins and support vectors."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from estimators.data import make_data, make_ring
from hyperlocal import LocallyLinearSVC
from hyperlocal.linear import SDCASVC
from hyperlocal.papers import ClusteredSVC, LocalDeepSVC
from hyperlocal.plots import BoundaryDisplay
from plots.fitted import local


def changes_sign(decision_function, lines, radius):
    """Whether values around the middles of lines have both signs: they are zero there, or jump."""
    angles = np.linspace(0, 2 * np.pi, 8, endpoint=False)
    circle = radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    around = lines.mean(axis=1)[:, np.newaxis] + circle
    values = decision_function(around.reshape(-1, 2)).reshape(-1, 8)
    return (values.min(axis=1) < 0) & (values.max(axis=1) > 0)


def test_local_lines_lie_on_the_boundary():
    """Around the middle of each line the decision function has both signs: it is zero or jumps."""
    X, y = make_ring()
    model = local(feature_map=None).fit(X, y)
    display = BoundaryDisplay.from_estimator(model, X, y, n_points=40)
    assert len(display.lines) > 4
    assert changes_sign(model.decision_function, display.lines, 1e-3).all()
    assert display.regions.shape == (40, 40)
    assert display.ax_.figure is display.figure_


def test_local_lines_in_other_units():
    """They are as long as those of rows of similar sizes, and on the boundary too."""
    X, y = make_ring()
    units = np.array([1e-4, 1e3])
    model = local(feature_map=None).fit(X * units, y)
    lines = BoundaryDisplay.from_estimator(model, X * units, y, n_points=20).lines
    assert len(lines) > 4
    assert np.abs(model.decision_function(lines.mean(axis=1))).max() < 1e-3
    lengths = np.linalg.norm((lines[:, 1] - lines[:, 0]) / units, axis=1)
    assert lengths.max() < np.ptp(X, axis=0).max() / 2


def test_boundary_of_one_anchor_has_no_local_line():
    """With one anchor the boundary is its line."""
    X, y = make_ring()
    model = LocallyLinearSVC(1, n_neighbors=1, random_state=0).fit(X, y)
    assert BoundaryDisplay.from_estimator(model, X, y, n_points=20).lines.shape == (0, 2, 2)


def test_boundaries_through_a_pipeline():
    """Anchors and lines are drawn where the given rows are, whatever the steps did."""
    X, y = make_ring()
    frame = pd.DataFrame(100 + 7 * X, columns=["a", "b"])
    model = make_pipeline(StandardScaler(), local(feature_map=None)).fit(frame, y)
    display = BoundaryDisplay.from_estimator(model, frame, y, n_points=40)
    low, high = frame.to_numpy().min(axis=0), frame.to_numpy().max(axis=0)
    assert (display.anchors > low).all()
    assert (display.anchors < high).all()

    def decide(rows):
        return model.decision_function(pd.DataFrame(rows, columns=["a", "b"]))

    assert changes_sign(decide, display.lines, 0.02).all()


@pytest.mark.parametrize(
    "model",
    [SDCASVC(), ClusteredSVC(4, random_state=0), LocalDeepSVC(2, C=10.0, random_state=0)],
    ids=lambda model: type(model).__name__,
)
def test_boundaries_of_other_models(model):
    """Models without anchors have boundaries too, and so have three classes without labels."""
    X, y = make_data(3, n_features=4)
    X = X[:, :2]
    model.fit(X, y)
    display = BoundaryDisplay.from_estimator(model, X, n_points=30)
    assert set(np.unique(display.regions)) <= {0, 1, 2}
    with pytest.raises(ValueError, match="two features only"):
        BoundaryDisplay.from_estimator(model, X[:, :1])


def test_support_vectors_are_circled():
    """Each row in ``support_`` gets a circle, on the axes that were given."""
    X, y = make_moons(60, noise=0.1, random_state=0)
    model = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    ax = BoundaryDisplay.from_estimator(model, X, n_points=20).ax_
    display = BoundaryDisplay.from_estimator(model, X, y, support_vectors=True, n_points=20, ax=ax)
    assert display.ax_ is ax
    circles = ax.collections[-1].get_offsets()
    np.testing.assert_array_equal(circles, X[model[-1].support_])


def test_margins_are_contours_of_the_score():
    """The dashed lines of a linear model lie where its decision function is -1 and +1."""
    X, y = make_moons(60, noise=0.1, random_state=0)
    model = SDCASVC(random_state=0).fit(X, y)
    plain = BoundaryDisplay.from_estimator(model, X, y, n_points=20)
    display = BoundaryDisplay.from_estimator(model, X, y, margins=True, n_points=20)
    assert len(display.ax_.collections) == len(plain.ax_.collections) + 1
    contours = [drawn for drawn in display.ax_.collections if hasattr(drawn, "levels")]
    margins = next(one for one in contours if list(one.levels) == [-1, 1])
    points = np.vstack([path.vertices for path in margins.get_paths()])
    np.testing.assert_allclose(np.abs(model.decision_function(points)), 1, atol=1e-6)


def test_what_a_model_lacks_is_named():
    """Margins need two classes, and circles need support vectors."""
    X, y = make_data(3, n_features=4)
    model = LocalDeepSVC(1, C=10.0, max_iter=2, random_state=0).fit(X[:, :2], y)
    with pytest.raises(ValueError, match="two classes, not 3"):
        BoundaryDisplay.from_estimator(model, X[:, :2], margins=True)
    with pytest.raises(ValueError, match="LocalDeepSVC has no support_"):
        BoundaryDisplay.from_estimator(model, X[:, :2], support_vectors=True)


def test_names_of_axes_and_classes():
    """Axes have the names of a table's columns, else numbers; the legend has the classes."""
    X, y = make_ring()
    model = local(feature_map=None).fit(X, y)
    ax = BoundaryDisplay.from_estimator(model, X, y, n_points=20).ax_
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("feature 0", "feature 1")
    assert [one.get_text() for one in ax.get_legend().get_texts()] == list(map(str, model.classes_))
    frame = pd.DataFrame(X, columns=["a", "b"])
    display = BoundaryDisplay.from_estimator(local(feature_map=None).fit(frame, y), frame, y)
    assert display.axis_names == ("a", "b")
    assert display.plot(legend=False).ax_.get_legend() is None
