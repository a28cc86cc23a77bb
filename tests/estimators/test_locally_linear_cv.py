"""Tests of LocallyLinearSVCCV and of the search behind it."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import get_scorer
from sklearn.model_selection import GroupKFold, KFold, cross_val_score

from estimators.data import make_data
from hyperlocal import LocallyLinearSVC, LocallyLinearSVCCV
from hyperlocal.preprocessing import RelevanceScaler
from hyperlocal.selection import candidates
from hyperlocal.selection import search as selection
from hyperlocal.selection.outcomes import Outcome
from hyperlocal.solvers.training import Training

SMALL = {"n_anchors": (1, 6), "Cs": (0.3, 3.0), "relevance": None, "random_state": 0}


@pytest.fixture(scope="module")
def moons():
    """Training and test rows of two moons."""
    X, y = make_moons(500, noise=0.15, random_state=0)
    return X[:300], y[:300], X[300:], y[300:]


def test_it_finds_that_one_anchor_is_too_few(moons):
    model = LocallyLinearSVCCV(feature_maps=(None,), **SMALL).fit(*moons[:2])
    assert model.best_params_["n_anchors"] == 6
    assert model.score(*moons[2:]) > 0.95


def test_it_finds_that_one_anchor_is_enough():
    X, y = make_blobs(300, centers=[[-2, 0], [2, 0]], cluster_std=2.0, random_state=0)
    model = LocallyLinearSVCCV(one_standard_error=True, **SMALL).fit(X, y)
    assert model.best_params_["n_anchors"] == 1
    assert model.best_params_["feature_map"] is None


def test_the_final_model_is_a_plain_one(moons):
    X, y, X_test, _ = moons
    model = LocallyLinearSVCCV(**SMALL).fit(X, y)
    plain = LocallyLinearSVC(**model.best_params_, random_state=1, tol=1e-6, max_iter=10**5).fit(
        X, y
    )
    model.set_params(tol=1e-6, max_iter=10**5).fit(X, y)
    # k-means starts elsewhere, so that only decisions agree.
    assert np.mean(model.predict(X_test) == plain.predict(X_test)) > 0.95


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_are_those_of_cross_validation(monkeypatch, n_classes):
    """Shared codes and warm starts leave decisions as they are."""
    monkeypatch.setattr(selection, "SEARCH_TOL", 1e-8)
    exact = {"tol": 1e-8, "max_iter": 10**5}
    X, y = make_blobs(240, centers=n_classes, cluster_std=4.0, random_state=3)
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    model = LocallyLinearSVCCV(
        n_anchors=1,
        feature_maps=(None,),
        Cs=(0.1, 1.0, 10.0),
        cv=folds,
        search="grid",
        random_state=0, **exact,
    ).fit(X, y)  # fmt: skip
    for C, mean in zip((0.1, 1.0, 10.0), model.cv_results_["mean_test_score"], strict=True):
        single = LocallyLinearSVC(1, n_neighbors=1, feature_map=None, C=C, **exact)
        assert cross_val_score(single, X, y, cv=folds).mean() == pytest.approx(mean, abs=1e-12)


def test_results_have_the_form_of_scikit_learns_searches(moons):
    model = LocallyLinearSVCCV(cv=4, n_neighbors=(2, 4), search="grid", **SMALL).fit(*moons[:2])
    table = model.cv_results_
    assert len(table["params"]) == 3 * (2 + 2 * 2)  # maps; one anchor has one neighbour
    assert {f"split{fold}_test_score" for fold in range(4)} < table.keys()
    best = table["params"][int(np.flatnonzero(table["rank_test_score"] == 1)[0])]
    assert best == {**model.best_params_, "scaler": None}
    assert model.best_score_ == table["mean_test_score"].max()


def test_halving_evaluates_few_candidates_on_all_rows(monkeypatch, moons):
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


def test_maps_suit_the_rows(moons):
    X, y = moons[:2]
    tried = LocallyLinearSVCCV(search="grid", **SMALL).fit(X, y).cv_results_["param_feature_map"]
    assert set(tried) == {None, "auto", "nystroem"}
    sparse = LocallyLinearSVCCV(search="grid", **SMALL).fit(sp.csr_array(X), y)
    assert set(sparse.cv_results_["param_feature_map"]) == {None}


def test_accuracy_is_that_of_scikit_learn(moons):
    weights = np.linspace(0.1, 1, len(moons[0]))
    ours = LocallyLinearSVCCV(**SMALL).fit(*moons[:2], weights)
    theirs = LocallyLinearSVCCV(scoring="accuracy", **SMALL).fit(*moons[:2], weights)
    means = [model.cv_results_["mean_test_score"] for model in (ours, theirs)]
    np.testing.assert_allclose(*means, rtol=1e-12)


def test_any_scorer_will_do(moons):
    by_area = LocallyLinearSVCCV(scoring="roc_auc", **SMALL).fit(*moons[:2])
    assert 0.95 < by_area.best_score_ <= 1


@pytest.mark.parametrize("scoring", ["neg_log_loss", "neg_brier_score", "roc_auc_ovr"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_scorers_of_probabilities(scoring, n_classes):
    """With the log loss, any scorer of probabilities; the best has the best mean score."""
    X, y = make_data(n_classes)
    model = LocallyLinearSVCCV((1, 6), n_neighbors=3, Cs=(0.1, 10.0), loss="log", scoring=scoring)
    table = model.set_params(random_state=0).fit(X, y).cv_results_
    assert model.best_score_ == table["mean_test_score"][table["rank_test_score"] == 1]
    assert np.isfinite(get_scorer(scoring)(model, X, y))


def test_scorers_of_probabilities_need_the_log_loss():
    """The error names the remedy."""
    with pytest.raises(ValueError, match="loss='log'"):
        LocallyLinearSVCCV(scoring="neg_log_loss", random_state=0).fit(*make_data(2))


@pytest.mark.parametrize("cv", [None, 3, GroupKFold(3)])
def test_groups_are_never_divided(cv):
    """Where rows of a group are copies, a search without groups is too optimistic."""
    rng = np.random.default_rng(0)
    centers, labels = rng.normal(size=(40, 4)), rng.integers(0, 2, 40)
    groups = np.repeat(np.arange(40), 8)
    X, y = centers[groups] + 0.01 * rng.normal(size=(320, 4)), labels[groups]
    search = LocallyLinearSVCCV(8, feature_maps=("auto",), Cs=(10.0,), cv=cv, random_state=0)
    with_groups = search.fit(X, y, groups=groups).best_score_
    assert with_groups < 0.75
    if not hasattr(cv, "split"):
        assert search.fit(X, y).best_score_ > with_groups + 0.1


def test_bad_groups_are_refused():
    """They have a value per row, at least two, and no effect on given folds."""
    X, y = make_data(2)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        LocallyLinearSVCCV().fit(X, y, groups=[0, 1])
    with pytest.raises(ValueError, match="at least two"):
        LocallyLinearSVCCV().fit(X, y, groups=np.zeros(len(y)))
    folds = [(np.arange(10), np.arange(10, 20))]
    with pytest.raises(ValueError, match="groups must be None"):
        LocallyLinearSVCCV(cv=folds).fit(X, y, groups=np.arange(len(y)))


def test_relevance_is_a_candidate():
    """Where few features matter it is chosen, and the best parameters give that model again."""
    X = np.random.default_rng(0).standard_normal((400, 10))
    y = X[:, 0] * X[:, 1] > 0
    options = {"feature_maps": ("auto",), "Cs": (10.0,), "random_state": 0}
    model = LocallyLinearSVCCV(8, **options).fit(X, y)
    assert model.best_params_["relevance"] == "gradient"
    assert model.best_estimator_.relevance_ is not None
    again = LocallyLinearSVC(**model.best_params_, random_state=0).fit(X, y)
    assert again.relevance_.shape in ((10,), (10, 10))
    plain = LocallyLinearSVCCV(8, relevance=None, **options).fit(X, y)
    assert plain.best_params_["relevance"] is None
    assert model.best_score_ > plain.best_score_
    parts = model.local_coef(X[:5])[:, 0] * X[:5]
    total = parts.sum(axis=1) + model.local_intercept(X[:5])[:, 0]
    np.testing.assert_allclose(total, model.decision_function(X[:5]), atol=1e-9)


def test_relevance_is_found_within_folds():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 30)).astype(np.float32)
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    scalers = (None, RelevanceScaler(method="trees", n_estimators=30, random_state=0, power=0.5))
    model = LocallyLinearSVCCV(
        scalers=scalers,
        n_anchors=8,
        feature_maps=("quadratic",),
        Cs=(3.0,),
        relevance=None,
        random_state=0,
    ).fit(X, y)
    plain, scaled = model.cv_results_["mean_test_score"]
    assert scaled > plain
    assert isinstance(model.scaler_, RelevanceScaler)
    scores = model.decision_function(X[:5])
    parts = model.local_coef(X[:5])[:, 0] * X[:5]
    assert np.allclose(parts.sum(axis=1) + model.local_intercept(X[:5])[:, 0], scores, atol=1e-4)


def test_scaled_features_are_explained_as_they_were_given():
    """Values and the boundary point are those of the rows before they were scaled."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 6))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    scaler = RelevanceScaler(method="trees", n_estimators=30, random_state=0, power=0.5)
    model = LocallyLinearSVCCV(
        8, scalers=(scaler,), feature_maps=("quadratic",), Cs=(10.0,), random_state=0
    ).fit(X, y)
    for row, explanation in zip(X[:8], model.explain(X[:8]), strict=True):
        np.testing.assert_allclose(explanation.values, row, rtol=1e-6)
        total = explanation.contributions.sum(axis=1) + explanation.intercepts
        np.testing.assert_allclose(total, model.decision_function([row]), rtol=1e-6, atol=1e-9)
        point = explanation.boundary
        np.testing.assert_allclose(row + point.changes, point.row, rtol=1e-6, atol=1e-9)
        assert point.distance == pytest.approx(np.linalg.norm(point.changes))
        if point.found:
            assert model.predict([point.row])[0] == point.prediction != explanation.prediction


