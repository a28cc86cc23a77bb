"""ProfileSVC (PSVM): an independent SVM per cluster, on clusters with rows of all classes."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.arguments import check_number
from ..data.labelled import LabelledRows
from ..gates.balanced import balanced_clusters
from ..gates.clusters import ClusterSettings
from ..gates.code_on import CodeOn
from ..gates.codes import Codes
from ..gates.coupling import code_matrix
from ..gates.gate import Gate
from ..maps.base import FeatureMap
from ..model.kernel_model import make_kernel_model
from ..model.local_model import Bias, LocalModel
from ..model.multiclass import signed_labels
from ..runtime.progress import Monitor
from ..runtime.threads import Workers
from ..solvers import libsvm
from .cluster_training import ClusterFit, kernel_fit, linear_fit
from .clusterwise import ClusterwiseClassifier

ROWS_FOR_COST = 256


@dataclass(eq=False, repr=False)
class ProfileSVC(ClusterwiseClassifier):
    """Profile support vector classifier (PSVM).

    Training rows are clustered by k-means with a penalty on one-sided clusters (MagKmeans):
    ``min Σ_ij Z_ij ‖x_i − v_j‖² + R Σ_j |Σ_i Z_ij y_i|``. Then every cluster gets an SVM of its
    own. A new row is scored by the SVM of the nearest center's cluster. A class that a cluster has
    not seen scores −1 there, and the only class of a cluster scores 1, whatever the row.

    Parameters
    ----------
    n_anchors : int or "auto", default="auto"
        Number of clusters. "auto" is ``max(8, √N/4)``, at most N/8, of N distinct rows.
    C : float or "auto", default="auto"
        Weight of the losses. "auto" is ten over the mean squared length of the lifted rows, because
        these are not normalized: the best value depends on their scale.
    loss : {"hinge", "squared_hinge", "log"}, default="hinge"
        "hinge" because kernels are for it alone. "log" gives ``predict_proba``.
    max_iter : int, default=5000
        The most epochs; 5000 because rows that are not normalized need more of them.
    tol : float, default=1e-3
        Relative duality gap at which training stops.
    intercept_scaling : float, default=1.0
        The constant feature ``B``; biases are penalized like weights (linear kernel).
    class_weight : dict, "balanced" or None, default=None
        Weights of classes; they multiply the weights of the class's rows.
    n_jobs : int or None, default=None
        Threads: over rows for clusters and scores, over classes or clusters for training. The
        result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seeds clusters and the order of visits.
    verbose : int, default=0
        1 writes progress to stderr now and then, 2 every epoch.
    balance : float, default=1.0
        ``R`` in units of the rows' mean squared distance to their center; 0 is plain k-means.
    kernel : {"linear", "rbf", "poly"} or callable, default="linear"
        "linear" because only then there are weights; the SVMs of all clusters are one problem for
        the dual solver. Other kernels are solved by LIBSVM, cluster by cluster (in threads), up to
        10,000 rows each; their biases are not penalized. A callable takes two arrays of rows and
        returns the matrix of their products.
    gamma : float, "scale" or "auto", default="scale"
        ``exp(−γ‖a − b‖²)`` or ``(γ a·b + 1)^degree``; "scale", because one ``γ`` serves
        all rows, is one over the total variance, "auto" one over the number of features.
    degree : int, default=3
        Degree of the polynomial kernel.

    Attributes
    ----------
    anchors_ : ndarray of shape (n_anchors, n_features)
        Centers of the clusters.
    coef_ : ndarray of shape (n_anchors, n_columns, n_features)
        Weights (linear kernel only); one column per class, or one for two classes.
    intercept_ : ndarray of shape (n_anchors, n_columns)
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
    history_ : list of (epoch, objective, duality gap)
    model_ : LocalModel or KernelModel
        All that prediction needs.
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
    >>> from hyperlocal.papers import ProfileSVC
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> model = ProfileSVC(6, C=10.0, random_state=0).fit(X[:200], y[:200])
    >>> bool(model.score(X[200:], y[200:]) > 0.9)
    True
    """

    _: KW_ONLY
    balance: float = 1.0
    kernel: Any = "linear"
    gamma: Any = "scale"
    degree: int = 3

    def _clusters(self) -> ClusterSettings:
        return ClusterSettings(self.n_anchors)

    def _check_arguments(self) -> None:
        super()._check_arguments()
        check_number("balance", self.balance, inclusive=True)
        libsvm.check_kernel(self.kernel, self.gamma, self.degree, self.loss)
        if self.intercept_scaling == 0:
            raise ValueError(
                "intercept_scaling must be positive: the score of a cluster of one class is a bias."
            )

    def _train(
        self, data: LabelledRows, rng: np.random.Generator, workers: Workers, monitor: Monitor
    ) -> ClusterFit:
        centers, cluster = balanced_clusters(
            data.X, data.target, len(data.classes), data.sample_weight, self.n_anchors,
            self.balance, rng, workers,
        )  # fmt: skip
        feature_map, gate = FeatureMap(data.X.shape[1]), Gate(centers, 1, "hard")
        chain = LocalModel(feature_map, CodeOn(), gate, Bias(float(self.intercept_scaling)))
        if not (isinstance(self.kernel, str) and self.kernel == "linear"):
            return self._train_kernels(chain, data, cluster, workers)
        lifted = chain.lift_stored(data.X, _one_hot(cluster, data.X.dtype), workers)
        training = self._training().for_rows(lifted.squared_norms(), data)
        problem = chain.problem(data, training.C, training.loss, lifted=lifted)
        result = training.solve(problem, rng, monitor)
        weights = with_constants(result.weights, cluster, problem.labels, chain.bias.value)
        return linear_fit(chain.trained(weights), training, problem, result)

    def _train_kernels(
        self, chain: LocalModel, data: LabelledRows, cluster: np.ndarray, workers: Workers
    ) -> ClusterFit:
        sizes = np.bincount(cluster)
        libsvm.check_size(int(sizes.max()), "the largest cluster")
        sample = _dense(data.X[: libsvm.MOST_ROWS])
        kernel = libsvm.make_kernel(self.kernel, self.gamma, self.degree, sample)
        tried = sample[:ROWS_FOR_COST, None]
        lengths = np.array([libsvm.gram_matrix(kernel, row)[0, 0] for row in tried])
        training = self._training().for_rows(lengths, data)
        labels = signed_labels(data.target, len(data.classes))
        costs = training.C * data.sample_weight
        members = [np.flatnonzero(cluster == number) for number in range(len(sizes))]

        def solve(rows: np.ndarray) -> libsvm.KernelResult:
            gram = libsvm.gram_matrix(kernel, _dense(data.X[rows]))
            return libsvm.solve(gram, labels[rows], costs[rows], self.tol)

        parts = workers.map(solve, members)
        dual_coef = np.zeros(labels.shape)
        for rows, part in zip(members, parts, strict=True):
            dual_coef[rows] = part.coef
        codes = code_matrix(_one_hot(cluster, data.X.dtype), chain.n_anchors)
        intercept = np.array([part.intercept for part in parts])
        model = make_kernel_model(
            chain.feature_map, chain.gate, kernel, data.X, codes, dual_coef, intercept
        )
        return kernel_fit(model, training, parts, dual_coef)


def with_constants(
    weights: np.ndarray, cluster: np.ndarray, labels: np.ndarray, bias: float
) -> np.ndarray:
    """Weights in which the models of clusters that have one label only are that label."""
    smallest = np.full(weights.shape[:2], np.inf, weights.dtype)
    largest = -smallest
    np.minimum.at(smallest, cluster, labels)
    np.maximum.at(largest, cluster, labels)
    alone = smallest == largest
    weights = weights.copy()
    weights[alone] = 0
    weights[alone, -1] = largest[alone] / bias
    return weights


def _one_hot(cluster: np.ndarray, dtype: np.dtype) -> Codes:
    shape = (len(cluster), 1)
    return Codes(cluster.reshape(shape), np.ones(shape, dtype), np.zeros(shape, dtype))


def _dense(X: Any) -> np.ndarray:
    return X.toarray() if sp.issparse(X) else X
