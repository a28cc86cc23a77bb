"""DaskSupervisedAnchorSVC: anchors learned over the machines of a cluster."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np

from ..data.arguments import check_flag, check_number
from ..estimators.supervised_anchors import SupervisedAnchorSVC
from ..model.chain_settings import ChainSettings
from ..model.local_model import LocalModel
from ..runtime.progress import EpochMonitor
from ..solvers.anchor_learning import AnchorSchedule
from ..solvers.result import SolverResult
from .classifier import DaskClassifier
from .remote_team import RemoteTeam
from .tasks import Plan


@dataclass(eq=False, repr=False)
class DaskSupervisedAnchorSVC(DaskClassifier):
    """Locally linear classifier whose anchors are learned too, on a Dask cluster.

    Anchors are learned in rounds. In each round every partition moves the anchors for some epochs
    over its own rows; the next round starts from the mean of the results, weighted by the mass of
    each partition's rows at an anchor. Steps become shorter from round to round. Then the anchors
    are fixed, and the weights are trained over all rows, to the optimum.

    Parameters
    ----------
    client, partitioning, n_partitions, epochs_per_round : as in DaskLocallyLinearSVC
        They are those of :class:`DaskLocallyLinearSVC`.
    n_anchors, n_neighbors, beta, anchors : as on one machine
        They are those of :class:`hyperlocal.SupervisedAnchorSVC`.
    feature_map : None, str or transformer, default=None
        The row itself by default, because learned anchors make products of features unnecessary.
    code_on, normalize : as on one machine
        They are those of :class:`hyperlocal.SupervisedAnchorSVC`.
    C : float, default=3.0
        Weight of the losses; a number, because anchors are learned for one C.
    max_iter : int, default=500
        The most rounds; fewer than epochs elsewhere, because a round has several epochs.
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    intercept_scaling, random_state, verbose, loss, multi_class, class_weight : as on one machine
        They are those of :class:`hyperlocal.SupervisedAnchorSVC`.
    anchor_rounds : int, default=4
        Rounds in which anchors move.
    anchor_epochs : int or "auto", default="auto"
        Epochs of all these rounds together.
    anchor_step : float or "auto", default="auto"
        Length of the first steps.
    keep_if_better : bool, default=True
        Also train the weights for the initial anchors, and use the learned ones only if they reach
        a lower objective.

    Attributes
    ----------
    initial_anchors_ : ndarray of shape (n_anchors, width)
    anchors_learned_ : bool
        Whether the anchors in use are the learned ones.
    objectives_ : dict
        Reached with the initial anchors ("started", if tried) and with the "learned" ones.
    classes_, anchors_, beta_, coef_, intercept_, objective_, duality_gap_, n_iter_, history_, \
n_partitions_, n_restarts_, bytes_per_round_, n_features_in_, feature_names_in_
        As in :class:`DaskLocallyLinearSVC`.

    See Also
    --------
    hyperlocal.SupervisedAnchorSVC : The same on one machine.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sklearn.datasets import make_moons
    >>> from hyperlocal.dask import DaskSupervisedAnchorSVC
    >>> X, y = make_moons(1000, noise=0.1, random_state=0)
    >>> X, y = da.from_array(X, chunks=(500, 2)), da.from_array(y, chunks=500)
    >>> with Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=":0"):
    ...     model = DaskSupervisedAnchorSVC(n_anchors=8, random_state=0).fit(X, y)
    ...     bool(model.score(X, y) > 0.98)
    True
    """

    _local_class = SupervisedAnchorSVC

    _: KW_ONLY
    anchor_rounds: int = 4
    feature_map: Any = None
    anchor_epochs: Any = "auto"
    anchor_step: Any = "auto"
    keep_if_better: bool = True

    def _check_own_arguments(self) -> None:
        super()._check_own_arguments()
        check_number("anchor_rounds", self.anchor_rounds, integer=True, above=1, inclusive=True)
        check_flag("keep_if_better", self.keep_if_better)

    def _settings(self) -> ChainSettings:
        return ChainSettings.of(self, coding="soft", global_intercept=False)

    def _schedule(self) -> AnchorSchedule:
        return AnchorSchedule(self.anchor_epochs, self.anchor_step)

    def _train(
        self, remote: RemoteTeam, plan: Plan, monitor: EpochMonitor
    ) -> tuple[LocalModel, SolverResult]:
        first = self._solve(remote, monitor) if self.keep_if_better else None
        learned = self._learn(remote, plan)
        remote.lift_again(learned, self._care())
        result = self._solve(remote, monitor)
        self.initial_anchors_ = plan.chain.gate.anchors
        self.objectives_ = {"learned": result.objective}
        if first is not None:
            self.objectives_["started"] = first.objective
        self.anchors_learned_ = first is None or first.objective > result.objective
        if first is None or self.anchors_learned_:
            return learned.chain, result
        return plan.chain, first

    def _remember(self, local: SupervisedAnchorSVC, result: SolverResult) -> None:
        local.initial_anchors_ = self.initial_anchors_
        local.anchors_learned_, local.held_out_accuracy_ = self.anchors_learned_, None
        super()._remember(local, result)

    def _learn(self, remote: RemoteTeam, plan: Plan) -> Plan:
        """The plan with anchors that were moved, in rounds."""
        n_epochs = plan.schedule.n_epochs(self._n_rows, plan.chain.gate)
        n_epochs = -(-n_epochs // self.anchor_rounds)
        for number in range(self.anchor_rounds):
            answers = remote.learn(plan, n_epochs, shorter=1 - number / self.anchor_rounds)
            gate = plan.chain.gate
            gate = replace(gate, anchors=_mean_anchors(answers, gate.anchors))
            plan = replace(plan, chain=replace(plan.chain, gate=gate))
        return plan


def _mean_anchors(answers: list[tuple[np.ndarray, np.ndarray]], before: np.ndarray) -> np.ndarray:
    """Mean anchors of all members, weighted by their mass; without any mass they are unchanged."""
    moved, masses = (np.array(values) for values in zip(*answers, strict=True))
    total = masses.sum(axis=0)
    shares = np.divide(masses, total, out=np.zeros_like(masses), where=total > 0)
    anchors = np.einsum("ma,mad->ad", shares, moved.astype(np.float64))
    return np.where(total[:, None] > 0, anchors, before).astype(before.dtype)
