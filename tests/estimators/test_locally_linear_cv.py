"""Tests of LocallyLinearSVCCV."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import metrics
from sklearn.datasets import make_blobs
from sklearn.metrics import get_scorer
from sklearn.model_selection import GroupKFold

from estimators.data import SEARCH as SMALL
from estimators.data import make_data
from hyperlocal import LocallyLinearSVC, LocallyLinearSVCCV
from hyperlocal.preprocessing import RelevanceScaler


def test_it_finds_that_one_anchor_is_too_few(moons):
    """Moons need several anchors, and get them."""
    model = LocallyLinearSVCCV(feature_maps=(None,), **SMALL).fit(*moons[:2])
    assert model.best_params_["n_anchors"] == 6
    assert model.score(*moons[2:]) > 0.95


def test_it_finds_that_one_anchor_is_enough():
    """Classes that a line divides get one linear model."""
    X, y = make_blobs(300, centers=[[-2, 0], [2, 0]], cluster_std=2.0, random_state=0)
    model = LocallyLinearSVCCV(one_standard_error=True, **SMALL).fit(X, y)
    assert model.best_params_["n_anchors"] == 1
    assert model.best_params_["feature_map"] is None


def test_the_final_model_is_a_plain_one(moons):
    """LocallyLinearSVC with the best parameters decides alike."""
    X, y, X_test, _ = moons
    model = LocallyLinearSVCCV(**SMALL).fit(X, y)
    plain = LocallyLinearSVC(**model.best_params_, random_state=1, tol=1e-6, max_iter=10**5).fit(
        X, y
    )
    model.set_params(tol=1e-6, max_iter=10**5).fit(X, y)
    # k-means starts elsewhere, so that only decisions agree.
    assert np.mean(model.predict(X_test) == plain.predict(X_test)) > 0.95


def test_any_scorer_will_do(moons):
    """A scorer of scikit-learn is named; the best score is its."""
    by_area = LocallyLinearSVCCV(scoring="roc_auc", **SMALL).fit(*moons[:2])
    assert 0.95 < by_area.best_score_ <= 1


@pytest.mark.parametrize("scoring", ["neg_log_loss", "neg_brier_score", "roc_auc_ovr"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_scorers_of_probabilities(scoring, n_classes):
    """With the log loss, any scorer of probabilities; the best has the best mean score."""
    if (scoring, n_classes) == ("neg_brier_score", 3) and not hasattr(metrics, "d2_brier_score"):
        pytest.skip("this scikit-learn has the Brier score of two classes alone")
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
    """Scales of features do not use the rows that they are evaluated on."""
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
    """CSR rows choose alike, and threads change no bit."""
    X, y, X_test, _ = moons
    dense = LocallyLinearSVCCV(feature_maps=(None,), **SMALL).fit(X, y)
    sparse = LocallyLinearSVCCV(feature_maps=(None,), n_jobs=2, **SMALL).fit(sp.csr_array(X), y)
    assert sparse.best_params_ == dense.best_params_
    threads = LocallyLinearSVCCV(feature_maps=(None,), n_jobs=2, **SMALL).fit(X, y)
    assert np.array_equal(threads.decision_function(X_test), dense.decision_function(X_test))
