"""Training rows whose gate changes: mapped once, coded and lifted for each gate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..data.labelled import LabelledRows
from ..gates.codes import Codes
from ..gates.gate import Gate
from ..model.losses import is_correct, loss_sum
from ..runtime.threads import Workers
from ..solvers import Problem
from ..solvers.anchor_descent import RESERVES, Look
from .old_base import LocallyLinearClassifier


class RecodedRows:
    """Training rows ready to be lifted by one gate after another."""

    def __init__(self, estimator: LocallyLinearClassifier, data: LabelledRows, workers: Workers):
        self.estimator = estimator
        self.data = data
        self.workers = workers
        feature_map = estimator._feature_map
        self.space = estimator._code_space.transform(data.X, feature_map)
        self.stored = feature_map.stored(data.X)
        self._row_norms: np.ndarray | None = None
        self._last: tuple[Gate, Codes] | None = None

    def codes(self, gate: Gate, n_reserves: int = 0) -> Codes:
        """Codes of the rows, which the caller may change; with anchors in reserve if asked for."""
        known = self._last is not None and np.array_equal(self._last[0].anchors, gate.anchors)
        if self._last is None or not known or (n_reserves and self._last[1].reserves is None):
            kept = replace(gate, anchors=gate.anchors.copy())
            self._last = kept, gate.encode(self.space, self.workers, n_reserves)
        codes = self._last[1]
        reserves = None if codes.reserves is None else codes.reserves.copy()
        return Codes(codes.anchors.copy(), codes.weights.copy(), codes.distances, reserves)

    def problem(self, gate: Gate, cost: float) -> Problem:
        """The convex problem for a gate."""
        return self._lifted(self.codes(gate), cost)

    def look(self, gate: Gate, cost: float) -> Look:
        """The problem for a gate, and each row's anchors in reserve."""
        codes = self.codes(gate, RESERVES)
        assert codes.reserves is not None
        return Look(self._lifted(codes, cost), codes.reserves)

    def _lifted(self, codes: Codes, cost: float) -> Problem:
        lift = self.estimator._lift_stored
        lifted = lift(self.stored, codes, self.workers, self._row_norms)
        self._row_norms = lifted.row_norms
        return self.estimator._problem(lifted, self.data, cost)

    def verdict(self, gate: Gate, weights: np.ndarray) -> tuple[float, float]:
        """Accuracy, and the mean loss (negated), which decides between equals."""
        problem = self.problem(gate, 1.0)
        scores = problem.lifted.scores(weights)
        costs = self.data.sample_weight
        right = is_correct(scores, problem.target)
        loss = loss_sum(scores, problem.target, costs, problem.loss, problem.crammer_singer)
        return float(costs @ right / costs.sum()), -loss / float(costs.sum())
