"""Training rows whose gate changes: mapped once, coded and lifted for each gate."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np

from ..coding import Codes
from ..gates import Gate
from ..held_out import chosen_rows
from ..losses import is_correct, loss_sum
from ..rows import take_rows
from ..solvers import Problem
from ..threads import Workers
from ..validation import LabelledRows
from .base import LocallyLinearClassifier


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

    def codes(self, gate: Gate) -> Codes:
        """Codes of the rows, which the caller may change."""
        if self._last is None or not np.array_equal(self._last[0].anchors, gate.anchors):
            kept = replace(gate, anchors=gate.anchors.copy())
            self._last = kept, gate.encode(self.space, self.workers)
        codes = self._last[1]
        return Codes(codes.anchors.copy(), codes.weights.copy(), codes.distances)

    def problem(self, gate: Gate, cost: float, chosen: np.ndarray | None = None) -> Problem:
        """The convex problem for a gate, over all rows or the chosen ones."""
        if chosen is not None:
            return self._only(chosen).problem(gate, cost)
        estimator = self.estimator
        lifted = estimator._lift_stored(
            self.stored, self.codes(gate), self.workers, self._row_norms
        )
        self._row_norms = lifted.row_norms
        return estimator._problem(lifted, self.data, cost)

    def _only(self, chosen: np.ndarray) -> RecodedRows:
        part = copy(self)
        part._last = None
        part.data = chosen_rows(self.data, chosen)
        part.space = take_rows(self.space, chosen)
        part.stored = take_rows(self.stored, chosen)
        part._row_norms = None if self._row_norms is None else self._row_norms[chosen]
        return part

    def verdict(self, gate: Gate, weights: np.ndarray) -> tuple[float, float]:
        """Accuracy, and the mean loss (negated), which decides between equals."""
        problem = self.problem(gate, 1.0)
        scores = problem.lifted.scores(weights)
        costs = self.data.sample_weight
        right = is_correct(scores, problem.target)
        loss = loss_sum(scores, problem.target, costs, problem.loss, problem.crammer_singer)
        return float(costs @ right / costs.sum()), -loss / float(costs.sum())
