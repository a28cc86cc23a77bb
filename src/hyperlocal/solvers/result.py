"""What a solver returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass
class SolverResult:
    """Weights and how good they are.

    Attributes
    ----------
    weights : ndarray of shape (n_anchors, n_columns, p + 1)
    n_iter : int
        Epochs run.
    objective : float
        The primal objective.
    duality_gap : float
        Objective minus the best lower bound known; NaN where the solver has no bound.
    converged : bool
    stopped : bool
        Whether a monitor ended the run before it converged.
    alpha : ndarray or None
        Dual variables, for warm starts.
    history : list of (epoch, objective, duality gap)
        What the full checks found; learned anchors add the accuracy.
    """

    weights: np.ndarray
    n_iter: int
    objective: float
    duality_gap: float
    converged: bool
    stopped: bool = False
    alpha: np.ndarray | None = None
    history: Sequence[tuple[float, ...]] = field(default_factory=list)
