"""Tests of hyperlocal.compare.metrics: the figures, against scikit-learn."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    average_precision_score,
    balanced_accuracy_score,
    log_loss,
    roc_auc_score,
)

from hyperlocal.compare.metrics import METRICS, figures


def fitted(n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.digitize(X[:, 0] + 0.5 * rng.normal(size=200), np.linspace(-1, 1, n_classes - 1))
    return LogisticRegression().fit(X, y), X, y


@pytest.mark.parametrize("n_classes", [2, 3])
def test_figures_are_those_of_scikit_learn(n_classes):
    """Of two classes those of the positive one, of more the mean over the classes."""
    model, X, y = fitted(n_classes)
    predicted, P = model.predict(X), model.predict_proba(X)
    positive = 1 if n_classes == 2 else None
    found = figures(y, predicted, model.classes_, P, P, positive)
    assert found["accuracy"] == pytest.approx(np.mean(predicted == y))
    assert found["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(y, predicted))
    assert found["log_loss"] == pytest.approx(log_loss(y, P))
    scores = P[:, 1] if n_classes == 2 else P
    assert found["auc"] == pytest.approx(roc_auc_score(y, scores, multi_class="ovr"))
    assert found["average_precision"] == pytest.approx(average_precision_score(y, scores))


def test_the_other_class_is_positive():
    """Average precision is of the class that is asked for; the area is the same."""
    model, X, y = fitted(2)
    scores = model.decision_function(X)
    found = figures(y, model.predict(X), model.classes_, scores, None, 0)
    assert found["average_precision"] == pytest.approx(average_precision_score(y == 0, -scores))
    assert found["auc"] == pytest.approx(roc_auc_score(y, scores))


def test_figures_that_are_not_defined():
    """Without scores, or with labels of one class, what needs them is None."""
    y = np.zeros(3, int)
    found = figures(y, y, np.array([0, 1]), np.ones(3), None)
    assert (found["accuracy"], found["auc"], found["log_loss"]) == (1.0, None, None)
    assert METRICS["auc"].text(None) == "–"
