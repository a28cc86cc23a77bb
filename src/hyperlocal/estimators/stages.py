"""Training of stacked models: the scores of a stage join the projections of the next.

Each stage has clusters of its own. In the clusters of the stage before, its scores would be linear
in the projections already and add nothing; seen from other clusters they bend where those end. A
stage stays only if it errs less than the one before, on rows that neither was trained on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..data.labelled import LabelledRows
from ..data.splits import deal_folds
from ..gates.clusters import ClusterSettings
from ..gates.codes import Codes
from ..gates.coupling import smoothed, smoothed_weights, smoothing_matrix
from ..model.lifting import LiftedRows
from ..model.local_model import LocalModel
from ..model.multiclass import predicted_codes
from ..model.problem import Problem
from ..model.stacked import StackedMap, first_map
from ..runtime.progress import Monitor
from ..runtime.threads import Workers
from ..solvers.result import SolverResult
from ..solvers.training import Training

N_FOLDS = 5
# A score is made so many times as large as a projection. By held-out training rows of SVMGUIDE1 and
# USPS, 1 and 10 were worse.
SIZE_OF_SCORES = 3.0
# A stage must be better by so many standard errors of the difference.
CLEARLY = 2.0


@dataclass(frozen=True)
class Stage:
    """A stage before training, on the training rows.

    Attributes
    ----------
    chain : LocalModel
        Without weights.
    stored : ndarray of shape (n_rows, p)
        What its local models see of the rows.
    codes : Codes
        The codes that it is trained with.
    mixing : ndarray of shape (n_anchors, n_anchors) or None
        How these mix the clusters; see :func:`hyperlocal.gates.coupling.smoothing_matrix`.
    """

    chain: LocalModel
    stored: np.ndarray
    codes: Codes
    mixing: np.ndarray | None = None

    @classmethod
    def of(
        cls, chain: LocalModel, stored: np.ndarray, X: Any, smoothing: float, workers: Workers
    ) -> Stage:
        """With the codes of rows ``X``; smoothing couples neighboring clusters."""
        codes = chain.encode(X, workers)
        if not smoothing:
            return cls(chain, stored, codes)
        mixing = smoothing_matrix(chain.gate.anchors, smoothing)
        return cls(chain, stored, smoothed(codes, mixing), mixing)

    def part(self, rows: np.ndarray) -> Stage:
        """The stage on some of the rows."""
        return replace(self, stored=self.stored[rows], codes=self.codes.take(rows))

    def lifted(self, workers: Workers) -> LiftedRows:
        """The lifted rows."""
        return self.chain.lift_stored(self.stored, self.codes, workers)

    def trained(self, weights: np.ndarray) -> LocalModel:
        """The model for prediction, by the plain gate."""
        if self.mixing is not None:
            weights = smoothed_weights(weights, self.mixing)
        return self.chain.trained(weights)


@dataclass(frozen=True)
class StageTrainer:
    """Trains one stage after the other on the same rows.

    Attributes
    ----------
    data : LabelledRows
    training : Training
    clusters : ClusterSettings
        How each stage clusters the rows.
    smoothing : float
    keep_if_better : bool
        End the stack before a stage that does not err clearly less out of fold.
    rng : numpy Generator
    workers : Workers
    monitor : Monitor
    """

    data: LabelledRows
    training: Training
    clusters: ClusterSettings
    smoothing: float
    keep_if_better: bool
    rng: np.random.Generator
    workers: Workers
    monitor: Monitor

    def train(self, stage: Stage, n_stages: int) -> tuple[LocalModel, Problem, SolverResult]:
        """The last model (its map holds those before), its problem, and what the solver found."""
        problem, result = self._solved(stage)
        converged, out_of_fold = result.converged, None
        for _ in range(1, n_stages):
            if result.stopped:
                break
            scores, folds_converged = out_of_fold or self._out_of_fold_scores(stage)
            converged &= folds_converged
            following = self._next_stage(stage, result, scores)
            out_of_fold = None
            if self.keep_if_better:
                out_of_fold = self._out_of_fold_scores(following)
                if not self._are_better(out_of_fold[0], scores):
                    break
            stage = following
            problem, result = self._solved(stage)
            converged &= result.converged
        return stage.trained(result.weights), problem, replace(result, converged=converged)

    def _next_stage(self, stage: Stage, result: SolverResult, scores: np.ndarray) -> Stage:
        """A stage that sees the scores of the one before, by models that have not seen the rows."""
        before = stage.trained(result.weights)
        projections = stage.stored[:, : first_map(before.feature_map).n_features_out]
        scale = comparable_scale(projections, scores, self.data.sample_weight)
        feature_map = StackedMap(before, float(scale))
        gate = self.clusters.fit(self.data.X, self.data.sample_weight, self.rng, self.workers)
        chain = replace(stage.chain, feature_map=feature_map, gate=gate)
        stored = feature_map.joined(projections, scores)
        return Stage.of(chain, stored, self.data.X, self.smoothing, self.workers)

    def _are_better(self, scores: np.ndarray, before: np.ndarray) -> bool:
        """Whether fewer rows are wrong, by more than chance would explain."""
        target, weights = self.data.target, self.data.sample_weight / self.data.total_weight
        right, right_before = (predicted_codes(one) == target for one in (scores, before))
        gains = right.astype(np.float64) - right_before
        gain = float(weights @ gains)
        return gain > CLEARLY * math.sqrt(float(weights**2 @ (gains - gain) ** 2))

    def _out_of_fold_scores(self, stage: Stage) -> tuple[np.ndarray, bool]:
        """Each row's scores by a model that has not seen it, and whether all models converged."""
        fold = deal_folds(self.data.target, N_FOLDS, self.rng)
        scores, converged = [], True
        held = [np.flatnonzero(fold == number) for number in range(fold.max() + 1)]
        for number, rows in enumerate(held):
            _, result = self._solved(stage, np.flatnonzero(fold != number))
            converged &= result.converged
            scores.append(stage.part(rows).lifted(self.workers).scores(result.weights))
        return np.concatenate(scores)[np.argsort(np.concatenate(held))], converged

    def _solved(self, stage: Stage, rows: np.ndarray | None = None) -> tuple[Problem, SolverResult]:
        """A stage's problem, of all rows or of some, and its solution."""
        data = self.data
        if rows is not None:
            stage, weights = stage.part(rows), data.sample_weight[rows]
            data = LabelledRows(stage.stored, data.target[rows], data.classes, weights)
        problem = stage.chain.problem(
            data, self.training.C, self.training.loss, lifted=stage.lifted(self.workers)
        )
        return problem, self.training.solve(problem, self.rng, self.monitor)


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
