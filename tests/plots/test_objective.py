"""Tests of hyperlocal.plots.objective."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

from hyperlocal.linear import SDCASVC, KernelPegasosSVC, PegasosSVC
from hyperlocal.plots import ObjectiveDisplay

X, Y = make_classification(150, 5, random_state=0)
PRECISE = SDCASVC(tol=1e-6, max_iter=100_000, random_state=0)


@pytest.mark.parametrize(
    "model",
    [
        PegasosSVC(random_state=0),
        PegasosSVC(sampling="fixed_permutation", batch_size=5, random_state=0),
        KernelPegasosSVC(kernel="linear", random_state=0),
        SDCASVC(random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_curves_approach_the_optimum(model):
    """Every solver's objectives are in the same units, and approach the same optimum from above."""
    best = PRECISE.fit(X, Y).objective_ / 150
    display = ObjectiveDisplay.from_estimator(model, X, Y, passes=60, name="one")
    objectives = display.curves["one"]
    assert len(objectives) == 60
    assert (objectives >= best * (1 - 1e-6)).all()
    assert objectives[-1] < best * 1.1
    assert display.ax_.get_ylabel() == "objective"


def test_heights_above_the_optimum():
    """Lines are on a logarithmic scale, one per estimator, above the reference's lower bound."""
    models = {
        "last": PegasosSVC(average=False, random_state=0),
        "averaged": PegasosSVC(random_state=0),
    }
    display = ObjectiveDisplay.from_estimators(models, X, Y, passes=4, reference=PRECISE)
    assert display.ax_.get_yscale() == "log"
    assert display.ax_.get_ylabel() == "objective above the optimum"
    assert [line.get_label() for line in display.lines_] == ["last", "averaged"]
    for line, objectives in zip(display.lines_, display.curves.values(), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), [1, 2, 3, 4])
        np.testing.assert_allclose(line.get_ydata(), objectives - display.optimum)
        assert (line.get_ydata() > 0).all()


def test_short_fits_do_not_warn(recwarn):
    """Fits that stop before they converge are meant: their warnings are silenced."""
    ObjectiveDisplay.from_estimator(SDCASVC(random_state=0), X, Y, passes=2)
    assert not recwarn.list
