"""Objectives of several solvers after each pass over the rows."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from ..estimators.pegasos import PegasosSVC
from .drawing import frame_left_and_below, open_axes

SMALLEST = 1e-16  # what is drawn in place of an objective at its optimum: the scale is logarithmic


@dataclass(eq=False, repr=False)
class ObjectiveDisplay:
    """Objectives ``λ/2‖w‖² + (1/N) Σ ℓ``, where ``λ = 1/(CN)``, against passes over the rows.

    Parameters
    ----------
    curves : dict of str to ndarray of shape (n_passes,)
        Label of each line, and its objectives after one, two, … passes.
    optimum : float, default=0.0
        Subtracted from all objectives.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    lines_ : list of matplotlib Line2D
    """

    curves: Mapping[str, np.ndarray]
    optimum: float = 0.0

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, name: str | None = None, **options: Any
    ) -> ObjectiveDisplay:
        """Draw one estimator's objectives, under its class name or the given one.

        The other options are those of :meth:`from_estimators`.

        Parameters
        ----------
        estimator : estimator
            What is fitted.
        X : {array-like, CSR} of shape (n_rows, n_features)
            The rows.
        y : array-like of shape (n_rows,)
            Labels.
        name : str, default=None
            Label of the curve; the name of the class by default.
        **options
            Options of :meth:`from_estimators`.
        """
        return cls.from_estimators({name or type(estimator).__name__: estimator}, X, y, **options)

    @classmethod
    def from_estimators(
        cls,
        estimators: Mapping[str, Any],
        X: Any,
        y: Any,
        *,
        passes: int = 30,
        reference: Any = None,
        ax: Any = None,
    ) -> ObjectiveDisplay:
        """Fit clones that stop after each number of passes, and draw their objectives.

        Parameters
        ----------
        estimators : dict of str to PegasosSVC, KernelPegasosSVC or SDCASVC
            Label of each line, and its estimator, with a fixed ``random_state``.
        X, y : rows and labels
            The rows.
        passes : int, default=30
            Largest number of passes over the rows.
        reference : estimator, default=None
            A precise solver of the same problem, such as ``SDCASVC(C, tol=1e-6)``. Its lower bound
            of the optimum is subtracted from the objectives; by default nothing is.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        ObjectiveDisplay

        Examples
        --------
        >>> from sklearn.datasets import make_blobs
        >>> from hyperlocal.linear import PegasosSVC
        >>> from hyperlocal.plots import ObjectiveDisplay
        >>> X, y = make_blobs(100, centers=2, random_state=0)
        >>> model = PegasosSVC(random_state=0)
        >>> display = ObjectiveDisplay.from_estimator(model, X, y, passes=5)
        >>> len(display.curves["PegasosSVC"])
        5
        """
        # These short fits end before they converge, and that is what is drawn.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            curves = {name: _objectives(model, X, y, passes) for name, model in estimators.items()}
            optimum = 0.0 if reference is None else _lower_bound(clone(reference).fit(X, y), len(y))
        return cls(curves, optimum).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> ObjectiveDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        ObjectiveDisplay
            The display itself.
        """
        self.ax_, self.figure_ = ax, _ = open_axes(ax)
        self.lines_ = []
        for label, objectives in self.curves.items():
            heights = np.maximum(objectives - self.optimum, SMALLEST)
            self.lines_ += ax.plot(np.arange(1, len(heights) + 1), heights, label=label, lw=1.6)
        ax.set(xlabel="passes over the rows", yscale="log")
        ax.set_ylabel("objective above the optimum" if self.optimum else "objective")
        ax.legend(frameon=False)
        frame_left_and_below(ax)
        return self


def _objectives(model: Any, X: Any, y: Any, passes: int) -> np.ndarray:
    fitted = _after(model, X, y, passes)
    if len(fitted.history_) == passes:
        return np.array([objective for _, objective, _ in fitted.history_])
    # Not every pass was measured. With the same seed, a shorter fit is the beginning of a longer.
    shorter = [_after(model, X, y, number) for number in range(1, passes)]
    return np.array([_per_row(one, one.objective_, len(y)) for one in [*shorter, fitted]])


def _after(model: Any, X: Any, y: Any, passes: int) -> Any:
    never = None if isinstance(model, PegasosSVC) else 0.0  # the tolerance that is never reached
    return clone(model).set_params(max_iter=passes, tol=never).fit(X, y)


def _lower_bound(model: Any, n_rows: int) -> float:
    return _per_row(model, model.objective_ - model.duality_gap_, n_rows)


def _per_row(model: Any, objective: float, n_rows: int) -> float:
    """``½‖w‖² + C Σ ℓ`` divided by ``CN``; Pegasos' objectives have these units already."""
    return objective if hasattr(model, "penalty_") else objective / (model.C * n_rows)
