"""ProfileSVC (PSVM): an independent SVM per cluster, on clusters that keep all classes inside."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.arguments import check_number
from ..data.labelled import LabelledRows
from ..gates.balanced import balanced_clusters
from ..gates.codes import Codes
from ..gates.gate import Gate
from ..maps.base import FeatureMap
from ..model.multiclass import signed_labels
from ..runtime.threads import Workers
from ..solvers import Problem, SolverResult
from ..solvers import libsvm as kernels
from .clusterwise import ClusterwiseClassifier

ROWS_FOR_COST = 256


class ProfileSVC(ClusterwiseClassifier):
    """Profile support vector classifier (PSVM).

    Training rows are clustered by k-means with a penalty on one-sided clusters (MagKmeans):
    ``min Σ_ij Z_ij ‖x_i − v_j‖² + R Σ_j |Σ_i Z_ij y_i|``. Then every cluster gets an SVM of its
    own. A new row is answered by the cluster of the nearest centre. A class that a cluster has not
    seen scores −1 there, and the only class of a cluster scores 1, whatever the row.

    Parameters
    ----------
    n_clusters : int or "auto", default="auto"
        "auto" is ``max(8, √N/4)``, at most N/8, of N distinct rows.
    balance : float, default=1.0
        ``R`` in units of the rows' mean squared distance to their centre; 0 is plain k-means.
    kernel : {"linear", "rbf", "poly"} or callable, default="linear"
        Linear SVMs of all clusters are one problem for the dual solver. Other kernels are given to
        LIBSVM, cluster by cluster (in threads), up to 10,000 rows each; their biases are not
        penalised. A callable takes two arrays of rows and returns the matrix of their products.
    gamma : float, "scale" or "auto", default="scale"
        ``exp(−γ‖a − b‖²)`` or ``(γ a·b + 1)^degree``; "scale" is one over the total variance,
        "auto" one over the number of features.
    degree : int, default=3
    C : float or "auto", default="auto"
        Weight of the losses. "auto" is ten over the mean squared length of the lifted rows.
    loss : {"hinge", "squared_hinge", "log"}, default="hinge"
        "log" gives ``predict_proba``. Kernels know the hinge only.
    max_iter : int, default=5000
        The most epochs.
    tol : float, default=1e-3
        Relative duality gap at which training stops.
    intercept_scaling : float, default=1.0
        The constant feature ``B``; biases are penalised like weights (linear kernel).
    class_weight : dict, "balanced" or None, default=None
        Weights of classes; they multiply the weights of the class's rows.
    n_jobs : int or None, default=None
        Threads: over rows for clusters and scores, over classes or clusters for training. The
        result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seeds clusters and the order of visits.
    verbose : int, default=0
        1 writes progress to stderr now and then, 2 every epoch.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
    coef_ : ndarray of shape (n_clusters, n_columns, n_features)
        Weights (linear kernel only); one column per class, or one for two classes.
    intercept_ : ndarray of shape (n_clusters, n_columns)
    support_ : ndarray of int
        Rows that have a dual variable other than zero.
    dual_coef_ : ndarray of shape (n_columns, n_support)
        Their ``α_i y_i``.
    C_ : float
        The weight used.
    classes_ : ndarray of shape (n_classes,)
    n_iter_ : int
    objective_, duality_gap_ : float
        The primal objective, summed over clusters, and how far above the optimum it can be.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    See Also
    --------
    ClusteredSVC : Linear models per cluster, pulled to a global one.

    References
    ----------
    H. Cheng, P.-N. Tan and R. Jin. Localized support vector machine and its efficient algorithm.
    SDM 2007.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from hyperlocal import ProfileSVC
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> model = ProfileSVC(6, C=10.0, random_state=0).fit(X[:200], y[:200])
    >>> bool(model.score(X[200:], y[200:]) > 0.9)
    True
    """

    clusters = "kmeans"  # MagKmeans starts from it; no other choice

    def __init__(
        self,
        n_clusters: Any = "auto",
        *,
        balance: float = 1.0,
        kernel: Any = "linear",
        gamma: Any = "scale",
        degree: int = 3,
        C: Any = "auto",
        loss: str = "hinge",
        max_iter: int = 5000,
        tol: float = 1e-3,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.balance = balance
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.C = C
        self.loss = loss
        self.max_iter = max_iter
        self.tol = tol
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_arguments(self) -> None:
        super()._check_arguments()
        check_number("balance", self.balance, inclusive=True)
        kernels.check_kernel(self.kernel, self.gamma, self.degree, self.loss)
        if self.intercept_scaling == 0:
            raise ValueError(
                "intercept_scaling must be positive: its bias answers for a cluster of one class."
            )

    # ---- training ------------------------------------------------------------------------------

    def _fit_gate(self, data: LabelledRows, rng: np.random.Generator, workers: Workers) -> None:
        self._feature_map = FeatureMap().fit(data.X, None, data.sample_weight, rng)
        centres, self._cluster = balanced_clusters(
            data.X, data.target, len(data.classes), data.sample_weight, self.n_clusters,
            self.balance, rng, workers,
        )  # fmt: skip
        self._gate = Gate(centres, 1, "hard")

    def _train_clusters(
        self, data: LabelledRows, rng: np.random.Generator, workers: Workers
    ) -> SolverResult:
        cluster = self.__dict__.pop("_cluster")
        self._machines: list[kernels.KernelMachine] = []
        self._uses_kernel = self.kernel != "linear"
        if self._uses_kernel:
            return self._train_kernels(data, cluster, workers)
        shape = (len(cluster), 1)
        codes = Codes(
            cluster.reshape(shape), np.ones(shape, data.X.dtype), np.zeros(shape, data.X.dtype)
        )
        lifted = self._lift_mapped(data.X, codes, self._gate.n_anchors, workers)
        self._fix_cost(lifted.squared_norms(), data.sample_weight)
        problem = self._problem(lifted, data)
        result = self._solve_all(problem, rng)
        return replace(result, weights=self._with_constants(result.weights, cluster, problem))

    def _with_constants(
        self, weights: np.ndarray, cluster: np.ndarray, problem: Problem
    ) -> np.ndarray:
        """Weights in which models of one label only are that label."""
        smallest = np.full(weights.shape[:2], np.inf, weights.dtype)
        largest = -smallest
        np.minimum.at(smallest, cluster, problem.labels)
        np.maximum.at(largest, cluster, problem.labels)
        alone = smallest == largest
        weights[alone] = 0
        weights[alone, -1] = largest[alone] / self._bias
        return weights

    def _train_kernels(
        self, data: LabelledRows, cluster: np.ndarray, workers: Workers
    ) -> SolverResult:
        sizes = np.bincount(cluster)
        kernels.check_size(int(sizes.max()), "the largest cluster")
        sample = _dense(data.X[: kernels.MOST_ROWS])
        kernel = kernels.make_kernel(self.kernel, self.gamma, self.degree, sample)
        labels = signed_labels(data.target, len(data.classes))
        tried = sample[:ROWS_FOR_COST, None]
        lengths = np.array([kernels.gram_matrix(kernel, row)[0, 0] for row in tried])
        self._fix_cost(lengths, data.sample_weight[:ROWS_FOR_COST])
        costs = self.C_ * data.sample_weight

        def solve(number: int) -> tuple[np.ndarray, kernels.KernelResult, kernels.KernelMachine]:
            members = np.flatnonzero(cluster == number)
            rows = _dense(data.X[members])
            gram = kernels.gram_matrix(kernel, rows)
            result = kernels.solve(gram, labels[members], costs[members], self.tol)
            return members, result, kernels.machine_of(result, kernel, rows, None)

        parts = workers.map(solve, range(len(sizes)))
        self._machines = [machine for _, _, machine in parts]
        alpha = np.zeros(labels.shape)
        for members, result, _ in parts:
            alpha[members] = np.abs(result.coef)
        return SolverResult(
            weights=np.zeros((0, labels.shape[1], data.X.shape[1] + 1), data.X.dtype),
            n_iter=max(result.n_iter for _, result, _ in parts),
            objective=sum(result.objective for _, result, _ in parts),
            duality_gap=sum(result.duality_gap for _, result, _ in parts),
            converged=True,
            alpha=alpha,
        )

    # ---- prediction ----------------------------------------------------------------------------

    def _kernel_scores(self, X: Any, workers: Workers) -> np.ndarray:
        cluster = self._encode(X, workers).anchors[:, 0]
        scores = np.empty((X.shape[0], self._weights.shape[1]))

        def fill(number: int) -> None:
            members = np.flatnonzero(cluster == number)
            scores[members] = self._machines[number].scores(_dense(X[members]))

        workers.map(fill, np.unique(cluster))
        return scores

    @property
    def intercept_(self) -> np.ndarray:
        """Intercepts of the clusters' models, ``(n_clusters, n_columns)``."""
        if self._uses_kernel:
            return np.array([machine.intercept for machine in self._machines])
        return super().intercept_


def _dense(X: Any) -> np.ndarray:
    return X.toarray() if sp.issparse(X) else X
