"""Prediction intervals of regressors whose ``model_`` is a LocalModel."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..data.arguments import check_number, make_generator
from ..data.checks import check_valued_rows
from ..model.conformal import Conformal
from ..model.local_model import LocalModel
from ..runtime.threads import Workers

FEWEST_ROWS = 10


class IntervalMixin(BaseEstimator):
    """``calibrate`` on held-out rows, then ``predict_interval``."""

    model_: LocalModel
    conformal_: Conformal

    def _forget(self) -> None:
        super()._forget()
        if hasattr(self, "conformal_"):
            del self.conformal_  # of another model

    def calibrate(self, X: Any, y: Any) -> Any:
        """Learn the size of residuals from rows that the model was not fitted to.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)
            A few hundred rows or more. A third of them gives the scale of residuals near each
            anchor, the others the quantiles of scaled residuals.
        y : array-like of shape (n_rows,) or (n_rows, n_targets)
            Their values.

        Returns
        -------
        self
            The calibrated estimator.
        """
        check_is_fitted(self)
        if self.quantiles_ is not None and self.quantiles_.size > 1:
            raise ValueError(
                "calibrate needs one prediction per target; fit with one quantile or another loss."
            )
        data = check_valued_rows(self, X, y, multi_output=True, reset=False)
        if data.X.shape[0] < FEWEST_ROWS:
            raise ValueError(f"calibrate needs at least {FEWEST_ROWS} rows, not {data.X.shape[0]}.")
        n_targets = self.target_scale_.n_targets
        if data.labels.size != data.X.shape[0] * n_targets:
            raise ValueError(f"y has the shape {data.labels.shape}; fit had {n_targets} targets.")
        rows = self._checked_rows(X)
        with Workers(self.n_jobs) as workers:
            scores = self.model_.scores(rows, workers).astype(np.float64)
            residuals = data.labels.reshape(scores.shape) - scores
            rng, space = make_generator(self.random_state), self.model_.space(rows)
            self.conformal_ = Conformal.of(residuals, space, self.model_.gate, rng, workers)
        return self

    def predict_interval(self, X: Any, coverage: float = 0.9) -> np.ndarray:
        """Predict intervals that contain a new value with the requested probability.

        They are conformal: the probability is at least ``coverage`` on average over rows like those
        of :meth:`calibrate`, whatever the model, also near each anchor that had enough of them.
        They are wider where residuals near the row's anchors are larger. For a model with one
        anchor, or with levels of them, :meth:`calibrate` places anchors of its own.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_rows, n_features)
        coverage : float, default=0.9
            The probability.

        Returns
        -------
        ndarray of shape (n_rows, 2) or (n_rows, n_targets, 2)
            Lower and upper ends, in the units of ``y``.

        Examples
        --------
        >>> import numpy as np
        >>> from hyperlocal import LocallyLinearSVR
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(-3, 3, (900, 1))
        >>> y = np.sin(X[:, 0]) + 0.1 * np.abs(X[:, 0]) * rng.standard_normal(900)
        >>> model = LocallyLinearSVR(8, random_state=0).fit(X[:600], y[:600])
        >>> intervals = model.calibrate(X[600:], y[600:]).predict_interval([[0.1], [2.9]])
        >>> narrow, wide = np.diff(intervals, axis=1).ravel()
        >>> bool(narrow < wide)
        True
        """
        if not hasattr(self, "conformal_"):
            raise ValueError(
                "predict_interval needs rows that the model was not fitted to: call "
                "calibrate(X, y) with some hundred of them first."
            )
        check_number("coverage", coverage)
        if coverage >= 1:
            raise ValueError(f"coverage must lie between 0 and 1, not {coverage!r}.")
        X = self._checked_rows(X)
        with Workers(self.n_jobs) as workers:
            center = self.model_.scores(X, workers).astype(np.float64)
            half = self.conformal_.half_widths(self.model_.space(X), coverage, workers)
        ends = np.stack([center - half, center + half], axis=-1)
        return ends.reshape(len(ends), *self.target_scale_.shape, 2)
