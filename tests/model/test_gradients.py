"""Tests of hyperlocal.model.gradients: gradients of scores against central differences."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from estimators.data import make_data
from hyperlocal import LocallyLinearSVC
from hyperlocal.maps.base import NoGradient
from hyperlocal.maps.quadratic import QuadraticMap
from hyperlocal.model import gradients
from hyperlocal.model.gradients import gate_is_included, score_gradients
from hyperlocal.runtime.threads import Workers

MAPS = {
    "identity": None,
    "bias": "bias_only",
    "quadratic": "quadratic",
    "rescaled": QuadraticMap(rescale=True),
    "axes": QuadraticMap(n_axes=2, rescale=True),
    "axes and features": QuadraticMap(n_axes=2, rescale=True, keep_features=True),
}
every_map = pytest.mark.parametrize("feature_map", MAPS.values(), ids=MAPS)
every_norm = pytest.mark.parametrize("normalize", [False, True], ids=["papers", "unit"])


def fitted(n_classes=3, **options):
    """A small model, and rows that are no training rows."""
    X, y = make_data(n_classes)
    settings = {"n_anchors": 7, "n_neighbors": 3, "C": 3.0, "tol": 1e-2, "random_state": 0}
    estimator = LocallyLinearSVC(**{**settings, **options}).fit(X, y)
    return estimator.model_, X[:25] + 0.01


def central_differences(model, X, workers, step=1e-5):
    """``(f(x + h e_i) − f(x − h e_i)) / 2h``."""
    steps = step * np.eye(X.shape[1])
    sides = [[model.scores(X + side * one, workers) for side in (1, -1)] for one in steps]
    return np.stack([(above - below) / (2 * step) for above, below in sides], axis=2)


def assert_are_gradients(model, X, workers):
    expected = central_differences(model, X, workers)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(score_gradients(model, X, workers), expected, atol=1e-7 * scale)


@every_map
@every_norm
@pytest.mark.parametrize("coding", ["soft", "inverse_distance", "hard"])
def test_gradients_are_central_differences(feature_map, normalize, coding, workers):
    """Gate, map and normalization are differentiated."""
    model, X = fitted(feature_map=feature_map, normalize=normalize, coding=coding)
    assert gate_is_included(model)
    assert_are_gradients(model, X, workers)


@every_norm
@pytest.mark.parametrize("coding", ["soft", "inverse_distance", "hard"])
def test_gradients_of_levels(normalize, coding, workers):
    """Each level of anchors has weights of unit length."""
    model, X = fitted(n_anchors=(1, 5, 12), normalize=normalize, coding=coding)
    assert_are_gradients(model, X, workers)


@pytest.mark.parametrize("code_on", ["features", [0, 2], [1, 1]], ids=["features", "some", "twice"])
@pytest.mark.parametrize("feature_map", [None, "quadratic"])
def test_gradients_of_codes_on_other_rows(code_on, feature_map, workers):
    """Distances on mapped features or on some columns are differentiated too."""
    model, X = fitted(feature_map=feature_map, code_on=code_on, n_anchors=5)
    assert_are_gradients(model, X, workers)


@pytest.mark.parametrize(
    "options", [{"n_classes": 2}, {"global_intercept": False}, {"n_anchors": 1, "n_neighbors": 1}]
)
def test_gradients_of_two_classes_and_of_linear_models(options, workers):
    """One column, models without a global intercept, and one anchor are no special cases."""
    model, X = fitted(**options)
    assert_are_gradients(model, X, workers)


@pytest.mark.parametrize("coding", ["soft", "inverse_distance"])
@pytest.mark.parametrize("feature_map", [None, "quadratic"])
def test_gradients_at_sparse_rows(coding, feature_map, workers):
    """Sparse rows have the gradients of the same rows stored densely."""
    model, X = fitted(coding=coding, feature_map=feature_map)
    np.testing.assert_allclose(
        score_gradients(model, sp.csr_array(X), workers),
        score_gradients(model, X, workers),
        rtol=1e-9,
        atol=1e-9,
    )


@pytest.mark.parametrize("coding", ["lle", "llc", "lcc"])
def test_solved_codes_are_held_fixed(coding, workers):
    """The gradient is that of the local model, which a linear map's explanation states."""
    model, X = fitted(coding=coding, feature_map=None, normalize=False)
    assert not gate_is_included(model)
    (block,) = model.local_rows(X, workers)
    np.testing.assert_allclose(score_gradients(model, X, workers), block.coef, atol=1e-12)


def test_a_gate_can_be_held_fixed(workers):
    """``hold_gate=True`` leaves the gradient of the model that is active at the row."""
    model, X = fitted(feature_map=None, normalize=False)
    (block,) = model.local_rows(X, workers)
    held = score_gradients(model, X, workers, hold_gate=True)
    np.testing.assert_allclose(held, block.coef, atol=1e-12)
    assert np.abs(score_gradients(model, X, workers) - held).max() > 1e-3


def test_single_precision(workers):
    """Models of float32 have gradients of float32, near those in double precision."""
    model, X = fitted()
    single = replace(
        model,
        gate=replace(model.gate, anchors=model.gate.anchors.astype(np.float32)),
        weights=model.weights.astype(np.float32),
    )
    found = score_gradients(single, X.astype(np.float32), workers)
    assert found.dtype == np.float32
    expected = score_gradients(model, X, workers)
    np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())


def test_blocks_and_threads_change_nothing(workers):
    """Small blocks, by two threads, give the same bits."""
    model, X = fitted()
    with Workers(2) as two:
        found = score_gradients(model, X, two, numbers_per_block=1)
    np.testing.assert_array_equal(found, score_gradients(model, X, workers, numbers_per_block=1))
    np.testing.assert_allclose(found, score_gradients(model, X, workers), rtol=1e-9, atol=1e-12)
    assert X.size < gradients.NUMBERS_PER_BLOCK


def test_a_row_on_an_anchor(workers):
    """It has a finite gradient, with inverse distances too."""
    model, _ = fitted(coding="inverse_distance")
    assert np.isfinite(score_gradients(model, model.gate.anchors, workers)).all()


def test_a_map_without_gradients_is_refused(workers):
    """The error names the argument and the remedy."""
    model, X = fitted(feature_map="nystroem")
    with pytest.raises(NoGradient, match="feature_map=None or 'quadratic'"):
        score_gradients(model, X, workers)
