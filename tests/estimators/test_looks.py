"""Tests of hyperlocal.estimators.looks: where the second look is taken, and if it helps."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.svm import LinearSVC

from estimators.data import make_data, make_ring
from hyperlocal import NeighborhoodSVC
from hyperlocal.data.labelled import LabelledRows
from hyperlocal.estimators.looks import check_scores, fit_look, looked_again, tried_margin


class FixedSecondLook(NeighborhoodSVC):
    """Scores 9 for the first candidate of each row, and remembers what it was given."""

    def decision_between(self, X, candidates):
        """Scores of rows."""
        self.given = X, candidates
        return np.where(candidates.cumsum(axis=1) * candidates == 1, 9.0, 0.0)


def test_rows_of_a_low_margin_are_scored_again():
    """Only those, and with the classes that score within the margin of the best."""
    X = np.arange(6.0).reshape(3, 2)
    scores = np.array([[0.9, 0.1, -1.0], [0.2, -1.0, 0.5], [0.3, 0.4, 0.2]])
    second = FixedSecondLook()
    found = looked_again(scores, X, second, 0.5)
    rows, candidates = second.given
    np.testing.assert_array_equal(rows, X[1:])
    np.testing.assert_array_equal(candidates, [[True, False, True], [True, True, True]])
    np.testing.assert_array_equal(found, [scores[0], [9, 0, 0], [9, 0, 0]])
    assert looked_again(scores, X, second, 0.0) is scores
    assert scores[1, 2] == 0.5


def test_a_margin_must_gain_more_than_a_standard_error():
    """Where the second look is right it is chosen; where it errs more, no row gets one."""
    X, y = make_ring(600)
    data = LabelledRows(X[:400], y[:400].astype(np.int32), np.arange(2), np.ones(400))
    test = LabelledRows(X[400:], y[400:].astype(np.int32), np.arange(2), np.ones(200))
    first = LinearSVC().fit(data.X, data.target)
    good = NeighborhoodSVC().fit(data.X, data.target)
    wrong = NeighborhoodSVC().fit(data.X, 1 - data.target)
    rng = np.random.default_rng(0)
    found = tried_margin(first, lambda: good, test, rng)
    assert found.low_margin > 0
    assert found.second_errors < found.first_errors
    assert tried_margin(good, lambda: wrong, test, rng).low_margin == 0


def test_a_look_is_cloned_and_changed():
    """A seed is set where there is none, changes where there is such an argument."""
    X, y = make_data(2)
    data = LabelledRows(X, y.astype(np.int32), np.arange(2), np.ones(len(X)))
    look = HistGradientBoostingClassifier(max_iter=2)
    fitted = fit_look(look, data, False, 3, max_iter=1, no_such_argument=5)
    assert (fitted.random_state, fitted.max_iter) == (3, 1)
    assert (look.random_state, look.max_iter) == (None, 2)
    with pytest.raises(ValueError, match="one score per class"):
        check_scores(fitted, LabelledRows(X, data.target, np.arange(3), data.sample_weight))
