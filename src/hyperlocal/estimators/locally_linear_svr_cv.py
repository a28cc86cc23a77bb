"""LocallyLinearSVRCV: chooses anchors, feature map and C of a regression by cross-validation."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from .base import ChainAttributes, LocalEstimator, LocalRegressor
from .explained import ExplainMixin
from .intervals import IntervalMixin
from .locally_linear_svr import LocallyLinearSVR
from .searched_chain import SearchedChain
from .tasks import Regression


@dataclass(eq=False, repr=False)
class LocallyLinearSVRCV(
    SearchedChain,
    IntervalMixin,
    ChainAttributes,
    LocalRegressor,
    LocalEstimator,
    ExplainMixin,
):
    """:class:`LocallyLinearSVR` that chooses its own settings by cross-validation.

    The search is that of :class:`LocallyLinearSVCCV`, with levels of anchors among the candidates.

    Parameters
    ----------
    n_anchors : sequence, int or "auto", default="auto"
        Numbers of local models to try; an element that is a tuple, or "levels", is levels of them,
        as in :class:`LocallyLinearSVR`. "auto" is 1, ``u = max(8, √N/4)``, "levels", the finer
        levels 1, u, 4u, 16u, … up to N/4 and, up to 32 features and for the plain map only,
        ``min(400, N/25)``.
    feature_maps : sequence or "auto", default="auto"
        Maps to try.
    Cs : sequence of float or "auto", default="auto"
        "auto" is 1, 3 and 10; a tenth, or ten times as much, where an end is best.
    n_neighbors : sequence of int or int, default=8
        Numbers of active anchors to try.
    betas : sequence of float or "auto", default=("auto",)
        Values of ``beta`` to try.
    scalers : sequence of transformers or None, default=(None,)
        Transformers to try before everything else.
    cv : int, splitter, iterable or None, default=None
        The folds.
    search : {"halving", "grid"}, default="halving"
    one_standard_error : bool, default=False
        As in :class:`LocallyLinearSVCCV`; folds are not stratified.
    scoring : str, callable or None, default=None
        Any scorer of scikit-learn. None is R² for the squared losses, and minus the mean loss
        (without a tube, of values in standard deviations) for the others. A function gets
        ``(estimator, rows, y)``: for the estimator, ``rows`` stand for features.
    relevance : {None, "auto"}, default="auto"
        "auto" also tries every candidate with scales of features, if held-out rows gain from them
        with the default chain. On by default, because the search decides on folds.
    coding, anchors, code_on, normalize : as in LocallyLinearSVR
        They are those of :class:`LocallyLinearSVR`.
    loss : str, default="squared"
        As in :class:`LocallyLinearSVR`; squared, because R² is what is reported most.
    max_iter, tol, intercept_scaling : as in LocallyLinearSVR
        They are those of :class:`LocallyLinearSVR`.
    scale : {"auto", "standard", None}, default="auto"
        Whether features are standardized before everything else, as in :class:`LocallyLinearSVR`.
        Not where ``scalers`` are given, which bring their own units.
    n_jobs, random_state : as in LocallyLinearSVR
        They are those of :class:`LocallyLinearSVR`.
    verbose : int, default=0
        1 writes progress of the search to stderr now and then, 2 every group of candidates.
    epsilon, quantiles : as in LocallyLinearSVR
        They are those of :class:`LocallyLinearSVR`.

    Attributes
    ----------
    best_estimator_ : LocallyLinearSVR, or Pipeline of a scaler and one
        Fitted to all rows with the chosen setting.
    best_params_ : dict
        The chosen parameters of :class:`LocallyLinearSVR`; ``relevance`` are the scales.
    best_score_ : float
        Its mean score over the folds.
    cv_results_ : dict of arrays
        A row for each candidate that was evaluated, as in scikit-learn's searches; ``n_rows`` is
        the size of the largest sample on which it was.
    scaler_ : fitted transformer or None
    model_ : LocalModel
        The fitted gate, map and weights.
    target_scale_ : TargetScale
    quantiles_ : ndarray or None
    conformal_ : Conformal
        What ``calibrate`` learned.
    anchors_, beta_, coef_, intercept_, n_iter_, objective_, duality_gap_, history_
        Of the model fitted to all rows with the chosen setting.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    See Also
    --------
    LocallyLinearSVR : One setting, given or by rule.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal import LocallyLinearSVRCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, (600, 2))
    >>> y = np.sin(X[:, 0]) * X[:, 1]
    >>> model = LocallyLinearSVRCV(random_state=0).fit(X[:400], y[:400])
    >>> bool(model.score(X[400:], y[400:]) > 0.95), bool(model.best_score_ > 0.95)
    (True, True)
    """

    _task = Regression()
    _kind = LocallyLinearSVR

    _: KW_ONLY
    loss: str = "squared"
    epsilon: float = 0.1
    quantiles: Any = 0.5
