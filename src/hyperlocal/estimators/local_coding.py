"""LocalCodingSVC: a linear SVM on local codes (LCC+SVM)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from ..model.chain_settings import ChainSettings
from .chain_classifier import ChainClassifier
from .streaming import StreamFitting


@dataclass(eq=False, repr=False)
class LocalCodingSVC(StreamFitting, ChainClassifier):
    """Linear SVM on local codes: every local model is one number per class.

    ``f_c(x) = Σ_j γ_j(x) b_jc`` interpolates values at the anchors. It needs many more anchors than
    :class:`LocallyLinearSVC` for the same accuracy, but has few numbers per anchor.

    Parameters
    ----------
    n_anchors : int or "auto", default="auto"
        Number of anchors ``m``; "auto" is ``max(8, √N/4)``, at most N/2, of N distinct rows.
        Values in the hundreds or thousands suit this method.
    n_neighbors : int, default=8
        Active anchors per row; all, where there are fewer.
    coding : {"soft", "inverse_distance", "lle", "llc", "lcc", "hard"}, default="soft"
    beta : float or "auto", default="auto"
        Sharpness of the gate.
    anchors : {"kmeans", "random"} or array of shape (n_anchors, width), default="kmeans"
    code_on : "input", column indices or transformer, default="input"
        What distances are measured on.
    normalize : bool, default=True
        Scale each code to norm one.
    C : float, default=3.0
        Weight of the losses; a number, because this is the method of the paper.
    loss : {"squared_hinge", "hinge", "log"}, default="squared_hinge"
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
    solver : {"dual", "sgd", "qp"}, default="dual"
    max_iter : int, default=1000
        The most epochs.
    tol : float, default=1e-3
        Relative duality gap at which training stops.
    intercept_scaling : float, default=1.0
        The constant that is the one feature of a local model.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes; they multiply the weights of the class's rows.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seeds whatever is drawn.
    warm_start : bool, default=False
        Whether ``fit`` starts from the last weights.
    verbose : int, default=0
        All as in :class:`LocallyLinearSVC`.

    Attributes
    ----------
    anchors_ : ndarray of shape (n_anchors, width)
    intercept_ : ndarray of shape (n_anchors, n_columns)
        The values at the anchors.
    coef_ : ndarray of shape (n_anchors, n_columns, 0)
    classes_ : ndarray of shape (n_classes,)
    n_iter_ : int
        Epochs run.
    objective_, duality_gap_ : float
        The primal objective reached, and how far above the optimum it can be at most.
    history_ : list of (epoch, objective, duality gap)
    beta_ : float
        Sharpness of the soft coding.
    C_ : float
        The weight of the losses that was used.
    model_ : LocalModel
        All that prediction needs.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    See Also
    --------
    LocalCoder : The codes alone.

    References
    ----------
    K. Yu, T. Zhang and Y. Gong. Nonlinear learning using local coordinate coding. NIPS 2009.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from hyperlocal.papers import LocalCodingSVC
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> model = LocalCodingSVC(30, random_state=0).fit(X[:200], y[:200])
    >>> bool(model.score(X[200:], y[200:]) > 0.95)
    True
    """

    n_anchors: Any = "auto"
    _: KW_ONLY
    n_neighbors: int = 8
    coding: str = "soft"
    beta: Any = "auto"
    anchors: Any = "kmeans"
    code_on: Any = "input"
    normalize: bool = True
    C: float = 3.0
    loss: str = "squared_hinge"
    multi_class: str = "ovr"
    solver: str = "dual"
    max_iter: int = 1000
    tol: float = 1e-3
    intercept_scaling: float = 1.0
    class_weight: Any = None
    n_jobs: int | None = None
    random_state: Any = None
    warm_start: bool = False
    verbose: int = 0

    def _settings(self) -> ChainSettings:
        return ChainSettings.of(self, feature_map="bias_only", global_intercept=False)
