"""Groups of anchors: every row in one group, groups balanced, little shared between them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperlocal.gates.codes import encode
from hyperlocal.runtime.threads import Workers
from hyperlocal.solvers.partitioning import assign_rows, group_anchors, shared_rows


def coded_blobs(seed, n_blobs=6, per_blob=4):
    rng = np.random.default_rng(seed)
    centres = 20 * rng.standard_normal((n_blobs, 2))
    anchors = np.repeat(centres, per_blob, axis=0) + rng.standard_normal((n_blobs * per_blob, 2))
    X = centres[rng.integers(n_blobs, size=3000)] + rng.standard_normal((3000, 2))
    return encode(X, anchors, 3, "soft", Workers()), len(anchors)


def test_shared_rows_is_what_its_formula_says():
    """Products of the weights of each two anchors, summed over rows."""
    codes, n_anchors = coded_blobs(0)
    gate = np.zeros((len(codes.anchors), n_anchors))
    np.put_along_axis(gate, codes.anchors.astype(np.int64), codes.weights, axis=1)
    expected = gate.T @ gate
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(shared_rows(codes, n_anchors), expected, atol=1e-10)


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 30), st.integers(1, 12), st.integers(0, 10_000), st.booleans())
def test_groups_divide_all_rows_evenly(n_anchors, n_groups, seed, sparse):
    """Every row has a group, and groups are of similar mass."""
    rng = np.random.default_rng(seed)
    shared = rng.random((n_anchors, n_anchors)) * (rng.random((n_anchors, n_anchors)) < 0.3)
    shared = shared + shared.T
    np.fill_diagonal(shared, 0)
    mass = rng.integers(0, 50, n_anchors).astype(float) + (0 if sparse else 1)
    shares = group_anchors(shared, mass, n_groups)
    assert shares.shape == (n_anchors, n_groups)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert (shares >= -1e-12).all()
    fair = mass.sum() / n_groups
    assert (mass @ shares).max() <= 2.2 * fair + 1e-6  # slack adds up over divisions


def test_natural_groups_are_found():
    """Anchors that share rows come into one group."""
    codes, n_anchors = coded_blobs(1)
    mass = np.bincount(codes.anchors[:, 0], minlength=n_anchors).astype(float)
    shared = shared_rows(codes, n_anchors)
    shares = group_anchors(shared, mass, 3)
    between = shared.sum() - np.einsum("ag,ab,bg->", shares, shared, shares)
    assert between < 0.01 * shared.sum()


@pytest.mark.parametrize("n_groups", [1, 2, 7])
def test_rows_of_a_divided_anchor_are_drawn_by_lot(n_groups):
    """An anchor in two groups gives each its share of rows."""
    shares = np.full((1, n_groups), 1 / n_groups)
    groups = assign_rows(np.zeros(7000, int), shares, np.random.default_rng(0))
    counts = np.bincount(groups, minlength=n_groups)
    assert counts.min() > 0.8 * 7000 / n_groups
    assert counts.sum() == 7000
