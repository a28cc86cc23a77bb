"""LandmarkSVC: landmark-based linear local SVMs (L3-SVM) of Zantedeschi et al. (2016)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import row_norms
from sklearn.utils.validation import check_is_fitted

from ..data.arguments import check_flag, check_number
from ..data.labelled import LabelledRows
from ..gates.clusters import fit_clusters, smoothed, smoothing_matrix
from ..gates.codes import Codes
from ..gates.gate import Gate, fit_gate
from ..maps.landmarks import LandmarkMap, check_landmarks, choose_landmarks
from ..model.lifting import LiftedRows
from ..model.losses import loss_values, margins
from ..model.multiclass import signed_labels
from ..runtime.progress import EpochMonitor
from ..runtime.threads import Workers
from ..solvers import Problem, SolverResult, dual
from ..solvers import libsvm as kernels
from .clusterwise import ClusterwiseClassifier
from .stability import BoundTerms
from .stages import N_FOLDS, EarlierStage, StageClusters, StageTrainer


class LandmarkSVC(ClusterwiseClassifier):
    """Landmark-based linear local support vector classifier (L3-SVM).

    Rows are clustered and projected on landmarks that all clusters share,
    ``μ(x) = [μ(x, l_1) … μ(x, l_L)]``. Each cluster ``k`` has a weight per landmark, all have one
    bias: ``f(x) = θ_k(x) · μ(x) + b``. All are trained jointly,
    ``min ½‖θ‖² + ½(b/B)² + C Σ_i s_i ℓ(y_i f(x_i))``; the paper's ``c`` is ``C`` times the number
    of rows.

    Parameters
    ----------
    n_clusters : int or "auto", default="auto"
        "auto" is ``max(8, √N/4)``, at most N/8, of N distinct rows.
    n_landmarks : int or "auto", default="auto"
        ``L``; "auto" is the number of features, or of distinct rows if there are fewer.
    landmarks : {"random", "pca", "kmeans"} or array of shape (n_landmarks, n_features), \
