"""Where anchors started, and where learning moved them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from .anchors import model_and_anchors, undo_steps
from .drawing import INK, class_codes, draw_anchors, draw_rows, open_axes, plane_names


@dataclass(eq=False, repr=False)
class AnchorMotionDisplay:
    """First and learned anchors, joined by arrows.

    Parameters
    ----------
    start, end : ndarray of shape (n_anchors, 2)
        The first anchors.
    rows : ndarray of shape (n_rows, 2) or None
        Rows that are drawn as points.
    codes : ndarray of shape (n_rows,) or None
        Classes of the rows as indices.
    axis_names : (str, str)
        Labels of the two axes.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    arrows_ : list of matplotlib Annotation
    """

    start: np.ndarray
    end: np.ndarray
    rows: np.ndarray | None = None
    codes: np.ndarray | None = None
    axis_names: tuple[str, str] = ("", "")

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, y: Any = None, *, ax: Any = None
    ) -> AnchorMotionDisplay:
        """Draw how the anchors of a fitted model moved.

        More than two features are projected on the first two principal axes, of the rows if they
        are given, else of the anchors.

        Parameters
        ----------
        estimator : SupervisedAnchorSVC, or Pipeline that ends in one
            Fitted with ``code_on="input"``.
        X : array-like of shape (n_rows, n_features), default=None
            Rows to show below the anchors.
        y : array-like of shape (n_rows,), default=None
            Labels, shown as colors.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        AnchorMotionDisplay

        Examples
        --------
        >>> from hyperlocal import SupervisedAnchorSVC
        >>> from hyperlocal.datasets import make_sines
        >>> from hyperlocal.plots import AnchorMotionDisplay
        >>> X, y = make_sines(300, random_state=0)
        >>> model = SupervisedAnchorSVC(4, n_neighbors=3, keep_if_better=False, random_state=0)
        >>> display = AnchorMotionDisplay.from_estimator(model.fit(X, y), X, y)
        >>> len(display.arrows_)
        4
        """
        model, learned = model_and_anchors(estimator)
        if not hasattr(model, "initial_anchors_"):
            raise ValueError(
                f"the anchors of {type(model).__name__} do not move; use SupervisedAnchorSVC."
            )
        start = undo_steps(estimator, model.initial_anchors_)
        end = undo_steps(estimator, learned)
        rows = None if X is None else np.asarray(X, dtype=float)
        if start.shape[1] == 2:
            names = plane_names(X)
        else:
            plane = PCA(2).fit(np.vstack([start, end]) if rows is None else rows)
            start, end = plane.transform(start), plane.transform(end)
            rows = None if rows is None else plane.transform(rows)
            names = ("first principal axis", "second principal axis")
        codes = class_codes(model.classes_, y)
        return cls(start, end, rows, codes, names).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> AnchorMotionDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        AnchorMotionDisplay
            The display itself.
        """
        self.ax_, self.figure_ = ax, _ = open_axes(ax)
        if self.rows is not None:
            draw_rows(ax, self.rows, self.codes, s=8, alpha=0.45)
        ax.plot(*self.start.T, "o", ms=7, mfc="white", mec=INK, ls="none", label="start")
        draw_anchors(ax, self.end, label="learned")
        style = {"arrowstyle": "->", "color": INK, "lw": 1.2, "shrinkA": 4, "shrinkB": 5}
        self.arrows_ = [
            ax.annotate("", end, start, arrowprops=style)
            for start, end in zip(self.start, self.end, strict=True)
        ]
        ax.set(xticks=[], yticks=[], xlabel=self.axis_names[0], ylabel=self.axis_names[1])
        ax.legend(frameon=True, framealpha=0.85, edgecolor="none", title="anchors")
        return self
