"""Tests of hyperlocal.plots.boundary_grid."""

import pytest
from sklearn.datasets import make_moons

from hyperlocal.linear import KernelPegasosSVC
from hyperlocal.plots import BoundaryGridDisplay

X, Y = make_moons(60, noise=0.1, random_state=0)
MODEL = KernelPegasosSVC(max_iter=200, random_state=0)


def test_one_panel_per_pair_of_values():
    """Panels show the model with the values in their titles; the estimator is left as it was."""
    display = BoundaryGridDisplay.from_estimator(
        MODEL, X, Y, down={"gamma": (0.5, 50)}, across={"kernel": ("rbf",)}, n_points=30
    )
    assert display.axes_.shape == (2, 1)
    titles = [ax.get_title() for ax in display.axes_.flat]
    assert titles == ["gamma = 0.5, kernel = rbf", "gamma = 50, kernel = rbf"]
    legends = [ax.get_legend() is not None for ax in display.axes_.flat]
    assert legends == [True, False]  # one is enough
    smooth, narrow = (len(line[0].support) for line in display.panels)
    assert smooth < narrow
    assert MODEL.gamma == "scale"


def test_one_parameter_each_way():
    """Two parameters in one direction are refused by name."""
    with pytest.raises(ValueError, match=r"one parameter, not \['coef0', 'degree'\]"):
        BoundaryGridDisplay.from_estimator(
            MODEL, X, Y, down={"degree": (1,), "coef0": (0,)}, across={"gamma": (1,)}
        )
