"""Tests of hyperlocal.gates.coupling: codes that couple clusters in training."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperlocal.gates.coupling import (
    code_matrix,
    smoothed,
    smoothed_weights,
    smoothing_matrix,
    with_global_model,
)
from reference.problems import make_codes


@given(seed=st.integers(0, 10**6), n_clusters=st.integers(1, 12), smoothing=st.floats(0, 100))
def test_the_penalty_of_smoothing(seed, n_clusters, smoothing):
    """``‖U‖²`` of ``Θ = A U`` is ``‖Θ‖²`` plus s times the squared differences of neighbours."""
    rng = np.random.default_rng(seed)
    centers, theta = rng.normal(size=(n_clusters, 2)), rng.normal(size=(n_clusters, 3))
    mixing = smoothing_matrix(centers, smoothing)
    distances = ((centers[:, None] - centers) ** 2).sum(axis=2)
    nearest = np.argsort(distances, axis=1, kind="stable")[:, 1:5]
    pairs = {tuple(sorted((k, int(j)))) for k in range(n_clusters) for j in nearest[k]}
    penalty = (theta**2).sum() + smoothing * sum(
        ((theta[k] - theta[j]) ** 2).sum() for k, j in pairs
    )
    unmixed = np.linalg.solve(mixing, theta)
    assert (unmixed**2).sum() == pytest.approx(penalty, rel=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_smoothed_codes(dtype):
    """Codes are multiplied by the matrix, and every cluster is active."""
    codes = make_codes(20, 6, 3, dtype)
    mixing = np.random.default_rng(0).normal(size=(6, 6))
    full = np.zeros((20, 6))
    np.put_along_axis(full, codes.anchors.astype(int), codes.weights.astype(float), axis=1)
    mixed = smoothed(codes, mixing)
    assert mixed.weights.dtype == dtype
    np.testing.assert_allclose(mixed.weights, full @ mixing, atol=1e-5)
    np.testing.assert_array_equal(mixed.anchors, np.tile(np.arange(6), (20, 1)))


def test_codes_with_a_global_model():
    """One anchor more, always active with one weight."""
    codes = make_codes(20, 6, 3)
    more = with_global_model(codes, 6, 0.5)
    np.testing.assert_array_equal(more.anchors[:, :3], codes.anchors)
    np.testing.assert_array_equal(more.weights[:, :3], codes.weights)
    assert (more.anchors[:, 3] == 6).all()
    assert (more.weights[:, 3] == 0.5).all()


def test_weights_trained_with_smoothed_codes():
    """Plain codes with the weights changed back give the scores of smoothed codes."""
    rng, codes = np.random.default_rng(0), make_codes(20, 6, 3)
    mixing, weights = rng.normal(size=(6, 6)), rng.normal(size=(7, 2, 5))
    trained = code_matrix(smoothed(codes, mixing), 6).toarray() @ weights[:6, 0, :-1]
    plain = code_matrix(codes, 6) @ smoothed_weights(weights, mixing)[:6, 0, :-1]
    np.testing.assert_allclose(plain, trained, atol=1e-12)
    np.testing.assert_array_equal(smoothed_weights(weights, mixing)[6], weights[6])
