"""Objective and duality gap, epoch by epoch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..model.inspection import split_pipeline
from .drawing import BLUE, ORANGE, frame_left_and_below, open_axes

ROUNDING = 1e-15  # of doubles, relative


@dataclass(eq=False, repr=False)
class ConvergenceDisplay:
    """The objective after each epoch and, where the solver has one, the duality gap.

    Parameters
    ----------
    epochs, objectives : ndarray of shape (n_checks,)
        Numbers of epochs.
    gaps : ndarray of shape (n_checks,)
        NaN where there is no bound.
    name : str
        Label of the curve.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    objective_line_, gap_line_ : matplotlib Line2D, or None
    """

    epochs: np.ndarray
    objectives: np.ndarray
    gaps: np.ndarray
    name: str = "objective"

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Any = None, name: str | None = None
    ) -> ConvergenceDisplay:
        """Draw the history of a fitted model.

        Parameters
        ----------
        estimator : classifier with ``history_``, or Pipeline that ends in one
            The history of learned gates holds mean losses without the penalty.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        name : str, default=None
            Label of the objective; "mean loss" or "objective" by default.

        Returns
        -------
        ConvergenceDisplay

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from hyperlocal import LocallyLinearSVC
        >>> from hyperlocal.plots import ConvergenceDisplay
        >>> model = LocallyLinearSVC(random_state=0).fit(*load_iris(return_X_y=True))
        >>> display = ConvergenceDisplay.from_estimator(model)
        >>> bool(display.gaps[-1] < 1e-3 * display.objectives[-1])
        True
        """
        check_is_fitted(estimator)
        _, model = split_pipeline(estimator)
        history = list(getattr(model, "history_", []))
        if not history:
            raise ValueError(
                f"this {type(model).__name__} has no history of its training; fit it with a "
                "solver that has epochs."
            )
        width = len(history[0])
        table = np.array([tuple(entry)[:3] for entry in history], dtype=float)
        gaps = table[:, 2] if width > 2 else np.full(len(table), np.nan)
        default = "objective" if width > 2 else "mean loss"
        return cls(table[:, 0], table[:, 1], gaps, name or default).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> ConvergenceDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        ConvergenceDisplay
            The display itself.
        """
        self.ax_, self.figure_ = ax, _ = open_axes(ax)
        options = {"marker": "o", "ms": 3, "lw": 1.6}
        (self.objective_line_,) = ax.plot(
            self.epochs, self.objectives, color=BLUE, label=self.name, **options
        )
        self.gap_line_ = None
        known = np.isfinite(self.gaps)
        if known.any():
            # A gap below rounding errors is zero, which a logarithmic scale cannot show.
            gaps = np.maximum(self.gaps, ROUNDING * np.abs(self.objectives))[known]
            (self.gap_line_,) = ax.plot(
                self.epochs[known], gaps, color=ORANGE, label="duality gap", **options
            )
        what = self.name if self.gap_line_ is None else f"{self.name} and duality gap"
        ax.set(xlabel="epoch", ylabel=what, yscale="log")
        ax.locator_params(axis="x", integer=True)
        ax.legend(frameon=False)
        frame_left_and_below(ax)
        return self
