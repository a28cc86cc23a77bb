"""Tests of hyperlocal.solvers.visits: each row as often as it should be, in random order."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperlocal.solvers import visits
from reference.problems import make_lifted, make_rows


@given(n_rows=st.integers(0, 100) | st.integers(4000, 6000), seed=st.integers(0, 100))
def test_every_row_is_visited_once(n_rows, seed):
    """The order of visits holds each active row once."""
    rows = 3 * np.arange(n_rows)
    order = visits.visit_order(rows, np.random.default_rng(seed))
    np.testing.assert_array_equal(np.sort(order), rows)


@given(
    n_rows=st.integers(1, 100) | st.integers(4000, 6000),
    share=st.floats(0.1, 1),
    seed=st.integers(0, 100),
)
def test_a_share_of_the_rows_is_visited(n_rows, share, seed):
    """No row twice, and as many as asked for, up to whole groups."""
    rows = 3 * np.arange(n_rows)
    order = visits.visit_order(rows, np.random.default_rng(seed), share)
    assert len(np.unique(order)) == len(order)
    assert set(order) <= set(rows)
    assert share * n_rows <= len(order) <= share * n_rows + 2 * visits.NEIGHBORS_VISITED_TOGETHER


def test_rows_side_by_side_take_turns():
    """Where data are sorted by likeness, rows that are neighbors do not follow each other."""
    rows = np.arange(8 * 64 * 9)
    place = np.argsort(visits.visit_order(rows, np.random.default_rng(0), turns=64))
    apart = np.abs(np.diff(place))[rows[:-1] % 8 != 7]  # within groups of eight
    assert (apart == 64).all()


@pytest.mark.parametrize(("order", "turns"), [("sorted", 64), ("random", 1)])
def test_turns_are_for_sorted_rows(order, turns):
    """Rows take turns where the nearest anchor is mostly that of the row before."""
    n_rows = 5000
    X = make_rows("float32", "dense", n_rows, 2)
    lifted = make_lifted(X, n_anchors=6)
    if order == "sorted":
        lifted = make_lifted(X[np.argsort(lifted.anchors[:, 0], kind="stable")], n_anchors=6)
        lifted.anchors.sort(axis=0)
    assert visits.turns_for(lifted) == turns


def test_samplings():
    """A permutation visits each row once, a fixed one repeats, replacement draws."""
    orders = {
        name: list(islice(visits.sampled_orders(50, name, np.random.default_rng(0)), 3))
        for name in visits.SAMPLINGS
    }
    for name in ("permutation", "fixed_permutation"):
        assert all(sorted(order) == list(range(50)) for order in orders[name])
    assert (orders["fixed_permutation"][0] == orders["fixed_permutation"][2]).all()
    assert (orders["permutation"][0] != orders["permutation"][1]).any()
    assert len(set(orders["replacement"][0])) < 50


def test_repeated_orders():
    """Each pass visits each row once, in an order of its own."""
    order = visits.repeated_order(50, 3, np.random.default_rng(0)).reshape(3, 50)
    np.testing.assert_array_equal(np.sort(order, axis=1), np.tile(np.arange(50), (3, 1)))
    assert len({tuple(once) for once in order}) == 3
