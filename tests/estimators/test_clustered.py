"""Tests of hyperlocal.estimators.clustered: CSVM in its two formulations."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.svm import LinearSVC

from estimators.data import make_data
from hyperlocal.papers import ClusteredSVC

PRECISE = {"tol": 1e-8, "max_iter": 200_000, "random_state": 0}


def own_cluster(model, X):
    return ((X[:, None] - model.anchors_) ** 2).sum(axis=2).argmin(axis=1)


def original_objective(model, X, y, w, local, loss):
    """``λ/2 ‖w‖² + ½ Σ_l ‖w_l − w‖² + C Σ ℓ``, biases included, for one column."""
    rows = np.column_stack([X, np.full(len(X), model.intercept_scaling)])
    margins = np.where(y == 1, 1, -1) * np.einsum("nd,nd->n", rows, local[own_cluster(model, X)])
    slack = np.maximum(0, 1 - margins)
    losses = slack if loss == "hinge" else slack**2
    distance = ((local - w) ** 2).sum()
    return 0.5 * (model.global_penalty * w @ w + distance) + model.C_ * losses.sum()


def weights_of(model):
    """``w`` and ``w_l`` with their biases, for one column."""
    bias = model.intercept_scaling
    w = np.append(model.global_coef_[0], model.global_intercept_[0] / bias)
    local = np.column_stack([model.coef_[:, 0], model.intercept_[:, 0] / bias])
    return w, local


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("global_penalty", [0.1, 1.0, 20.0])
def test_the_two_formulations_agree(loss, global_penalty):
    """The objective reached is that of the original formulation at the weights reported."""
    X, y = make_data()
    model = ClusteredSVC(
        4, loss=loss, C=0.5, global_penalty=global_penalty, intercept_scaling=1.5, **PRECISE
    ).fit(X, y)
    w, local = weights_of(model)
    assert original_objective(model, X, y, w, local, loss) == pytest.approx(
        model.objective_, rel=1e-5
    )


def test_a_general_minimiser_finds_the_same():
    """L-BFGS on the original formulation ends at the same weights."""
    X, y = make_data()
    model = ClusteredSVC(3, loss="squared_hinge", C=0.5, global_penalty=0.5, **PRECISE).fit(X, y)

    def objective(values):
        values = values.reshape(4, 6)
        return original_objective(model, X, y, values[0], values[1:], "squared_hinge")

    best = minimize(objective, np.zeros(24), method="L-BFGS-B", options={"ftol": 1e-15})
    assert model.objective_ == pytest.approx(best.fun, rel=1e-4)
    w, local = weights_of(model)
    np.testing.assert_allclose(np.vstack([w, local]), best.x.reshape(4, 6), atol=5e-3)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_linear_svm_on_explicit_features(n_classes, loss):
    """LIBLINEAR on ``[x/√λ, 0 … x at block l … 0]``: the same scores."""
    X, y = make_data(n_classes)
    model = ClusteredSVC(4, loss=loss, C=0.5, global_penalty=2.0, **PRECISE).fit(X, y)
    rows = np.column_stack([X, np.ones(len(X))])
    one_hot = np.eye(4)[own_cluster(model, X)]
    blocks = np.einsum("nk,nl->nkl", one_hot, rows).reshape(len(X), -1)
    features = np.hstack([rows / np.sqrt(2), blocks])
    linear = LinearSVC(
        loss=loss, C=0.5, fit_intercept=False, dual=True, tol=1e-9, max_iter=1_000_000
    ).fit(features, y)
    np.testing.assert_allclose(
        model.decision_function(X), linear.decision_function(features), atol=1e-3
    )
    np.testing.assert_allclose(model.global_coef_, linear.coef_[:, :5] / np.sqrt(2), atol=1e-3)


def test_extreme_penalties():
    """A small λ makes one linear SVM of all clusters; a large one makes them independent."""
    X, y = make_data()
    shared = ClusteredSVC(4, global_penalty=1e-6, C=1e-6, **PRECISE).fit(X, y)
    assert shared.coef_.std(axis=0).max() < 1e-3 * np.abs(shared.global_coef_).max()
    alone = ClusteredSVC(4, global_penalty=1e6, C=0.5, **PRECISE).fit(X, y)
    assert np.abs(alone.global_coef_).max() < 1e-3
    cluster = own_cluster(alone, X)
    mixed = [k for k in range(4) if len(np.unique(y[cluster == k])) == 2]
    members = np.flatnonzero(cluster == mixed[0])
    own = LinearSVC(loss="hinge", C=0.5, tol=1e-9, max_iter=1_000_000)
    own.fit(X[members], y[members])
    np.testing.assert_allclose(
        alone.decision_function(X[members]), own.decision_function(X[members]), atol=1e-2
    )


@pytest.mark.parametrize("value", [0, -1.0, np.inf, "1", None])
def test_a_bad_penalty(value):
    """λ must be a positive number."""
    with pytest.raises((ValueError, TypeError), match="global_penalty"):
        ClusteredSVC(3, global_penalty=value).fit(*make_data())
