"""Anchors of local models: k-means centers, random rows, or points given by the user."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array
from sklearn.utils.extmath import row_norms

from ..data.arguments import check_choice, check_number
from ..data.labelled import row_keys
from ..data.rows import FLOATS, core_rows, feature_moments, take_rows
from ..runtime.threads import Workers
from .codes import encode

ANCHOR_KINDS = ("kmeans", "random")

# k-means uses at least this many rows, and at least this many per anchor.
SAMPLE_ROWS = 16_384
SAMPLE_ROWS_PER_ANCHOR = 64
# As many anchors as "auto" means are centers of at least so many of these rows: beyond a million
# rows, the number of anchors that a row is compared with no longer grows.
FEWEST_ROWS_PER_ANCHOR = 8
SEED_ROWS = 2_048
SEED_ROWS_PER_ANCHOR = 8
# Of more seeds each is drawn once: with several draws, 1,728 of them took 80 % of a fit to 15,000
# rows, for distances that are 4 % shorter and the same R².
MOST_GREEDY_SEEDS = 1_000
MAX_LLOYD_STEPS = 20
LLOYD_TOLERANCE = 1e-3
# Where borders of clusters matter, small data get several starts, each run to the end.
ROWS_TIMES_CLUSTERS_OF_SMALL_DATA = 1 << 19
CAREFUL_STARTS = 5
CAREFUL_STEPS = 200
CAREFUL_TOLERANCE = 1e-6


def check_anchors(n_anchors: Any, anchors: Any) -> None:
    """Raise unless the arguments that choose anchors make sense together."""
    if isinstance(anchors, str) or anchors is None:
        check_choice("anchors", anchors, ANCHOR_KINDS)
    elif sp.issparse(anchors):
        raise TypeError("anchors must be a dense array; call anchors.toarray() first.")
    elif np.ndim(anchors) != 2:
        raise ValueError(
            f"anchors must be 'kmeans', 'random' or a 2-D array with one anchor per row, "
            f"not an array of {np.ndim(anchors)} dimensions."
        )
    if isinstance(n_anchors, str):
        check_choice("n_anchors", n_anchors, ["auto", "levels"])
    if isinstance(n_anchors, Sequence):
        _check_levels(n_anchors, anchors)
        return
    check_number("n_anchors", n_anchors, integer=True, above=1, inclusive=True)


def _check_levels(n_anchors: Sequence[Any], anchors: Any) -> None:
    if n_anchors == "auto":
        return
    if not isinstance(anchors, str):
        raise ValueError("levels of anchors cannot be given; set anchors='kmeans' or 'random'.")
    if len(n_anchors) == 0:
        raise ValueError("n_anchors must name at least one level.")
    for number in () if isinstance(n_anchors, str) else n_anchors:
        check_number("n_anchors", number, integer=True, above=1, inclusive=True)


def default_n_anchors(n_distinct: float) -> int:
    """``max(8, √N/4)`` and at most N/8, for N distinct rows.

    Examples
    --------
    >>> from hyperlocal.gates.anchors import default_n_anchors
    >>> [default_n_anchors(n) for n in (5, 100, 1_000, 10_000, 1_000_000)]
    [1, 8, 8, 25, 250]
    """
    wanted = max(8, round(math.sqrt(n_distinct) / 4))
    return max(1, min(wanted, int(n_distinct) // FEWEST_ROWS_PER_ANCHOR))


def default_n_codes(n_distinct: float) -> int:
    """The same, but at most N/2, where the code is all that is learned from.

    An anchor has one weight then: on 8 to 32 rows of four small sets, N/2 anchors had the lowest
    errors (of N/8, N/4 and N/2; 30 draws each).

    Examples
    --------
    >>> from hyperlocal.gates.anchors import default_n_codes
    >>> [default_n_codes(n) for n in (1, 3, 5, 100, 10_000)]
    [1, 2, 2, 8, 25]
    """
    return min(int(n_distinct), max(2, default_n_anchors(n_distinct), min(8, int(n_distinct) // 2)))


def rows_to_sample(n_anchors: Any, least: int | None = None) -> int:
    """How many rows are enough to place anchors; at least ``least``, by default 16,384.

    Examples
    --------
    >>> from hyperlocal.gates.anchors import rows_to_sample
    >>> rows_to_sample("auto"), rows_to_sample(1_000), rows_to_sample(10, least=20_000)
    (16384, 64000, 20000)
    """
    least = SAMPLE_ROWS if least is None else least
    if isinstance(n_anchors, str):
        return least
    most = max(n_anchors) if isinstance(n_anchors, Sequence) else n_anchors
    return max(least, SAMPLE_ROWS_PER_ANCHOR * most)


def choose_anchors(
    X: Any,
    sample_weight: np.ndarray,
    kind: Any,
    n_anchors: Any,
    rng: np.random.Generator,
    workers: Workers,
    *,
    argument: str = "n_anchors",
    default: Callable[[float], int] = default_n_anchors,
    careful: bool = False,
    n_rows: int | None = None,
) -> np.ndarray:
    """Place anchors for rows ``X``.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_rows, n_features)
    sample_weight : ndarray of shape (n_rows,)
    kind : "kmeans", "random" or array of shape (n_anchors, n_features)
    n_anchors : int or "auto"
    rng : numpy Generator
    workers : Workers
    argument : str
        What the user calls ``n_anchors``.
    default : callable
        The number of anchors that "auto" means for so many distinct rows.
    careful : bool
        Small data: the best of several runs of k-means.
    n_rows : int or None
        Where ``X`` is a sample: of how many rows.

    Returns
    -------
    ndarray of shape (n_anchors, n_features), dtype of X
    """
    if not isinstance(kind, str):
        return _given_anchors(kind, n_anchors, X)
    n_wanted = rows_to_sample(n_anchors)
    sample, weights, distinct_share = _distinct_sample(X, sample_weight, n_wanted, rng)
    n_distinct = sample.shape[0]
    if n_anchors == "auto":
        most = max(default(n_distinct), n_distinct // FEWEST_ROWS_PER_ANCHOR)
        n_anchors = min(default(distinct_share * (n_rows or X.shape[0])), most)
    if n_anchors > n_distinct:
        # A sample of so few rows is of a trial; all rows may have enough.
        if X.shape[0] >= min(n_anchors, n_rows or 0):
            warnings.warn(
                f"{argument}={n_anchors} is larger than the number of distinct rows, {n_distinct}; "
                f"{n_distinct} {argument.removeprefix('n_')} are used (and at most that many "
                "neighbors).",
                UserWarning,
                stacklevel=4,
            )
        n_anchors = n_distinct
    if kind == "random":
        chosen = np.sort(rng.choice(n_distinct, n_anchors, replace=False))
        return _dense(take_rows(sample, chosen))
    if careful and n_distinct * n_anchors <= ROWS_TIMES_CLUSTERS_OF_SMALL_DATA:
        runs = [
            _kmeans(sample, weights, n_anchors, rng, workers, CAREFUL_STEPS, CAREFUL_TOLERANCE)
            for _ in range(CAREFUL_STARTS)
        ]
        return min(runs, key=lambda run: run[1])[0]
    return _kmeans(sample, weights, n_anchors, rng, workers)[0]


def _given_anchors(given: Any, n_anchors: Any, X: Any) -> np.ndarray:
    anchors = check_array(given, dtype=list(FLOATS), order="C", input_name="anchors")
    if anchors.shape[1] != X.shape[1]:
        raise ValueError(
            f"anchors have {anchors.shape[1]} columns, but rows are coded on {X.shape[1]}; give "
            "anchors that have a column per feature, or per column of what code_on names."
        )
    if n_anchors != "auto" and n_anchors != len(anchors):
        raise ValueError(
            f"n_anchors={n_anchors} but {len(anchors)} anchors are given; "
            "leave n_anchors at 'auto' when anchors is an array."
        )
    return np.ascontiguousarray(anchors, dtype=X.dtype)


def _dense(X: Any) -> np.ndarray:
    return np.ascontiguousarray(X.toarray() if sp.issparse(X) else X)


def _distinct_sample(
    X: Any, sample_weight: np.ndarray, n_wanted: int, rng: np.random.Generator
) -> tuple[Any, np.ndarray, float]:
    """Distinct rows of a sample, their summed weights, and distinct rows per row of ``X``.

    Equal rows are merged and ordered by content: a row of weight two and the same row twice are
    then the same data to everything that follows. The order is that along a random line, in units
    of the features' deviations: rounding, and other units, do not change which seeds are drawn.
    (With an order by bits, scales of features that differed by 1e-12 had other anchors, and losses
    of held-out rows that differed by a tenth.)
    """
    n_rows = X.shape[0]
    if n_rows > n_wanted:
        chosen = np.sort(rng.choice(n_rows, n_wanted, replace=False))
        X, sample_weight = take_rows(X, chosen), sample_weight[chosen]
    _, first, inverse = np.unique(row_keys(X), return_index=True, return_inverse=True)
    weights = np.bincount(inverse.ravel(), weights=sample_weight)
    share = len(first) / min(n_rows, n_wanted)
    X = take_rows(X, first)
    order = np.argsort(_along_a_line(X), kind="stable")
    return take_rows(X, order), weights[order], share


def _along_a_line(X: Any) -> np.ndarray:
    """Where rows are along a direction that is drawn once for all, for each feature's deviation."""
    n_rows, n_features = X.shape
    _, deviation = feature_moments(X, np.full(n_rows, 1 / n_rows))
    direction = np.random.default_rng(n_features).normal(size=n_features)
    varies = deviation > 0
    return X @ np.divide(direction, deviation, out=np.zeros(n_features), where=varies)


