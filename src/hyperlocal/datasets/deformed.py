"""Images deformed at random: as many training rows as one likes, block by block."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from scipy.ndimage import gaussian_filter

# So many rows of a block share a deformation: making one costs as much as applying it to these.
ROWS_PER_FIELD = 64
SMOOTHNESS = 4.0  # pixels over which an elastic displacement stays alike


def deformed_digits(
    X: Any,
    y: Any,
    n_samples: int,
    *,
    block_rows: int = 8192,
    elastic: float = 1.0,
    rotation: float = 8.0,
    scaling: float = 0.08,
    shift: float = 1.0,
    random_state: int = 0,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Draw images at random and deform them, in blocks, without end if need be.

    Each image is moved, turned, scaled and bent by a smooth random field of displacements, as in
    the sets of millions of digits that were made from MNIST. Memory is that of one block.

    Parameters
    ----------
    X : array-like of shape (n_images, side * side)
        Square images, row by row; the background is 0.
    y : array-like of shape (n_images,)
        Their labels.
    n_samples : int
        How many images to make.
    block_rows : int, default=8192
        Rows per block; the last may have fewer.
    elastic : float, default=1.0
        Root mean square of the elastic displacement, in pixels.
    rotation : float, default=8.0
        The largest angle, in degrees.
    scaling : float, default=0.08
        The largest relative change of width and of height.
    shift : float, default=1.0
        The largest move in each direction, in pixels.
    random_state : int, default=0
        Seed. The same seed and ``block_rows`` give the same blocks.

    Yields
    ------
    X_block : ndarray of shape (n_rows, side * side), float32
    y_block : ndarray of shape (n_rows,)

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from hyperlocal.datasets import deformed_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> blocks = deformed_digits(X, y, 1000, block_rows=400, elastic=0.3, shift=0.5)
    >>> [block.shape for block, _ in blocks]
    [(400, 64), (400, 64), (200, 64)]
    """
    X, y = np.asarray(X), np.asarray(y)
    side = math.isqrt(X.shape[1]) if X.ndim == 2 else 0
    if side * side != (X.shape[1] if X.ndim == 2 else -1):
        raise ValueError(
            f"X must hold square images, one per row; got shape {X.shape}. Cut or pad them first."
        )
    if len(X) != len(y) or len(y) == 0:
        raise ValueError(f"X has {len(X)} rows and y {len(y)}; they must agree and not be empty")
    if n_samples < 1 or block_rows < 1:
        raise ValueError(
            f"n_samples and block_rows must be positive; got {n_samples} and {block_rows}"
        )
    for number, start in enumerate(range(0, n_samples, block_rows)):
        rng = np.random.default_rng([random_state, number])
        chosen = rng.integers(len(y), size=min(block_rows, n_samples - start))
        block = np.empty((len(chosen), X.shape[1]), dtype=np.float32)
        for begin in range(0, len(chosen), ROWS_PER_FIELD):
            part = slice(begin, begin + ROWS_PER_FIELD)
            places = _moved_pixels(side, elastic, rotation, scaling, shift, rng)
            block[part] = (_interpolation(places) @ X[chosen[part]].T.astype(np.float32)).T
        yield block, y[chosen]


def _moved_pixels(
    side: int,
    elastic: float,
    rotation: float,
    scaling: float,
    shift: float,
    rng: np.random.Generator,
) -> np.ndarray:
    """The place in the old image of each pixel of the new one; shape (2, side, side)."""
    centre = (side - 1) / 2
    grid = np.indices((side, side), dtype=np.float64) - centre
    angle = math.radians(rng.uniform(-rotation, rotation))
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    stretch = np.diag(1 + rng.uniform(-scaling, scaling, 2))
    moved = np.tensordot(turn @ stretch, grid, axes=1) + centre
    moved += rng.uniform(-shift, shift, (2, 1, 1))
    noise = rng.normal(size=(2, side, side))
    bent = np.stack([gaussian_filter(one, SMOOTHNESS, mode="wrap") for one in noise])
    return moved + elastic * bent / np.sqrt(np.mean(bent**2))


def _interpolation(places: np.ndarray) -> sparse.csr_array:
    """The bilinear interpolation at these places as a matrix; outside the image there is 0."""
    side = places.shape[1]
    corner = np.floor(places).astype(int)
    rest = places - corner
    rows, columns, weights = [], [], []
    for down in (0, 1):
        for right in (0, 1):
            i, j = corner[0] + down, corner[1] + right
            weight = np.abs(1 - down - rest[0]) * np.abs(1 - right - rest[1])
            inside = ((i >= 0) & (i < side) & (j >= 0) & (j < side)).ravel()
            rows.append(np.flatnonzero(inside))
            columns.append((i * side + j).ravel()[inside])
            weights.append(weight.ravel()[inside])
    entries = (np.concatenate(weights), (np.concatenate(rows), np.concatenate(columns)))
    shape = (side * side, side * side)
    return sparse.csr_array(sparse.coo_array(entries, shape=shape), dtype=np.float32)
