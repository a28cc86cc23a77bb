"""Tests of the deformed digits."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from hyperlocal.datasets import deformed_digits

STILL = {"elastic": 0.0, "rotation": 0.0, "scaling": 0.0, "shift": 0.0}


@pytest.fixture(scope="module")
def digits():
    return load_digits(return_X_y=True)


def all_rows(*arguments, **named):
    blocks = list(deformed_digits(*arguments, **named))
    return np.vstack([X for X, _ in blocks]), np.concatenate([y for _, y in blocks])


def test_nothing_moves_nothing(digits):
    """Without deformation every image is one of those given, under its own label."""
    X, y = digits
    found, labels = all_rows(X, y, 100, block_rows=60, **STILL)
    known = {(row.astype(np.float32).tobytes(), label) for row, label in zip(X, y, strict=True)}
    assert all((row.tobytes(), label) in known for row, label in zip(found, labels, strict=True))


def test_a_whole_pixel(digits):
    """A move by one pixel is a move by one pixel."""
    from hyperlocal.datasets.deformed import _interpolation

    image = digits[0][0].reshape(8, 8)
    moved = _interpolation(np.indices((8, 8)) + np.array([1.0, 0.0])[:, None, None]) @ image.ravel()
    np.testing.assert_allclose(moved.reshape(8, 8)[:-1], image[1:])
    np.testing.assert_allclose(moved.reshape(8, 8)[-1], 0)


def test_seed_and_blocks(digits):
    """A seed gives the same stream; another seed another one; blocks differ from each other."""
    first, _ = all_rows(*digits, 300, block_rows=100, random_state=1)
    again, _ = all_rows(*digits, 300, block_rows=100, random_state=1)
    other, _ = all_rows(*digits, 300, block_rows=100, random_state=2)
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 0
    assert np.abs(first[:100] - first[100:200]).max() > 0
    assert first.dtype == np.float32


def test_digits_stay_digits(digits):
    """Deformed a little, they are near to an image of the same digit."""
    from sklearn.neighbors import KNeighborsClassifier

    X, y = digits
    found, labels = all_rows(X, y, 300, elastic=0.2, rotation=5.0, shift=0.3)
    assert KNeighborsClassifier(1).fit(X, y).score(found, labels) > 0.95


@pytest.mark.parametrize(
    ("X", "y", "n", "message"),
    [
        (np.ones((3, 5)), np.ones(3), 9, "X must hold square images"),
        (np.ones(9), np.ones(3), 9, "X must hold square images"),
        (np.ones((3, 4)), np.ones(2), 9, "X has 3 rows and y 2"),
        (np.ones((3, 4)), np.ones(3), 0, "n_samples and block_rows must be positive"),
    ],
)
def test_bad_arguments(X, y, n, message):
    """Errors name the argument."""
    with pytest.raises(ValueError, match=message):
        next(deformed_digits(X, y, n))
