"""The weight of one anchor over the plane: what a gate does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .drawing import (
    INK,
    draw_anchors,
    fit_axes_to_plane,
    open_axes,
    plane_grid,
    plane_names,
    plane_rows,
)


@dataclass(eq=False, repr=False)
class GateDisplay:
    """The weight that the gate gives to one anchor, at every point of the plane.

    Parameters
    ----------
    across, up : ndarray of shape (n_points,)
        The grid.
    weights : ndarray of shape (n_points, n_points)
        The anchor's weight at each point of the grid.
    anchors : ndarray of shape (n_anchors, 2)
        All anchors, which are drawn.
    anchor : int
        The anchor whose weight is shown.
    axis_names : (str, str)
        Labels of the two axes.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    image_ : matplotlib QuadMesh
        For a color bar.
    """

    across: np.ndarray
    up: np.ndarray
    weights: np.ndarray
    anchors: np.ndarray
    anchor: int
    axis_names: tuple[str, str] = ("", "")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        *,
        anchor: int | None = None,
        n_points: int = 160,
        ax: Any = None,
    ) -> GateDisplay:
        """Draw the weight of one anchor of a fitted coder.

        Parameters
        ----------
        estimator : LocalCoder
            Fitted to two features.
        X : array-like of shape (n_rows, 2), default=None
            Rows that span the plane; the anchors do by default.
        anchor : int, default=None
            The number of the anchor; the one nearest to the mean of all by default.
        n_points : int, default=160
            Points of the grid along each axis.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        GateDisplay

        Examples
        --------
        >>> from hyperlocal.preprocessing import LocalCoder
        >>> from hyperlocal.datasets import make_banana
        >>> from hyperlocal.plots import GateDisplay
        >>> X, _ = make_banana(100, random_state=0)
        >>> coder = LocalCoder(5, n_neighbors=2, random_state=0).fit(X)
        >>> display = GateDisplay.from_estimator(coder, X, anchor=3, n_points=20)
        >>> bool(0 <= display.weights.min() and display.weights.max() <= 1)
        True
        """
        check_is_fitted(estimator)
        anchors = plane_rows(estimator.anchors_)
        if anchor is None:
            anchor = int(np.argmin(((anchors - anchors.mean(axis=0)) ** 2).sum(axis=1)))
        across, up, points = plane_grid(anchors if X is None else plane_rows(X), n_points)
        weights = estimator.transform(points)[:, [anchor]].toarray()
        shape = (n_points, n_points)
        return cls(
            across, up, weights.reshape(shape), anchors, anchor, plane_names(X)
        ).plot(ax=ax)  # fmt: skip

    def plot(self, *, ax: Any = None) -> GateDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        GateDisplay
            The display itself.
        """
        self.ax_, self.figure_ = ax, _ = open_axes(ax)
        self.image_ = ax.pcolormesh(
            self.across, self.up, self.weights, cmap="RdBu_r", vmin=-1, vmax=1, rasterized=True
        )
        draw_anchors(ax, self.anchors, ms=9, mew=0.6)
        draw_anchors(ax, self.anchors[[self.anchor]], color="white", ms=15, mec=INK)
        fit_axes_to_plane(ax, self.across, self.up, self.axis_names)
        return self
