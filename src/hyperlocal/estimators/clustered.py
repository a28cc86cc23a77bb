"""ClusteredSVC (CSVM): a linear model per cluster, all pulled to a global one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..data.arguments import check_number
from ..data.labelled import LabelledRows
from ..gates.clusters import fit_clusters, with_global_model
from ..maps.base import FeatureMap
from ..runtime.threads import Workers
from ..solvers import SolverResult
from .clusterwise import ClusterwiseClassifier


class ClusteredSVC(ClusterwiseClassifier):
    """Clustered support vector classifier (CSVM).

    One linear model per cluster, kept close to a global model that is learned with them:
    ``min λ/2 ‖w‖² + ½ Σ_l ‖w_l − w‖² + C Σ_i s_i ℓ(y_i w_l(i)·[x_i, B])``. Clusters with few rows
    follow the global model, large ones go their own way. With ``v_l = w_l − w`` this is a linear
    SVM on ``[x/√λ, 0 … x at block l … 0]``, and that is how it is solved.

    Parameters
    ----------
    n_clusters : int or "auto", default="auto"
        "auto" is ``max(8, √N/4)``, at most N/8, of N distinct rows.
    clusters : "kmeans", array of shape (n_clusters, n_features), or clusterer, default="kmeans"
        How rows are clustered: by k-means, by the nearest of given centres, or by ``predict`` of a
        scikit-learn clusterer, of which a clone is fitted.
    global_penalty : float, default=1.0
        ``λ``: the smaller, the more is left to the global model; very large makes clusters
        independent.
    C : float or "auto", default="auto"
        Weight of the losses. "auto" is ten over the mean squared length of the lifted rows.
    loss : {"hinge", "squared_hinge", "log"}, default="hinge"
        "log" gives ``predict_proba``.
    max_iter : int, default=5000
        The most epochs.
    tol : float, default=1e-3
        Relative duality gap at which training stops.
    intercept_scaling : float, default=1.0
        The constant feature ``B``; biases are penalised like weights.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes; they multiply the weights of the class's rows.
    n_jobs : int or None, default=None
        Threads: over rows for clusters and scores, over classes for training. The result does not
        depend on it.
    random_state : int, RandomState instance or None, default=None
        Seeds clusters and the order of visits.
    verbose : int, default=0
        1 writes progress to stderr now and then, 2 every epoch.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Of the clusters that had training rows.
    coef_ : ndarray of shape (n_clusters, n_columns, n_features)
        Weights ``w_l``; one column per class, or one for two classes.
    intercept_ : ndarray of shape (n_clusters, n_columns)
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
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    See Also
    --------
    LandmarkSVC : Clusters that share landmarks and one bias.
    ProfileSVC : Independent models on clusters that keep all classes inside.

    References
    ----------
    Q. Gu and J. Han. Clustered support vector machines. AISTATS 2013.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from hyperlocal import ClusteredSVC
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> model = ClusteredSVC(8, C=10.0, random_state=0).fit(X[:200], y[:200])
    >>> bool(model.score(X[200:], y[200:]) > 0.95)
    True
    """

    def __init__(
        self,
        n_clusters: Any = "auto",
        *,
        clusters: Any = "kmeans",
        global_penalty: float = 1.0,
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
        self.clusters = clusters
        self.global_penalty = global_penalty
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
        check_number("global_penalty", self.global_penalty)

    def _fit_gate(self, data: LabelledRows, rng: np.random.Generator, workers: Workers) -> None:
        self._feature_map = FeatureMap().fit(data.X, None, data.sample_weight, rng)
        self._gate = fit_clusters(
            data.X, data.sample_weight, self.clusters, self.n_clusters, rng, workers
        )

    def _train_clusters(
        self, data: LabelledRows, rng: np.random.Generator, workers: Workers
    ) -> SolverResult:
        n_clusters = self._gate.n_anchors
        weight = data.X.dtype.type(1 / np.sqrt(self.global_penalty))
        codes = with_global_model(self._encode(data.X, workers), n_clusters, float(weight))
        lifted = self._lift_mapped(data.X, codes, n_clusters + 1, workers)
        self._fix_cost(lifted.squared_norms(), data.sample_weight)
        result = self._solve_all(self._problem(lifted, data), rng)
        own, shared = result.weights[:-1], result.weights[-1] * weight
        bias = weight.dtype.type(self._bias)
        self.global_coef_, self.global_intercept_ = shared[:, :-1], shared[:, -1] * bias
        return replace(result, weights=np.ascontiguousarray(own + shared))
