"""The chain for values: targets, their scale, quantiles and predictions."""

from __future__ import annotations

from typing import Any

from sklearn.utils.metaestimators import available_if

from ..runtime.progress import CallbackSupportMixin
from .base import ChainAttributes, LocalEstimator, LocalRegressor
from .chain import ChainFitting
from .explained import ExplainMixin
from .online import OnlineFitting, solver_is_sgd
from .tasks import Regression


class ChainRegressor(
    CallbackSupportMixin,
    ChainAttributes,
    LocalRegressor,
    OnlineFitting,
    ChainFitting,
    LocalEstimator,
    ExplainMixin,
):
    """Base of the regressors whose ``fit`` is the chain."""

    _task = Regression()

    @available_if(solver_is_sgd)
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Visit the rows of a batch once (``solver="sgd"``).

        The first batch determines the anchors (unless they are given), ``beta``, center and scale
        of ``y``, the first step size, and ``λ = 1/Σ_i C s_i`` over its rows; the schedule is that
        of ``fit``. After ``fit``, training continues from the fitted model.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,) or (n_rows, n_targets)
            Values.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of the rows; one by default.

        Returns
        -------
        self
            The fitted estimator.

        Examples
        --------
        >>> import numpy as np
        >>> from hyperlocal import LocallyLinearSVR
        >>> rng = np.random.default_rng(0)
        >>> model = LocallyLinearSVR(solver="sgd", C=1.0, random_state=0)
        >>> for _ in range(10):
        ...     X = rng.standard_normal((200, 2))
        ...     model = model.partial_fit(X, X[:, 0] * X[:, 1])
        >>> bool(model.predict([[1.0, 1.0]])[0] > 0.5)
        True
        """
        known = self.target_scale_ if hasattr(self, "model_") else None
        return self._visit_rows(*self._task.rows(self, X, y, sample_weight, known))
