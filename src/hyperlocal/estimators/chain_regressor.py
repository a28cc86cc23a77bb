"""The chain for values: targets, their scale, quantiles and predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from ..data.checks import check_valued_rows, warn_about_scales
from ..data.labelled import LabelledRows, merge_equal_rows
from ..model.local_model import LocalModel
from ..model.problem import Problem
from ..model.residuals import RegressionLoss
from ..model.target_scale import TargetScale
from ..runtime.progress import CallbackSupportMixin
from .base import ChainAttributes, LocalEstimator, LocalRegressor
from .chain import ChainFitting, Target, solver_is_sgd
from .explained import ExplainMixin


class ChainRegressor(
    CallbackSupportMixin,
    ChainAttributes,
    LocalRegressor,
    ChainFitting,
    LocalEstimator,
    ExplainMixin,
):
    """Base of the regressors: their values, scale and columns."""

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
        sample_weight : array-like of shape (n_rows,), default=None

        Returns
        -------
        self

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
        first = not hasattr(self, "model_")
        known = None if first else self.target_scale_
        return self._visit_rows(*self._checked_data(X, y, sample_weight, known=known))

    # ---- hooks of the chain --------------------------------------------------------------------

    def _checked_data(
        self, X: Any, y: Any, sample_weight: Any, **options: Any
    ) -> tuple[LabelledRows, Target]:
        """Rows with scaled values; a ``known`` scale is that of earlier batches."""
        known: TargetScale | None = options.get("known")
        data = check_valued_rows(self, X, y, sample_weight, multi_output=True, reset=known is None)
        if known is None:
            warn_about_scales(data.X)
        data = merge_equal_rows(data)
        scale = TargetScale.of(data) if known is None else known
        return scale.scaled(data), scale

    def _checked_loss(self) -> dict[str, Any]:
        return {"loss": RegressionLoss(self.loss, self.epsilon, self.quantiles)}

    def _is_same_target(self, target: Target) -> bool:
        assert isinstance(target, TargetScale)
        n_columns = target.n_targets * max(1, len(self._checked_loss()["loss"].levels))
        return target.shape == self.target_scale_.shape and n_columns == self.model_.n_columns

    def _start_weights(self, problem: Problem) -> np.ndarray:
        return self.target_scale_.scaled_weights(self.model_, problem.lifted.n_blocks)

    def _keep_model(self, chain: LocalModel, weights: np.ndarray, target: Target) -> None:
        assert isinstance(target, TargetScale)
        self.model_ = target.in_units(chain.trained(weights))
        self.target_scale_ = target
        if hasattr(self, "conformal_"):
            del self.conformal_  # of another model
        self.quantiles_ = np.array(self.quantiles, float) if self.loss == "quantile" else None