def test_sparse_rows_and_threads_give_the_same(moons):
    X, y, X_test, _ = moons
    dense = LocallyLinearSVCCV(feature_maps=(None,), **SMALL).fit(X, y)
    sparse = LocallyLinearSVCCV(feature_maps=(None,), n_jobs=2, **SMALL).fit(sp.csr_array(X), y)
    assert sparse.best_params_ == dense.best_params_
    threads = LocallyLinearSVCCV(feature_maps=(None,), n_jobs=2, **SMALL).fit(X, y)
    assert np.array_equal(threads.decision_function(X_test), dense.decision_function(X_test))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_anchors": (0, 3)}, "n_anchors"),
        ({"n_anchors": "many"}, "n_anchors"),
        ({"Cs": ()}, "Cs must be a sequence"),
        ({"Cs": (1.0, -1.0)}, "Cs"),
        ({"feature_maps": "quadratic"}, "feature_maps must be one of"),
        ({"feature_maps": ()}, "feature_maps must be a sequence"),
        ({"cv": 1}, "cv"),
        ({"search": "random"}, "search"),
        ({"one_standard_error": 2}, "one_standard_error"),
        ({"loss": "absolute"}, "loss"),
    ],
)
def test_errors_name_the_argument(moons, arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        LocallyLinearSVCCV(**arguments).fit(*moons[:2])


def test_rows_of_one_each_cannot_be_cross_validated():
    with pytest.raises(ValueError, match="at least two distinct rows"):
        LocallyLinearSVCCV().fit([[0.0], [1.0]], [0, 1])


def test_more_anchors_than_distinct_rows_are_as_many():
    """Rows that differ in their label only cannot all be anchors; maps share what there is."""
    X = np.repeat(np.random.default_rng(0).standard_normal((12, 2)), 2, axis=0)
    y = np.tile([0, 1], 12)
    with pytest.warns(UserWarning, match="distinct rows"):
        model = LocallyLinearSVCCV([1, 24], search="grid", cv=2, random_state=0).fit(X, y)
    assert len(model.anchors_) <= 12


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


def test_given_costs_are_all_there_are(moons):
    model = LocallyLinearSVCCV(6, feature_maps=(None,), Cs=(0.03, 0.3), random_state=0)
    assert set(model.fit(*moons[:2]).cv_results_["param_C"]) == {0.03, 0.3}
