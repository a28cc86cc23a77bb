"""Stacked linear models: the scores of a stage join the projections of the next.

Each stage has clusters of its own. In the clusters of the stage before, its scores would be linear
in the projections already and add nothing; seen from other clusters they bend where those end. A
stage stays only if it errs less than the one before, on rows that neither was trained on.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..data.labelled import LabelledRows
from ..data.rows import take_rows
from ..data.splits import deal_folds
from ..gates.codes import Codes
from ..gates.gate import Gate
from ..model.lifting import LiftedRows
from ..model.multiclass import predicted_codes
from ..solvers import Problem, SolverResult

N_FOLDS = 5
# A score is made so many times as large as a projection. By held-out training rows of SVMGUIDE1 and
# USPS, 1 and 10 were worse.
SIZE_OF_SCORES = 3.0
# A stage must be better by so many standard errors of the difference.
CLEARLY = 2.0


@dataclass
class StageClusters:
    """The clusters of a stage, the codes it is trained with, and how these mix the clusters."""

    gate: Gate
    codes: Codes
    mixing: np.ndarray | None = None

    def unmixed(self, weights: np.ndarray) -> np.ndarray:
        """Weights ``Θ = A U`` of clusters that were trained as ``U`` (see ``smoothing_matrix``)."""
        if self.mixing is None:
            return weights
        own = np.tensordot(self.mixing.astype(weights.dtype), weights[..., :-1], axes=1)
        return np.concatenate([own, weights[..., -1:]], axis=-1)


@dataclass
class EarlierStage:
    """What a stage leaves to those after it: a model, and how its scores are scaled."""

    gate: Gate
    weights: np.ndarray
    scale: Any


@dataclass
class StageTrainer:
    """Trains one linear model after the other on the same rows.

    Attributes
    ----------
    data : LabelledRows
    next_clusters : callable () → StageClusters
        Clusters of the next stage.
    lift : callable (stored rows, codes, number of clusters) → LiftedRows
    make_problem : callable (LiftedRows, LabelledRows) → Problem
    solve : callable Problem → SolverResult
    rng : numpy Generator
        Deals the folds.
    keep_if_better : bool
        End the stack before a stage that does not err clearly less out of fold.
    """

    data: LabelledRows
    next_clusters: Callable[[], StageClusters]
    lift: Callable[[Any, Codes, int], LiftedRows]
    make_problem: Callable[[LiftedRows, LabelledRows], Problem]
    solve: Callable[[Problem], SolverResult]
    rng: np.random.Generator
    keep_if_better: bool

    def train(
        self, projections: np.ndarray, clusters: StageClusters, n_stages: int
    ) -> tuple[list[EarlierStage], Gate, SolverResult]:
        """The stages before the last, the gate of the last, and what it found."""
        earlier: list[EarlierStage] = []
        stored = projections
        result = self._solve_rows(stored, clusters, None)
        converged, judged = result.converged, None
        while len(earlier) + 1 < n_stages and not result.stopped:
            if judged is None:
                judged = self._out_of_fold_scores(stored, clusters)
            scores, folds_converged = judged
            converged &= folds_converged
            scale = comparable_scale(projections, scores, self.data.sample_weight)
            next_clusters = self.next_clusters()
            next_stored = np.hstack([projections, scores * scale])
            judged = None
            if self.keep_if_better:
                judged = self._out_of_fold_scores(next_stored, next_clusters)
                if not self._are_better(judged[0], scores):
                    break
            earlier.append(EarlierStage(clusters.gate, clusters.unmixed(result.weights), scale))
            stored, clusters = next_stored, next_clusters
            result = self._solve_rows(stored, clusters, None)
            converged &= result.converged
        weights = clusters.unmixed(result.weights)
        return earlier, clusters.gate, replace(result, weights=weights, converged=converged)

    def _are_better(self, scores: np.ndarray, before: np.ndarray) -> bool:
        """Whether fewer rows are wrong, by more than chance would explain."""
        target, weights = self.data.target, self.data.sample_weight / self.data.sample_weight.sum()
        right, right_before = (predicted_codes(one) == target for one in (scores, before))
        gains = right.astype(np.float64) - right_before
        gain = float(weights @ gains)
        return gain > CLEARLY * math.sqrt(float(weights**2 @ (gains - gain) ** 2))

    def _out_of_fold_scores(
        self, stored: np.ndarray, clusters: StageClusters
    ) -> tuple[np.ndarray, bool]:
        """Each row's scores by a model that has not seen it, and whether all models converged."""
        fold = deal_folds(self.data.target, N_FOLDS, self.rng)
        scores, converged = None, True
        for number in range(fold.max() + 1):
            result = self._solve_rows(stored, clusters, np.flatnonzero(fold != number))
            converged &= result.converged
            held = np.flatnonzero(fold == number)
            lifted = self._lift_rows(stored[held], clusters.codes.take(held), clusters)
            if scores is None:
                scores = np.empty((len(fold), result.weights.shape[1]), stored.dtype)
            scores[held] = lifted.scores(result.weights)
        assert scores is not None
        return scores, converged

    def _lift_rows(self, stored: np.ndarray, codes: Codes, clusters: StageClusters) -> LiftedRows:
        return self.lift(stored, codes, clusters.gate.n_anchors)

    def _solve_rows(
        self, stored: np.ndarray, clusters: StageClusters, rows: np.ndarray | None
    ) -> SolverResult:
        data, codes = self.data, clusters.codes
        if rows is not None:
            stored, codes = take_rows(stored, rows), codes.take(rows)
            data = LabelledRows(stored, data.target[rows], data.classes, data.sample_weight[rows])
        return self.solve(self.make_problem(self._lift_rows(stored, codes, clusters), data))


def comparable_scale(
    projections: np.ndarray, scores: np.ndarray, sample_weight: np.ndarray
) -> np.floating:
    """The factor that makes scores comparable to projections, in the mean over rows and columns.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.estimators.stages import comparable_scale
    >>> float(comparable_scale(np.full((3, 9), 2.0), np.full((3, 1), 0.5), np.ones(3)))
    12.0
    """
    squares = [
        float(np.average(np.einsum("ij,ij->i", rows, rows), weights=sample_weight)) / rows.shape[1]
        for rows in (projections, scores)
    ]
    ratio = squares[0] / squares[1] if squares[0] > 0 and squares[1] > 0 else 1.0
    return projections.dtype.type(SIZE_OF_SCORES * np.sqrt(ratio))
