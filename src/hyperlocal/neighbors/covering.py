"""Centers whose neighborhoods cover all rows, for local models that are trained once.

Each row lies in the inner part of the neighborhood of some center (Segata and Blanzieri 2010), so
that a query near it is scored by a model trained on rows all around it. Where classes meet, the
inner part is small; elsewhere few centers suffice.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.labelled import row_keys
from ..data.rows import take_rows
from ..runtime.threads import Workers
from .base import Neighbors, Search

# Models of centers are trained on more rows than those of a query, since a query may lie away from
# its center.
ROWS_PER_CENTER = 2
# The inner part of a neighborhood: a few rows where classes meet, else a share of it.
INNER_ROWS = 2
INNER_SHARE_OF_ONE_CLASS = 0.5
CANDIDATES_PER_ROUND = 256


def cover_rows(
    X: Any,
    target: np.ndarray,
    search: Search,
    k: int,
    workers: Workers,
) -> tuple[np.ndarray, Neighbors]:
    """Choose centers among the rows, greedily, in an order that depends on their content alone.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_rows, n_features)
    target : ndarray of shape (n_rows,)
        Class of each row.
    search : Search
        Among the rows ``X``.
    k : int
        Size of a neighborhood.
    workers : Workers

    Returns
    -------
    centers : ndarray of shape (n_centers,)
        Indices of rows.
    found : Neighbors
        Their ``k`` nearest rows.
    """
    is_covered = np.zeros(X.shape[0], bool)
    waiting = np.lexsort((target, row_keys(X)))
    centers: list[int] = []
    neighbors: list[Neighbors] = []
    while len(waiting):
        candidates = waiting[:CANDIDATES_PER_ROUND]
        found = _with_self(search.query(take_rows(X, candidates), k, workers), candidates)
        labels = target[found.indices]
        of_one_class = (labels == labels[:, :1]).all(axis=1)
        n_inner = np.where(of_one_class, max(1, round(INNER_SHARE_OF_ONE_CLASS * k)), INNER_ROWS)
        chosen = []
        for place, row in enumerate(candidates.tolist()):
            if is_covered[row]:
                continue
            is_covered[found.indices[place, : n_inner[place]]] = True
            is_covered[row] = True  # equal rows may stand before it
            chosen.append(place)
        centers.extend(candidates[chosen].tolist())
        neighbors.append(Neighbors(found.indices[chosen], found.distances[chosen]))
        waiting = waiting[~is_covered[waiting]]
    return np.array(centers), Neighbors(
        np.concatenate([part.indices for part in neighbors]),
        np.concatenate([part.distances for part in neighbors]),
    )


def _with_self(found: Neighbors, own: np.ndarray) -> Neighbors:
    """Put a row first in its list where an approximate search has found nothing on it."""
    missed = found.distances[:, 0] > 0
    for lists, first in ((found.indices, own), (found.distances, np.zeros(len(own)))):
        lists[missed, 1:] = lists[missed, :-1]
        lists[missed, 0] = first[missed]
    return found
