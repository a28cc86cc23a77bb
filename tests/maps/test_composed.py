"""Tests of hyperlocal.maps.composed: maps of rows that are changed first."""

import tracemalloc

import numpy as np
import pytest

from hyperlocal.maps.base import FeatureMap
from hyperlocal.maps.composed import ComposedMap
from hyperlocal.maps.linear import InputMap, MappedInput
from hyperlocal.maps.piecewise import PiecewiseMap
from hyperlocal.maps.quadratic import QuadraticMap

X = np.random.default_rng(0).normal(size=(40, 3))
WEIGHTS = np.ones(len(X))


def scaled():
    """A quadratic map of scaled rows."""
    before = InputMap(np.array([2.0, 0.5, 1.0]))
    inner = QuadraticMap().fit(before.transform(X), None, WEIGHTS, np.random.default_rng(0))
    return MappedInput(before, inner)


def bent():
    """A quadratic map of pieces."""
    return PiecewiseMap(QuadraticMap()).fit(X, None, WEIGHTS, np.random.default_rng(0))


@pytest.mark.parametrize("make", [scaled, bent])
def test_rows_are_changed_and_then_mapped(make):
    """What the map states of rows is what its inner map states of changed rows."""
    own = make()
    changed = own.changed(X)
    assert own.n_features_out == own.inner.n_features_out
    assert own.lengths == own.inner.lengths
    for name in ("mapped", "inner_rows"):
        np.testing.assert_array_equal(getattr(own, name)(X), getattr(own.inner, name)(changed))
    np.testing.assert_array_equal(own.products(X, X[:3]), own.inner.products(changed, changed[:3]))


def test_the_change_must_be_stated():
    """A map without it cannot be made."""
    with pytest.raises(TypeError, match="changed"):
        ComposedMap()


def test_rows_that_become_sparse_are_changed_in_blocks():
    """They are those that are changed at once, and take less memory than the changed rows."""
    rng = np.random.default_rng(0)
    rows = rng.random((50_000, 40)) * (rng.random((50_000, 40)) < 0.05)
    own = MappedInput(InputMap(np.arange(1.0, 41.0)), FeatureMap(40, is_sparse=True))
    tracemalloc.start()
    stored = own.stored(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(stored.toarray(), own.changed(rows))
    assert peak < rows.nbytes
