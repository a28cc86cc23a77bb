"""Tests of hyperlocal.estimators.chain_classifier: the classes of batches."""

import numpy as np
import pytest

from estimators.data import feed, make_data, model


def test_batches_may_lack_classes():
    """A batch need not have rows of all classes, not even the first."""
    X, y = make_data(3)
    order = np.argsort(y, kind="stable")
    streamed = feed(model(solver="sgd"), X[order], y[order], 6, classes=[0, 1, 2])
    assert streamed.decision_function(X).shape == (90, 3)


def test_string_labels_stream():
    """Labels may be strings; later batches are known by them."""
    X, y = make_data()
    labels = np.array(["no", "yes"])[y]
    streamed = feed(model(solver="sgd"), X, labels, 3, 5, classes=["yes", "no"])
    np.testing.assert_array_equal(streamed.classes_, ["no", "yes"])
    assert streamed.score(X, labels) > 0.8


def test_balanced_batches_are_refused():
    """Classes are not balanced within each batch; the error names what to give instead."""
    with pytest.raises(ValueError, match="give a dict of weights"):
        model(solver="sgd", class_weight="balanced").partial_fit(*make_data(), classes=[0, 1])
