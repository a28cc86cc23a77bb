"""LocallyLinearSVR: locally linear support vector regression."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from .automatic_chain import AutomaticChain
from .chain_regressor import ChainRegressor
from .intervals import IntervalMixin
from .streaming import ValueStreamFitting


@dataclass(eq=False, repr=False)
class LocallyLinearSVR(AutomaticChain, IntervalMixin, ValueStreamFitting, ChainRegressor):
    """Locally linear support vector regression.

    Each of ``n_anchors`` anchors has a linear (or quadratic, …) model. The prediction for a row is
    that of the models of its ``n_neighbors`` nearest anchors, with weights from a smooth gate
    ``γ``: ``f(x) = Σ_j γ_j(x) (w_j · φ(x) + b_j)``. All models are trained together, by one convex
    problem ``min ½‖W‖² + C Σ_i s_i L(y_i − f(x_i))``. At every row the regressor equals a linear
    model, so each prediction has an exact linear explanation.

    Values are centered and divided by their standard deviation while the model is trained: ``C``
    and ``epsilon`` mean the same for any units of ``y``. Predictions, weights and intercepts are in
    the units of ``y``.

    Parameters
    ----------
    n_anchors : int, sequence of int, "auto" or "levels", default="auto"
        Number of local models, or levels of them, as in :class:`LocallyLinearSVC`. One anchor is a
        linear SVR.
    n_neighbors : int, default=8
        Active local models per row, ``k``; all, where there are fewer.
    coding : {"soft", "inverse_distance", "lle", "llc", "lcc", "hard"}, default="soft"
    beta : float or "auto", default="auto"
        Sharpness of the gate.
    anchors : {"kmeans", "random"} or array of shape (n_anchors, width), default="kmeans"
    feature_map : {"auto", None, "identity", "quadratic", "piecewise", "piecewise_quadratic", \
"additive_chi2", "intersection", "nystroem", "bias_only"}, transformer or FeatureMap, default="auto"
    code_on : {"input", "features"}, column indices or transformer, default="input"
    normalize : bool, default=True
        These determine gate and map, as in :class:`LocallyLinearSVC`.
    C : float or "auto", default="auto"
        Weight of the losses against ``½‖W‖²``. "auto" evaluates increasing values on held-out rows,
        and one linear model, one quadratic model and levels too if anchors and map are chosen
        automatically.
    loss : {"squared", "squared_epsilon_insensitive", "epsilon_insensitive", "huber", "quantile"}, \
default="squared"
        ``r²``; ``max(0, |r| − ε)²``; ``max(0, |r| − ε)``; ``r²`` up to ``|r| = ε`` and linear
        beyond; or ``q r`` for positive and ``(q − 1) r`` for negative residuals ``r``. The squared
        losses estimate the mean, the others the median or other quantiles, which outliers hardly
        change. The default is squared, because R² and errors of the mean are what is reported most.
    solver : {"dual", "sgd", "qp"}, default="dual"
    max_iter : int, default=1000
        The most epochs.
    tol : float, default=1e-3
        Relative duality gap at which training stops.
    intercept_scaling : float, default=1.0
        The constant feature; the intercept is penalized like the weights.
    global_intercept : bool, default=True
        Add an intercept that neither the gate nor the normalization scales.
    relevance : {None, "gradient", "auto"} or array, default="auto"
    scale : {"auto", "standard", None}, default="auto"
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seeds whatever is drawn.
    warm_start : bool, default=False
        Whether ``fit`` starts from the last weights.
    verbose : int, default=0
        All as in :class:`LocallyLinearSVC`.
    epsilon : float, default=0.1
        ``ε`` of the losses that have one, in standard deviations of ``y``.
    quantiles : float or sequence of float, default=0.5
        The levels ``q`` for ``loss="quantile"``, increasing. Several are fitted in one pass.

    Attributes
    ----------
    C_ : float
        The weight of the losses that was used.
    model_ : LocalModel
    chosen_ : dict
        Parameters that were chosen by ``C="auto"``.
    target_scale_ : TargetScale
        ``center`` and ``scale`` of the targets.
    quantiles_ : ndarray or None
        The levels, for ``loss="quantile"``.
    conformal_ : Conformal
        What ``calibrate`` learned.
    anchors_ : ndarray of shape (n_anchors, width)
    beta_ : float
    coef_ : ndarray of shape (n_anchors, n_columns, p)
        Weights of the local models; one column per target and quantile.
    intercept_ : ndarray of shape (n_anchors, n_columns)
    global_intercept_ : ndarray of shape (n_columns,)
        It holds the center of ``y``.
    relevance_ : ndarray of shape (n_features,) or (n_features, n_features), or None
        What features are multiplied by before everything else; zero if they are left out.
    n_iter_ : int
    objective_, duality_gap_ : float
        Of the problem with scaled values.
    history_ : list of (epoch, objective, duality gap)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    See Also
    --------
    LocallyLinearSVC : The same for classes.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal import LocallyLinearSVR
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, (600, 2))
    >>> y = np.sin(X[:, 0]) * X[:, 1]
    >>> model = LocallyLinearSVR(random_state=0).fit(X[:400], y[:400])
    >>> bool(model.score(X[400:], y[400:]) > 0.95)
    True
    >>> model.local_coef(X[400:401]).shape
    (1, 1, 2)
    """

    _: KW_ONLY
    loss: str = "squared"
    epsilon: float = 0.1
    quantiles: Any = 0.5
