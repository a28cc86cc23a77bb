"""Tests of hyperlocal.datasets.synthetic."""

import numpy as np
import pytest
from sklearn.svm import SVC, LinearSVC

from hyperlocal.datasets import make_banana, make_sines, make_spiral, make_xor

every_set = pytest.mark.parametrize("draw", [make_banana, make_sines, make_spiral, make_xor])


def test_banana_is_local():
    """The crescents are beyond a line and within reach of a kernel."""
    X, y = make_banana(600, random_state=0)
    assert np.bincount(y).tolist() == [300, 300]
    linear = LinearSVC().fit(X[:300], y[:300]).score(X[300:], y[300:])
    kernel = SVC().fit(X[:300], y[:300]).score(X[300:], y[300:])
    assert linear < 0.92
    assert kernel > 0.95


def test_sines_bend():
    """The waves are beyond a line and within reach of a kernel."""
    X, y = make_sines(600, random_state=0)
    assert np.bincount(y).tolist() == [300, 300]
    linear = LinearSVC().fit(X[:300], y[:300]).score(X[300:], y[300:])
    kernel = SVC(C=10).fit(X[:300], y[:300]).score(X[300:], y[300:])
    assert linear < 0.9
    assert kernel > 0.95


def test_the_papers_toys():
    """XOR and the spiral are beyond a line and within reach of a kernel."""
    for draw in (make_xor, make_spiral):
        X, y = draw(800, random_state=0)
        assert LinearSVC().fit(X[:400], y[:400]).score(X[400:], y[400:]) < 0.65
        assert SVC(C=10, gamma=10).fit(X[:400], y[:400]).score(X[400:], y[400:]) > 0.8


@every_set
def test_draws_repeat(draw):
    """The same seed gives the same points, another seed others."""
    np.testing.assert_array_equal(draw(50, random_state=3)[0], draw(50, random_state=3)[0])
    assert not np.array_equal(draw(50, random_state=3)[0], draw(50, random_state=4)[0])


@every_set
def test_draws_refuse_nonsense(draw):
    """Too few points or negative noise are refused by name."""
    with pytest.raises(ValueError, match="n_samples must be at least 2"):
        draw(1)
    if draw is not make_xor:
        with pytest.raises(ValueError, match="noise must not be negative"):
            draw(10, noise=-1)
