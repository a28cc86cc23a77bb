"""Base of the Dask estimators: the gate is fitted to a sample, the weights are trained by the
members on the workers, and prediction is lazy.
"""

from __future__ import annotations

import warnings
from copy import copy, deepcopy
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from distributed import Client
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..data.arguments import check_choice, check_number, make_generator
from ..data.checks import warn_about_scales
from ..data.labelled import LabelledRows
from ..estimators.chain_classifier import ChainClassifier
from ..estimators.chain_regressor import ChainRegressor
from ..estimators.tasks import Task
from ..gates.anchors import rows_to_sample
from ..model.chain_settings import ChainSettings
from ..model.local_model import LocalModel
from ..runtime.progress import EpochMonitor
from ..runtime.threads import Workers
from ..solvers import team
from ..solvers.anchor_learning import AnchorSchedule
from ..solvers.partitioning import group_anchors, shared_rows
from ..solvers.result import SolverResult
from ..solvers.training import Training
from .collections import is_lazy, row_parts
from .connection import connected, wait_for_workers
from .lazy import apply_lazily
from .remote_team import RemoteTeam
from .shuffle import Shuffle, pooled
from .targets import SharedTarget
from .tasks import PartFacts, Plan

PARTITIONINGS = ("anchors", "random", "given")
# Partitions whose shares of the classes differ by more than this from those of all rows seem
# sorted, in total variation.
SORTED = 0.3


