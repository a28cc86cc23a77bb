"""Tests of hyperlocal.selection.search: which candidates are evaluated, and how."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.model_selection import KFold, cross_val_score

from estimators.data import SEARCH as SMALL
from hyperlocal import LocallyLinearSVC, LocallyLinearSVCCV
from hyperlocal.selection import candidates, searched_rows
from hyperlocal.selection import search as selection
from hyperlocal.selection.outcomes import Outcome
from hyperlocal.solvers.training import Training


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_are_those_of_cross_validation(monkeypatch, n_classes):
    """Shared codes and warm starts leave decisions as they are."""
    monkeypatch.setattr(searched_rows, "SEARCH_TOL", 1e-8)
    exact = {"tol": 1e-8, "max_iter": 10**5}
    X, y = make_blobs(240, centers=n_classes, cluster_std=4.0, random_state=3)
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    model = LocallyLinearSVCCV(
        n_anchors=1,
        feature_maps=(None,),
        Cs=(0.1, 1.0, 10.0),
        cv=folds,
        search="grid",
        relevance=None,
        random_state=0, **exact,
    ).fit(X, y)  # fmt: skip
    for C, mean in zip((0.1, 1.0, 10.0), model.cv_results_["mean_test_score"], strict=True):
        single = LocallyLinearSVC(1, n_neighbors=1, feature_map=None, C=C, **exact)
        assert cross_val_score(single, X, y, cv=folds).mean() == pytest.approx(mean, abs=1e-12)


def test_halving_evaluates_few_candidates_on_all_rows(monkeypatch, moons):
    """Most are evaluated on a third of the rows; a grid evaluates all on all rows."""
    monkeypatch.setattr(candidates, "FEWEST_ROWS", 40)
    model = LocallyLinearSVCCV(**SMALL).fit(*moons[:2])
    n_rows = model.cv_results_["n_rows"]
    assert set(n_rows) == {100, 300}
    assert (n_rows == 300).sum() == 4  # two groups, with both C
    assert n_rows[model.cv_results_["rank_test_score"] == 1] == 300
    grid = LocallyLinearSVCCV(search="grid", **SMALL).fit(*moons[:2])
    assert set(grid.cv_results_["n_rows"]) == {300}


@pytest.mark.parametrize("one_standard_error", [False, True])
def test_most_candidates_are_evaluated_on_some_folds(moons, one_standard_error):
    """The best three pairs of anchors and map, by the larger C, are evaluated with both, on all."""
    model = LocallyLinearSVCCV(cv=5, one_standard_error=one_standard_error, **SMALL)
    table = model.fit(*moons[:2]).cv_results_
    evaluated = np.isfinite([table[f"split{fold}_test_score"] for fold in range(5)]).sum(axis=0)
    # Two numbers of anchors, three maps; the simplest of all can be found only among all.
    assert sorted(evaluated) == ([5] * 12 if one_standard_error else [2] * 3 + [5] * 6)
    assert evaluated[table["rank_test_score"] == 1] == 5


@pytest.mark.parametrize(
    ("score", "lowest", "highest"),
    [
        (lambda C: C, 0.3, 3_000),
        (lambda C: -abs(C - 300), 0.3, 3_000),
        (lambda C: min(C, 3), 0.3, 30),
        (lambda C: -C, 0.03, 30),
        (lambda C: -abs(C - 3), 0.3, 30),
    ],
    ids=["always better", "300 is best", "a tie is no gain", "always worse", "3 is best"],
)
def test_costs_go_on_where_an_end_wins(monkeypatch, score, lowest, highest):
    """By tens, up to the last; then the best is among what was tried."""

    def evaluate(search, outcomes, *rest):
        for outcome in outcomes:
            outcome.scores, outcome.n_rows = np.full(3, float(score(outcome.setting.C))), 100

    monkeypatch.setattr(selection, "MOST_COST", 3_000.0)
    monkeypatch.setattr(selection, "LEAST_COST", 0.03)
    monkeypatch.setattr(selection.Search, "_evaluate", evaluate)
    search = object.__new__(selection.Search)
    search._last, search.training = (), Training(1.0, "hinge")
    settings = candidates.make_settings([1, 8], [4], ["auto"], [None], 1, [0.3, 3.0, 30.0])
    outcomes = [Outcome(setting) for setting in settings]
    evaluate(search, outcomes)
    extended = search.extend_costs(outcomes)
    costs = [outcome.setting.C for outcome in extended]
    assert (min(costs), max(costs)) == (pytest.approx(lowest), pytest.approx(highest))
    assert len({outcome.setting for outcome in extended}) == len(extended)


def test_more_anchors_than_distinct_rows_are_as_many():
    """Rows that differ in their label only cannot all be anchors; maps share what there is."""
    X = np.repeat(np.random.default_rng(0).standard_normal((12, 2)), 2, axis=0)
    y = np.tile([0, 1], 12)
    with pytest.warns(UserWarning, match="distinct rows"):
        model = LocallyLinearSVCCV([1, 24], search="grid", cv=2, random_state=0).fit(X, y)
    assert len(model.anchors_) <= 12
