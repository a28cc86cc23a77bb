"""Tests of hyperlocal.maps.base: the identity, the map of no features, and weights pulled back."""

import numpy as np
import pytest

from hyperlocal.maps.base import BiasOnlyMap, FeatureMap
from hyperlocal.maps.quadratic import QuadraticMap
from maps.fitting import fitted, named, read_rows
from reference.problems import TOLERANCE, every_storage, make_rows
from reference.rows import written_out


@every_storage
@pytest.mark.parametrize("name", [None, "identity", "quadratic", "additive_chi2", "intersection"])
def test_mapped_rows_are_what_solvers_read(dtype, storage, name):
    """φ written out for coding is φ as the core reads it, of the width that the map states."""
    X = make_rows(dtype, storage)
    feature_map = named(name, X)
    phi = read_rows(feature_map, X)
    assert phi.shape[1] == feature_map.n_features_out
    np.testing.assert_array_equal(written_out(feature_map.mapped(X)), phi)


@every_storage
def test_bias_only_map(dtype, storage):
    """The map of no features has rows of width zero."""
    X = make_rows(dtype, storage)
    feature_map = named("bias_only", X)
    assert read_rows(feature_map, X).shape == (40, 0)
    assert feature_map.n_features_out == 0
    coef, shift = feature_map.pull_back(X, np.empty((40, 3, 0), dtype))
    np.testing.assert_array_equal(coef, np.zeros((40, 3, 5)))
    assert np.all(shift == 0)


@every_storage
@pytest.mark.parametrize("kind", [FeatureMap, QuadraticMap])
def test_pulled_back_weights_give_the_same_scores(dtype, storage, kind):
    """w·φ(x) = pulled back(w)·x + shift."""
    X = make_rows(dtype, storage)
    feature_map = fitted(kind(), X)
    coef = np.random.default_rng(0).standard_normal((40, 3, feature_map.n_features_out))
    local, shift = feature_map.pull_back(X, coef.astype(dtype))
    scores = np.einsum("ncp,np->nc", coef, read_rows(feature_map, X).astype(float))
    explained = np.einsum("nci,ni->nc", local.astype(float), written_out(X)) + shift
    np.testing.assert_allclose(explained, scores, atol=100 * TOLERANCE[dtype])


def test_names_of_maps_that_explain_the_input():
    """Explanations of identity and quadratic maps are about the input's features."""
    names = np.array(["a", "b"], dtype=object)
    for feature_map in (FeatureMap(), QuadraticMap(), BiasOnlyMap()):
        assert feature_map.explains_input
        assert feature_map.feature_names(names) is names
