"""Losses of residuals ``r = y − f(x)``, by their conjugates.

One family has the five losses of regression. With dual variables ``α`` and ``b = α/C``,

    L*(b) = ε|b| + κ b²/4   for lower ≤ b ≤ upper,   L(r) = max_b b r − L*(b):

| loss | ε | κ | bounds | L(r) |
|---|---|---|---|---|
| epsilon_insensitive | ε | 0 | ∓1 | ``max(0, |r| − ε)`` |
| squared_epsilon_insensitive | ε | 1 | none | ``max(0, |r| − ε)²`` |
| squared | 0 | 1 | none | ``r²`` |
| huber | 0 | 1 | ∓2ε | ``r²`` up to ``|r| = ε``, then ``2ε|r| − ε²`` |
| quantile | 0 | 0 | q − 1, q | ``q r`` for ``r > 0``, else ``(q − 1) r`` |

The functions take margins ``u = f − y = −r``, in which losses of classification and of regression
have the same dual problem.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np

from ..data.arguments import check_choice, check_number

REGRESSION_LOSSES = (
    "squared", "squared_epsilon_insensitive", "epsilon_insensitive", "huber", "quantile",
)  # fmt: skip


@dataclass(frozen=True)
class ResidualLoss:
    """The loss of one column.

    Attributes
    ----------
    epsilon : float
        Half the width of the tube in which residuals cost nothing.
    curvature : float
        1 for losses that grow with the square of the residual, 0 for others.
    lower, upper : float
        Bounds of the slope ``L'``.
    """

    epsilon: float = 0.0
    curvature: float = 0.0
    lower: float = -np.inf
    upper: float = np.inf

    @property
    def is_smooth(self) -> bool:
        """Whether the loss has a derivative everywhere."""
        return self.curvature > 0

    @property
    def is_quadratic(self) -> bool:
        """Whether the loss curves alike everywhere."""
        return self.is_smooth and self.epsilon == 0 and self.upper == np.inf

    def pulls(self, margins: np.ndarray) -> np.ndarray:
        """``L'(r)``: what a dual variable is at the optimum, over its cost."""
        beyond = -np.sign(margins) * np.maximum(0, np.abs(margins) - self.epsilon)
        if self.is_smooth:
            return np.clip(2 * beyond / self.curvature, self.lower, self.upper)
        return np.where(beyond > 0, self.upper, np.where(beyond < 0, self.lower, 0.0))

    def values(self, margins: np.ndarray) -> np.ndarray:
        """``L(r)``."""
        slopes = self.pulls(margins)
        return -slopes * margins - self.conjugates(slopes, np.ones(1))

    def curvatures(self, margins: np.ndarray) -> np.ndarray:
        """``L''(r)`` of a smooth loss, but for its corners."""
        size = np.abs(margins) - self.epsilon
        return 2 / self.curvature * ((size > 0) | (self.epsilon == 0)) * (2 * size < self.upper)

    def conjugates(self, alpha: np.ndarray, costs: np.ndarray) -> np.ndarray:
        """``C L*(α/C)``."""
        return self.epsilon * np.abs(alpha) + 0.25 * self.curvature * alpha * alpha / costs


@dataclass(frozen=True)
class RegressionLoss:
    """The loss of an estimator; the same for all targets, or one per quantile for each of them.

    Attributes
    ----------
    name : str
        One of ``REGRESSION_LOSSES``.
    epsilon : float
        Of the tube, or of Huber's loss the residual from which it is linear.
    quantiles : float or sequence of float
        Increasing, for ``name="quantile"``.
    """

    name: str
    epsilon: float = 0.1
    quantiles: Any = 0.5

    @property
    def levels(self) -> tuple[float, ...]:
        """The quantiles; none for other losses."""
        if self.name != "quantile":
            return ()
        given = self.quantiles
        return (float(given),) if isinstance(given, Real) else tuple(map(float, given))

    @property
    def is_quadratic(self) -> bool:
        """Whether losses are squares."""
        return all(loss.is_quadratic for loss in self._of_a_target())

    def check(self) -> None:
        """Raise unless the parameters make sense."""
        check_choice("loss", self.name, REGRESSION_LOSSES)
        inclusive = self.name != "huber"  # a threshold of zero is no loss at all
        check_number("epsilon", self.epsilon, inclusive=inclusive)
        if self.name != "quantile":
            return
        given = self.quantiles
        is_list = isinstance(given, (Sequence, np.ndarray)) and not isinstance(given, str)
        for level in np.ravel(given).tolist() if is_list else [given]:
            check_number("quantiles", level)
            if level >= 1:
                raise ValueError(f"quantiles must lie between 0 and 1, not {level!r}.")
        levels = self.levels
        if not levels or any(a >= b for a, b in pairwise(levels)):
            raise ValueError(f"quantiles must be one or more increasing levels, not {given!r}.")

    def columns(self, n_targets: int) -> tuple[ResidualLoss, ...]:
        """A loss per column: all quantiles of the first target, then those of the second, …"""
        return self._of_a_target() * n_targets

    def evaluated(self) -> RegressionLoss:
        """The loss that held-out rows are evaluated by: the same without a tube."""
        names = {"epsilon_insensitive": "quantile", "squared_epsilon_insensitive": "squared"}
        quantiles = 0.5 if self.name == "epsilon_insensitive" else self.quantiles
        return RegressionLoss(names.get(self.name, self.name), self.epsilon, quantiles)

    def row_losses(
        self, scores: np.ndarray, values: np.ndarray, sample_weight: np.ndarray
    ) -> np.ndarray:
        """For each row, the sum of its losses without a tube, times its weight of mean one.

        Examples
        --------
        >>> import numpy as np
        >>> from hyperlocal.model.residuals import RegressionLoss
        >>> scores, values = np.array([[1.0], [2.0]]), np.array([1.0, 4.0])
        >>> RegressionLoss("squared").row_losses(scores, values, np.ones(2)).tolist()
        [0.0, 4.0]
        """
        values = values.reshape(len(scores), -1)
        losses = self.evaluated().columns(values.shape[1])
        margins = scores - np.repeat(values, scores.shape[1] // values.shape[1], axis=1)
        total = sum(one.values(column) for one, column in zip(losses, margins.T, strict=True))
        return sample_weight / sample_weight.mean() * total

    def _of_a_target(self) -> tuple[ResidualLoss, ...]:
        epsilon = float(self.epsilon)
        if self.name == "quantile":
            return tuple(ResidualLoss(0.0, 0.0, level - 1, level) for level in self.levels)
        if self.name == "epsilon_insensitive":
            return (ResidualLoss(epsilon, 0.0, -1.0, 1.0),)
        if self.name == "huber":
            return (ResidualLoss(0.0, 1.0, -2 * epsilon, 2 * epsilon),)
        is_tube = self.name == "squared_epsilon_insensitive"
        return (ResidualLoss(epsilon if is_tube else 0.0, 1.0),)
