"""AdaptiveNeighborhoodSVC: local SVMs in a learned metric (LASVM)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import scipy.sparse as sp
from sklearn.base import clone

from ..data.arguments import check_choice
from ..data.labelled import LabelledRows, merge_equal_rows
from ..maps.transformer import transformed
from ..neighbors.megm import MEGM
from .neighborhood_classifier import NeighborhoodClassifier
from .neighborhood_models import DannSvms, QuerySvms

METRICS = ("megm", "dann")


@dataclass(eq=False, repr=False)
class AdaptiveNeighborhoodSVC(NeighborhoodClassifier):
    """One support vector machine per query, on its nearest training rows in a learned metric.

    ``fit`` learns the metric; neighbors are found, and local SVMs trained, in its space. All else
    is as in :class:`NeighborhoodSVC`.

    Parameters
    ----------
    n_neighbors : "auto", int, callable or sequence of int, default="auto"
        Size of a neighborhood: ``3 log2 N`` for N distinct rows, a number, what a function of N
        returns, or the best of several by leave-one-out accuracy. "auto" is no fixed
        number, because among more rows as many neighbors are nearer.
    kernel : {"rbf", "linear", "poly"} or callable, default="rbf"
    gamma : "local", "scale", "auto" or float, default="local"
        ``γ`` of the kernel, in the space of the metric; "local" because one value for all
        queries can make a kernel matrix nearly the identity in high dimension.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1.0
        Constant of the polynomial kernel.
    algorithm : {"exact", "tree", "approximate"}, default="exact"
    cache_neighborhoods : bool, default=False
        Train the SVMs of covering centers once, at ``fit`` (not with "dann").
    C : float, default=10.0
        Larger than that of other estimators, because it is the LSVM paper's.
    tol : float, default=1e-3
        Tolerance of the optimality conditions of a local SVM, as in LIBSVM.
    max_iter : int, default=100000
        The most steps of one local SVM; many, because a step changes two dual variables only.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seeds MEGM too.
    verbose : int, default=0
        1 writes progress of the choice of ``n_neighbors`` and of scoring to stderr.
    low_margin : float, default=1.0
        With ``cache_neighborhoods=True``: the margin below which a second center is evaluated.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes; they multiply the weights of the class's rows.
    metric : {"megm", "dann"} or transformer, default="megm"
        What learns the metric: :class:`MEGM`; any transformer with ``fit(X, y)`` and ``transform``,
        such as ``NeighborhoodComponentsAnalysis`` or a pipeline; or "dann", a metric of each
        query's own from the classes of the rows around it. Sample weights play no part in it.

    Attributes
    ----------
    metric_ : transformer or None
        The fitted metric; None for "dann".
    n_neighbors_ : int
    leave_one_out_accuracy_ : dict of int to float, or None
    centers_ : ndarray of shape (n_centers,), or None
    model_ : QuerySvms or CachedSvms
        The training rows, in the space of the metric, and how queries are scored.
    n_iter_ : int
        Passes of ``fit`` over the training rows: always 1. Steps of local SVMs are not counted.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    See Also
    --------
    NeighborhoodSVC : The same in the metric of the features; explains all arguments.

    References
    ----------
    N. A. Zaidi and D. McG. Squire. Local adaptive SVM for object recognition. DICTA 2010.

    T. Hastie and R. Tibshirani. Discriminant adaptive nearest neighbor classification. IEEE PAMI
    18, 1996.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.papers import AdaptiveNeighborhoodSVC
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 6))
    >>> y = (X[:, 0] * X[:, 1] > 0).astype(int)  # four features are noise
    >>> model = AdaptiveNeighborhoodSVC(random_state=0).fit(X[:200], y[:200])
    >>> bool(model.score(X[200:], y[200:]) > 0.85)
    True
    """

    _: KW_ONLY
    metric: Any = "megm"

    def _check_arguments(self) -> None:
        super()._check_arguments()
        if isinstance(self.metric, str) or self.metric is None:
            check_choice("metric", self.metric, METRICS)
        elif isinstance(self.metric, type) or not hasattr(self.metric, "transform"):
            raise TypeError(f"metric must be 'megm', 'dann' or a transformer, not {self.metric!r}.")
        if self._is_local() and self.cache_neighborhoods:
            raise ValueError(
                "metric='dann' is a metric of each query's own; use cache_neighborhoods=False."
            )

    def _is_local(self) -> bool:
        return isinstance(self.metric, str) and self.metric == "dann"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self._is_local()
        return tags

    def _strategy(self) -> type[QuerySvms]:
        return DannSvms if self.metric_ is None else QuerySvms

    def _fit_metric(self, data: LabelledRows) -> None:
        self.metric_ = None
        if self._is_local():
            if sp.issparse(data.X):
                raise ValueError("metric='dann' does not take sparse rows; call X.toarray() first.")
            return
        metric = self.metric
        if isinstance(metric, str):
            metric = MEGM(n_jobs=self.n_jobs, random_state=self.random_state, verbose=self.verbose)
        ordered = merge_equal_rows(data)  # by content: the order of rows plays no part
        self.metric_ = clone(metric).fit(ordered.X, ordered.classes[ordered.target])

    def _mapped(self, X: Any) -> Any:
        return X if self.metric_ is None else transformed(self.metric_, X, "metric")
