"""Tests of hyperlocal.compare.regions: colors, and the plane of the pictures."""

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

from hyperlocal.compare import METHODS, prepare, run
from hyperlocal.compare.regions import ClassColors, ValueColors, boundary_chart, find_plane
from hyperlocal.datasets import Dataset


def test_every_class_has_its_color():
    """No two classes share a color, however many there are."""
    for n_classes in (2, 10, 40):
        assert len(set(ClassColors(np.arange(n_classes)).palette)) == n_classes


def test_colors_of_values():
    """From low to high; beyond the ends the colors are those of the ends."""
    colors = ValueColors(np.linspace(0, 100, 1001))
    assert colors.codes(np.array([-5.0, 1.0, 50.0, 99.0, 500.0])).tolist() == [0, 0, 12, 23, 23]
    assert [label for _, label in colors.legend()] == ["1", "50", "99"]


def test_the_two_features_that_matter():
    """Of a table, the plane is of the two numbers that add most, in the units of the table."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(300, 4)), columns=list("abcd"))
    table["b"] = 100 + 10 * table["b"]
    table["kind"] = rng.choice(["x", "y"], 300)
    y = (table["b"] > 100 + 10 * table["d"]).astype(int).to_numpy()
    experiment = prepare(Dataset("t", table, y))
    outcome = run(METHODS["locally-linear-identity"], experiment, n_jobs=1)
    plane = find_plane(experiment, [outcome])
    assert {axis.name for axis in plane.axes} == {"b", "d"}
    (axis,) = (axis for axis in plane.axes if axis.name == "b")
    assert 60 < axis.first < 90
    assert 110 < axis.last < 140
    assert ((plane.points >= 0) & (plane.points <= 1)).all()
    chart = boundary_chart(0, outcome, experiment, plane, ClassColors(np.array([0, 1])))
    assert chart.count("<circle") == len(plane.shown)


def test_a_feature_that_repeats_the_first_is_not_drawn():
    """Of two features that are nearly the same the plane has one."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 300))
    X = np.column_stack([a, a + 0.01 * rng.normal(size=300), b])
    experiment = prepare(Dataset("t", X, (2 * a > b).astype(int)))
    outcome = run(METHODS["locally-linear-identity"], experiment, n_jobs=1)
    names = {axis.name for axis in find_plane(experiment, [outcome]).axes}
    assert len(names) == 2
    assert "x2" in names


def test_principal_components():
    """Of images, and of rows without two numbers, the plane is that of principal components."""
    X, y = load_digits(n_class=3, return_X_y=True)
    experiment = prepare(Dataset("digits", X, y))
    outcome = run(METHODS["linear-svc"], experiment)
    assert "principal component" in find_plane(experiment, [outcome]).axes[0].name
    one = prepare(Dataset("one", X[:, 20:21], y))
    assert find_plane(one) is None
