"""Tests of hyperlocal.estimators.tasks: classes, and weights of rows and classes."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler
from sklearn.utils import compute_sample_weight

from estimators.data import every_classifier, make_data, model, precise


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"loss": "hinge", "multi_class": "crammer_singer"},
        {"loss": "log", "feature_map": None},
        {"solver": "sgd"},
        {"feature_map": "nystroem", "class_weight": "balanced"},
        {"feature_map": StandardScaler(), "code_on": PCA(2, random_state=0)},
    ],
    ids=str,
)
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_integer_weights_are_repeated_rows(options, convert):
    """A row of weight two is the same as the row twice, and a row of weight zero is no row."""
    if convert is sp.csr_array and "code_on" in options:
        options = {"feature_map": StandardScaler(with_mean=False)}
    X, y = make_data(3)
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = model(**options).fit(convert(X), y, sample_weight=weights)
    repeated = model(**options).fit(convert(np.repeat(X, weights, axis=0)), np.repeat(y, weights))
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-10
    )


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "log"])
def test_integer_weights_are_repeated_rows_of_large_data(loss, monkeypatch):
    """Where equal rows are not merged, the solution is the same to the solver's precision."""
    monkeypatch.setattr("hyperlocal.data.labelled.MOST_ROWS_TO_MERGE", 0)
    X, y = make_data()
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = precise(loss=loss).fit(X, y, sample_weight=weights)
    repeated = precise(loss=loss).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-3
    )
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-6)


@every_classifier
def test_the_order_of_rows_does_not_matter(Classifier):
    """Rows in another order give the same model, to the last bit."""
    X, y = make_data(3)
    order = np.random.default_rng(0).permutation(len(y))
    first = Classifier(random_state=0).fit(X, y)
    second = Classifier(random_state=0).fit(X[order], y[order])
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))


def test_rows_are_merged_only_if_equal(monkeypatch):
    """Should different rows share a key by accident, none is merged."""
    X, y = make_data()
    monkeypatch.setattr("hyperlocal.data.labelled.row_keys", lambda X: np.zeros(len(X), np.uint64))
    assert model().fit(X, y).score(X, y) > 0.8


def test_a_class_of_weight_zero_is_no_class():
    """Labels of rows without weight are not learned."""
    X, y = make_data(3)
    fitted = model().fit(X, y, sample_weight=(y < 2).astype(float))
    np.testing.assert_array_equal(fitted.classes_, [0, 1])


@pytest.mark.parametrize("class_weight", ["balanced", {0: 3.0, 2: 0.2}], ids=str)
def test_class_weights_are_sample_weights(class_weight):
    """A class weight is a weight on each of the class's rows."""
    X, y = make_data(3)
    keep = (y > 0) | (np.arange(len(y)) % 3 == 0)
    X, y = X[keep], y[keep]
    weights = compute_sample_weight(class_weight, y)
    by_class = model(class_weight=class_weight).fit(X, y)
    by_row = model().fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(by_class.decision_function(X), by_row.decision_function(X))


def test_class_and_sample_weights_multiply():
    """Weights of classes and rows multiply."""
    X, y = make_data()
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y))
    both = model(class_weight={1: 4.0}).fit(X, y, sample_weight=weights)
    product = model().fit(X, y, sample_weight=weights * np.where(y == 1, 4.0, 1.0))
    np.testing.assert_allclose(both.decision_function(X), product.decision_function(X))


def test_weights_scale_like_C():
    """Doubling all weights is doubling ``C``."""
    X, y = make_data()
    doubled = model(C=1.0).fit(X, y, sample_weight=2.0)
    np.testing.assert_allclose(
        doubled.decision_function(X), model(C=2.0).fit(X, y).decision_function(X)
    )