@dataclass(eq=False, repr=False)
class DaskEstimator(BaseEstimator):
    """Base of the estimators that are trained on a Dask cluster.

    A subclass names its estimator without Dask and its task, and says what partitions agree on
    about ``y``.
    """

    _local_class: ClassVar[type[ChainClassifier | ChainRegressor]]
    _task: ClassVar[Task]
    _is_numeric: ClassVar[bool]

    client: Any = None
    _: KW_ONLY
    partitioning: str = "anchors"
    n_partitions: int | None = None
    epochs_per_round: Any = "auto"
    n_anchors: Any = "auto"
    n_neighbors: int = 8
    beta: Any = "auto"
    anchors: Any = "kmeans"
    feature_map: Any = "auto"
    code_on: Any = "input"
    normalize: bool = True
    C: float = 3.0
    max_iter: int = 500
    tol: float = 1e-3
    intercept_scaling: float = 1.0
    random_state: Any = None
    verbose: int = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit on the cluster.

        Parameters
        ----------
        X : Dask array or dataframe of shape (n_rows, n_features)
            Partitions may be uneven or empty. Data in memory (an array, a CSR matrix, a dataframe)
            are split and sent to the workers.
        y : Dask array or series of shape (n_rows,)
            Labels or values, with the partitions of X, or in memory if the chunk sizes of X are
            known.
        sample_weight : Dask array or series of shape (n_rows,), default=None
            Weights of the rows; one by default.

        Returns
        -------
        self
            The fitted estimator.
        """
        settings, training = self._checked_arguments()
        rng = make_generator(self.random_state)
        self._forget()
        with connected(self.client) as client:
            n_threads = sum(wait_for_workers(client).values())
            parts = row_parts(X, y, sample_weight, n_parts=n_threads)
            shuffle = Shuffle(client, parts, int(rng.integers(2**31)), self._is_numeric)
            facts = shuffle.read()
            dtype, target = self._agree(facts)
            sizes = np.array([fact.n_rows for fact in facts])
            self._n_rows, self._rounds = int(sizes.sum()), 0
            sample = self._draw(shuffle, sizes, dtype, target, rng)
            warn_about_scales(sample.X)
            n_members = self.n_partitions or min(n_threads, int(sizes.sum()))
            with Workers(1) as workers:
                chain = settings.fit(sample, rng, workers)
                shares = self._shares(chain, sample, n_members, workers)
            plan = Plan(chain, training, self._schedule())
            given = self.partitioning == "given"
            shuffle.send_by(plan, target, shares, None if given else n_members)
            chain, result = self._run(client, shuffle, plan, target, dtype, n_members, rng)
        local = self._new_local().take_over(
            chain, training, result, target.kept, self._n_rows, feature_names=facts[0].names
        )
        self._remember(local, result)
        return self

    # ---- for users --------------------------------------------------------------------

    def to_local(self) -> Any:
        """The fitted model as an estimator without Dask, for instance to save or to explain it.

        Returns
        -------
        LocallyLinearSVC, SupervisedAnchorSVC or LocallyLinearSVR
            A copy.
        """
        return deepcopy(self._fitted())

    def predict(self, X: Any) -> Any:
        """Predict rows; lazy for Dask collections, computed for anything else.

        Parameters
        ----------
        X : Dask array or dataframe, or {array-like, CSR} of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        Dask array or dataframe, or ndarray
            Class labels, or values in the units of ``y``.
        """
        return self._apply("predict", X)

    @property
    def anchors_(self) -> np.ndarray:
        """Anchors, ``(n_anchors, width of what is coded)``."""
        return self._fitted().anchors_

    @property
    def beta_(self) -> float:
        """Sharpness of the soft coding."""
        return self._fitted().beta_

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the local models, ``(n_anchors, n_columns, p)``."""
        return self._fitted().coef_

    @property
    def intercept_(self) -> np.ndarray:
        """Intercepts of the local models, ``(n_anchors, n_columns)``."""
        return self._fitted().intercept_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_local")

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "client": None}  # a connection cannot be pickled

    def __sklearn_clone__(self) -> Any:
        """A clone with the same client, which cannot be copied."""
        without_client = copy(self)  # by __getstate__
        made = super(DaskEstimator, without_client).__sklearn_clone__()
        return made.set_params(client=self.client)

    def _fitted(self) -> Any:
        check_is_fitted(self)
        return self._local

    def _apply(self, method: str, X: Any) -> Any:
        local = self._fitted()
        return apply_lazily(local, method, X) if is_lazy(X) else getattr(local, method)(X)

    # ---- fitting ---------------------------------------------------------------------------------

    def _forget(self) -> None:
        """Delete the last fit, so that an interrupted fit leaves no model."""
        for name in ("_local", "classes_"):
            if hasattr(self, name):
                delattr(self, name)

    def _new_local(self) -> Any:
        names = set(self._local_class().get_params(deep=False))
        given = self.get_params(deep=False).items()
        return self._local_class(**{name: value for name, value in given if name in names})

    def _settings(self) -> ChainSettings:
        return ChainSettings.of(self)

    def _schedule(self) -> AnchorSchedule:
        return AnchorSchedule()

    def _checked_arguments(self) -> tuple[ChainSettings, Training]:
        settings = self._settings()
        settings.check()
        training = Training(self.C, **self._task.loss(self), tol=self.tol, max_iter=self.max_iter)
        training.check()
        self._check_own_arguments()
        return settings, training

    def _check_own_arguments(self) -> None:
        check_choice("partitioning", self.partitioning, PARTITIONINGS)
        if self.n_partitions is not None:
            check_number("n_partitions", self.n_partitions, integer=True, above=1, inclusive=True)
            if self.partitioning == "given":
                raise ValueError(
                    "n_partitions cannot be chosen where partitioning='given' leaves rows where "
                    "they are; leave it at None."
                )
        if isinstance(self.epochs_per_round, str):
            check_choice("epochs_per_round", self.epochs_per_round, ["auto"])
        else:
            check_number("epochs_per_round", self.epochs_per_round)

    def _agree(self, facts: list[PartFacts]) -> tuple[np.dtype[Any], SharedTarget]:
        """One type of numbers, and what is known of y."""
        filled = [fact for fact in facts if fact.n_rows]
        # An empty frame does not show whether its rows would be sparse.
        for name, known in (("n_features", facts), ("names", facts), ("is_sparse", filled)):
            values = {getattr(fact, name) for fact in known}
            if len(values) > 1:
                raise ValueError(
                    f"the partitions of X differ in {name}: {sorted(map(str, values))}."
                )
        if not filled:
            raise ValueError("X has no rows (rows of weight zero do not count).")
        target = self._target([fact.labels for fact in filled])
        return np.result_type(*(fact.dtype for fact in filled)), target

    def _draw(
        self,
        shuffle: Shuffle,
        sizes: np.ndarray,
        dtype: Any,
        target: SharedTarget,
        rng: np.random.Generator,
    ) -> LabelledRows:
        """A uniform sample of all rows, large enough for anchors and gate."""
        n_rows = int(sizes.sum())
        n_wanted = min(rows_to_sample(self.n_anchors), n_rows)
        drawn = rng.multivariate_hypergeometric(sizes, n_wanted)
        return pooled(shuffle.draw(drawn), dtype, target, n_rows)

    def _shares(
        self, chain: LocalModel, sample: LabelledRows, n_members: int, workers: Workers
    ) -> np.ndarray | None:
        """Which rows go to which member, by anchors; None: at random, or rows are not moved."""
        if self.partitioning != "anchors":
            return None
        codes, n_anchors = chain.encode(sample.X, workers), chain.n_anchors
        mass = np.bincount(codes.anchors[:, 0], minlength=n_anchors).astype(float)
        return group_anchors(shared_rows(codes, n_anchors), mass, n_members)

    def _run(
        self,
        client: Client,
        shuffle: Shuffle,
        plan: Plan,
        target: SharedTarget,
        dtype: Any,
        n_members: int,
        rng: np.random.Generator,
    ) -> tuple[LocalModel, SolverResult]:
        chain, joint = plan.chain, plan.training.joint
        columns = target.n_columns(plan.training)
        shape = (chain.n_blocks, columns, chain.feature_map.n_features_out + 1)
        remote = RemoteTeam(client, 1 if joint else columns, shape, dtype, int(rng.integers(2**31)))
        monitor = EpochMonitor(self, self.max_iter, self.verbose, task="round")
        try:
            if self.partitioning == "given":
                n_members = shuffle.n_parts
            care = self._care()
            masses = remote.create_members(plan, n_members, shuffle, care)
            shuffle.release()
            if self.partitioning == "given":
                self._warn_if_sorted(masses)
            chain, result = self._train(remote, plan, monitor)
        finally:
            monitor.close()
            remote.close()
        self.n_partitions_ = remote.n_members
        self.n_restarts_ = remote.n_restarts
        rounds = max(1, self._rounds)
        self.bytes_per_round_ = {
            "sent": remote.bytes_sent // rounds, "received": remote.bytes_received // rounds,
        }  # fmt: skip
        return chain, result

    def _care(self) -> float:
        grouped = self.partitioning == "anchors"
        return team.POWER_FOR_GROUPED_ROWS if grouped else team.POWER_FOR_ANY_ROWS

    def _train(
        self, remote: RemoteTeam, plan: Plan, monitor: EpochMonitor
    ) -> tuple[LocalModel, SolverResult]:
        return plan.chain, self._solve(remote, monitor)

    def _solve(self, remote: RemoteTeam, monitor: EpochMonitor) -> SolverResult:
        n_epochs = self.epochs_per_round
        if n_epochs == "auto":
            n_epochs = team.default_epochs(self._n_rows // remote.n_members)
        result = team.solve(
            remote, tol=self.tol, max_iter=self.max_iter, n_epochs=n_epochs, monitor=monitor,
        )  # fmt: skip
        self._rounds += result.n_iter
        return result

    def _warn_if_sorted(self, masses: np.ndarray) -> None:
        """Warn where partitions hold different classes."""
        overall = masses.sum(axis=0) / masses.sum()
        shares = masses / masses.sum(axis=1, keepdims=True)
        if (0.5 * np.abs(shares - overall).sum(axis=1)).max() > SORTED:
            warnings.warn(
                "The partitions hold different shares of the classes: rows seem sorted, and "
                "training where they are takes many more rounds. Use partitioning='anchors' or "
                "'random', or shuffle the rows.",
                UserWarning,
                stacklevel=4,
            )

    def _remember(self, local: Any, result: SolverResult) -> None:
        self._local = local
        self.n_features_in_ = local.n_features_in_
        if hasattr(local, "feature_names_in_"):
            self.feature_names_in_ = local.feature_names_in_
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_  # of an earlier fit
        if not self._is_numeric:
            self.classes_ = local.classes_
        self.n_iter_, self.history_ = result.n_iter, result.history
        self.objective_, self.duality_gap_ = result.objective, result.duality_gap
