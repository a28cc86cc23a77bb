"""Tests of hyperlocal.estimators.stages: stacked stages of LandmarkSVC."""

import numpy as np
import pytest

from estimators.data import make_data, make_ring
from hyperlocal.estimators.stages import N_FOLDS
from hyperlocal.papers import LandmarkSVC


def test_scores_of_a_stage_join_the_projections_of_the_next():
    """The second stage sees the scores of the first, by all rows, from clusters of its own."""
    X, y = make_data(3)
    options = {"C": 0.01, "tol": 1e-7, "max_iter": 50_000, "random_state": 0}
    one = LandmarkSVC(4, **options).fit(X, y)
    two = LandmarkSVC(4, n_stages=2, keep_if_better=False, **options).fit(X, y)
    assert two.coef_.shape == (4, 3, 5 + 3)
    feature_map = two.model_.feature_map
    assert not np.allclose(feature_map.before.gate.anchors, two.anchors_)
    projections = np.hstack([X @ two.landmarks_.T, one.decision_function(X) * feature_map.scale])
    cluster = ((X[:, None] - two.anchors_) ** 2).sum(axis=2).argmin(axis=1)
    scores = np.einsum("ncl,nl->nc", two.coef_[cluster], projections) + two.intercept_
    np.testing.assert_allclose(two.decision_function(X), scores, atol=1e-3)


def test_no_label_leaks_into_the_next_stage(monkeypatch):
    """What a row adds to the projections comes from a model fitted without the row's fold."""
    fold, seen = np.arange(90) % N_FOLDS, []

    def keep(projections, scores, sample_weight):
        seen.append(scores)
        return projections.dtype.type(1)

    monkeypatch.setattr("hyperlocal.data.labelled.MOST_ROWS_TO_MERGE", 0)
    monkeypatch.setattr("hyperlocal.estimators.stages.deal_folds", lambda *arguments: fold)
    monkeypatch.setattr("hyperlocal.estimators.stages.comparable_scale", keep)
    X, y = make_data()
    options = {"anchors": X[:3], "landmarks": X[:4], "C": 0.01, "tol": 1e-6, "random_state": 0}
    LandmarkSVC(n_stages=2, **options).fit(X, y)
    for number in range(N_FOLDS):
        held = fold == number
        without = LandmarkSVC(**options).fit(X[~held], y[~held])
        np.testing.assert_allclose(seen[0][held, 0], without.decision_function(X[held]), atol=1e-3)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_stage_that_does_not_help_is_left_out(n_classes):
    """Labels without a rule mostly end the stack after a first stage, that of a plain fit."""
    left_out = 0
    for seed in range(5):  # two of ten seeds keep a second stage by chance
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((800, 3)), rng.integers(n_classes, size=800)
        options = {"tol": 0.05, "random_state": seed}
        two, one = (LandmarkSVC(4, n_stages=n, **options).fit(X, y) for n in (2, 1))
        if two.n_stages_ == 1:
            left_out += 1
            np.testing.assert_array_equal(two.decision_function(X), one.decision_function(X))
    assert left_out >= 3


def test_a_stage_that_helps_stays():
    """A disc in a ring, divided badly: scores seen from other clusters fail less."""
    X, y = make_ring(600)
    two = LandmarkSVC(2, n_stages=2, random_state=1).fit(X, y)
    assert two.n_stages_ == 2
    assert two.score(X, y) > LandmarkSVC(2, random_state=1).fit(X, y).score(X, y)
