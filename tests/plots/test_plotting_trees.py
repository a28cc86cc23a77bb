"""Tests of hyperlocal.plots.plotting's trees: what pictures show, and what they refuse."""

import sys

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

from estimators.data import make_data, make_ring
from hyperlocal import LocalDeepSVC
from hyperlocal.plots.plotting import plot_tree_regions

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def model(**options):
    return LocalDeepSVC(**{"depth": 2, "C": 10.0, "random_state": 0, "max_iter": 5, **options})


def test_rows_and_regions_are_drawn():
    """Rows, regions and the boundary are there, on the axes given."""
    X, y = make_ring(100)
    _, ax = plt.subplots()
    assert plot_tree_regions(model().fit(X, y), X, y, ax=ax, resolution=40) is ax
    assert ax.get_title() == "4 leaves"
    assert any(len(drawn.get_offsets()) == 100 for drawn in ax.collections)


@pytest.mark.parametrize("share_tree", [False, True])
@pytest.mark.parametrize("label", [None, 2])
def test_one_class_of_many(share_tree, label):
    """With more classes, one class's score is drawn over its tree."""
    X, y = make_data(3, n_features=4)
    X = X[:, :2]
    fitted = model(share_tree=share_tree).fit(X, y)
    assert plot_tree_regions(fitted, X, y, label=label, resolution=30) is not None


def test_what_cannot_be_drawn():
    """More than two features, and labels that are none, are refused."""
    X, y = make_data()
    with pytest.raises(ValueError, match="5 features"):
        plot_tree_regions(model().fit(X, y), X, y)
    X = X[:, :2]
    with pytest.raises(ValueError, match="label=7"):
        plot_tree_regions(model().fit(X, y), X, y, label=7)


def test_a_missing_matplotlib_is_told(monkeypatch):
    """Without the extra the message says what to install."""
    X, y = np.eye(2), np.array([0, 1])
    fitted = model(depth=0).fit(X, y)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"hyperlocal\[plot\]"):
        plot_tree_regions(fitted, X, y)
