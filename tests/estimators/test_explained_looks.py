"""Tests of hyperlocal.estimators.explained_looks: each row by the look that scores it."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from estimators.data import make_data
from hyperlocal import SecondLookSVC

FIRST = [None, LinearSVC(), make_pipeline(StandardScaler(), LinearSVC())]


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("first", FIRST, ids=["local", "linear", "pipeline"])
@pytest.mark.parametrize("low_margin", [0.0, 0.6, 100.0])
def test_scores_are_those_of_the_look(first, n_classes, low_margin):
    """Rows of either look, or of one alone: references and contributions are the decisions."""
    X, y = make_data(n_classes)
    model = SecondLookSVC(first, low_margin=low_margin, random_state=0).fit(X, y)
    rows = X[:25] + 0.1
    found = model.explain(rows)
    scores = model.decision_function(rows).reshape(25, -1)
    total = found.references + found.contributions.sum(axis=2) + found.remainders
    np.testing.assert_allclose(total, scores, atol=1e-9)
    assert [one.prediction for one in found] == model.predict(rows).tolist()


def test_local_weights():
    """Weights at each row are those of its look; a pipeline has none."""
    X, y = make_data(3)
    model = SecondLookSVC(LinearSVC(), low_margin=0.6, random_state=0).fit(X, y)
    local = np.einsum("ncd,nd->nc", model.local_coef(X[:20]), X[:20]) + model.local_intercept(
        X[:20]
    )
    np.testing.assert_allclose(local, model.decision_function(X[:20]), atol=1e-9)
    piped = SecondLookSVC(FIRST[2], low_margin=0.0, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="explain states contributions"):
        piped.local_coef(X[:2])


def test_looks_of_other_features():
    """A first look that votes has other scores than its decisions, and is not mistaken for it."""
    X, y = make_data(2)
    model = SecondLookSVC(SVC(), low_margin=0.3, random_state=0).fit(X, y)
    found = model.explain(X[:10])
    np.testing.assert_allclose(found.scores[:, 0], model.decision_function(X[:10]), atol=1e-9)
