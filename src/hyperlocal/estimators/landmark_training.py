"""How L3-SVM is trained: stages of linear models on landmarks, or a kernel of projections."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ..data.arguments import check_flag, check_number
from ..data.labelled import LabelledRows
from ..gates.clusters import ClusterSettings
from ..gates.code_on import CodeOn
from ..gates.coupling import code_matrix, smoothing_matrix
from ..maps.landmarks import LandmarkMap, check_landmarks, check_projections, choose_landmarks
from ..model.kernel_model import make_kernel_model
from ..model.local_model import Bias, LocalModel
from ..model.multiclass import signed_labels
from ..runtime.progress import Monitor
from ..runtime.threads import Workers
from ..solvers import libsvm
from .cluster_training import ClusterFit, ClusterTraining, kernel_fit, linear_fit
from .stages import N_FOLDS, Stage, StageTrainer


@dataclass(frozen=True)
class LandmarkTraining:
    """The parameters of :class:`LandmarkSVC`, and training with them.

    Attributes
    ----------
    clusters : ClusterSettings
    training : ClusterTraining
    n_landmarks, landmarks, projection, gamma
        Where landmarks are, and projections on them.
    smoothing, n_stages, keep_if_better
        Coupled clusters and stacked models.
    kernel, kernel_gamma, degree
    intercept_scaling : float
    """

    clusters: ClusterSettings
    training: ClusterTraining
    n_landmarks: Any
    landmarks: Any
    projection: str
    gamma: Any
    smoothing: float
    n_stages: int
    keep_if_better: bool
    kernel: Any
    kernel_gamma: Any
    degree: int
    intercept_scaling: float

    @classmethod
    def of(
        cls, estimator: Any, clusters: ClusterSettings, training: ClusterTraining
    ) -> LandmarkTraining:
        """The parameters of an estimator."""
        names = [one.name for one in fields(cls)][2:]
        return cls(clusters, training, **{name: getattr(estimator, name) for name in names})

    def check(self) -> None:
        """Raise unless the parameters make sense, alone and together."""
        check_landmarks(self.n_landmarks, self.landmarks, self.projection, self.gamma)
        libsvm.check_kernel(
            self.kernel, self.kernel_gamma, self.degree, self.training.loss,
            gamma_name="kernel_gamma",
        )  # fmt: skip
        check_number("smoothing", self.smoothing, inclusive=True)
        check_number("n_stages", self.n_stages, integer=True, above=1, inclusive=True)
        check_flag("keep_if_better", self.keep_if_better)
        if not self.is_linear and self.n_stages > 1:
            raise ValueError(f"kernel={self.kernel!r} needs n_stages=1: stages are linear.")

    @property
    def is_linear(self) -> bool:
        """Whether models are linear in the projections."""
        return isinstance(self.kernel, str) and self.kernel == "linear"

    @property
    def most_epochs(self) -> int:
        """The most epochs of all runs of the solver together."""
        n_evaluated = self.n_stages if self.keep_if_better else self.n_stages - 1
        n_solves = 1 if self.n_stages == 1 else self.n_stages + n_evaluated * N_FOLDS
        return n_solves * self.training.max_iter

    def fit(
        self, data: LabelledRows, rng: np.random.Generator, workers: Workers, monitor: Monitor
    ) -> ClusterFit:
        """Clusters, landmarks and trained models."""
        if not self.is_linear:
            libsvm.check_size(data.X.shape[0], "X")
        chain = self._chain(data, rng, workers)
        projections = chain.feature_map.stored(data.X)
        check_projections(projections)
        if not self.is_linear:
            return self._fit_kernel(chain, projections, data, workers)
        first = Stage.of(chain, projections, data.X, self.smoothing, workers)
        training = self.training.for_rows(first.lifted(workers).squared_norms(), data)
        trainer = StageTrainer(
            data, training, self.clusters, self.smoothing, bool(self.keep_if_better), rng, workers,
            monitor,
        )  # fmt: skip
        model, problem, result = trainer.train(first, self.n_stages)
        return linear_fit(model, training, problem, result)

    def _chain(self, data: LabelledRows, rng: np.random.Generator, workers: Workers) -> LocalModel:
        X, weights = data.X, data.sample_weight
        gate = self.clusters.fit(X, weights, rng, workers)
        landmarks = choose_landmarks(X, weights, self.landmarks, self.n_landmarks, rng, workers)
        feature_map = LandmarkMap(landmarks, self.projection, self.gamma)
        feature_map = feature_map.fit(X, None, weights, rng)
        bias = Bias(0.0, offset=float(self.intercept_scaling))
        return LocalModel(feature_map, CodeOn(), gate, bias)

    def _fit_kernel(
        self, chain: LocalModel, projections: np.ndarray, data: LabelledRows, workers: Workers
    ) -> ClusterFit:
        codes = code_matrix(chain.encode(data.X, workers), chain.n_anchors)
        coupled = codes.toarray()
        if self.smoothing:
            mixing = smoothing_matrix(chain.gate.anchors, self.smoothing)
            coupled = codes @ (mixing @ mixing)
        kernel = libsvm.make_kernel(self.kernel, self.kernel_gamma, self.degree, projections)
        gram = libsvm.gram_matrix(kernel, projections)
        gram *= codes @ coupled.T
        training = self.training.for_rows(gram.diagonal(), data)
        labels = signed_labels(data.target, len(data.classes))
        found = libsvm.solve(gram, labels, training.C * data.sample_weight, training.tol)
        model = make_kernel_model(
            chain.feature_map, chain.gate, kernel, projections, coupled, found.coef, found.intercept
        )
        return kernel_fit(model, training, [found], found.coef)
