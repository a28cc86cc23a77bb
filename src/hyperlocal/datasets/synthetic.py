"""Data that are drawn, not read."""

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
