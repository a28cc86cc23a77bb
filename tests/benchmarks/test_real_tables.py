"""Tests of benchmarks.real_tables: ratings from which of two methods errs less."""

import numpy as np
import pytest

from benchmarks.real_tables import elo_ratings


def test_ratings_predict_the_wins():
    """The expected wins of each method are those seen, a tie of each pair included."""
    errors = np.random.default_rng(0).integers(0, 9, size=(30, 4)) + np.arange(4)
    ratings = elo_ratings(errors)
    chances = 1 / (1 + 10 ** ((ratings - ratings[:, None]) / 400))
    below, same = (
        getattr(np, name)(errors[:, :, None], errors[:, None, :]).sum(axis=0)
        for name in ("less", "equal")
    )
    wins = (below + (same + 1) / 2) * (1 - np.eye(4))
    expected = (chances * (wins + wins.T)).sum(axis=1)
    np.testing.assert_allclose(expected, wins.sum(axis=1), rtol=1e-6)
    assert ratings.mean() == pytest.approx(1_000)
    assert np.all(np.diff(ratings) < 0)
