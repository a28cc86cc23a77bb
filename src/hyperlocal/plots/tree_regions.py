"""The regions of a tree's leaves in the plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .drawing import (
    class_codes,
    draw_rows,
    fit_axes_to_plane,
    open_axes,
    plane_grid,
    plane_names,
    plane_rows,
)

N_SHADES = 9  # of matplotlib's Pastel1


@dataclass(eq=False, repr=False)
class TreeRegionsDisplay:
    """The leaves of a learned tree: in each leaf's region, the score is one smooth function.

    Parameters
    ----------
    across, up : ndarray of shape (n_points,)
        The grid.
    leaves : ndarray of shape (n_points, n_points)
        The number of the leaf that each point reaches.
    scores : ndarray of shape (n_points, n_points)
        Scores at the points of the grid.
    n_leaves : int
        Number of leaves.
    rows : ndarray of shape (n_rows, 2)
        Rows that are drawn as points.
    codes : ndarray of shape (n_rows,) or None
        Classes of the rows, as indices.
    axis_names : (str, str)
        Labels of the two axes.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    """

    across: np.ndarray
    up: np.ndarray
    leaves: np.ndarray
    scores: np.ndarray
    n_leaves: int
    rows: np.ndarray
    codes: np.ndarray | None = None
    axis_names: tuple[str, str] = ("", "")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        label: Any = None,
        n_points: int = 300,
        ax: Any = None,
    ) -> TreeRegionsDisplay:
        """Draw the regions of a fitted tree; the black line is where the score is zero.

        Parameters
        ----------
        estimator : LocalDeepSVC
            Fitted to two features.
        X : array-like of shape (n_rows, 2)
            The rows.
        y : array-like of shape (n_rows,), default=None
            Labels, shown as colors.
        label : label, default=None
            The class whose score is drawn if there are more than two; the first by default.
        n_points : int, default=300
            Points of the grid along each axis.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        TreeRegionsDisplay

        Examples
        --------
        >>> from sklearn.datasets import make_moons
        >>> from hyperlocal.papers import LocalDeepSVC
        >>> from hyperlocal.plots import TreeRegionsDisplay
        >>> X, y = make_moons(100, random_state=0)
        >>> model = LocalDeepSVC(depth=2, C=10.0, random_state=0).fit(X, y)
        >>> TreeRegionsDisplay.from_estimator(model, X, y).ax_.get_title()
        '4 leaves'
        """
        check_is_fitted(estimator)
        rows, classes = plane_rows(X), estimator.classes_
        if label is not None and label not in classes:
            raise ValueError(f"label={label!r} is not among the classes {classes.tolist()}.")
        column = 0 if label is None else int(np.flatnonzero(classes == label)[0])
        across, up, points = plane_grid(rows, n_points, margin=0.08)
        tree = estimator.tree_[column] if isinstance(estimator.tree_, list) else estimator.tree_
        scores = estimator.decision_function(points)
        scores = scores if scores.ndim == 1 else scores[:, column]
        shape = (n_points, n_points)
        return cls(
            across, up, tree.leaves(points).reshape(shape), scores.reshape(shape), 2**tree.depth,
            rows, class_codes(classes, y), plane_names(X),
        ).plot(ax=ax)  # fmt: skip

    def plot(self, *, ax: Any = None) -> TreeRegionsDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        TreeRegionsDisplay
            The display itself.
        """
        self.ax_, self.figure_ = ax, _ = open_axes(ax)
        # Neighboring leaves get different shades, as far as there are any.
        shades = (N_SHADES - 1 - self.leaves) % N_SHADES
        ax.pcolormesh(
            self.across, self.up, shades, cmap="Pastel1", vmin=0, vmax=N_SHADES - 1, alpha=0.6,
            shading="nearest", rasterized=True,
        )  # fmt: skip
        edges = np.arange(self.n_leaves) + 0.5
        ax.contour(self.across, self.up, self.leaves, edges, colors="white", linewidths=1)
        ax.contour(self.across, self.up, self.scores, [0], colors="black", linewidths=1.8)
        draw_rows(ax, self.rows, self.codes, s=8, alpha=1)
        fit_axes_to_plane(ax, self.across, self.up, self.axis_names)
        ax.set_title(f"{self.n_leaves} leaves")
        return self
