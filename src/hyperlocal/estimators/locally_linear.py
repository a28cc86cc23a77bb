"""LocallyLinearSVC: the locally linear SVM of Ladický and Torr (2011), LL-SVM."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from .automatic_chain import AutomaticChain
from .chain_classifier import ChainClassifier
from .streaming import StreamFitting


@dataclass(eq=False, repr=False)
class LocallyLinearSVC(AutomaticChain, StreamFitting, ChainClassifier):
    """Locally linear support vector classifier.

    Each of ``n_anchors`` anchors has a linear (or quadratic, …) model. A row is scored by the
    models of its ``n_neighbors`` nearest anchors, with weights from a smooth gate ``γ``:
    ``f_c(x) = Σ_j γ_j(x) (w_jc · φ(x) + b_jc)``. All models are trained together, by one convex
    problem ``min ½‖W‖² + C Σ_i s_i ℓ_i``. At every row the classifier equals a linear model, so
    each prediction has an exact linear explanation (``explain``).

    Parameters
    ----------
    n_anchors : int, sequence of int, "auto" or "levels", default="auto"
        Number of local models ``m``. "auto" is ``max(8, √N/4)``, at most N/8, of N distinct rows.
        One anchor is a linear SVM. Several numbers are levels of resolution, whose models are
        added: "levels" is one global model, as many local ones as "auto", and eight times as many.
    n_neighbors : int, default=8
        Active local models per row, ``k``; all, where there are fewer.
    coding : {"soft", "inverse_distance", "lle", "llc", "lcc", "hard"}, default="soft"
        The weights of the active models: proportional to ``exp(−β‖x − v‖²)``, to ``1/‖x − v‖``, by
        locally linear reconstruction (plain, with a locality penalty, sparse), or 1 at the nearest.
    beta : float or "auto", default="auto"
        Sharpness of the soft coding. "auto" is one over the median gap between the squared
        distances to the nearest and the (k/2)-th nearest anchor.
    anchors : {"kmeans", "random"} or array of shape (n_anchors, width), default="kmeans"
        Centers of k-means, random rows, or the given points, which may come from unlabelled rows.
    feature_map : {"auto", None, "identity", "quadratic", "piecewise", "piecewise_quadratic", \
"additive_chi2", "intersection", "nystroem", "bias_only"}, transformer or FeatureMap, default="auto"
        The features of the local models, ``φ(x)``: the row itself (None), all products of pairs of
        features ("quadratic"), lines with bends at the quantiles of each feature ("piecewise"),
        products of these, a finite map of an additive kernel, and so on. "auto" is quadratic on
        rescaled rows (so that features and products have similar sizes); above 64 features these
        and the products of at most 40 principal components, each with at least half a percent of
        the variance. It is the row itself for sparse rows. Of up to 256 columns that are mostly
        zeros, as indicators are, one model has all products, and local ones the row itself.
    code_on : {"input", "features"}, column indices or transformer, default="input"
        What distances to anchors are measured on.
    normalize : bool, default=True
        Scale each lifted row ``γ ⊗ [φ, 1]`` to norm one: the same ``C`` then suits most data, and
        training needs few epochs. False is the form of the papers.
    C : float or "auto", default="auto"
        Weight of the losses against ``½‖W‖²``. "auto" evaluates several values on held-out rows:
        noisy data need less than clean data. If anchors and map are left to "auto" too, it also
        chooses among one linear model of the rows as they are, one of pieces of the features, one
        model with the map, one with products of pieces, local models, and levels of them; a richer
        one only if it is better on held-out rows.
    loss : {"squared_hinge", "hinge", "log"}, default="squared_hinge"
        "log" gives ``predict_proba``.
    solver : {"dual", "sgd", "qp"}, default="dual"
        Dual coordinate descent; stochastic gradient (Algorithm 1 of the paper; ``partial_fit``);
        an interior-point method for small data (needs the extra ``hyperlocal[qp]``).
    max_iter : int, default=1000
        The most epochs.
    tol : float, default=1e-3
        Relative duality gap at which "dual" stops; relative progress per epoch at which "sgd" does.
    intercept_scaling : float, default=1.0
        The constant feature ``B`` of each local model; its weights are penalized like the others
        (not by "sgd").
    global_intercept : bool, default=True
        Add an intercept that neither the gate nor the normalization scales. Its penalty is
        negligible: it counts as one weight, whatever the number of rows.
    relevance : {None, "gradient", "auto"} or array, default="auto"
        Scale features by the gradients of the model's own scores, in up to four rounds, or mix
        them by the matrix of their products; see :class:`RelevanceScaler`. "auto" does so if
        ``C="auto"`` and held-out rows gain from it: irrelevant features then count less, in scores
        and in explanations. Of 300 rows and more, ten for each of at most 50 features, those
        that held-out rows lose nothing without are left out: their factors are zero. "gradient"
        takes the best round in any case. An array gives the scales, of shape (n_features,), or the
        matrix. Training keeps a copy of scaled rows.
    scale : {"auto", "standard", None}, default="auto"
        Standardize features inside, except for those of values 0 and 1; sparse rows are not
        centered. "auto" does so if features differ so much in size that many of them would not
        count in distances. Anchors, weights and explanations stay in the units of the input.
    n_jobs : int or None, default=None
        Threads: over rows for codes and scores, over classes for training. The result does not
        depend on it.
    random_state : int, RandomState instance or None, default=None
        Determines anchors and the order of visits.
    warm_start : bool, default=False
        Start from the last fit: reuse gate and map if their parameters are unchanged, and start
        from its dual variables (for the same rows) or weights ("sgd").
    verbose : int, default=0
        1 writes progress to stderr now and then, 2 every epoch.
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
        One problem per class against all others, or one joint problem.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes; they multiply the weights of the class's rows.

    Attributes
    ----------
    C_ : float
        The weight of the losses that was used.
    chosen_ : dict
        Parameters that were chosen by ``C="auto"``: ``LocallyLinearSVC(**chosen_)`` fits such a
        model without a choice.
    anchors_ : ndarray of shape (n_anchors, width)
        One anchor, if a single model was chosen; of levels, fine ones first. In the features as
        given, also where these are scaled by relevance.
    beta_ : float
    coef_ : ndarray of shape (n_anchors, n_columns, p)
        Weights of the local models; one column per class, or one for two classes.
    intercept_ : ndarray of shape (n_anchors, n_columns)
    global_intercept_ : ndarray of shape (n_columns,)
    relevance_ : ndarray of shape (n_features,) or (n_features, n_features), or None
        What features are multiplied by before everything else; zero if they are left out.
    classes_ : ndarray of shape (n_classes,)
    n_iter_ : int
        Epochs run.
    objective_, duality_gap_ : float
        The primal objective, and an upper bound of its distance from the optimum.
    history_ : list of (epoch, objective, duality gap)
    model_ : LocalModel
        All that prediction needs.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    See Also
    --------
    LocallyLinearSVCCV : Chooses anchors, feature map and C by cross-validation.
    SupervisedAnchorSVC : Learns the anchors too.

    References
    ----------
    L. Ladický and P. H. S. Torr. Locally linear support vector machines. ICML 2011.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from hyperlocal import LocallyLinearSVC
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> model = LocallyLinearSVC(random_state=0).fit(X[:200], y[:200])
    >>> bool(model.score(X[200:], y[200:]) > 0.95)
    True
    >>> model.local_coef(X[200:201]).shape
    (1, 1, 2)
    """

    _: KW_ONLY
    multi_class: str = "ovr"
    class_weight: Any = None
