"""Losses and duality gap of all rows at some weights: the full check of dual descent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..model.problem import Problem, squared_norms_by_column
from ..runtime.threads import row_blocks

# In last digits of the weights' precision.
STRETCHES = (8, 64, 512)

SeeScores = Callable[[int, int, np.ndarray], None]


def losses_and_gaps(
    problem: Problem, state: Any, weights: np.ndarray, see_scores: SeeScores | None = None
) -> np.ndarray:
    """Sums over all rows, ``(2, n_groups)``; the compiled state learns what is active."""
    lifted = problem.lifted
    n_groups = 1 if problem.crammer_singer else problem.n_columns

    def check_block(block: tuple[int, int]) -> np.ndarray:
        scores = np.empty((block[1] - block[0], problem.n_columns), lifted.dtype)
        lifted.block_scores(weights, *block, scores)
        if see_scores is not None:
            see_scores(*block, scores)
        sums = np.zeros((2, n_groups))
        state.check(*block, scores, *sums)
        return sums

    blocks = row_blocks(lifted.n_rows, lifted.block_size(problem.n_columns))
    return np.sum(lifted.workers.map(check_block, blocks), axis=0)


def half_norms(problem: Problem, weights: np.ndarray) -> np.ndarray:
    """``½‖W‖²`` of each group of columns."""
    norms = squared_norms_by_column(weights)
    return 0.5 * (norms.sum(keepdims=True) if problem.crammer_singer else norms)


def best_stretches(
    weights: np.ndarray, objectives_of: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """By which share longer weights have the lowest objective, for each group; zero for most.

    At the optimum of the hinge many rows lie on the margin. Rounding leaves some of them below, and
    with a large C these outweigh all else: weights a few last digits longer lift them above.
    """
    digits = float(np.finfo(weights.dtype).eps)
    tried = (0.0, *(stretch * digits for stretch in STRETCHES))
    objectives = [
        objectives_of((weights * (1 + stretch)).astype(weights.dtype)) for stretch in tried
    ]
    return np.array(tried)[np.argmin(objectives, axis=0)]