def _kmeans(
    X: Any,
    weights: np.ndarray,
    n_clusters: int,
    rng: np.random.Generator,
    workers: Workers,
    max_steps: int = MAX_LLOYD_STEPS,
    tolerance: float = LLOYD_TOLERANCE,
) -> tuple[np.ndarray, float]:
    """Lloyd's algorithm from k-means++ seeds over distinct rows; centers and last known inertia."""
    if n_clusters == 1:
        mean = weights @ X / weights.sum()
        return np.ascontiguousarray(mean, dtype=X.dtype).reshape(1, -1), 0.0
    centers = _seeds(X, weights, n_clusters, rng)
    rows = core_rows(X)
    previous = np.inf
    for _ in range(max_steps):
        nearest = encode(X, centers, 1, "hard", workers)
        distances = nearest.distances[:, 0].astype(np.float64)
        inertia = float(weights @ distances)
        if previous - inertia <= tolerance * inertia:
            break
        previous = inertia
        sums, masses = np.zeros(centers.shape), np.zeros(n_clusters)
        rows.group_sums(nearest.anchors[:, 0].copy(), weights, sums, masses)
        centers = _move_centers(X, sums, masses, distances)
    return centers, previous


def _seeds(X: Any, weights: np.ndarray, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    n_wanted = max(SEED_ROWS, SEED_ROWS_PER_ANCHOR * n_clusters)
    if X.shape[0] > n_wanted:
        chosen = np.sort(rng.choice(X.shape[0], n_wanted, replace=False))
        X, weights = take_rows(X, chosen), weights[chosen]
    return _dense(take_rows(X, plus_plus(X, weights, n_clusters, rng)))


def plus_plus(X: Any, weights: np.ndarray, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Rows chosen by greedy k-means++ (Arthur and Vassilvitskii 2007), as scikit-learn chooses.

    The next center is a row drawn with a probability in proportion to its squared distance to the
    nearest center so far: of some draws, where centers are not very many, the one that leaves the
    smallest sum. scikit-learn's own
    checks its arguments at every center, which took a quarter of a fit of 50,000 rows.
    """
    draw = np.random.RandomState(int(rng.integers(np.iinfo(np.int32).max)))
    rows = X.astype(np.float64) if sp.issparse(X) else X - X.mean(axis=0, dtype=np.float64)
    squares = row_norms(rows, squared=True)

    def distances(chosen: np.ndarray) -> np.ndarray:
        products = (rows @ _dense(rows[chosen]).T).T if sp.issparse(rows) else rows[chosen] @ rows.T
        return np.maximum(squares - 2 * products + squares[chosen][:, None], 0)

    n_draws = 2 + int(np.log(n_clusters)) if n_clusters <= MOST_GREEDY_SEEDS else 1
    first = draw.choice(len(weights), p=weights / weights.sum())
    chosen = np.full(n_clusters, first)
    nearest = distances(chosen[:1])[0]
    for i in range(1, n_clusters):
        masses = np.cumsum(weights * nearest)
        drawn = np.searchsorted(masses, draw.uniform(size=n_draws) * masses[-1])
        drawn = np.minimum(drawn, len(weights) - 1)
        candidates = np.minimum(distances(drawn), nearest)
        best = int((candidates @ weights).argmin())
        chosen[i], nearest = drawn[best], candidates[best]
    return chosen


def _move_centers(
    X: Any, sums: np.ndarray, masses: np.ndarray, distances: np.ndarray
) -> np.ndarray:
    """Means of the clusters; empty ones move to the rows that are farthest from their center."""
    empty = np.flatnonzero(masses == 0)
    masses[empty] = 1
    centers = (sums / masses[:, None]).astype(X.dtype)
    if len(empty):
        farthest = np.argsort(-distances, kind="stable")[: len(empty)]
        centers[empty] = _dense(take_rows(X, farthest))
    return centers
