"""Tests of hyperlocal.model.scaled: a model of scaled features, in the features as given."""

import numpy as np
import pytest
import scipy.sparse as sp

from estimators.data import make_data
from hyperlocal import LocallyLinearSVC
from hyperlocal.model.scaled import ScaledModel

SCALE = np.array([2.0, 0.5, 1.0, 3.0, 0.1])


def scaled_model(feature_map):
    X, y = make_data(3)
    fitted = LocallyLinearSVC(6, n_neighbors=3, feature_map=feature_map, random_state=0)
    return ScaledModel(fitted.fit(X * SCALE, y).model_, SCALE), X


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("feature_map", [None, "quadratic", "additive_chi2"])
def test_scores_are_those_of_scaled_rows(feature_map, convert, workers):
    """The factors are applied before the model, to dense and to sparse rows."""
    scaled, X = scaled_model(feature_map)
    expected = scaled.model.scores(X * SCALE, workers)
    np.testing.assert_allclose(scaled.scores(convert(X), workers), expected, atol=1e-12)
    assert scaled.n_features_in == 5
    assert scaled.n_columns == 3
    assert scaled.dtype == np.float64


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("feature_map", [None, "quadratic"])
def test_weights_take_up_the_factors(feature_map, convert, workers):
    """Weights times the features as given, and the intercept, are the scores."""
    scaled, X = scaled_model(feature_map)
    blocks = list(scaled.local_rows(convert(X), workers))
    np.testing.assert_array_equal(np.concatenate([block.values for block in blocks]), X)
    sums = [block.scores for block in blocks]
    np.testing.assert_allclose(np.concatenate(sums), scaled.scores(X, workers), atol=1e-9)


def test_mapped_features_stay_as_they_are(workers):
    """Weights on mapped features are those of the model itself."""
    scaled, X = scaled_model("additive_chi2")
    [block] = scaled.local_rows(X, workers)
    [own] = scaled.model.local_rows(X * SCALE, workers)
    np.testing.assert_array_equal(block.coef, own.coef)
    np.testing.assert_array_equal(block.values, own.values)
