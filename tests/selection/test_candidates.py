"""Tests of hyperlocal.selection.candidates: settings without repetition, simple ones first."""

from itertools import pairwise

from hyperlocal.selection.candidates import Setting, make_settings, sample_sizes


def test_the_same_model_is_one_candidate():
    """One anchor has one neighbor and no sharpness; fewer anchors than neighbors are all active."""
    settings = make_settings([1, 4], [2, 8], [0.1, 1.0], [None], 1, [1.0])
    found = {(one.n_anchors, one.n_neighbors, one.beta) for one in settings}
    assert found == {(1, 1, 0.1), *((4, k, beta) for k in (2, 4) for beta in (0.1, 1.0))}
    assert len(settings) == len(found)


def test_sizes_are_ordered():
    """Fewer anchors are simpler than a plain map, and that is simpler than a smaller C."""

    def size(n_anchors, feature_map, C):
        return Setting(n_anchors, 1, "auto", feature_map, 0, C).size

    ordered = [
        size(1, None, 9.0),
        size(1, "auto", 1.0),
        size(1, "auto", 3.0),
        size((1, 8), None, 1),
    ]
    assert ordered == sorted(ordered)


def test_rounds_have_growing_samples():
    """Three times the rows from round to round, as many rounds as there are groups for."""
    sizes = sample_sizes(270_000, 27, True)
    assert sizes[-1] == 270_000
    assert all(after == 3 * before for before, after in pairwise(sizes))
    assert sample_sizes(270_000, 27, False) == [270_000]
