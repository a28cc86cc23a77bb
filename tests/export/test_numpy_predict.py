"""Tests of hyperlocal.export.numpy_predict: predictions from arrays are the model's."""

import numpy as np
import pytest

from estimators.data import make_data
from export.models import MODELS, fitted, local
from hyperlocal.export import numpy_predict, to_numpy


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_arrays_predict_as_the_model(name, n_classes):
    """Labels and scores are the model's, in the same shape."""
    model, X = fitted(name, n_classes)
    arrays = to_numpy(model)
    scores = numpy_predict.decision_function(arrays, X)
    np.testing.assert_allclose(scores, model.decision_function(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(numpy_predict.predict(arrays, X), model.predict(X))


@pytest.mark.parametrize("labels", [np.array([False, True]), np.array([1.0, 2.0]), np.arange(2)])
def test_labels_of_any_kind(labels):
    """Booleans, floats and integers come out as they went in."""
    X, y = make_data(2)
    model = local(feature_map=None).fit(X, labels[y])
    np.testing.assert_array_equal(numpy_predict.predict(to_numpy(model), X), model.predict(X))


def test_single_precision_stays():
    """Models of float32 give scores of float32."""
    X, y = make_data(3)
    model = local().fit(X.astype(np.float32), y)
    scores = numpy_predict.decision_function(to_numpy(model), X)
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, model.decision_function(X), rtol=1e-4, atol=1e-4)


def test_no_rows():
    """An empty table has no labels, and raises nothing."""
    model, X = fitted("auto")
    assert numpy_predict.predict(to_numpy(model), X[:0]).shape == (0,)


def test_many_rows():
    """Rows beyond a block are predicted as those within."""
    model, X = fitted("auto")
    many = np.tile(X, (2 * numpy_predict.ROWS_PER_BLOCK // len(X), 1))[:-5]
    labels = numpy_predict.predict(to_numpy(model), many)
    np.testing.assert_array_equal(labels, model.predict(many))
