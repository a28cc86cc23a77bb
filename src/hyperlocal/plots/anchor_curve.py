"""Cross-validated error against the number of anchors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from ..model.inspection import split_pipeline
from .drawing import frame_left_and_below, open_axes

NUMBERS = (2, 5, 10, 20, 50, 100)


@dataclass(eq=False, repr=False)
class AnchorCurveDisplay:
    """Cross-validated error for several numbers of anchors.

    Parameters
    ----------
    n_anchors : ndarray of shape (n_numbers,)
        Numbers of anchors.
    errors : ndarray of shape (n_numbers, n_folds)
        Error of each number in each fold.
    name : str
        Label of the line.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    line_, band_ : matplotlib artists
        The mean over folds, and one standard error to both sides.
    """

    n_anchors: np.ndarray
    errors: np.ndarray
    name: str = ""

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        n_anchors: Sequence[int] = NUMBERS,
        cv: Any = 5,
        n_jobs: int | None = None,
        name: str | None = None,
        ax: Any = None,
    ) -> AnchorCurveDisplay:
        """Fit clones with several numbers of anchors, and draw their cross-validated errors.

        Parameters
        ----------
        estimator : classifier, or Pipeline that ends in one
            With a parameter ``n_anchors``.
        X, y : rows and labels
            The rows.
        n_anchors : sequence of int, default=(2, 5, 10, 20, 50, 100)
            Numbers of anchors to try.
        cv : int or splitter, default=5
            Folds, or a splitter.
        n_jobs : int or None, default=None
            Folds that are fitted at the same time.
        name : str, default=None
            Label of the line; the class by default.
        ax : matplotlib Axes, default=None
            Give the axes of an earlier display to compare models.

        Returns
        -------
        AnchorCurveDisplay

        Examples
        --------
        >>> from hyperlocal import LocallyLinearSVC
        >>> from hyperlocal.datasets import make_banana
        >>> from hyperlocal.plots import AnchorCurveDisplay
        >>> X, y = make_banana(150, random_state=0)
        >>> model = LocallyLinearSVC(feature_map=None, random_state=0)
        >>> curve = AnchorCurveDisplay.from_estimator(model, X, y, n_anchors=(1, 10), cv=3)
        >>> one, ten = curve.errors.mean(axis=1)
        >>> bool(ten < one / 2)
        True
        """
        _, model = split_pipeline(estimator)
        if "n_anchors" not in model.get_params(deep=False):
            raise ValueError(f"{type(model).__name__} has no parameter n_anchors.")
        errors = []
        for number in n_anchors:
            changed = clone(estimator)
            split_pipeline(changed)[1].set_params(n_anchors=int(number))
            errors.append(1 - cross_val_score(changed, X, y, cv=cv, n_jobs=n_jobs))
        label = type(model).__name__ if name is None else name
        return cls(np.array(n_anchors), np.array(errors), label).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> AnchorCurveDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        AnchorCurveDisplay
            The display itself.
        """
        self.ax_, self.figure_ = ax, _ = open_axes(ax)
        mean = 100 * self.errors.mean(axis=1)
        # One standard error of the mean over folds.
        spread = 100 * self.errors.std(axis=1) / np.sqrt(max(1, self.errors.shape[1] - 1))
        (self.line_,) = ax.plot(self.n_anchors, mean, "o-", ms=4, lw=1.6, label=self.name)
        self.band_ = ax.fill_between(
            self.n_anchors, mean - spread, mean + spread, color=self.line_.get_color(), alpha=0.15,
            lw=0,
        )  # fmt: skip
        ax.set(xscale="log", xlabel="n_anchors", ylabel="cross-validated error %")
        ax.set_xticks(self.n_anchors, [str(number) for number in self.n_anchors])
        ax.minorticks_off()
        ax.set_ylim(bottom=0)
        frame_left_and_below(ax)
        if self.name:
            ax.legend(frameon=False)
        return self