default="random"
        Random training rows, principal axes (at most as many as there are), k-means centres, or
        given points.
    projection : {"linear", "rbf"}, default="linear"
        ``x · l`` or ``exp(−‖x − l‖²/σ)``.
    sigma : float or "auto", default="auto"
        ``σ`` of the RBF; "auto" is the median squared distance between rows and landmarks.
    clusters : "kmeans", array of shape (n_clusters, n_features), or clusterer, default="kmeans"
        How rows are clustered: by k-means, by the nearest of given centres, or by ``predict`` of a
        scikit-learn clusterer, of which a clone is fitted.
    soft_clusters : bool, default=False
        Mix the weights of the ``n_neighbors`` nearest clusters by ``γ_k ∝ exp(−β‖x − v_k‖²)``
        instead of using the row's own alone.
    n_neighbors : int, default=8
        Active clusters per row with ``soft_clusters``.
    smoothing : float, default=0.0
        ``s`` of a penalty ``s/2 Σ ‖θ_k − θ_l‖²`` over pairs of neighbouring clusters. It is solved
        exactly, by a change of variables in which every cluster speaks at every row: training
        costs ``n_clusters`` times as much. Prediction costs nothing more.
    n_stages : int, default=1
        Stages of a stack: the scores of a stage join the projections of the next, which clusters
        the rows anew. Out-of-fold scores (5 folds) are used in training, so that no row's own label
        leaks.
    keep_if_better : bool, default=True
        Judge each stage by its out-of-fold scores: the stack ends before one that does not err less
        than the stage before, by more than two standard errors of the difference.
    kernel : {"linear", "rbf", "poly"} or callable, default="linear"
        Other than linear: the dual is solved by LIBSVM with the kernel
        ``(γ_i·γ_j) k(μ(x_i), μ(x_j))``, which is zero across clusters. At most 10,000 rows, and
        the bias is not penalised. A callable takes two arrays of rows and returns the matrix of
        their products.
    gamma : float, "scale" or "auto", default="scale"
        ``exp(−γ‖a − b‖²)`` or ``(γ a·b + 1)^degree``; "scale" is one over the total variance of
        the projections, "auto" one over the number of landmarks.
    degree : int, default=3
    C : float or "auto", default="auto"
        Weight of the losses. Linear projections are as large as squared rows, so good values span
        many orders of magnitude; "auto" is ten over the mean squared length of the lifted rows.
    loss : {"hinge", "squared_hinge", "log"}, default="hinge"
        "log" gives ``predict_proba``. Kernels and the bound know the hinge only.
    max_iter : int, default=5000
        The most epochs.
    tol : float, default=1e-3
        Relative duality gap at which training stops.
    intercept_scaling : float, default=1.0
        ``B``: the bias is penalised like a weight on this constant.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes; they multiply the weights of the class's rows.
    n_jobs : int or None, default=None
        Threads: over rows for clusters and scores, over classes for training. The result does not
        depend on it.
    random_state : int, RandomState instance or None, default=None
        Seeds clusters, landmarks and the order of visits.
    verbose : int, default=0
        1 writes progress to stderr now and then, 2 every epoch.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Of the clusters that had training rows.
    landmarks_ : ndarray of shape (n_landmarks, n_features)
    sigma_ : float
        Only with the RBF projection.
    coef_ : ndarray of shape (n_clusters, n_columns, n_landmarks)
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
    >>> from hyperlocal import LandmarkSVC
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(400, 2))
    >>> y = np.sign(X[:, 0] * X[:, 1])
    >>> model = LandmarkSVC(4, C=10.0, random_state=0).fit(X[:200], y[:200])
    >>> bool(model.score(X[200:], y[200:]) > 0.9)
    True
    """

    _shared_bias = True
    _feature_map: LandmarkMap
    _machine: kernels.KernelMachine
    _bound_terms: BoundTerms | None

    def __init__(
        self,
        n_clusters: Any = "auto",
        *,
        n_landmarks: Any = "auto",
        landmarks: Any = "random",
        projection: str = "linear",
        sigma: Any = "auto",
        clusters: Any = "kmeans",
        soft_clusters: bool = False,
        n_neighbors: int = 8,
        smoothing: float = 0.0,
        n_stages: int = 1,
        keep_if_better: bool = True,
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
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.projection = projection
        self.sigma = sigma
        self.clusters = clusters
        self.soft_clusters = soft_clusters
        self.n_neighbors = n_neighbors
        self.smoothing = smoothing
        self.n_stages = n_stages
        self.keep_if_better = keep_if_better
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

    # ---- training ------------------------------------------------------------------------------

    def _check_arguments(self) -> None:
        super()._check_arguments()
        check_landmarks(self.n_landmarks, self.landmarks, self.projection, self.sigma)
        kernels.check_kernel(self.kernel, self.gamma, self.degree, self.loss)
        check_flag("soft_clusters", self.soft_clusters)
        check_number("n_neighbors", self.n_neighbors, integer=True, above=1, inclusive=True)
        check_number("smoothing", self.smoothing, inclusive=True)
        check_number("n_stages", self.n_stages, integer=True, above=1, inclusive=True)
        check_flag("keep_if_better", self.keep_if_better)
        if self.kernel != "linear" and self.n_stages > 1:
            raise ValueError(f"kernel={self.kernel!r} needs n_stages=1: stages are linear.")

    def _fit_gate(self, data: LabelledRows, rng: np.random.Generator, workers: Workers) -> None:
        X, weights = data.X, data.sample_weight
        if self.kernel != "linear":
            kernels.check_size(X.shape[0], "X")
        self._gate = self._new_gate(data, rng, workers)
        landmarks = choose_landmarks(X, weights, self.landmarks, self.n_landmarks, rng, workers)
        feature_map = LandmarkMap(landmarks, self.projection, self.sigma)
        self._feature_map = feature_map.fit(X, None, weights, rng)

    def _new_gate(self, data: LabelledRows, rng: np.random.Generator, workers: Workers) -> Gate:
        X, weights = data.X, data.sample_weight
        gate = fit_clusters(X, weights, self.clusters, self.n_clusters, rng, workers)
        if not self.soft_clusters:
            return gate
        return fit_gate(X, weights, gate.anchors, self.n_neighbors, "soft", "auto", rng, workers)

    def _train_clusters(
        self, data: LabelledRows, rng: np.random.Generator, workers: Workers
    ) -> SolverResult:
        projections = self._feature_map.stored(data.X)
        _check_size(projections)
        self._earlier: list[EarlierStage] = []
        self._uses_kernel = self.kernel != "linear"
        self._bound_terms = None
        self.__dict__.pop("empirical_risk_", None)
        if self._uses_kernel:
            return self._train_kernel(projections, data, workers)
        result = self._train_stages(projections, data, rng, workers)
        if self.loss == "hinge" and self.n_stages == 1:
            self._bound_terms = self._terms_of_the_bound(data)
        lifted = self._lift_stages(projections, data.X, workers)[-1]
        scores = lifted.scores(result.weights)
        losses = loss_values(self.loss, margins(scores, self._problem(lifted, data).target, False))
        self.empirical_risk_ = np.average(losses, axis=0, weights=data.sample_weight)
        return result

    def _stage_clusters(self, gate: Gate, X: Any, workers: Workers) -> StageClusters:
        """A gate, and the codes that clusters are trained with: smoothing couples them."""
        codes = gate.encode(X, workers)
        if not self.smoothing:
            return StageClusters(gate, codes)
        mixing = smoothing_matrix(gate.anchors, self.smoothing)
        return StageClusters(gate, smoothed(codes, mixing), mixing)

    def _train_stages(
        self,
        projections: np.ndarray,
        data: LabelledRows,
        rng: np.random.Generator,
        workers: Workers,
    ) -> SolverResult:
        n_judged = self.n_stages if self.keep_if_better else self.n_stages - 1
        n_solves = 1 if self.n_stages == 1 else self.n_stages + n_judged * N_FOLDS
        monitor = EpochMonitor(self, n_solves * self.max_iter, self.verbose)

        def next_clusters() -> StageClusters:
            return self._stage_clusters(self._new_gate(data, rng, workers), data.X, workers)

        def lift(stored: np.ndarray, codes: Codes, n_clusters: int) -> LiftedRows:
            return self._lift_mapped(stored, codes, n_clusters, workers)

        def solve(problem: Problem) -> SolverResult:
            return dual.solve(
                problem, tol=self.tol, max_iter=self.max_iter, rng=rng, monitor=monitor.epoch
            )

        first = self._stage_clusters(self._gate, data.X, workers)
        squared_norms = lift(projections, first.codes, first.gate.n_anchors).squared_norms()
        self._fix_cost(squared_norms, data.sample_weight)
        trainer = StageTrainer(
            data, next_clusters, lift, self._problem, solve, rng, bool(self.keep_if_better)
        )
        try:
            self._earlier, self._gate, result = trainer.train(projections, first, self.n_stages)
        finally:
            monitor.close()
        return result

    def _train_kernel(
        self, projections: np.ndarray, data: LabelledRows, workers: Workers
    ) -> SolverResult:
        gate = _gate_matrix(self._encode(data.X, workers), self._gate.n_anchors)
        seen = gate.toarray()
        if self.smoothing:
            mixing = smoothing_matrix(self._gate.anchors, self.smoothing)
            seen = gate @ (mixing @ mixing)
        kernel = kernels.make_kernel(self.kernel, self.gamma, self.degree, projections)
        gram = kernels.gram_matrix(kernel, projections)
        gram *= gate @ seen.T
        self._fix_cost(gram.diagonal(), data.sample_weight)
        labels = signed_labels(data.target, len(data.classes))
        found = kernels.solve(gram, labels, self.C_ * data.sample_weight, self.tol)
        self._machine = kernels.machine_of(found, kernel, projections, seen)
        return SolverResult(
            weights=np.zeros((0, labels.shape[1], projections.shape[1] + 1), projections.dtype),
            n_iter=found.n_iter,
            objective=found.objective,
            duality_gap=found.duality_gap,
            converged=True,
            alpha=np.abs(found.coef),
        )

    # ---- prediction ----------------------------------------------------------------------------

    def _lift_rows(self, X: Any, workers: Workers) -> LiftedRows:
        return self._lift_stages(self._feature_map.stored(X), X, workers)[-1]

    def _lift_stages(self, projections: np.ndarray, X: Any, workers: Workers) -> list[LiftedRows]:
        """Rows as each stage sees them: projections, and scores of the stage before."""
        stages, stored = [], projections
        for stage in self._earlier:
            codes = stage.gate.encode(X, workers)
            lifted = self._lift_mapped(stored, codes, stage.gate.n_anchors, workers)
            stored = np.hstack([projections, lifted.scores(stage.weights) * stage.scale])
            stages.append(lifted)
        codes = self._encode(X, workers)
        return [*stages, self._lift_mapped(stored, codes, self._gate.n_anchors, workers)]

    def _kernel_scores(self, X: Any, workers: Workers) -> np.ndarray:
        gate = _gate_matrix(self._encode(X, workers), self._gate.n_anchors)
        return self._machine.scores(self._feature_map.stored(X), gate)

    def _models_at(self, X: Any, workers: Workers) -> tuple[np.ndarray, np.ndarray]:
        """Weights on projections and intercepts; those on earlier scores are traced back."""
        n_landmarks = self._feature_map.n_features_out
        *below_last, last = self._lift_stages(self._feature_map.stored(X), X, workers)
        coef, intercept = last.local_models(self._weights)
        coef, on_scores = coef[..., :n_landmarks], coef[..., n_landmarks:]
        for stage, lifted in zip(reversed(self._earlier), reversed(below_last), strict=True):
            below, below_intercept = lifted.local_models(stage.weights)
            on_scores = on_scores * stage.scale
            intercept = intercept + np.einsum("ncs,ns->nc", on_scores, below_intercept)
            below = on_scores @ below
            coef, on_scores = coef + below[..., :n_landmarks], below[..., n_landmarks:]
        return coef, intercept

    # ---- theory --------------------------------------------------------------------------------

    def _terms_of_the_bound(self, data: LabelledRows) -> BoundTerms:
        n_rows = float(data.sample_weight.sum())
        size = 1.0
        if self.projection == "linear":
            squares = [row_norms(rows, squared=True).max() for rows in (data.X, self.landmarks_)]
            size = max(1.0, *map(float, squares))
        return BoundTerms(self.C_ * n_rows, len(self.landmarks_), size, n_rows)

    def _require_bound(self) -> BoundTerms:
        check_is_fitted(self, "classes_")
        if self._bound_terms is None:
            raise AttributeError(
                "the bound holds for loss='hinge', kernel='linear' and n_stages=1 only."
            )
        return self._bound_terms

    @property
    def stability_(self) -> float:
        """Uniform stability ``c L M²/N`` (Theorem 3.1)."""
        return self._require_bound().stability

    def generalization_bound(self, delta: float = 0.05) -> Any:
        """An upper bound of the expected hinge loss that holds with probability ``1 − delta``.

        The corollary of Theorem 3.2: ``R_emp + β + (2β + 1 + 2c√L M) √(ln(1/δ)/2N)`` with the
        stability ``β = c L M²/N``. ``M`` bounds a projection: the largest squared norm of a row or
        landmark, at least 1, for the linear projection, and 1 for the RBF. ``c = C N``. The bound
        is loose: it says more about how risk depends on ``C``, ``L`` and ``N`` than about its size.

        Parameters
        ----------
        delta : float, default=0.05
            Probability that the bound fails.

        Returns
        -------
        float for two classes, else ndarray of shape (n_classes,)
            One bound for each class against the rest.
        """
        terms = self._require_bound()
        check_number("delta", delta)
        if delta >= 1:
            raise ValueError(f"delta must be a number between 0 and 1, not {delta!r}.")
        bounds = self.empirical_risk_ + terms.slack(float(delta))
        return float(bounds[0]) if len(bounds) == 1 else bounds

    # ---- fitted attributes ---------------------------------------------------------------------

    @property
    def landmarks_(self) -> np.ndarray:
        """Landmarks, ``(n_landmarks, n_features)``."""
        return self._feature_map.landmarks

    @property
    def sigma_(self) -> float:
        """``σ`` of the RBF projection."""
        return float(self._feature_map.sigma)

    @property
    def n_stages_(self) -> int:
        """Stages that were kept."""
        return len(self._earlier) + 1

    @property
    def intercept_(self) -> np.ndarray:
        """The bias that all clusters share, ``(n_columns,)``."""
        if self._uses_kernel:
            return self._machine.intercept
        return self._weights[0, :, -1] * self._weights.dtype.type(self._bias)


def _gate_matrix(codes: Codes, n_clusters: int) -> sp.csr_array:
    """Codes written out, ``(n_rows, n_clusters)``."""
    n_rows, n_active = codes.anchors.shape
    starts = np.arange(0, n_rows * n_active + 1, n_active)
    values = codes.weights.ravel().astype(np.float64)
    return sp.csr_array((values, codes.anchors.ravel(), starts), shape=(n_rows, n_clusters))


def _check_size(projections: np.ndarray) -> None:
    """Raise where squares of projections overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        largest = float(row_norms(projections, squared=True).max())
    if not np.isfinite(largest):
        raise ValueError(
            f"projections on landmarks overflow in {projections.dtype}; scale the features first, "
            "for instance with make_pipeline(StandardScaler(), ...)."
        )
