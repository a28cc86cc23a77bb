"""DaskSupervisedAnchorSVC: anchors learned over the machines of a cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..data.arguments import check_flag, check_number
from ..estimators.supervised_anchors import SupervisedAnchorSVC
from ..runtime.progress import EpochMonitor
from ..solvers import SolverResult
from .base import DaskClassifier
from .crew import Crew


class DaskSupervisedAnchorSVC(DaskClassifier):
    """Locally linear classifier whose anchors are learned too, on a Dask cluster.

    Rounds of local steps: every partition moves the anchors by some epochs over its own rows, and
    the next round starts from their mean, each anchor's weighted by how much a partition's rows
    listen to it; steps grow shorter from round to round. Then anchors rest, and the weights are
    trained over all rows, to the optimum.

    Parameters
    ----------
    client, partitioning, n_partitions, epochs_per_round, max_iter, tol
        As in :class:`DaskLocallyLinearSVC`.
    anchor_rounds : int, default=4
        Rounds in which anchors move.
    anchor_epochs : int or "auto", default="auto"
        Epochs of all these rounds together.
    anchor_step : float or "auto", default="auto"
        Length of the first steps.
    keep_if_better : bool, default=True
        Train the weights for the anchors as they started too, and keep the learned ones only if
        they reach a lower objective.
    n_anchors, n_neighbors, coding, beta, anchors, feature_map, bias_only, code_on, normalize, C, \
loss, multi_class, intercept_scaling, class_weight, random_state, verbose
        As in :class:`hyperlocal.SupervisedAnchorSVC`.

    Attributes
    ----------
    initial_anchors_ : ndarray of shape (n_anchors, width)
    anchors_learned_ : bool
        Whether the anchors in use are the learned ones.
    objectives_ : dict
        What was reached with the anchors as "started" (where tried) and as "learned".
    classes_, anchors_, beta_, coef_, intercept_, objective_, duality_gap_, n_iter_, history_, \
n_partitions_, n_restarts_, bytes_per_round_, n_features_in_, feature_names_in_
        As in :class:`DaskLocallyLinearSVC`.

    See Also
    --------
    hyperlocal.SupervisedAnchorSVC : The same on one machine.
    """

    _local_class = SupervisedAnchorSVC

    def __init__(
        self,
        client: Any = None,
        *,
        partitioning: str = "anchors",
        n_partitions: int | None = None,
        epochs_per_round: Any = "auto",
        anchor_rounds: int = 4,
        n_anchors: Any = "auto",
        n_neighbors: int = 8,
        coding: str = "soft",
        beta: Any = "auto",
        anchors: Any = "kmeans",
        feature_map: Any = None,
        bias_only: bool = False,
        code_on: Any = "input",
        normalize: bool = True,
        C: float = 3.0,
        loss: str = "squared_hinge",
        multi_class: str = "ovr",
        anchor_epochs: Any = "auto",
        anchor_step: Any = "auto",
        keep_if_better: bool = True,
        max_iter: int = 500,
        tol: float = 1e-3,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.client = client
        self.partitioning = partitioning
        self.n_partitions = n_partitions
        self.epochs_per_round = epochs_per_round
        self.anchor_rounds = anchor_rounds
        self.n_anchors = n_anchors
        self.n_neighbors = n_neighbors
        self.coding = coding
        self.beta = beta
        self.anchors = anchors
        self.feature_map = feature_map
        self.bias_only = bias_only
        self.code_on = code_on
        self.normalize = normalize
        self.C = C
        self.loss = loss
        self.multi_class = multi_class
        self.anchor_epochs = anchor_epochs
        self.anchor_step = anchor_step
        self.keep_if_better = keep_if_better
        self.max_iter = max_iter
        self.tol = tol
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state
        self.verbose = verbose

    def _check_own_arguments(self) -> None:
        super()._check_own_arguments()
        check_number("anchor_rounds", self.anchor_rounds, integer=True, above=1, inclusive=True)
        check_flag("keep_if_better", self.keep_if_better)

    def _train(self, crew: Crew, model: Any, monitor: EpochMonitor) -> SolverResult:
        care, started = self._care(), model._gate
        self.initial_anchors_ = started.anchors
        self.objectives_ = {}
        first = self._solve(crew, monitor) if self.keep_if_better else None
        self._learn(crew, model)
        crew.lift_again(model, care)
        result = self._solve(crew, monitor)
        self.objectives_ = {"learned": result.objective}
        self.anchors_learned_ = True
        if first is not None:
            self.objectives_["started"] = first.objective
            if first.objective <= result.objective:
                model._gate, result, self.anchors_learned_ = started, first, False
        model.initial_anchors_ = self.initial_anchors_
        model.anchors_learned_ = self.anchors_learned_
        model.held_out_accuracy_ = None
        return result

    def _learn(self, crew: Crew, model: Any) -> None:
        """Move the anchors of the model's gate, in rounds."""
        n_epochs = -(-model._epochs(self._n_rows) // self.anchor_rounds)
        for number in range(self.anchor_rounds):
            answers = crew.learn(model, n_epochs, shorter=1 - number / self.anchor_rounds)
            anchors = _mean_anchors(answers, model._gate.anchors)
            model._gate = replace(model._gate, anchors=anchors)


def _mean_anchors(answers: list[tuple[np.ndarray, np.ndarray]], before: np.ndarray) -> np.ndarray:
    """Anchors of all members, each weighted by its mass there; one that nobody heeds stays."""
    moved, masses = (np.array(values) for values in zip(*answers, strict=True))
    total = masses.sum(axis=0)
    shares = np.divide(masses, total, out=np.zeros_like(masses), where=total > 0)
    anchors = np.einsum("ma,mad->ad", shares, moved.astype(np.float64))
    return np.where(total[:, None] > 0, anchors, before).astype(before.dtype)
