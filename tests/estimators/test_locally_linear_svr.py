"""Tests of hyperlocal.estimators.locally_linear_svr: what it equals, and what it chooses."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.svm import LinearSVR

from hyperlocal import LocallyLinearSVR
from hyperlocal.model.residuals import RegressionLoss


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4))
    y = X @ [1.0, -0.5, 0.2, 0.0] + 0.5 * rng.standard_normal(200)
    return X, (y - y.mean()) / y.std()


def linear(loss, C, **options):
    return LocallyLinearSVR(
        1, n_neighbors=1, loss=loss, C=C, feature_map=None, normalize=False,
        global_intercept=False, tol=1e-10, max_iter=100_000, random_state=0, **options,
    )  # fmt: skip


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_one_anchor_is_liblinear(rows, loss):
    """On standardized values one anchor is LinearSVR."""
    X, y = rows
    ours = linear(loss, 0.5, epsilon=0.2).fit(X, y)
    options = {"tol": 1e-10, "max_iter": 100_000, "dual": True, "random_state": 0}
    theirs = LinearSVR(loss=loss, C=0.5, epsilon=0.2, **options)
    theirs.fit(X, y)
    losses = RegressionLoss(loss, 0.2).columns(1)[0].values(theirs.predict(X) - y)
    weights = np.append(theirs.coef_, theirs.intercept_)
    assert ours.objective_ == pytest.approx(0.5 * weights @ weights + 0.5 * losses.sum(), rel=1e-6)
    np.testing.assert_allclose(ours.coef_[0, 0], theirs.coef_, atol=1e-4)


def test_one_anchor_is_ridge(rows):
    """The squared loss is ridge regression with ``alpha = 1/(2C)``."""
    X, y = rows
    extended = np.column_stack([X, np.ones(len(X))])
    theirs = Ridge(alpha=1.0, fit_intercept=False).fit(extended, y)
    ours = linear("squared", 0.5).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(extended), atol=1e-6)


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_local_models_beat_a_linear_one(loss):
    """A wave is fitted far better than by ridge regression, with all settings automatic."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (600, 2))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(600)
    model = LocallyLinearSVR(loss=loss, random_state=0).fit(X[:400], y[:400])
    assert model.chosen_["feature_map"] is not None
    ridge = Ridge().fit(X[:400], y[:400]).score(X[400:], y[400:])
    assert model.score(X[400:], y[400:]) > max(0.8, ridge + 0.3)


def test_a_linear_model_is_chosen_for_linear_data(rows):
    """Where y is linear in noise, one anchor with the rows as they are does as well."""
    model = LocallyLinearSVR(random_state=0).fit(*rows)
    assert len(model.anchors_) == 1


def test_robust_losses_resist_outliers():
    """With one value in twenty far off, the absolute loss is nearer the truth than squares."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (600, 2))
    truth = np.sin(X[:, 0]) * X[:, 1]
    y = truth + np.where(rng.random(600) < 0.05, 20.0, 0.0)
    errors = [
        np.abs(LocallyLinearSVR(loss=loss, random_state=0).fit(X, y).predict(X) - truth).mean()
        for loss in ("squared", "epsilon_insensitive")
    ]
    assert errors[1] < 0.5 * errors[0]
