"""DaskLocallyLinearSVR: locally linear regression over the machines of a cluster."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from sklearn.base import RegressorMixin

from ..estimators.locally_linear_svr import LocallyLinearSVR
from ..estimators.tasks import Regression
from .base import DaskEstimator
from .collections import is_lazy
from .lazy import explained_variance
from .targets import ValueFacts, ValueTarget


@dataclass(eq=False, repr=False)
class DaskLocallyLinearSVR(RegressorMixin, DaskEstimator):
    """Locally linear regression, trained on a Dask cluster.

    The same model as :class:`hyperlocal.LocallyLinearSVR`, and the same optimum, trained as
    :class:`DaskLocallyLinearSVC` is. Values are centered and scaled by the mean and the standard
    deviation over all partitions.

    Parameters
    ----------
    client, partitioning, n_partitions, epochs_per_round : as in DaskLocallyLinearSVC
        They are those of :class:`DaskLocallyLinearSVC`.
    n_anchors, n_neighbors, beta, anchors, feature_map, code_on, normalize : as on one machine
        They are those of :class:`hyperlocal.LocallyLinearSVR`.
    C : float, default=10.0
        Weight of the losses; a number, because a search would need all rows several times.
    max_iter : int, default=500
        The most rounds; fewer than epochs elsewhere, because a round has several epochs.
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    intercept_scaling, random_state, verbose, global_intercept, coding : as on one machine
        They are those of :class:`hyperlocal.LocallyLinearSVR`.
    loss : str, default="squared"
        As on one machine; not that of classes, because values have no margin.
    epsilon, quantiles : as on one machine
        They are those of :class:`hyperlocal.LocallyLinearSVR`.

    Attributes
    ----------
    anchors_, beta_, coef_, intercept_, objective_, duality_gap_, n_features_in_, feature_names_in_
        As in :class:`hyperlocal.LocallyLinearSVR`.
    n_iter_, history_, n_partitions_, n_restarts_, bytes_per_round_
        As in :class:`DaskLocallyLinearSVC`.

    See Also
    --------
    hyperlocal.LocallyLinearSVR : The same on one machine; ``to_local()`` returns one, which
        explains predictions and has intervals.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from distributed import Client
    >>> from hyperlocal.dask import DaskLocallyLinearSVR
    >>> X = np.random.default_rng(0).uniform(-3, 3, (2000, 2))
    >>> y = np.sin(X[:, 0]) * X[:, 1]
    >>> X, y = da.from_array(X, chunks=(500, 2)), da.from_array(y, chunks=500)
    >>> with Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=":0"):
    ...     model = DaskLocallyLinearSVR(random_state=0).fit(X, y)
    ...     bool(model.score(X, y) > 0.95)
    True
    """

    _local_class = LocallyLinearSVR
    _task = Regression()
    _is_numeric = True

    _: KW_ONLY
    global_intercept: bool = True
    coding: str = "soft"
    C: float = 10.0
    loss: str = "squared"
    epsilon: float = 0.1
    quantiles: Any = 0.5

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R², the share of the variance of ``y`` that is predicted.

        Parameters
        ----------
        X : Dask array or dataframe, or {array-like, CSR} of shape (n_rows, n_features)
            Rows.
        y : Dask array or series, or array-like of shape (n_rows,) or (n_rows, n_targets)
            Their values.
        sample_weight : Dask array or series, or array-like of shape (n_rows,), default=None
            Weights of rows.

        Returns
        -------
        float
            At most 1.
        """
        local = self._fitted()
        if not is_lazy(X):
            return float(local.score(X, y, sample_weight))
        return explained_variance(local, X, y, sample_weight)

    def _target(self, facts: list[ValueFacts]) -> ValueTarget:
        return ValueTarget.of(facts)
