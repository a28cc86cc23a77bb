"""Tests of hyperlocal.model.scorer: one row at a time, as many rows at once."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

from hyperlocal import LocallyLinearSVC
from hyperlocal.linear import SDCASVC
from hyperlocal.model.scorer import Scorer


def fitted(n_classes=3, dtype=np.float64, **arguments):
    X, y = make_classification(
        300, 6, n_informative=5, n_redundant=0, n_classes=n_classes, random_state=0
    )
    arguments = {"n_anchors": 12, "C": 1.0, "feature_map": None, **arguments}
    model = LocallyLinearSVC(random_state=0, **arguments).fit(X.astype(dtype), y)
    return model, X.astype(dtype)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("feature_map", [None, "quadratic"])
@pytest.mark.parametrize("coding", ["soft", "inverse_distance", "llc", "hard"])
def test_scores_are_those_of_many_rows_at_once(n_classes, dtype, feature_map, coding):
    """Every row alone has the scores and the label that it has among others."""
    model, X = fitted(n_classes, dtype, feature_map=feature_map, coding=coding)
    score, expected = model.model_.scorer(model.classes_), model.decision_function(X[:50])
    close = {"rtol": 1e-4, "atol": 1e-5} if dtype == np.float32 else {"rtol": 1e-9, "atol": 1e-10}
    for row, wanted, label in zip(X[:50], expected, model.predict(X[:50]), strict=True):
        scores, found = score(row)
        np.testing.assert_allclose(scores, np.atleast_1d(wanted), **close)
        assert found == label


def test_one_local_model_and_other_maps_have_scorers_too():
    """A linear model is compiled; a map that is not goes through the model's own scores."""
    model, X = fitted(feature_map="nystroem")
    linear = SDCASVC(random_state=0).fit(X, model.predict(X))
    for each in (model, linear):
        scores, label = each.model_.scorer(each.classes_)(X[7])
        np.testing.assert_allclose(scores, each.decision_function(X[7:8])[0], rtol=1e-9)
        assert label == each.predict(X[7:8])[0]


def test_rows_of_other_precision_and_layout_are_converted():
    """Lists, other dtypes and strided rows give the same scores."""
    model, X = fitted()
    score = model.model_.scorer()
    expected, _ = score(X[3])
    strided = np.repeat(X[3], 2)[::2]
    for row in (X[3].tolist(), strided, X[3].astype(np.longdouble)):
        np.testing.assert_array_equal(score(row)[0], expected)


def test_scores_are_not_written_over_by_the_next_row():
    """Each call returns an array of its own."""
    model, X = fitted()
    score = model.model_.scorer()
    first, _ = score(X[0])
    kept = first.copy()
    score(X[1])
    np.testing.assert_array_equal(first, kept)


def test_wrong_rows_and_labels_are_refused():
    """A row of another length, and labels of another number, are errors that say so."""
    model, X = fitted()
    with pytest.raises(ValueError, match="x must have shape"):
        model.model_.scorer()(X[0, :4])
    with pytest.raises(ValueError, match="labels must have 3 entries"):
        Scorer(model.model_, ["a", "b"])
