"""Tests of hyperlocal.plots.tree_regions."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from estimators.data import make_data, make_ring
from hyperlocal.papers import LocalDeepSVC
from hyperlocal.plots import TreeRegionsDisplay


def tree(**options):
    return LocalDeepSVC(**{"depth": 2, "C": 10.0, "random_state": 0, "max_iter": 5, **options})


def test_rows_and_regions_are_drawn():
    """Rows, regions and the boundary are drawn on the given axes."""
    X, y = make_ring(100)
    ax = plt.subplots()[1]
    display = TreeRegionsDisplay.from_estimator(tree().fit(X, y), X, y, ax=ax, n_points=40)
    assert display.ax_ is ax
    assert ax.get_title() == "4 leaves"
    assert set(np.unique(display.leaves)) <= set(range(4))
    assert any(len(drawn.get_offsets()) == 100 for drawn in ax.collections)


@pytest.mark.parametrize("share_tree", [False, True])
@pytest.mark.parametrize("label", [None, 2])
def test_one_class_of_many(share_tree, label):
    """With more classes, the scores are those of the chosen class."""
    X, y = make_data(3, n_features=4)
    X = X[:, :2]
    fitted = tree(share_tree=share_tree).fit(X, y)
    display = TreeRegionsDisplay.from_estimator(fitted, X, label=label, n_points=30)
    point = np.array([[display.across[7], display.up[4]]])
    expected = fitted.decision_function(point)[0, 0 if label is None else label]
    np.testing.assert_allclose(display.scores[4, 7], expected)


def test_what_cannot_be_drawn():
    """More than two features, and labels that are none of the classes, are refused."""
    X, y = make_data()
    with pytest.raises(ValueError, match="two features only"):
        TreeRegionsDisplay.from_estimator(tree().fit(X, y), X, y)
    X = X[:, :2]
    with pytest.raises(ValueError, match="label=7"):
        TreeRegionsDisplay.from_estimator(tree().fit(X, y), X, y, label=7)
