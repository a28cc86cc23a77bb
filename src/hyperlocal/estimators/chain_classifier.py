"""The chain for classes: labels, batches of them, and predictions."""

from __future__ import annotations

from typing import Any

from sklearn.utils.metaestimators import available_if

from ..data.checks import known_classes
from ..runtime.progress import CallbackSupportMixin
from .base import ChainAttributes, LocalClassifier, LocalEstimator
from .chain import ChainFitting
from .explained import ExplainMixin
from .online import OnlineFitting, solver_is_sgd
from .probabilities import ProbabilityMixin
from .tasks import Classification


class ChainClassifier(
    CallbackSupportMixin, ProbabilityMixin, ChainAttributes, LocalClassifier, OnlineFitting,
    ChainFitting, LocalEstimator, ExplainMixin,
):  # fmt: skip
    """Base of the classifiers whose ``fit`` is the chain."""

    _task = Classification()

    @available_if(solver_is_sgd)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """Visit the rows of a batch once (``solver="sgd"``).

        The first batch determines the anchors (unless they are given), ``beta``, the first step
        size, and ``λ = 1/Σ_i C s_i`` over its rows; the schedule is that of ``fit``. After ``fit``,
        training continues from the fitted model.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            Labels.
        classes : array-like, default=None
            All labels of all batches; required at the first call, unless ``fit`` was called before.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of the rows; one by default.

        Returns
        -------
        self
            The fitted estimator.

        Examples
        --------
        >>> import numpy as np
        >>> from hyperlocal import LocallyLinearSVC
        >>> rng = np.random.default_rng(0)
        >>> model = LocallyLinearSVC(solver="sgd", random_state=0)
        >>> for _ in range(5):
        ...     X = rng.standard_normal((200, 2))
        ...     model = model.partial_fit(X, X[:, 0] * X[:, 1] > 0, classes=[False, True])
        >>> model.predict([[1.0, 1.0], [1.0, -1.0]])
        array([ True, False])
        """
        known = known_classes(self, classes)
        return self._visit_rows(*self._task.rows(self, X, y, sample_weight, known))
