"""Tests of hyperlocal.estimators.stability: the bound of L3-SVM."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from estimators.data import make_data
from hyperlocal.papers import LandmarkSVC


@pytest.mark.parametrize("projection", ["linear", "rbf"])
def test_the_bound_is_that_of_the_paper(projection):
    """Stability and bound follow the theorem and its corollary, with the empirical risk."""
    X, y = make_data()
    model = LandmarkSVC(4, projection=projection, C=0.02, random_state=0).fit(X, y)
    n, n_landmarks, cost = 90, 5, 0.02 * 90
    size = max(1, (X**2).sum(axis=1).max()) if projection == "linear" else 1
    margins = np.where(y == 1, 1, -1) * model.decision_function(X)
    risk = np.maximum(0, 1 - margins).mean()
    stability = cost * n_landmarks * size**2 / n
    assert model.stability_ == pytest.approx(stability)
    for delta in (0.05, 0.5):
        spread = 2 * stability + 1 + 2 * cost * np.sqrt(n_landmarks) * size
        bound = risk + stability + spread * np.sqrt(np.log(1 / delta) / (2 * n))
        assert model.generalization_bound(delta) == pytest.approx(bound)
    assert model.generalization_bound() == model.generalization_bound(0.05) > risk


def test_bounds_of_many_classes():
    """One bound for each class against the rest; a row of weight two counts as two rows."""
    X, y = make_data(3)
    model = LandmarkSVC(4, C=0.02, random_state=0).fit(X, y)
    assert model.generalization_bound().shape == (3,)
    twice = LandmarkSVC(4, C=0.01, random_state=0).fit(X, y, sample_weight=np.full(90, 2.0))
    assert twice.stability_ == pytest.approx(model.stability_ / 2)


def test_the_bound_shrinks_with_rows_and_landmarks():
    """For a fixed c, more rows tighten the bound and more landmarks loosen it."""
    X, y = make_data(n_rows=400)

    def bound(n_rows, n_landmarks):
        options = {"C": 1 / n_rows, "n_landmarks": n_landmarks, "projection": "rbf"}
        model = LandmarkSVC(2, random_state=0, **options).fit(X[:n_rows], y[:n_rows])
        return model.generalization_bound() - float(model.empirical_risk_[0])

    assert bound(100, 5) > bound(400, 5) > bound(400, 2)


@pytest.mark.parametrize(
    "options", [{"loss": "squared_hinge"}, {"n_stages": 2}, {"kernel": "rbf"}], ids=str
)
def test_where_there_is_no_bound(options):
    """The theorem is about the hinge loss, linear models and one stage; the error says so."""
    model = LandmarkSVC(3, random_state=0, **options)
    with pytest.raises(NotFittedError):
        model.generalization_bound()
    model.fit(*make_data())
    assert not hasattr(model, "stability_")
    with pytest.raises(AttributeError, match="loss='hinge', kernel='linear' and n_stages=1"):
        model.generalization_bound()


@pytest.mark.parametrize("delta", [0, 1, 1.5, "5 %"])
def test_a_bad_delta(delta):
    """A probability lies between 0 and 1."""
    model = LandmarkSVC(3, random_state=0).fit(*make_data())
    with pytest.raises((ValueError, TypeError), match="delta"):
        model.generalization_bound(delta)
