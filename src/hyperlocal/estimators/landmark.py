"""LandmarkSVC: landmark-based linear local SVMs (L3-SVM) of Zantedeschi et al. (2016)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from ..data.labelled import LabelledRows
from ..gates.clusters import ClusterSettings
from ..maps.landmarks import LandmarkMap
from ..model.local_model import LocalModel
from ..model.stacked import first_map, n_models_before
from ..runtime.progress import Monitor
from ..runtime.threads import Workers
from .cluster_training import ClusterFit
from .clusterwise import ClusterwiseClassifier
from .landmark_training import LandmarkTraining
from .stability import Risk, StabilityMixin


@dataclass(eq=False, repr=False)
class LandmarkSVC(StabilityMixin, ClusterwiseClassifier):
    """Landmark-based linear local support vector classifier (L3-SVM).

    Rows are clustered and projected on landmarks that all clusters share,
    ``μ(x) = [μ(x, l_1) … μ(x, l_L)]``. Each cluster ``k`` has a weight per landmark, all have one
    bias: ``f(x) = θ_k(x) · μ(x) + b``. All are trained jointly,
    ``min ½‖θ‖² + ½(b/B)² + C Σ_i s_i ℓ(y_i f(x_i))``; the paper's ``c`` is ``C`` times the number
    of rows.

    Parameters
    ----------
    n_anchors : int or "auto", default="auto"
        Number of clusters. "auto" is ``max(8, √N/4)``, at most N/8, of N distinct rows.
    C : float or "auto", default="auto"
        Weight of the losses. "auto" is ten over the mean squared length of the lifted rows, because
        these are not normalized: good values span many orders of magnitude.
    loss : {"hinge", "squared_hinge", "log"}, default="hinge"
        "hinge" because the bound and kernels are for it alone. "log" gives ``predict_proba``.
    max_iter : int, default=5000
        The most epochs; 5000 because rows that are not normalized need more of them.
    tol : float, default=1e-3
        Relative duality gap at which training stops.
    intercept_scaling : float, default=1.0
        ``B``: the bias is penalized like a weight on this constant.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes; they multiply the weights of the class's rows.
    n_jobs : int or None, default=None
        Threads: over rows for clusters and scores, over classes for training. The result does not
        depend on it.
    random_state : int, RandomState instance or None, default=None
        Seeds clusters, landmarks and the order of visits.
    verbose : int, default=0
        1 writes progress to stderr now and then, 2 every epoch.
    n_neighbors : int, default=8
        Active clusters per row, unless ``coding="hard"``; all, where there are fewer.
    coding : {"hard", "soft", "inverse_distance", "lle", "llc", "lcc"}, default="hard"
        "hard", because it is the paper's form: a row's own cluster alone is active. Otherwise the
        ``n_neighbors`` nearest clusters are mixed as in :class:`LocallyLinearSVC`.
    beta : float or "auto", default="auto"
        Sharpness of the soft coding, as in :class:`LocallyLinearSVC`.
    anchors : {"kmeans", "random"}, array of shape (n_anchors, n_features), or clusterer, \
default="kmeans"
        How rows are clustered: by k-means, by the nearest of random rows or of given centers, or by
        ``predict`` of a scikit-learn clusterer, of which a clone is fitted.
    n_landmarks : int or "auto", default="auto"
        ``L``; "auto" is the number of features, or of distinct rows if there are fewer.
    landmarks : {"random", "pca", "kmeans"} or array of shape (n_landmarks, n_features), \
