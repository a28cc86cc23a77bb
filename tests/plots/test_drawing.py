"""Tests of hyperlocal.plots.drawing."""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest

from estimators.data import make_data
from hyperlocal.plots import ConvergenceDisplay
from hyperlocal.plots.drawing import class_colors, draw_rows
from plots.fitted import local


def test_rows_have_the_colors_of_their_classes():
    """Rows of a class have its color, also where some class has no rows."""
    ax = plt.subplots()[1]
    draw_rows(ax, np.eye(2), np.array([0, 2]))
    shown = ax.collections[0].get_facecolors()[:, :3]
    np.testing.assert_allclose(shown, np.array(class_colors(3))[[0, 2], :3])


def test_without_matplotlib(monkeypatch):
    """The error names the extra to install."""
    model = local().fit(*make_data())
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"hyperlocal\[plot\]"):
        ConvergenceDisplay.from_estimator(model)
