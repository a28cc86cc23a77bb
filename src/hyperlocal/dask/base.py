"""Base of the Dask estimators: the gate is fitted to a sample, the weights are trained by the
members on the workers, and prediction is lazy.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import dask
import dask.array as da
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster, get_client
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from ..data.arguments import check_choice, check_number, make_generator
from ..data.checks import class_weights_by_mass, require_two_classes, warn_about_scales
from ..data.labelled import LabelledRows
from ..estimators.chain import ChainClassifier
from ..gates.anchors import rows_to_sample
from ..model.local_model import ChainSettings, LocalModel
from ..model.multiclass import n_columns
from ..runtime.progress import EpochMonitor
from ..runtime.threads import Workers
from ..solvers import team
from ..solvers.anchor_learning import AnchorSchedule
from ..solvers.result import SolverResult
from ..solvers.training import Training
from .collections import is_lazy, row_parts
from .crew import Crew
from .partitioning import group_anchors, shared_rows
from .supply import Supply, pooled
from .tasks import PartFacts, Plan

#: By default, Dask's workers return freed memory to the system at once; allocating it again takes
#: as long as the arithmetic of a round. Workers started under ``dask.config.set(KEEP_MEMORY)``
#: reuse their memory.
KEEP_MEMORY = {
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 1 << 30,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 1 << 25,  # the most there can be
}

PARTITIONINGS = ("anchors", "random", "given")
# Partitions whose shares of the classes differ by more than this from those of all rows seem
# sorted, in total variation.
SORTED = 0.3


class DaskClassifier(ClassifierMixin, BaseEstimator):
    """Base of the classifiers that are trained on a Dask cluster."""

    _local_class: type[ChainClassifier]
    _local: ChainClassifier

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit on the cluster.

        Parameters
        ----------
        X : Dask array or dataframe of shape (n_rows, n_features)
            Partitions may be uneven or empty. Data in memory (an array, a CSR matrix, a dataframe)
            are split and sent to the workers.
        y : Dask array or series of shape (n_rows,)
            With the partitions of X, or in memory if the chunk sizes of X are known.
        sample_weight : Dask array or series of shape (n_rows,), default=None

        Returns
        -------
        self
        """
        settings, training = self._checked_arguments()
        rng = make_generator(self.random_state)
        with self._connected() as client:
            n_threads = sum(client.nthreads().values())
            parts = row_parts(X, y, sample_weight, n_parts=max(1, n_threads))
            supply = Supply(client, parts, int(rng.integers(2**31)))
            facts = supply.read()
            dtype, classes, weights = self._agree(facts)
            sizes = np.array([fact.n_rows for fact in facts])
            self._n_rows, self._rounds = int(sizes.sum()), 0
            sample = self._draw(supply, sizes, dtype, classes, weights, rng)
            warn_about_scales(sample.X)
            n_members = self.n_partitions or min(n_threads, int(sizes.sum()))
            with Workers(1) as workers:
                chain = settings.fit(sample, rng, workers)
                shares = self._shares(chain, sample, n_members, workers)
            plan = Plan(chain, training, self._schedule())
            given = self.partitioning == "given"
            supply.send_by(plan, classes, weights, shares, None if given else n_members)
            chain, result = self._run(client, supply, plan, classes, dtype, n_members, rng)
        local = self._new_local().take_over(
            chain, training, result, classes, self._n_rows, feature_names=facts[0].names
        )
        self._remember(local, result)
        return self

    # ---- for users --------------------------------------------------------------------

    def to_local(self) -> Any:
        """The fitted model as an estimator without Dask, for instance to save or to explain it."""
        check_is_fitted(self, "classes_")
        return deepcopy(self._local)

    def decision_function(self, X: Any) -> Any:
        """Scores of rows; lazy for Dask collections, computed for anything else."""
        n_columns = self._columns()
        return self._apply(X, "decision_function", n_columns, self._local.model_.dtype)

    def predict(self, X: Any) -> Any:
        """Predicted class labels; lazy for Dask collections, computed for anything else."""
        check_is_fitted(self, "classes_")
        return self._apply(X, "predict", None, self.classes_.dtype)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy: the share of rows that are predicted correctly."""
        if not is_lazy(X):
            return float(self._local.score(X, y, sample_weight))
        parts = row_parts(X, y, sample_weight, n_parts=1)
        model = dask.delayed(self._local, traverse=False)
        counts = [dask.delayed(_n_right)(model, *part) for part in parts]
        right, total = np.sum(dask.compute(*counts), axis=0)
        return float(right / total)

    @property
    def anchors_(self) -> np.ndarray:
        """Anchors, ``(n_anchors, width of what is coded)``."""
        return self._local.anchors_

    @property
    def beta_(self) -> float:
        """Sharpness of the soft coding."""
        return self._local.beta_

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the local models, ``(n_anchors, n_columns, p)``."""
        return self._local.coef_

    @property
    def intercept_(self) -> np.ndarray:
        """Intercepts of the local models, ``(n_anchors, n_columns)``."""
        return self._local.intercept_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "client": None}  # a connection cannot be pickled

    # ---- fitting ---------------------------------------------------------------------------------

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
        training = Training(
            self.C, self.loss, self.multi_class, tol=self.tol, max_iter=self.max_iter
        )
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

    @contextmanager
    def _connected(self) -> Iterator[Client]:
        """The client given, or the one in use, or a cluster on this machine for this fit."""
        client = self.client
        if client is None:
            try:
                client = get_client()
            except ValueError:
                with (
                    dask.config.set(KEEP_MEMORY),
                    LocalCluster(dashboard_address=":0") as cluster,
                    Client(cluster) as own,
                ):
                    yield own
                return
        with client.as_current():
            yield client

    def _agree(self, facts: list[PartFacts]) -> tuple[np.dtype[Any], np.ndarray, np.ndarray]:
        """One type of numbers, all classes, and the weight of each."""
        for name in ("n_features", "is_sparse", "names"):
            values = {getattr(fact, name) for fact in facts}
            if len(values) > 1:
                raise ValueError(
                    f"the partitions of X differ in {name}: {sorted(map(str, values))}."
                )
        filled = [fact for fact in facts if fact.n_rows]
        if not filled:
            raise ValueError("X has no rows (rows of weight zero do not count).")
        classes, place = np.unique(
            np.concatenate([fact.classes for fact in filled]), return_inverse=True
        )
        require_two_classes(classes)
        masses = np.bincount(place, np.concatenate([fact.masses for fact in filled]))
        weights = np.ones(len(classes))
        if self.class_weight is not None:
            weights = class_weights_by_mass(self.class_weight, classes, masses)
        return np.result_type(*(fact.dtype for fact in filled)), classes, weights

    def _draw(
        self,
        supply: Supply,
        sizes: np.ndarray,
        dtype: Any,
        classes: np.ndarray,
        weights: np.ndarray,
        rng: np.random.Generator,
    ) -> LabelledRows:
        """A uniform sample of all rows, large enough for anchors and gate."""
        n_rows = int(sizes.sum())
        n_wanted = min(rows_to_sample(self.n_anchors), n_rows)
        drawn = rng.multivariate_hypergeometric(sizes, n_wanted)
        return pooled(supply.draw(drawn), dtype, classes, weights, n_rows)

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
        supply: Supply,
        plan: Plan,
        classes: np.ndarray,
        dtype: Any,
        n_members: int,
        rng: np.random.Generator,
    ) -> tuple[LocalModel, SolverResult]:
        chain, joint = plan.chain, plan.training.joint
        columns = n_columns(len(classes), joint)
        shape = (chain.n_anchors, columns, chain.feature_map.n_features_out + 1)
        crew = Crew(client, 1 if joint else columns, shape, dtype, int(rng.integers(2**31)))
        monitor = EpochMonitor(self, self.max_iter, self.verbose, task="round")
        try:
            if self.partitioning == "given":
                n_members = supply.n_parts
            care = self._care()
            masses = crew.enlist(plan, n_members, supply, care)
            supply.release()
            if self.partitioning == "given":
                self._warn_if_sorted(masses)
            chain, result = self._train(crew, plan, monitor)
        finally:
            monitor.close()
            crew.close()
        self.n_partitions_ = crew.n_members
        self.n_restarts_ = crew.n_restarts
        rounds = max(1, self._rounds)
        self.bytes_per_round_ = {
            "sent": crew.bytes_sent // rounds, "received": crew.bytes_received // rounds,
        }  # fmt: skip
        return chain, result

    def _care(self) -> float:
        grouped = self.partitioning == "anchors"
        return team.CARE_AT_BORDERS if grouped else team.CARE_EVERYWHERE

    def _train(
        self, crew: Crew, plan: Plan, monitor: EpochMonitor
    ) -> tuple[LocalModel, SolverResult]:
        return plan.chain, self._solve(crew, monitor)

    def _solve(self, crew: Crew, monitor: EpochMonitor) -> SolverResult:
        n_epochs = self.epochs_per_round
        if n_epochs == "auto":
            n_epochs = team.default_epochs(self._n_rows // crew.n_members)
        result = team.solve(
            crew, tol=self.tol, max_iter=self.max_iter, n_epochs=n_epochs, monitor=monitor,
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

    def _remember(self, local: ChainClassifier, result: SolverResult) -> None:
        self._local = local
        self.n_features_in_ = local.n_features_in_
        if hasattr(local, "feature_names_in_"):
            self.feature_names_in_ = local.feature_names_in_
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_  # of an earlier fit
        self.classes_ = local.classes_
        self.n_iter_, self.history_ = result.n_iter, result.history
        self.objective_, self.duality_gap_ = result.objective, result.duality_gap

    # ---- prediction ------------------------------------------------------------------------------

    def _columns(self) -> int | None:
        check_is_fitted(self, "classes_")
        n_columns = self._local.model_.n_columns
        return None if n_columns == 1 else n_columns

    def _apply(self, X: Any, method: str, n_columns: int | None, dtype: Any) -> Any:
        """Call a method of the local model on every partition, lazily."""
        if not is_lazy(X):
            return getattr(self._local, method)(X)
        model = dask.delayed(self._local, traverse=False)
        if isinstance(X, da.Array):
            X = X.rechunk({1: -1})
            shape = {"drop_axis": 1} if n_columns is None else {"chunks": (X.chunks[0], n_columns)}
            meta = np.empty((0,) if n_columns is None else (0, 0), dtype)
            return X.map_blocks(_call, model, method, dtype=dtype, meta=meta, **shape)
        if n_columns is None:
            meta = pd.Series(np.empty(0, dtype), name=method)
        else:
            meta = pd.DataFrame(np.empty((0, n_columns), dtype), columns=list(self.classes_))
        return X.map_partitions(_call_on_frame, model, method, meta, meta=meta)


def _call(X: Any, model: Any, method: str) -> np.ndarray:
    if not X.shape[0]:
        return np.empty((0, *getattr(model, method)(np.zeros((1, X.shape[1]))).shape[1:]))
    return getattr(model, method)(X)


def _call_on_frame(X: Any, model: Any, method: str, meta: Any) -> Any:
    if not len(X):
        return meta.iloc[:0]
    values = getattr(model, method)(X)
    if values.ndim == 1:
        return pd.Series(values, index=X.index, name=meta.name)
    return pd.DataFrame(values, index=X.index, columns=meta.columns)


def _n_right(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[float, float]:
    if not X.shape[0]:
        return 0.0, 0.0
    weights = np.ones(X.shape[0]) if sample_weight is None else np.asarray(sample_weight)
    return float(weights[np.asarray(y) == model.predict(X)].sum()), float(weights.sum())
