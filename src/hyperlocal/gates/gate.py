"""The gate γ(x): which local models are active at a row, and their weights.

A gate is a set of anchors, a coding and its sharpness; it turns rows into
``(anchor indices, weights)``, ``k`` of each per row, weights summing to one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.arguments import check_auto, check_choice, check_number
from ..data.rows import take_rows
from ..maps.plain import NotPlain, Step
from ..runtime.threads import Workers
from .anchors import check_anchors
from .codes import CODINGS, LOCALITY, RIDGE, Codes, encode

ROWS_FOR_BETA = 16_384


def check_gate(n_anchors: Any, anchors: Any, n_neighbors: Any, coding: Any, beta: Any) -> None:
    """Raise unless the arguments that describe a gate make sense together."""
    check_number("n_neighbors", n_neighbors, integer=True, above=1, inclusive=True)
    check_choice("coding", coding, CODINGS)
    check_anchors(n_anchors, anchors)
    check_auto("beta", beta)


@dataclass(frozen=True)
class Gate:
    """A fitted gate.

    Attributes
    ----------
    anchors : ndarray of shape (n_anchors, n_features)
    n_neighbors : int
        Active anchors per row.
    coding : str
        One of ``hyperlocal.gates.codes.CODINGS``.
    beta : float
        Sharpness of the soft coding: ``γ_j ∝ exp(−β‖x − v_j‖²)``.
    """

    anchors: np.ndarray
    n_neighbors: int
    coding: str
    beta: float = 1.0

    @property
    def n_anchors(self) -> int:
        """Number of anchors."""
        return self.anchors.shape[0]

    @property
    def active_bounds(self) -> list[tuple[int, int]]:
        """Where the active anchors whose weights are scaled together begin and end."""
        return [(0, self.n_neighbors)]

    def encode(self, X: Any, workers: Workers, n_reserves: int = 0) -> Codes:
        """Codes of the rows of ``X``; with ``n_reserves``, also the next nearest anchors."""
        return encode(
            X, self.anchors, self.n_neighbors, self.coding, workers, beta=self.beta,
            n_reserves=n_reserves,
        )  # fmt: skip

    def slopes(self, codes: Codes) -> np.ndarray | None:
        """How weights change with the row: ``t_ij`` with ``∂γ_ij/∂x_i = γ_ij (u_ij − ū_i)``.

        There ``u_ij = t_ij (v_j − x_i)`` and ``ū_i = Σ_l γ_il u_il``. None where the weights are
        constant almost everywhere (hard coding) or solutions of a small problem (LLE, LLC, LCC).
        """
        if self.coding == "soft":
            return np.full_like(codes.weights, 2 * self.beta)
        if self.coding != "inverse_distance":
            return None
        # On an anchor there is no derivative; zero is the mean of those around it.
        away = codes.distances > 0
        return np.divide(1, codes.distances, out=np.zeros_like(codes.distances), where=away)

    def plain(self) -> Step:
        """The gate as a step from coded rows to the weights of all anchors, for export."""
        if type(self) is not Gate:
            raise NotPlain(
                f"{type(self).__name__} has no plain form; give it a method plain() that returns "
                "its step."
            )
        if self.coding == "lcc":
            raise NotPlain("coding='lcc' is an iteration and cannot be exported; use coding='llc'.")
        return Step(
            "gate",
            {
                "anchors": self.anchors,
                "n_neighbors": int(self.n_neighbors),
                "coding": "soft" if self.coding == "hard" else self.coding,  # one anchor: weight 1
                "beta": float(self.beta),
                "ridge": RIDGE,
                "locality": LOCALITY,
            },
        )


class ConstantGate(Gate):
    """One anchor that is always active: the model is linear.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.gates.gate import ConstantGate
    >>> from hyperlocal.runtime.threads import Workers
    >>> ConstantGate().encode(np.zeros((2, 5)), Workers()).weights.tolist()
    [[1.0], [1.0]]
    """

    def __init__(self) -> None:
        super().__init__(np.empty((1, 0)), 1, "hard")

    def encode(self, X: Any, workers: Workers, n_reserves: int = 0) -> Codes:
        """The one anchor with weight one for every row."""
        shape = (X.shape[0], 1)
        return Codes(np.zeros(shape, np.int32), np.ones(shape, X.dtype), np.zeros(shape, X.dtype))

    def plain(self) -> Step:
        """Weight one for every row."""
        return Step("always")


def fit_gate(
    X: Any,
    sample_weight: np.ndarray,
    anchors: np.ndarray,
    n_neighbors: int,
    coding: str,
    beta: Any,
    rng: np.random.Generator,
    workers: Workers,
) -> Gate:
    """Make a gate on given anchors; ``beta="auto"`` is found from the rows' distances."""
    n_neighbors = 1 if coding == "hard" else min(n_neighbors, len(anchors))
    if beta == "auto":
        beta = _typical_beta(X, sample_weight, anchors, n_neighbors, rng, workers)
    return Gate(anchors, n_neighbors, coding, float(beta))


def _typical_beta(
    X: Any,
    sample_weight: np.ndarray,
    anchors: np.ndarray,
    n_neighbors: int,
    rng: np.random.Generator,
    workers: Workers,
) -> float:
    """One over the median gap between the nearest and the (k/2)-th nearest squared distance."""
    if n_neighbors == 1:
        return 1.0
    if X.shape[0] > ROWS_FOR_BETA:
        chosen = np.sort(rng.choice(X.shape[0], ROWS_FOR_BETA, replace=False))
        X, sample_weight = take_rows(X, chosen), sample_weight[chosen]
    distances = encode(X, anchors, n_neighbors, "hard", workers).distances.astype(np.float64)
    gaps = distances[:, max(2, n_neighbors // 2) - 1] - distances[:, 0]
    typical = weighted_median(gaps, sample_weight)
    if typical <= 0:  # most rows are equally far from several anchors
        typical = float(np.average(gaps, weights=sample_weight))
    return 1.0 / typical if typical > 0 else 1.0


def weighted_median(values: np.ndarray, weights: np.ndarray) -> float:
    """The smallest value that has at least half of the weight at or below it.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.gates.gate import weighted_median
    >>> weighted_median(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 5.0]))
    2.0
    """
    order = np.argsort(values, kind="stable")
    mass = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(mass, 0.5 * mass[-1])])
