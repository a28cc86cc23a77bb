"""Levels of resolution: a gate made of several gates, from many local models to one global model.

``γ(x) = [s γ₁(x); s γ₂(x); …]``, the weights of each of L levels scaled to unit length and
``s = 1/√L``. Models of coarse levels are determined by many rows, those of fine levels add what
these cannot describe: the penalty is the same for all, so what one coarse model describes costs
less than what many fine ones do. The problem stays one convex problem, and the model at a row
linear.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from ..maps.plain import Step
from ..runtime.threads import Workers
from .anchors import FEWEST_ROWS_PER_ANCHOR, choose_anchors, default_n_anchors
from .codes import Codes
from .gate import Gate, fit_gate

# The finest level has so many times the default number of anchors.
REFINEMENT = 8


def finest_n_anchors(n_distinct: float) -> int:
    """The number of anchors of the finest level, for so many distinct rows.

    Examples
    --------
    >>> from hyperlocal.gates.levels import finest_n_anchors
    >>> [finest_n_anchors(n) for n in (5, 100, 1_000, 1_000_000)]
    [1, 12, 64, 2000]
    """
    wanted = REFINEMENT * default_n_anchors(n_distinct)
    return max(1, min(wanted, int(n_distinct) // FEWEST_ROWS_PER_ANCHOR))


def level_sizes(
    n_anchors: Any, default: Callable[[float], int] = default_n_anchors
) -> list[tuple[Any, Callable[[float], int]]]:
    """The number of anchors of each level, fine ones first, and what "auto" means there.

    For a single level it means the default.

    Examples
    --------
    >>> from hyperlocal.gates.levels import level_sizes
    >>> [number for number, _ in level_sizes("levels")]
    ['auto', 'auto', 1]
    >>> [number for number, _ in level_sizes((1, 10, 50))]
    [50, 10, 1]
    """
    if isinstance(n_anchors, str) and n_anchors == "levels":
        return [("auto", finest_n_anchors), ("auto", default_n_anchors), (1, default_n_anchors)]
    if isinstance(n_anchors, str) or not isinstance(n_anchors, Sequence):
        return [(n_anchors, default)]
    return [(number, default) for number in sorted(n_anchors, reverse=True)]


@dataclass(frozen=True)
class LevelsGate(Gate):
    """Several gates as one: the anchors of each level are active as in a gate of their own.

    Attributes
    ----------
    anchors : ndarray of shape (n_anchors, n_features)
        Those of all levels, fine ones first.
    n_neighbors : int
        Active anchors per row, of all levels.
    coding : str
    beta : float
        Sharpness of the finest level.
    sizes : tuple of int
        Anchors of each level.
    n_active : tuple of int
        Active anchors of each level.
    betas : tuple of float

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.gates.gate import Gate
    >>> from hyperlocal.gates.levels import LevelsGate
    >>> from hyperlocal.runtime.threads import Workers
    >>> fine, coarse = np.array([[0.0], [1.0]]), np.array([[0.5]])
    >>> gate = LevelsGate.of([Gate(fine, 1, "hard"), Gate(coarse, 1, "hard")])
    >>> codes = gate.encode(np.array([[0.9]]), Workers())
    >>> codes.anchors.tolist(), codes.weights.round(3).tolist()
    ([[1, 2]], [[0.707, 0.707]])
    """

    sizes: tuple[int, ...] = ()
    n_active: tuple[int, ...] = ()
    betas: tuple[float, ...] = ()

    @classmethod
    def of(cls, levels: Sequence[Gate]) -> LevelsGate:
        """The gate that is made of levels, fine ones first."""
        n_active = tuple(level.n_neighbors for level in levels)
        return cls(
            np.concatenate([level.anchors for level in levels]),
            sum(n_active),
            levels[0].coding,
            levels[0].beta,
            tuple(level.n_anchors for level in levels),
            n_active,
            tuple(level.beta for level in levels),
        )

    @property
    def levels(self) -> list[Gate]:
        """The gate of each level."""
        bounds = pairwise(accumulate(self.sizes, initial=0))
        return [
            Gate(self.anchors[begin:end], k, self.coding if k > 1 else "hard", beta)
            for (begin, end), k, beta in zip(bounds, self.n_active, self.betas, strict=True)
        ]

    def encode(self, X: Any, workers: Workers, n_reserves: int = 0) -> Codes:
        """Codes of the rows of ``X`` on the anchors of all levels."""
        if n_reserves:
            raise ValueError("n_reserves must be 0 for levels of anchors.")
        share = X.dtype.type(len(self.sizes) ** -0.5)
        shape = (X.shape[0], self.n_neighbors)
        codes = Codes(np.empty(shape, np.int32), *np.empty((2, *shape), X.dtype))
        first = 0
        for level, (begin, end) in zip(self.levels, self.active_bounds, strict=True):
            found = level.encode(X, workers)
            lengths = np.linalg.norm(found.weights, axis=1, keepdims=True)
            np.add(found.anchors, np.int32(first), out=codes.anchors[:, begin:end])
            np.multiply(share / lengths, found.weights, out=codes.weights[:, begin:end])
            codes.distances[:, begin:end] = found.distances
            first += level.n_anchors
        return codes

    @property
    def active_bounds(self) -> list[tuple[int, int]]:
        """Where the active anchors of each level begin and end."""
        return list(pairwise(accumulate(self.n_active, initial=0)))

    def slopes(self, codes: Codes) -> np.ndarray | None:
        """Those of each level; zero where weights are constant."""
        slopes = np.zeros_like(codes.weights)
        for level, (begin, end) in zip(self.levels, self.active_bounds, strict=True):
            part = slice(begin, end)
            own = Codes(codes.anchors[:, part], codes.weights[:, part], codes.distances[:, part])
            found = level.slopes(own)
            if found is not None:
                slopes[:, part] = found
        return slopes

    def plain(self) -> Step:
        """The gates of the levels beside each other."""
        return Step("levels", {"gates": [level.plain() for level in self.levels]})


def fit_levels(
    X: Any,
    sample_weight: np.ndarray,
    kind: Any,
    n_anchors: Any,
    coding: tuple[int, str, Any],
    rng: np.random.Generator,
    workers: Workers,
    *,
    n_rows: int,
    default: Callable[[float], int] = default_n_anchors,
) -> Gate:
    """Anchors and gate of one or several levels.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_rows, n_features)
    sample_weight : ndarray of shape (n_rows,)
    kind, n_anchors
        As in :func:`hyperlocal.gates.anchors.choose_anchors`; several numbers are levels.
    coding : (n_neighbors, coding, beta)
    rng : numpy Generator
    workers : Workers
    n_rows : int
        Of how many rows ``X`` is a sample.
    default : callable
        The number of anchors that "auto" means for a single level.
    """
    levels = []
    for number, meaning in level_sizes(n_anchors, default):
        anchors = choose_anchors(
            X, sample_weight, kind, number, rng, workers, n_rows=n_rows, default=meaning
        )
        levels.append(fit_gate(X, sample_weight, anchors, *coding, rng, workers))
    return levels[0] if len(levels) == 1 else LevelsGate.of(levels)
