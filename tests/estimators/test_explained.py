"""Tests of hyperlocal.estimators.explained: references of explanations."""

import numpy as np
import pytest

from estimators.data import make_data
from hyperlocal import LocallyLinearSVC
from hyperlocal.linear import PegasosRegressor
from model.models import every_model, fitted


@every_model
def test_the_background_is_what_scores_are_relative_to(name):
    """The reference is the mean score of the rows given; a row of them alone explains nothing."""
    model, X = fitted(name)
    found = model.explain(X[:4], X[10:13])
    expected = np.atleast_2d(model.decision_function(X[10:13])).mean(axis=0)
    np.testing.assert_allclose(found.references, np.broadcast_to(expected, (4, 3)))
    alone = model.explain(X[:1], X[:1])
    assert not alone.contributions.any()
    np.testing.assert_allclose(alone.references, alone.scores, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_default_background_is_kept_at_fit(dtype):
    """It has the mean of the training rows; a later fit replaces it."""
    X, y = make_data()
    model = LocallyLinearSVC(random_state=0).fit(X.astype(dtype), y)
    np.testing.assert_allclose(model.background.mean, X.mean(axis=0), atol=1e-5)
    model.fit(X.astype(dtype) + 3, y)
    np.testing.assert_allclose(model.background.mean, X.mean(axis=0) + 3, atol=1e-5)


def test_regressors_are_explained():
    """One column of predictions, without classes."""
    X, _ = make_data()
    y = X @ np.arange(5.0)
    model = PegasosRegressor(C=10.0, random_state=0, max_iter=200, tol=None).fit(X, y)
    explanation = model.explain(X[0])
    assert explanation.prediction == pytest.approx(model.predict(X[:1])[0])
    assert explanation.classes is None
    assert str(explanation).splitlines()[0].endswith("; prediction:")
    assert "contribution" in explanation.to_frame().columns


@every_model
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-4), (np.float64, 1e-10)])
def test_sums_are_the_decisions(name, dtype, tolerance):
    """Relative to the largest score, for rows, backgrounds and a row that is its reference."""
    model, X = fitted(name, 3)
    rng = np.random.default_rng(0)
    rows = (X[:8] + rng.normal(size=(8, X.shape[1]))).astype(dtype)
    model.fit(X.astype(dtype), model.predict(X))
    for background in (None, rows[:1], rng.normal(size=(4, X.shape[1])).astype(dtype)):
        found = model.explain(rows, background)
        total = found.references + found.contributions.sum(axis=2) + found.remainders
        scores = model.decision_function(rows)
        np.testing.assert_allclose(total, scores, rtol=0, atol=tolerance * np.abs(scores).max())
