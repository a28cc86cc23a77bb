"""The order in which rows are visited."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ..model.lifting import LiftedRows

SAMPLINGS = ("permutation", "fixed_permutation", "replacement")
NEIGHBORS_VISITED_TOGETHER = 8
TURNS_OF_SORTED_ROWS = 64
SORTED_SHARE = 0.5  # of rows that have the nearest anchor of the row before, beyond chance
FEW_ROWS = 4096  # they stay in a cache


def visit_order(
    rows: np.ndarray, rng: np.random.Generator, share: float = 1.0, turns: int = 1
) -> np.ndarray:
    """Shuffle rows, a few neighbors at a time; with a share below one, only so many of them.

    Rows that lie side by side in memory are visited together: visits of short rows wait for memory
    more than they compute, and eight neighbors more than halve the wait. With ``turns`` they take
    turns with those of so many other places. Few rows are shuffled one by one.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.solvers.visits import visit_order
    >>> sorted(visit_order(np.arange(20), np.random.default_rng(0))) == list(range(20))
    True
    """
    if len(rows) <= FEW_ROWS:
        return rng.permutation(rows)[: math.ceil(share * len(rows))]
    n_groups, n_left = divmod(len(rows), NEIGHBORS_VISITED_TOGETHER)
    groups = rows[: len(rows) - n_left].reshape(n_groups, NEIGHBORS_VISITED_TOGETHER)
    drawn = groups[rng.permutation(n_groups)[: math.ceil(share * n_groups)]]
    n_whole = len(drawn) // turns * turns
    whole = drawn[:n_whole].reshape(-1, turns, NEIGHBORS_VISITED_TOGETHER)
    last = (drawn[n_whole:].T.ravel(), rows[len(rows) - n_left :])
    return np.concatenate([whole.transpose(0, 2, 1).ravel(), *last])


def turns_for(lifted: LiftedRows) -> int:
    """More than one where rows side by side are alike, as in data that are sorted.

    Similar rows that follow each other undo each other's steps: more than twice the epochs. But
    turns cost time where memory is waited for, and are used only where they save time. Rows of one
    anchor each may well be sorted by it: they share nothing but its weights, which then stay near.
    """
    nearest = lifted.anchors[:, 0]
    if len(nearest) <= FEW_ROWS or lifted.n_neighbors == 1:
        return 1
    shares = np.bincount(nearest) / len(nearest)
    by_chance = float(shares @ shares)
    alike = float(np.mean(nearest[1:] == nearest[:-1]))
    return TURNS_OF_SORTED_ROWS if alike - by_chance > SORTED_SHARE * (1 - by_chance) else 1


def repeated_order(n_rows: int, n_passes: int, rng: np.random.Generator) -> np.ndarray:
    """All rows in random order, several times over where rows are few.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.solvers.visits import repeated_order
    >>> order = repeated_order(3, 2, np.random.default_rng(0))
    >>> sorted(order[:3].tolist()), sorted(order[3:].tolist())
    ([0, 1, 2], [0, 1, 2])
    """
    return np.concatenate([rng.permutation(n_rows) for _ in range(n_passes)])


def sampled_orders(n_rows: int, sampling: str, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """The rows that each epoch of Pegasos visits, epoch after epoch.

    ``"permutation"`` shuffles them again for every epoch, ``"fixed_permutation"`` once, and
    ``"replacement"`` draws each visit by itself.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.solvers.visits import sampled_orders
    >>> orders = sampled_orders(5, "fixed_permutation", np.random.default_rng(0))
    >>> bool((next(orders) == next(orders)).all())
    True
    """
    fixed = rng.permutation(n_rows) if sampling == "fixed_permutation" else None
    while True:
        if fixed is not None:
            yield fixed
        elif sampling == "replacement":
            yield rng.integers(n_rows, size=n_rows)
        else:
            yield rng.permutation(n_rows)
