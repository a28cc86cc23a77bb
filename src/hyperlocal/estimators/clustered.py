"""ClusteredSVC (CSVM): a linear model per cluster, all pulled to a global one."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from ..data.arguments import check_number
from ..data.labelled import LabelledRows
from ..gates.code_on import CodeOn
from ..gates.coupling import with_global_model
from ..maps.base import FeatureMap
from ..model.local_model import Bias, LocalModel, read_only
from ..runtime.progress import Monitor
from ..runtime.threads import Workers
from .cluster_training import ClusterFit, linear_fit
from .clusterwise import ClusterwiseClassifier


@dataclass(eq=False, repr=False)
class ClusteredSVC(ClusterwiseClassifier):
    """Clustered support vector classifier (CSVM).

    One linear model per cluster, kept close to a global model that is learned with them:
    ``min λ/2 ‖w‖² + ½ Σ_l ‖w_l − w‖² + C Σ_i s_i ℓ(y_i w_l(i)·[x_i, B])``. The models of
    clusters with few rows stay near the global one, those of large clusters may differ more. With
    ``v_l = w_l − w`` this is a linear SVM on ``[x/√λ, 0 … x at block l … 0]``, and that is how it
    is solved.

    Parameters
    ----------
    n_anchors : int or "auto", default="auto"
        Number of clusters. "auto" is ``max(8, √N/4)``, at most N/8, of N distinct rows.
    C : float or "auto", default="auto"
        Weight of the losses. "auto" is ten over the mean squared length of the lifted rows, because
        these are not normalized: the best value depends on their scale.
    loss : {"hinge", "squared_hinge", "log"}, default="hinge"
        "hinge" because it is the paper's; "log" gives ``predict_proba``.
    max_iter : int, default=5000
        The most epochs; 5000 because rows that are not normalized need more of them.
    tol : float, default=1e-3
        Relative duality gap at which training stops.
    intercept_scaling : float, default=1.0
        The constant feature ``B``; biases are penalized like weights.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes; they multiply the weights of the class's rows.
    n_jobs : int or None, default=None
        Threads: over rows for clusters and scores, over classes for training. The result does not
        depend on it.
    random_state : int, RandomState instance or None, default=None
        Seeds clusters and the order of visits.
    verbose : int, default=0
        1 writes progress to stderr now and then, 2 every epoch.
    anchors : {"kmeans", "random"}, array of shape (n_anchors, n_features), or clusterer, \
default="kmeans"
        How rows are clustered: by k-means, by the nearest of random rows or of given centers, or by
        ``predict`` of a scikit-learn clusterer, of which a clone is fitted.
    global_penalty : float, default=1.0
        ``λ``: the smaller, the more is left to the global model; very large makes clusters
        independent.

    Attributes
    ----------
    anchors_ : ndarray of shape (n_anchors, n_features)
        Centers of the clusters that had training rows.
    coef_ : ndarray of shape (n_anchors, n_columns, n_features)
        Weights ``w_l``; one column per class, or one for two classes.
    intercept_ : ndarray of shape (n_anchors, n_columns)
    global_coef_ : ndarray of shape (n_columns, n_features)
        Weights of the global model ``w``.
    global_intercept_ : ndarray of shape (n_columns,)
    support_ : ndarray of int
        Rows that have a dual variable other than zero.
    dual_coef_ : ndarray of shape (n_columns, n_support)
        Their ``α_i y_i``.
    C_ : float
        The weight used.
    classes_ : ndarray of shape (n_classes,)
    n_iter_ : int
        Epochs run.
    objective_, duality_gap_ : float
        The primal objective reached, and how far above the optimum it can be at most.
    history_ : list of (epoch, objective, duality gap)
    model_ : LocalModel
        All that prediction needs.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    See Also
    --------
    LandmarkSVC : Clusters that share landmarks and one bias.
    ProfileSVC : Independent models on clusters with rows of all classes.

    References
    ----------
    Q. Gu and J. Han. Clustered support vector machines. AISTATS 2013.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from hyperlocal.papers import ClusteredSVC
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> model = ClusteredSVC(8, C=10.0, random_state=0).fit(X[:200], y[:200])
    >>> bool(model.score(X[200:], y[200:]) > 0.95)
    True
    """

    _: KW_ONLY
    anchors: Any = "kmeans"
    global_penalty: float = 1.0

    def _check_arguments(self) -> None:
        super()._check_arguments()
        check_number("global_penalty", self.global_penalty)

    def _train(
        self, data: LabelledRows, rng: np.random.Generator, workers: Workers, monitor: Monitor
    ) -> ClusterFit:
        gate = self._clusters().fit(data.X, data.sample_weight, rng, workers)
        bias = Bias(float(self.intercept_scaling))
        chain = LocalModel(FeatureMap(data.X.shape[1]), CodeOn(), gate, bias)
        weight = data.X.dtype.type(1 / np.sqrt(self.global_penalty))
        codes = with_global_model(chain.encode(data.X, workers), gate.n_anchors, float(weight))
        lifted = chain.lift_stored(data.X, codes, workers, n_anchors=gate.n_anchors + 1)
        training = self._training().for_rows(lifted.squared_norms(), data)
        problem = chain.problem(data, training.C, training.loss, lifted=lifted)
        result = training.solve(problem, rng, monitor)
        own, shared = result.weights[:-1], result.weights[-1] * weight
        self.global_coef_ = read_only(shared[:, :-1])
        self.global_intercept_ = read_only(shared[:, -1] * bias.value)
        model = chain.trained(np.ascontiguousarray(own + shared))
        return linear_fit(model, training, problem, result)