default="random"
        Random training rows, principal axes (at most as many as there are), k-means centers, or
        given points.
    projection : {"linear", "rbf"}, default="linear"
        ``x · l`` or ``exp(−γ‖x − l‖²)``.
    gamma : float or "auto", default="auto"
        ``γ`` of the RBF projection; "auto", because a projection has one ``γ`` for all rows, is one
        over the median squared distance between rows and landmarks.
    smoothing : float, default=0.0
        ``s`` of a penalty ``s/2 Σ ‖θ_k − θ_l‖²`` over pairs of neighboring clusters. It is solved
        exactly, by a change of variables in which every cluster is active at every row: training
        costs ``n_anchors`` times as much. Prediction costs nothing more.
    n_stages : int, default=1
        Stages of a stack: the scores of a stage join the projections of the next, which clusters
        the rows anew. It is trained with out-of-fold scores (5 folds), so that no label leaks.
    keep_if_better : bool, default=True
        Evaluate each stage by its out-of-fold scores: the stack ends before one that does not err
        less than the stage before, by more than two standard errors of the difference.
    kernel : {"linear", "rbf", "poly"} or callable, default="linear"
        "linear" because only then there are weights. Else LIBSVM solves the dual with the kernel
        ``(γ_i·γ_j) k(μ(x_i), μ(x_j))``, zero across clusters: at most 10,000 rows, no penalty on
        the bias. A callable takes two arrays of rows and returns the matrix of their products.
    kernel_gamma : float, "scale" or "auto", default="scale"
        ``exp(−γ‖a − b‖²)`` or ``(γ a·b + 1)^degree``; "scale" is one over the total variance of
        the projections, "auto" one over the number of landmarks.
    degree : int, default=3
        Degree of the polynomial kernel.

    Attributes
    ----------
    anchors_ : ndarray of shape (n_anchors, n_features)
        Centers of the clusters that had training rows.
    landmarks_ : ndarray of shape (n_landmarks, n_features)
    beta_, gamma_ : float
        Only where the coding is not "hard", and with the RBF projection.
    coef_ : ndarray of shape (n_anchors, n_columns, n_landmarks)
        Weights ``θ`` of the last stage (linear kernel only); one column per class, or one for two
        classes. After the first stage, a weight per column of scores is added.
    intercept_ : ndarray of shape (n_columns,)
        The bias that all clusters share.
    support_ : ndarray of int
        Rows that have a dual variable other than zero, in the last stage.
    dual_coef_ : ndarray of shape (n_columns, n_support)
        Their ``α_i y_i``.
    stability_ : float
        Uniform stability ``c L M²/N`` (Theorem 3.1): how much one row can change the loss of any
        other; hinge loss, linear kernel, one stage.
    empirical_risk_ : ndarray of shape (n_columns,)
        Mean loss over the training rows (linear kernel only).
    n_stages_ : int
        The stages that were kept.
    C_ : float
        The weight used.
    classes_ : ndarray of shape (n_classes,)
    n_iter_ : int
        Epochs run by the last stage.
    objective_, duality_gap_ : float
        The primal objective reached by the last stage, and how far above the optimum it can be.
    history_ : list of (epoch, objective, duality gap)
        Of the last stage.
    model_ : LocalModel or KernelModel
        All that prediction needs.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    See Also
    --------
    ClusteredSVC : Linear models per cluster, pulled to a global one.
    LocallyLinearSVC : A smooth gate and a bias per local model.

    References
    ----------
    V. Zantedeschi, R. Emonet and M. Sebban. L3-SVMs: landmarks-based linear local support vector
    machines. 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.papers import LandmarkSVC
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(400, 2))
    >>> y = np.sign(X[:, 0] * X[:, 1])
    >>> model = LandmarkSVC(4, C=10.0, random_state=0).fit(X[:200], y[:200])
    >>> bool(model.score(X[200:], y[200:]) > 0.9)
    True
    """

    _: KW_ONLY
    n_neighbors: int = 8
    coding: str = "hard"
    beta: Any = "auto"
    anchors: Any = "kmeans"
    n_landmarks: Any = "auto"
    landmarks: Any = "random"
    projection: str = "linear"
    gamma: Any = "auto"
    smoothing: float = 0.0
    n_stages: int = 1
    keep_if_better: bool = True
    kernel: Any = "linear"
    kernel_gamma: Any = "scale"
    degree: int = 3

    def _landmark_training(self) -> LandmarkTraining:
        return LandmarkTraining.of(self, self._clusters(), self._training())

    def _clusters(self) -> ClusterSettings:
        return ClusterSettings(
            self.n_anchors, self.anchors, self.coding, self.n_neighbors, self.beta
        )

    def _check_arguments(self) -> None:
        super()._check_arguments()
        self._landmark_training().check()

    def _most_epochs(self) -> int:
        return self._landmark_training().most_epochs

    def _train(
        self, data: LabelledRows, rng: np.random.Generator, workers: Workers, monitor: Monitor
    ) -> ClusterFit:
        found = self._landmark_training().fit(data, rng, workers, monitor)
        self._risk = None
        if isinstance(found.model, LocalModel):
            one_stage = self.n_stages == 1
            self._risk = Risk.of(found.model, found.training, data, workers, one_stage=one_stage)
        return found

    @property
    def intercept_(self) -> np.ndarray:
        """The intercept that all clusters share, ``(n_columns,)``."""
        model = self.model_
        return model.global_intercept if isinstance(model, LocalModel) else model.intercept

    @property
    def landmarks_(self) -> np.ndarray:
        """Landmarks, ``(n_landmarks, n_features)``."""
        return self._landmark_map().landmarks

    @property
    def gamma_(self) -> float:
        """``γ`` of the RBF projection."""
        if self._landmark_map().projection != "rbf":
            raise AttributeError("gamma_ belongs to projection='rbf'.")
        return float(self._landmark_map().gamma)

    @property
    def n_stages_(self) -> int:
        """Stages that were kept."""
        return n_models_before(self.model_.feature_map) + 1

    def _landmark_map(self) -> LandmarkMap:
        feature_map = first_map(self.model_.feature_map)
        assert isinstance(feature_map, LandmarkMap)
        return feature_map
