"""Scorers: with and without weights, and what they must return."""

import numpy as np
import pytest
from sklearn.metrics import make_scorer

from hyperlocal import LocallyLinearSVCCV, LocallyLinearSVRCV
from hyperlocal.selection.scorers import CheckedScorer

X = np.random.default_rng(0).standard_normal((80, 2))
LABELS = (X[:, 0] > 0).astype(int)
SMALL = {"n_anchors": (1, 2), "Cs": (1.0,), "feature_maps": (None,), "random_state": 0}


def classify(**parameters):
    """A search with few candidates."""
    return LocallyLinearSVCCV(**SMALL, **parameters).fit(X, LABELS)


def share_right(estimator, rows, y):
    """A scorer of the signature that scikit-learn asks for."""
    return float((estimator.predict(rows) == y).mean())


def test_a_function_need_not_take_weights():
    """As in scikit-learn's own searches."""
    assert classify(scoring=share_right).best_score_ > 0.9


@pytest.mark.parametrize("scoring", ["max_error", make_scorer(lambda true, found: 0.5)])
def test_metrics_without_weights_work(scoring):
    """A scorer of scikit-learn does not say whether its metric takes weights."""
    name = "neg_max_error" if scoring == "max_error" else scoring
    search = LocallyLinearSVRCV(**SMALL, scoring=name).fit(X, X[:, 0] ** 2)
    assert np.isfinite(search.best_score_)


@pytest.mark.parametrize("returned", ["0.5", None, [0.5], np.array([1.0, 2.0]), 1j])
def test_scores_are_numbers(returned):
    """Anything else is an error that shows it."""
    with pytest.raises(TypeError, match="must return a number"):
        classify(scoring=lambda estimator, rows, y: returned)


@pytest.mark.parametrize("returned", [np.nan, np.inf])
def test_scores_are_finite(returned):
    """NaN would be the best or the worst by chance."""
    with pytest.raises(ValueError, match="scoring returned"):
        classify(scoring=lambda estimator, rows, y: returned)


def test_errors_of_a_function_are_its_own():
    """They are not taken for a lack of weights."""
    with pytest.raises(ZeroDivisionError):
        classify(scoring=lambda estimator, rows, y: 1 / 0)


def test_weights_are_passed_on():
    """To a function that names them."""
    seen = []

    def scored(estimator, rows, y, sample_weight=None):
        seen.append(sample_weight)
        return 1.0

    scorer = CheckedScorer(scored)
    assert scorer(None, X, LABELS, sample_weight=LABELS) == 1.0
    assert seen[0] is LABELS
