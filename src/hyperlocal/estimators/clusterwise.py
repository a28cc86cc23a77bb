"""How classifiers with a model per cluster are fitted."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from ..data.arguments import check_number, make_generator
from ..data.checks import warn_about_scales
from ..data.labelled import LabelledRows, merge_equal_rows
from ..gates.clusters import ClusterSettings
from ..runtime.progress import EpochMonitor, Monitor
from ..runtime.threads import Workers
from ..solvers.result import given_support
from .base import ChainAttributes, LabelledFitting, LocalClassifier, LocalEstimator
from .cluster_training import ClusterFit, ClusterTraining
from .explained import ExplainMixin
from .probabilities import ProbabilityMixin


@dataclass(eq=False, repr=False)
class ClusterwiseClassifier(
    LabelledFitting,
    ProbabilityMixin,
    ChainAttributes,
    LocalClassifier,
    LocalEstimator,
    ExplainMixin,
):
    """Base of classifiers with a model per cluster; a subclass says how they are trained.

    ``model_`` is a LocalModel, or a KernelModel where there is a kernel.
    """

    n_anchors: Any = "auto"
    _: KW_ONLY
    C: Any = "auto"
    loss: str = "hinge"
    max_iter: int = 5000
    tol: float = 1e-3
    intercept_scaling: float = 1.0
    class_weight: Any = None
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    def _fit_rows(self, data: LabelledRows) -> None:
        warn_about_scales(data.X)
        data = merge_equal_rows(data)
        rng = make_generator(self.random_state)
        self._forget()
        with (
            Workers(self.n_jobs) as workers,
            EpochMonitor(self, self._most_epochs(), self.verbose) as monitor,
        ):
            found = self._train(data, rng, workers, monitor)
        self.model_ = found.model  # type: ignore[assignment]  # a KernelModel with a kernel
        self._keep_background(data)
        self.classes_ = data.classes
        self.C_ = found.training.C
        self.support_, self.dual_coef_ = given_support(found.dual_coef, data)
        self._record(found.result, found.training.advice(found.result))

    @property
    def beta_(self) -> float:
        """Sharpness of the soft coding; a one-hot gate has none."""
        if self.model_.gate.coding == "hard":
            raise AttributeError("beta_ belongs to coding='soft'.")
        return self.model_.gate.beta

    @abstractmethod
    def _train(
        self, data: LabelledRows, rng: np.random.Generator, workers: Workers, monitor: Monitor
    ) -> ClusterFit:
        """A model of merged rows."""

    def _clusters(self) -> ClusterSettings:
        """How rows are clustered."""
        return ClusterSettings(self.n_anchors, self.anchors)

    def _training(self) -> ClusterTraining:
        return ClusterTraining(self.C, self.loss, self.tol, self.max_iter)

    def _most_epochs(self) -> int:
        return self.max_iter

    def _check_arguments(self) -> None:
        self._clusters().check()
        self._training().check()
        check_number("intercept_scaling", self.intercept_scaling, inclusive=True)
        self._check_common()
