"""What a solver returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..data.labelled import LabelledRows
from ..model.multiclass import joined_columns
from ..model.problem import Problem


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


def support_vectors(
    problem: Problem, result: SolverResult, data: LabelledRows
) -> tuple[np.ndarray, np.ndarray]:
    """The given rows that have a dual variable other than zero, and their ``α_i y_i``.

    Returns
    -------
    support : ndarray of shape (n_support,)
    dual_coef : ndarray of shape (n_columns, n_support)
    """
    assert result.alpha is not None
    return given_support(joined_columns(problem.signed(result.alpha), len(data.classes)), data)


def given_support(dual_coef: np.ndarray, data: LabelledRows) -> tuple[np.ndarray, np.ndarray]:
    """:func:`support_vectors` of ``α_i y_i``, ``(n_rows, n_columns)``, of the rows of ``data``."""
    dual_coef = data.spread(dual_coef)
    support = np.flatnonzero(dual_coef.any(axis=1))
    return support, np.ascontiguousarray(dual_coef[support].T)
