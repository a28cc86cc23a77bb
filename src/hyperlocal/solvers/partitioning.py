"""Which rows belong together: groups of anchors that share few rows with other groups.

Two rows interact in training only if they share an anchor. If rows are grouped by their anchors,
the problem is nearly a sum of one problem per group, and groups can be trained in parallel.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh

from ..gates.codes import Codes

# How much larger or smaller than the mean a group may be, for a better cut: all are tried. A round
# takes as long as its largest group, and the number of rounds grows about with the cube of the
# share of what groups have in common, once that is not small.
SLACKS = (0.02, 0.1, 0.2, 0.3, 0.5)
HARMLESS = 0.01
MOST_SWEEPS = 20


def shared_rows(codes: Codes, n_anchors: int) -> np.ndarray:
    """``Σ_i γ_ia γ_ib``: how much two anchors are active at the same rows, zero on the diagonal."""
    n_rows, n_neighbors = codes.anchors.shape
    starts = np.arange(n_rows + 1) * n_neighbors
    weights = codes.weights.astype(np.float64).ravel()
    gate = sp.csr_array((weights, codes.anchors.ravel(), starts), shape=(n_rows, n_anchors))
    shared = np.abs((gate.T @ gate).toarray())
    np.fill_diagonal(shared, 0)
    return shared


def group_anchors(
    shared: np.ndarray, mass: np.ndarray, n_groups: int, slacks: Sequence[float] = SLACKS
) -> np.ndarray:
    """Divide anchors into groups of nearly equal mass that share little.

    Parameters
    ----------
    shared : ndarray of shape (n_anchors, n_anchors)
        From :func:`shared_rows`.
    mass : ndarray of shape (n_anchors,)
        The number of rows whose nearest anchor it is.
    n_groups : int
    slacks : sequence of float
        How much larger or smaller than the mean groups may be; the best is taken.

    Returns
    -------
    ndarray of shape (n_anchors, n_groups)
        The share of an anchor's rows that goes to each group: mostly all to one. An anchor with
        more rows than a group should have is divided.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.solvers.partitioning import group_anchors
    >>> shared = np.array([[0.0, 0, 5, 0], [0, 0, 1, 4], [5, 1, 0, 0], [0, 4, 0, 0]])
    >>> shares = group_anchors(shared, np.ones(4), 2)
    >>> bool((shares[0] == shares[2]).all() and (shares[1] == shares[3]).all())
    True
    """
    mass = np.maximum(mass, 1e-9 * mass.sum() + 1e-300)  # rows may differ from the sample
    best, lowest = np.zeros((len(mass), n_groups)), np.inf
    for slack in slacks:
        shares = np.zeros((len(mass), n_groups))
        _divide(shared, np.arange(len(mass)), mass, slack, 0, n_groups, shares)
        shares /= mass[:, None]
        _refine(shared, mass, slack, shares)
        within = np.einsum("ag,ab,bg->", shares, shared, shares)
        crossing = 1 - within / max(shared.sum(), 1e-300)
        cost = (mass @ shares).max() * (HARMLESS + crossing**3)
        if cost < lowest:
            best, lowest = shares, cost
    return best


def _divide(
    shared: np.ndarray,
    anchors: np.ndarray,
    amounts: np.ndarray,
    slack: float,
    first: int,
    n_groups: int,
    out: np.ndarray,
) -> None:
    """Fill in how much of each anchor goes to the groups ``first … first + n_groups - 1``."""
    if n_groups == 1:
        out[anchors, first] += amounts
        return
    among = shared[np.ix_(anchors, anchors)]
    order = _line_up(among)
    anchors, amounts, among = anchors[order], amounts[order], among[np.ix_(order, order)]
    n_left = n_groups // 2
    reached = np.cumsum(amounts)
    wanted = reached[-1] * n_left / n_groups
    cut, part = _best_cut(among, reached, wanted, slack * reached[-1] / n_groups)
    left, right = amounts[: cut + 1].copy(), amounts[cut:].copy()
    left[-1], right[0] = part, amounts[cut] - part
    _divide(shared, anchors[: cut + 1], left, slack, first, n_left, out)
    _divide(shared, anchors[cut:], right, slack, first + n_left, n_groups - n_left, out)


def _line_up(shared: np.ndarray) -> np.ndarray:
    """Anchors in an order in which adjacent ones share many rows: by the Fiedler vector."""
    if len(shared) < 3:
        return np.arange(len(shared))
    degrees = shared.sum(axis=1)
    roots = np.sqrt(np.maximum(degrees, 1e-12 * degrees.max() + 1e-300))
    laplacian = np.eye(len(shared)) - shared / np.outer(roots, roots)
    _, vector = eigh(laplacian, subset_by_index=[1, 1])
    return np.argsort(vector[:, 0] / roots, kind="stable")


def _best_cut(
    shared: np.ndarray, reached: np.ndarray, wanted: float, slack: float
) -> tuple[int, float]:
    """Where to cut a line of anchors: the anchor at the cut, and how much of it stays left."""
    crossing = np.cumsum(shared.sum(axis=1) - 2 * np.tril(shared, -1).sum(axis=1))
    usable = np.abs(reached - wanted) <= slack
    usable[-1] = False
    before = np.concatenate([[0.0], reached])
    if usable.any():
        cut = int(np.where(usable, crossing, np.inf).argmin())
        return cut, reached[cut] - before[cut]
    cut = min(int(np.searchsorted(reached, wanted)), len(reached) - 1)
    return cut, wanted - before[cut]


def _refine(shared: np.ndarray, mass: np.ndarray, slack: float, shares: np.ndarray) -> None:
    """Move anchors to the group with which they share more, while groups stay balanced."""
    fair = mass.sum() / shares.shape[1]
    smallest, largest = (1 - slack) * fair, (1 + slack) * fair
    sizes, bonds = mass @ shares, shared @ shares
    groups = shares.argmax(axis=1)
    whole = np.flatnonzero(shares.max(axis=1) == 1)
    for _ in range(MOST_SWEEPS):
        gains = (bonds - bonds[np.arange(len(groups)), groups][:, None]).max(axis=1)
        moved = False
        for anchor in whole[np.argsort(-gains[whole], kind="stable")]:
            home = groups[anchor]
            gain = np.where(sizes + mass[anchor] <= largest, bonds[anchor] - bonds[anchor, home], 0)
            best = int(gain.argmax())
            if gain[best] <= 0 or sizes[home] - mass[anchor] < smallest:
                continue
            for group, sign in ((home, -1), (best, 1)):
                bonds[:, group] += sign * shared[:, anchor]
                sizes[group] += sign * mass[anchor]
            shares[anchor, [home, best]] = 0, 1
            groups[anchor] = best
            moved = True
        if not moved:
            break


def assign_rows(nearest: np.ndarray, shares: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The group of each row: that of its nearest anchor; at random for rows of divided anchors.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.solvers.partitioning import assign_rows
    >>> shares = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> assign_rows(np.array([1, 0, 0]), shares, np.random.default_rng(0)).tolist()
    [1, 0, 0]
    """
    groups = shares.argmax(axis=1)[nearest]
    divided = np.flatnonzero(np.count_nonzero(shares, axis=1) > 1)
    for anchor in divided:
        rows = np.flatnonzero(nearest == anchor)
        bounds = np.cumsum(shares[anchor])
        lots = rng.random(len(rows)) * bounds[-1]
        groups[rows] = np.searchsorted(bounds, lots, side="right")
    return groups
