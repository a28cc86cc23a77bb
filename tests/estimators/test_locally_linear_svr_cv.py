"""Tests of hyperlocal.estimators.locally_linear_svr_cv: the search for settings of a regression."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Ridge
from sklearn.metrics import mean_pinball_loss
from sklearn.model_selection import KFold, cross_val_score
from sklearn.preprocessing import StandardScaler

from hyperlocal import LocallyLinearSVR, LocallyLinearSVRCV, explain
from hyperlocal.selection import searched_rows


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (500, 3))
    y = 50 + 10 * np.sin(3 * X[:, 0]) + X[:, 1] + 0.5 * rng.standard_normal(500)
    return X, y


def search(**options):
    return LocallyLinearSVRCV(**({"n_anchors": (1, 8), "random_state": 0} | options))


def test_it_finds_that_one_anchor_is_too_few(rows):
    """A wave needs more than a line."""
    X, y = rows
    found = search(feature_maps=(None,)).fit(X[:350], y[:350])
    assert found.best_params_["n_anchors"] == 8
    assert found.score(X[350:], y[350:]) > Ridge().fit(X[:350], y[:350]).score(X[350:], y[350:])


def test_it_finds_that_one_anchor_is_enough():
    """A plane in noise needs one linear model."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    y = X @ [1.0, 2.0, 0.0, -1.0] + rng.standard_normal(300)
    found = search().fit(X, y).best_params_
    assert found["n_anchors"] == 1
    assert not found["normalize"]


def test_scores_are_those_of_cross_validation(monkeypatch, rows):
    """The score of a candidate is what cross_val_score finds, with the same folds, in R²."""
    monkeypatch.setattr(searched_rows, "SEARCH_TOL", 1e-6)
    X, y = rows
    cv = KFold(3, shuffle=True, random_state=1)
    settings = {"feature_map": None, "normalize": False, "C": 1.0, "tol": 1e-6}
    found = search(
        n_anchors=1, feature_maps=(None,), Cs=(1.0,), cv=list(cv.split(X)), tol=1e-6,
        relevance=None,
    ).fit(X, y)  # fmt: skip
    expected = cross_val_score(LocallyLinearSVR(1, n_neighbors=1, **settings), X, y, cv=cv)
    assert found.best_score_ == pytest.approx(expected.mean(), abs=1e-3)  # y is scaled once


def test_any_scorer_will_do(rows):
    """Scorers see values in the units of y."""
    X, y = rows
    found = search(scoring="neg_mean_absolute_error", relevance=None).fit(X, y)
    error = np.abs(found.predict(X) - y).mean()
    assert 0.5 * error < -found.best_score_ < 3 * error
    in_cents = search(scoring="neg_mean_absolute_error", relevance=None).fit(X, 100 * y)
    assert in_cents.best_score_ == pytest.approx(100 * found.best_score_, rel=1e-6)


def test_quantiles_are_chosen_by_their_loss(rows):
    """Several quantiles are sorted, and scored by the pinball loss, in standard deviations of y."""
    X, y = rows
    levels = (0.1, 0.9)
    found = search(loss="quantile", quantiles=levels, max_iter=5000).fit(X, y)
    predicted = found.predict(X)
    assert predicted.shape == (500, 2)
    assert (predicted[:, 0] <= predicted[:, 1]).all()
    losses = [mean_pinball_loss(y, p, alpha=q) for p, q in zip(predicted.T, levels, strict=True)]
    assert 0.5 < -found.best_score_ / (sum(losses) / y.std()) < 2


def test_several_targets_groups_and_weights(rows):
    """Targets are columns; groups are not divided; weights count in scores too."""
    X, y = rows
    groups, weights = np.arange(500) // 10, np.linspace(0.1, 1, 500)
    found = search(relevance=None).fit(X, np.column_stack([y, -y]), weights, groups)
    assert found.predict(X).shape == (500, 2)
    np.testing.assert_allclose(found.predict(X)[:, 0], -found.predict(X)[:, 1], rtol=1e-6)


def test_sparse_rows_and_threads_give_the_same(rows):
    """CSR rows and threads change nothing."""
    X, y = rows
    options = {"feature_maps": (None,), "relevance": None}
    expected = search(n_jobs=1, **options).fit(X, y).predict(X)
    np.testing.assert_array_equal(search(n_jobs=2, **options).fit(X, y).predict(X), expected)
    sparse = search(**options).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.predict(sp.csr_array(X)), expected, rtol=1e-6)


def test_intervals_and_explanations(rows):
    """The chosen model is calibrated and explained, also behind a scaler of the search."""
    X, y = rows
    found = search(scalers=(StandardScaler(),)).fit(X[:300], y[:300])
    low, high = found.calibrate(X[300:], y[300:]).predict_interval(X[300:]).T
    assert 0.85 < ((low <= y[300:]) & (y[300:] <= high)).mean() < 0.97
    assert explain(found, X[0]).scores[0] == pytest.approx(found.predict(X[:1])[0])
    found.fit(X[:300], y[:300])
    with pytest.raises(ValueError, match="calibrate"):
        found.predict_interval(X)


def test_rows_too_few_to_hold_some_out():
    """One row cannot be cross-validated."""
    with pytest.raises(ValueError, match="four distinct rows"):
        search().fit(np.ones((3, 1)), np.ones(3))


def test_scales_are_candidates():
    """Where few of many features matter, scales are chosen, and kept as parameter of the model."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((800, 12))
    y = np.sin(2 * X[:, 0]) * X[:, 1]
    found = LocallyLinearSVRCV((1, 16), random_state=0).fit(X[:600], y[:600])
    plain = LocallyLinearSVRCV((1, 16), relevance=None, random_state=0).fit(X[:600], y[:600])
    assert found.score(X[600:], y[600:]) > plain.score(X[600:], y[600:]) + 0.1
    scales = found.best_params_["relevance"]
    size = np.abs(scales) if scales.ndim == 1 else np.linalg.norm(scales, axis=0)
    assert size[:2].min() > 1.5 * size[2:].max()
    again = LocallyLinearSVR(**found.best_params_, random_state=0).fit(X[:600], y[:600])
    assert again.score(X[600:], y[600:]) > plain.score(X[600:], y[600:]) + 0.1


def test_fine_levels_are_candidates(rows):
    """The default tries levels down to a few rows per anchor."""
    found = LocallyLinearSVRCV(relevance=None, feature_maps=(None,), random_state=0).fit(*rows)
    assert {(1, 8, 62), (1, 8, 32)} <= set(found.cv_results_["param_n_anchors"])
