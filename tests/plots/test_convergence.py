"""Tests of hyperlocal.plots.convergence."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from estimators.data import make_data
from hyperlocal.papers import LocalDeepSVC
from hyperlocal.plots import ConvergenceDisplay
from plots.fitted import local, moving


def test_convergence_ends_at_the_fitted_objective():
    """The last point is the model's own objective; the gap is drawn where there is one."""
    X, y = make_data()
    model = local().fit(X, y)
    display = ConvergenceDisplay.from_estimator(make_pipeline(model).fit(X, y))
    assert display.objectives[-1] == model.objective_
    assert display.gaps[-1] == model.duality_gap_
    assert display.gap_line_ is not None
    assert display.ax_.get_yscale() == "log"
    assert display.ax_.get_ylabel() == "objective and duality gap"


def test_convergence_without_a_gap():
    """Losses of learned gates have no bound; models without epochs have no history."""
    X, y = make_data()
    tree = LocalDeepSVC(1, C=10.0, max_iter=4, random_state=0).fit(X, y)
    display = ConvergenceDisplay.from_estimator(tree)
    assert display.gap_line_ is None
    assert display.name == "mean loss"
    assert len(display.epochs) == 4
    with pytest.raises(ValueError, match="has no history"):
        ConvergenceDisplay.from_estimator(local(solver="qp").fit(X, y))


def test_convergence_of_learned_anchors():
    """Their history has a column more, which is left out."""
    model = moving().fit(*make_data())
    display = ConvergenceDisplay.from_estimator(model)
    np.testing.assert_array_equal(display.gaps, [entry[2] for entry in model.history_])
    assert len(display.gap_line_.get_xdata()) == np.isfinite(display.gaps).sum()
