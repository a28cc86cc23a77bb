"""NeighborhoodSVR: one SVR per query, on its nearest training rows."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from ..data.arguments import check_number
from ..data.checks import check_valued_rows
from ..data.labelled import LabelledRows
from ..model.target_scale import TargetScale
from ..runtime.progress import CallbackSupportMixin, with_callbacks
from ..runtime.stamp import stamped
from ..runtime.threads import Workers
from .base import LocalRegressor
from .explained import ExplainMixin
from .neighborhood_base import NeighborhoodEstimator
from .neighborhood_models import CachedSvms, Fitted, QuerySvms
from .neighborhood_values import CachedSvrs, QuerySvrs, ValuedModel


@stamped
@dataclass(eq=False, repr=False)
class NeighborhoodSVR(CallbackSupportMixin, LocalRegressor, NeighborhoodEstimator, ExplainMixin):
    """One support vector regression per query, trained on its nearest training rows.

    For each row to predict, the ``K`` nearest training rows are found, and a kernel SVR is trained
    on them: :class:`NeighborhoodSVC` with values instead of classes. ``fit`` trains nothing (unless
    ``cache_neighborhoods=True``). It suits rough functions of few features, where many rows lie
    near each query; a prediction takes 0.05 to 1 ms.

    Values are centered and divided by their standard deviation: ``C`` and ``epsilon`` mean the same
    for any units of ``y``. Standardize the features.

    Parameters
    ----------
    n_neighbors : "auto", int, callable or sequence of int, default="auto"
        Size of a neighborhood, ``K``, as in :class:`NeighborhoodSVC`: "auto" is ``3 log2 N``,
        because among more rows as many neighbors are nearer. From a sequence, the size of the
        highest leave-one-out R² on training rows is chosen.
    kernel : {"rbf", "linear", "poly"} or callable, default="rbf"
    gamma : "local", "scale", "auto" or float, default="local"
        ``γ`` of the kernel, from each query's neighborhood by default.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1.0
        Constant of the polynomial kernel.
    algorithm : {"exact", "tree", "approximate"}, default="exact"
        All as in :class:`NeighborhoodSVC`.
    cache_neighborhoods : bool, default=False
        Train the SVRs of centers that cover the training rows once, at ``fit``, and predict by that
        of the nearest center. Prediction is faster, ``fit`` slower, and values jump between
        centers.
    C : float, default=3.0
        The largest dual variable of a row of weight one. It is smaller than that of
        :class:`NeighborhoodSVC`, because values have more noise than classes; 3 was better than 1
        and 10 within the training rows of two sets.
    tol : float, default=1e-3
        Tolerance of the optimality conditions of a local SVR, as in LIBSVM.
    max_iter : int, default=100000
        The most steps of one local SVR; many, because a step changes two dual variables only.
    n_jobs : int or None, default=None
        Threads over queries. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seeds the approximate index and the choice of rows by which one of several sizes is chosen.
    verbose : int, default=0
        1 writes progress of the choice of ``n_neighbors`` and of scoring to stderr.
    epsilon : float, default=0.1
        Residuals up to it cost nothing, in standard deviations of ``y``.

    Attributes
    ----------
    n_neighbors_ : int
        The size of neighborhoods in use.
    leave_one_out_r2_ : dict of int to float, or None
        If a sequence of sizes was given: R² of each.
    centers_ : ndarray of shape (n_centers,), or None
        With ``cache_neighborhoods=True``: the (distinct) training rows that are centers.
    model_ : QuerySvrs or CachedSvrs
        The training rows, with scaled values, and how queries are scored.
    target_scale_ : TargetScale
        ``center`` and ``scale`` of the targets.
    quantiles_ : None
        There are none, as in :class:`LocallyLinearSVR` with its other losses.
    n_iter_ : int
        Passes of ``fit`` over the training rows: always 1. Steps of local SVRs are not counted.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    See Also
    --------
    LocallyLinearSVR : One model with anchors; predictions are a hundred times as fast.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal import NeighborhoodSVR
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, (600, 2))
    >>> y = np.sin(X[:, 0]) * X[:, 1]
    >>> model = NeighborhoodSVR().fit(X[:400], y[:400])
    >>> bool(model.score(X[400:], y[400:]) > 0.95)
    True
    """

    _: KW_ONLY
    C: float = 3.0
    epsilon: float = 0.1

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> NeighborhoodSVR:
        """Fit to training rows.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)
            Rows; float32 stays float32. Standardized features are best.
        y : array-like of shape (n_rows,) or (n_rows, n_targets)
            Values.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of rows; a row of weight two counts as the row twice.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._check_arguments()
        data = check_valued_rows(self, X, y, sample_weight, multi_output=True)
        units = TargetScale.of(data)
        self._fit_rows(units.scaled(data))
        self.target_scale_, self.quantiles_ = units, None
        return self

    def _check_arguments(self) -> None:
        super()._check_arguments()
        check_number("epsilon", self.epsilon, inclusive=True)

    def _svms(self, *parts: Any) -> QuerySvms:
        rows, C, options, search, n_neighbors = parts
        return QuerySvrs(rows, C, options, search, n_neighbors, float(self.epsilon))

    def _cached(self, svms: QuerySvms, workers: Workers) -> tuple[CachedSvms, int]:
        return CachedSvrs.train(svms, workers)

    def _keep(self, data: LabelledRows, model: Fitted, merits: dict[int, float] | None) -> None:
        super()._keep(data, model, merits)
        self.leave_one_out_r2_ = merits

    def _explained_model(self) -> ValuedModel:
        return ValuedModel(self.model_, None, self.n_features_in_, None, self.target_scale_)

    def _row_scores(self, X: Any, *values_of_rows: np.ndarray) -> np.ndarray:
        """Values of rows, in the units of ``y``."""
        scores = super()._row_scores(X, *values_of_rows)
        return self.target_scale_.given(scores).astype(scores.dtype)
