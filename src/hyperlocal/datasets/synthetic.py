"""Synthetic data sets, drawn at random."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state


def make_banana(
    n_samples: int = 400,
    noise: float = 0.15,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw two interleaved crescents in the plane, one per class.

    Class 0 is an arc of the unit circle, open below; class 1 the same arc, open above, moved so
    that each crescent's tip lies inside the other. No straight line separates them, a few do.

    Parameters
    ----------
    n_samples : int, default=400
        How many points; the classes get half each (class 0 the odd one).
    noise : float, default=0.15
        Standard deviation of the normal noise added to each coordinate; about 0.3 makes the
        classes overlap.
    random_state : int, RandomState or None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        Points of the plane, and the class of each.
    y : ndarray of shape (n_samples,)
        Labels 0 and 1, in random order.

    Examples
    --------
    >>> from hyperlocal.datasets import make_banana
    >>> X, y = make_banana(100, random_state=0)
    >>> X.shape, int(y.sum())
    ((100, 2), 50)
    """
    rng, y = _labels(n_samples, noise, random_state)
    angle = rng.uniform(0.0, np.pi, n_samples)
    arc = np.column_stack([np.cos(angle), np.sin(angle)])
    X = np.where((y == 0)[:, np.newaxis], arc, [1.0, 0.6] - arc)
    return X + rng.normal(scale=noise, size=X.shape), y


def make_sines(
    n_samples: int = 400,
    noise: float = 0.2,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw two sine waves in the plane, one above the other, one per class.

    One and a half periods, the waves one apart: a boundary of three bends that few, well placed
    lines can follow.

    Parameters
    ----------
    n_samples : int, default=400
        How many points; the classes get half each (class 0 the odd one).
    noise : float, default=0.2
        Standard deviation of the normal noise added to the height.
    random_state : int, RandomState or None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        Points of the plane, and the class of each.
    y : ndarray of shape (n_samples,)
        Labels 0 (below) and 1 (above), in random order.

    Examples
    --------
    >>> from hyperlocal.datasets import make_sines
    >>> X, y = make_sines(100, random_state=0)
    >>> X.shape, int(y.sum())
    ((100, 2), 50)
    """
    rng, y = _labels(n_samples, noise, random_state)
    phase = rng.uniform(0.0, 3 * np.pi, n_samples)
    height = np.sin(phase) + (y - 0.5) + rng.normal(scale=noise, size=n_samples)
    return np.column_stack([phase, height]), y


def make_xor(
    n_samples: int = 400, random_state: int | np.random.RandomState | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Draw uniform points of a square whose opposite quadrants are of one class.

    No line does better than chance by much; two lines, in halves of the square, separate it.

    Parameters
    ----------
    n_samples : int, default=400
        How many points.
    random_state : int, RandomState or None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        Between -1 and 1.
    y : ndarray of shape (n_samples,)
        1 where both coordinates have the same sign, else 0.

    Examples
    --------
    >>> from hyperlocal.datasets import make_xor
    >>> X, y = make_xor(100, random_state=0)
    >>> bool(((X[:, 0] * X[:, 1] > 0) == y).all())
    True
    """
    rng, _ = _labels(n_samples, 0.0, random_state)
    X = rng.uniform(-1.0, 1.0, (n_samples, 2))
    return X, (X.prod(axis=1) > 0).astype(int)


def make_spiral(
    n_samples: int = 400,
    noise: float = 0.02,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw a Swiss roll in the plane (class 1) among uniform points (class 0).

    The spiral makes one and a half turns. Some uniform points lie on it: no one separates them.

    Parameters
    ----------
    n_samples : int, default=400
        How many points; the classes get half each (class 0 the odd one).
    noise : float, default=0.02
        Standard deviation of the normal noise added to the spiral's points.
    random_state : int, RandomState or None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        About between -1 and 1.
    y : ndarray of shape (n_samples,)
        Labels 0 and 1, in random order.

    Examples
    --------
    >>> from hyperlocal.datasets import make_spiral
    >>> X, y = make_spiral(100, random_state=0)
    >>> X.shape, int(y.sum())
    ((100, 2), 50)
    """
    rng, y = _labels(n_samples, noise, random_state)
    angle = 1.5 * np.pi * (1 + 2 * rng.uniform(size=n_samples))
    roll = (angle / 14 * [np.cos(angle), np.sin(angle)]).T
    roll += rng.normal(scale=noise, size=roll.shape)
    return np.where((y == 1)[:, np.newaxis], roll, rng.uniform(-1.0, 1.0, roll.shape)), y


def _labels(
    n_samples: int, noise: float, random_state: int | np.random.RandomState | None
) -> tuple[np.random.RandomState, np.ndarray]:
    """Check the arguments; as many labels of each class, shuffled."""
    if n_samples < 2:
        raise ValueError(f"n_samples must be at least 2, one for each class; got {n_samples}")
    if noise < 0:
        raise ValueError(f"noise must not be negative; got {noise}")
    rng = check_random_state(random_state)
    return rng, rng.permutation(np.arange(n_samples) % 2)
