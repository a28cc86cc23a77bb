"""Pictures to detect things in."""

import numpy as np

DISC = 1.0 * (np.hypot(*np.mgrid[-8:8, -8:8]) < 6)


def make_picture(places=(), size=80, seed=0, zoom=1):
    """Noise with discs, and their boxes."""
    picture = 0.1 * np.random.default_rng(seed).normal(size=(size, size))
    disc = np.kron(DISC, np.ones((zoom, zoom)))
    side = len(disc)
    for top, left in places:
        picture[top : top + side, left : left + side] += disc
    return picture, np.array([[t, left, t + side, left + side] for t, left in places])
