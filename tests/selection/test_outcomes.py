"""Tests of hyperlocal.selection.outcomes: the best candidate, and the table of all."""

import numpy as np

from estimators.data import SEARCH as SMALL
from hyperlocal import LocallyLinearSVCCV
from hyperlocal.selection import candidates
from hyperlocal.selection.outcomes import Outcome, best_outcome


def test_results_have_the_form_of_scikit_learns_searches(moons):
    """A row per candidate, a score per fold, and ranks; the best is ranked first."""
    model = LocallyLinearSVCCV(cv=4, n_neighbors=(2, 4), search="grid", **SMALL).fit(*moons[:2])
    table = model.cv_results_
    assert len(table["params"]) == 3 * (2 + 2 * 2)  # maps; one anchor has one neighbour
    assert {f"split{fold}_test_score" for fold in range(4)} < table.keys()
    best = table["params"][int(np.flatnonzero(table["rank_test_score"] == 1)[0])]
    found = {name: value for name, value in model.best_params_.items() if name != "scale"}
    assert best == {**found, "scaler": None}
    assert model.best_params_["scale"] is None  # the folds had rows as given
    assert model.best_score_ == table["mean_test_score"].max()


def test_accuracy_is_that_of_scikit_learn(moons):
    """The default score is scikit-learn's accuracy, with weights."""
    weights = np.linspace(0.1, 1, len(moons[0]))
    ours = LocallyLinearSVCCV(**SMALL).fit(*moons[:2], weights)
    theirs = LocallyLinearSVCCV(scoring="accuracy", **SMALL).fit(*moons[:2], weights)
    means = [model.cv_results_["mean_test_score"] for model in (ours, theirs)]
    np.testing.assert_allclose(*means, rtol=1e-12)


def test_the_simplest_of_nearly_equal_candidates():
    """Within one standard error of the best, the one of fewest anchors; others do not count."""
    settings = candidates.make_settings([1, 8, 64], [4], ["auto"], [None], 1, [1.0])
    scores = ([0.90, 0.92], [0.91, 0.95], [0.92, 0.95])
    outcomes = [
        Outcome(setting, np.array(of_folds), 100)
        for setting, of_folds in zip(settings, scores, strict=True)
    ]
    outcomes.append(Outcome(settings[0], np.array([1.0, 1.0]), 50))  # on fewer rows
    assert best_outcome(outcomes, one_standard_error=False).setting.n_anchors == 64
    assert best_outcome(outcomes, one_standard_error=True).setting.n_anchors == 8
