"""How many neighbors a neighborhood has: given, by a rule, or the best of several."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from ..data.arguments import check_choice, check_number
from ..data.rows import take_rows
from ..runtime.progress import Monitor
from ..runtime.threads import Workers
from .neighborhood_models import CachedSvms, QuerySvms

# n_neighbors="auto" is so many times log2 of the number of rows: k = 3 of the LSVM paper.
NEIGHBORS_PER_LOG2 = 3
# One of several sizes is chosen by at most this many training rows.
ROWS_TO_CHOOSE_BY = 10_000


def check_sizes(n_neighbors: Any) -> None:
    """Raise unless ``n_neighbors`` is "auto", a function, a number or a sequence of numbers."""
    if isinstance(n_neighbors, str):
        check_choice("n_neighbors", n_neighbors, ["auto"])
    elif not callable(n_neighbors):
        if np.ndim(n_neighbors) > 1 or np.size(n_neighbors) == 0:
            raise ValueError(
                "n_neighbors must be 'auto', a number, a function or a sequence of numbers, not "
                f"{n_neighbors!r}."
            )
        for size in _listed(n_neighbors):
            check_number("n_neighbors", size, integer=True, above=1, inclusive=True)


def sizes_for(n_neighbors: Any, n_rows: int) -> list[int]:
    """The sizes to choose from, in ascending order, for so many distinct rows.

    Examples
    --------
    >>> from hyperlocal.estimators.neighborhood_sizes import sizes_for
    >>> sizes_for("auto", 1024), sizes_for(lambda n_rows: n_rows**0.5, 1024)
    ([30], [32])
    >>> sizes_for([9, 3, 2000], 1024)
    [3, 9, 1023]
    """
    if isinstance(n_neighbors, str) or callable(n_neighbors):
        return [max(1, min(n_rows, round(_size_by_rule(n_neighbors, n_rows))))]
    sizes = sorted({int(size) for size in _listed(n_neighbors)})
    if len(sizes) > 1:  # one row is left out
        return sorted({min(size, max(1, n_rows - 1)) for size in sizes})
    if sizes[0] > n_rows:
        warnings.warn(
            f"n_neighbors={sizes[0]} is larger than the number of distinct rows, {n_rows}; "
            f"{n_rows} neighbors are used.",
            UserWarning,
            stacklevel=5,
        )
    return [min(sizes[0], n_rows)]


def _size_by_rule(n_neighbors: Any, n_rows: int) -> float:
    if not callable(n_neighbors):
        return NEIGHBORS_PER_LOG2 * math.log2(n_rows)
    size = n_neighbors(n_rows)
    check_number("the value of n_neighbors(n_rows)", size)
    return float(size)


def _listed(n_neighbors: Any) -> list[Any]:
    return [n_neighbors] if np.ndim(n_neighbors) == 0 else list(n_neighbors)


def leave_one_out_merits(
    svms: QuerySvms,
    sizes: list[int],
    rng: np.random.Generator,
    workers: Workers,
    monitor: Monitor,
    *,
    most_rows: int = ROWS_TO_CHOOSE_BY,
) -> dict[int, float]:
    """Accuracy on training rows, or R², each left out in turn, with neighborhoods of each size.

    Of large data, at most ``most_rows`` rows, drawn at random, are left out.
    """
    X = svms.rows.X
    own = np.arange(X.shape[0])
    if len(own) > most_rows:
        own = np.sort(rng.choice(len(own), most_rows, replace=False))
    queries, merits = take_rows(X, own), {}
    found = svms.find(queries, sizes[-1], workers, own)
    for number, size in enumerate(sizes, start=1):
        scores, _ = svms.scores_by(queries, found, size, workers)
        merits[size] = svms.merit(scores, own)
        monitor(number, n_neighbors=size, merit=merits[size])
    return merits


def best_size(merits: dict[int, float]) -> int:
    """The size of the highest accuracy or R², the smallest of equals.

    Examples
    --------
    >>> from hyperlocal.estimators.neighborhood_sizes import best_size
    >>> best_size({3: 0.8, 10: 0.9, 30: 0.9})
    10
    """
    return max(merits, key=lambda size: (merits[size], -size))


def trains_nothing_at_fit(estimator: Any) -> bool:
    """Whether rows may be added to a neighborhood classifier; raises with the reason if not."""
    if estimator.cache_neighborhoods:
        raise AttributeError(
            "partial_fit trains nothing, but cache_neighborhoods=True trains at fit; call fit with "
            "all rows, or use cache_neighborhoods=False."
        )
    if np.ndim(estimator.n_neighbors) > 0:
        raise AttributeError(
            "partial_fit trains nothing, but one of a sequence of n_neighbors is chosen at fit; "
            "give one number, a function or 'auto'."
        )
    return True


def trains_at_queries(estimator: Any) -> bool:
    """Whether SVMs are trained for each query; raises with the reason if not."""
    model = getattr(estimator, "model_", None)  # arguments may have been changed since the fit
    if estimator.cache_neighborhoods if model is None else isinstance(model, CachedSvms):
        raise AttributeError(
            "decision_between trains SVMs between some classes, but cached models are of all "
            "classes; use cache_neighborhoods=False."
        )
    return True
