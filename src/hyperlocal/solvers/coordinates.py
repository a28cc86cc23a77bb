"""Wide lifted rows as few coordinates, in a basis of what most of them nearly span.

Products of lifted rows have few large eigenvalues, so that a Cholesky factorization with pivots
soon leaves nearly nothing. Of many rows, a random part gives the pivots. Candidates are compared in
coordinates, and long runs of dual descent start from what an inexpensive run in coordinates found.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from ..data.labelled import LabelledRows
from ..data.rows import core_rows
from ..gates.gate import ConstantGate
from ..model.lifting import LiftedRows
from ..model.local_model import LocalModel
from ..model.problem import Problem
from ..runtime.threads import Workers
from . import dual
from .newton import takes_products
from .newton_rows import MOST_NUMBERS, factor_with_pivots
from .training import Training

# What coordinates may miss of the longest row's square: of any row, and of all in the mean if some
# rows gave no pivots.
MISSED, MISSED_IN_THE_MEAN = 2e-3, 0.05
# Rows that may give pivots, where all pairs of rows would be too many.
MOST_PIVOTS = 1_000
# A run starts in coordinates if a visit of a lifted row takes so many times as long as one of its
# coordinates, and an epoch so many numbers; of more rows, coordinates would take much memory.
# (covtype, 10,000 rows, three levels of anchors: 43 s become 24.)
TIMES_AS_WIDE = 4
ENOUGH_NUMBERS = 1 << 25
MOST_ROWS = 100_000


def coordinates(model: LocalModel, X: Any, lifted: LiftedRows) -> np.ndarray | None:
    """Lifted rows in a basis of what most of them nearly span; None if a part spans too little."""
    n_rows = lifted.n_rows
    if n_rows**2 < MOST_NUMBERS:
        return factor_with_pivots(model.products(X, lifted, np.arange(n_rows)), MISSED)[0]
    some = np.random.default_rng(n_rows).choice(n_rows, MOST_PIVOTS, replace=False)
    products = model.products(X, lifted, some)
    factor, pivots = factor_with_pivots(products[some], MISSED)
    found = solve_triangular(factor[pivots], products[:, pivots].T, lower=True, check_finite=False)
    missed = 1 - np.einsum("ij,ij->", found, found) / lifted.squared_norms().sum()
    return np.ascontiguousarray(found.T) if missed <= MISSED_IN_THE_MEAN else None


def as_lifted(matrix: np.ndarray, workers: Workers) -> LiftedRows:
    """Coordinates as one model sees them, without a constant."""
    constant = ConstantGate().encode(matrix, workers)
    return LiftedRows(core_rows(matrix), constant, 1, 0.0, False, workers)


def start_in_coordinates(
    model: LocalModel,
    data: LabelledRows,
    problem: Problem,
    training: Training,
    rng: np.random.Generator,
) -> np.ndarray | None:
    """Dual variables to start from, where that saves time; None elsewhere."""
    lifted = problem.lifted
    n_numbers = lifted.visit_length
    is_worth_it = (
        training.solver == "dual"
        and n_numbers >= TIMES_AS_WIDE * MOST_PIVOTS
        and n_numbers * lifted.n_rows >= ENOUGH_NUMBERS
        and lifted.n_rows <= MOST_ROWS
        and not takes_products(problem)
    )
    found = coordinates(model, data.X, lifted) if is_worth_it else None
    if found is None:
        return None
    short = model.problem(
        data, training.C, training.loss, joint=training.joint,
        lifted=as_lifted(found, lifted.workers),
    )  # fmt: skip
    (own_rng,) = rng.spawn(1)
    result = dual.solve(short, tol=training.tol, max_iter=training.max_iter, rng=own_rng)
    assert result.alpha is not None  # dual descent has them
    return result.alpha.astype(lifted.dtype)
