"""Tests of hyperlocal.maps.linear: a linear map of rows before everything else."""

import numpy as np
import pytest
import scipy.sparse as sp

from estimators.data import make_data
from hyperlocal import LocallyLinearSVC
from hyperlocal.maps.linear import InputMap
from hyperlocal.model.gradients import gate_is_included, score_gradients

FACTORS = {
    "diagonal": np.array([2.0, 0.5, 1.0, 3.0, 0.1]),
    "full": np.random.default_rng(0).normal(size=(5, 5)),
    "narrow": np.random.default_rng(0).normal(size=(5, 3)),
}
every_kind = pytest.mark.parametrize("kind", FACTORS)
every_map = pytest.mark.parametrize("feature_map", [None, "quadratic", "additive_chi2"])
every_space = pytest.mark.parametrize("code_on", ["input", "features", [0, 2]])


def mapped_model(kind, feature_map=None, code_on="input"):
    """A model of mapped rows, the same as a model of rows, the map and rows."""
    X, y = make_data(3)
    before = InputMap(FACTORS[kind])
    fitted = LocallyLinearSVC(
        6, n_neighbors=3, feature_map=feature_map, code_on=code_on, C=1.0, random_state=0
    )
    model = fitted.fit(before.transform(X), y).model_
    return model, model.after(before), before, X[:25] + 0.01


@every_kind
@every_map
@every_space
def test_scores_are_those_of_mapped_rows(kind, feature_map, code_on, workers):
    """Gate and local models see mapped rows, whatever distances are measured on."""
    model, after, before, X = mapped_model(kind, feature_map, code_on)
    expected = model.scores(before.transform(X), workers)
    np.testing.assert_allclose(after.scores(X, workers), expected, atol=1e-12)
    assert after.n_features_in == 5


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows_stay_sparse(dtype, workers):
    """Multiplied features keep their storage and precision."""
    model, after, before, X = mapped_model("diagonal")
    rows = sp.csr_array(X.astype(dtype))
    mapped = before.transform(rows)
    assert sp.issparse(mapped)
    assert mapped.dtype == dtype
    tolerance = 1e-5 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(mapped.toarray(), before.transform(X), rtol=tolerance)
    double = after.scores(sp.csr_array(X), workers)
    np.testing.assert_allclose(double, model.scores(before.transform(X), workers), atol=1e-12)


@every_kind
@pytest.mark.parametrize("feature_map", [None, "quadratic"])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_weights_are_on_the_features_as_given(kind, feature_map, convert, workers):
    """Weights times the features, and the intercept, are the scores."""
    _, after, _, X = mapped_model(kind, feature_map)
    [block] = after.local_rows(convert(X), workers)
    np.testing.assert_array_equal(block.values, X)
    sums = block.scores
    np.testing.assert_allclose(sums, after.scores(X, workers), atol=1e-9)


def test_weights_on_mapped_features_stay_as_they_are(workers):
    """A map that explains its own features still does."""
    model, after, before, X = mapped_model("diagonal", "additive_chi2")
    [block] = after.local_rows(X, workers)
    [own] = model.local_rows(before.transform(X), workers)
    np.testing.assert_array_equal(block.coef, own.coef)


@every_kind
@pytest.mark.parametrize("code_on", ["input", "features"])
def test_gradients_by_the_chain_rule(kind, code_on, workers):
    """Gradients of mapped rows times the map."""
    model, after, before, X = mapped_model(kind, "quadratic", code_on)
    assert gate_is_included(after)
    expected = before.pull_back(score_gradients(model, before.transform(X), workers))
    np.testing.assert_allclose(score_gradients(after, X, workers), expected, atol=1e-9)
