"""Decision boundaries in the plane, with anchors, local lines, margins and support vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..model.inspection import split_pipeline
from ..model.local_model import LocalModel
from .anchors import input_anchors, undo_steps
from .drawing import (
    INK,
    class_codes,
    class_colors,
    draw_anchors,
    draw_rows,
    fit_axes_to_plane,
    name_classes,
    open_axes,
    plane_grid,
    plane_names,
    plane_rows,
    with_names,
)

# Lengths in distances from an anchor to the nearest other anchor. A line farther away than
# FARTHEST does not describe the model near its anchor.
HALF_LENGTH, FARTHEST, DIFFERENCE = 0.4, 1.0, 1e-4
NO_LINES = np.empty((0, 2, 2))


@dataclass(eq=False, repr=False)
class BoundaryDisplay:
    """The boundary of a classifier in the plane.

    Parameters
    ----------
    across, up : ndarray of shape (n_points,)
        The grid.
    regions : ndarray of shape (n_points, n_points)
        Index of the predicted class.
    scores : ndarray of shape (n_points, n_points), or None
        Decision function of two classes.
    classes : ndarray
        The labels.
    rows : ndarray of shape (n_rows, 2)
        Rows that are drawn as points.
    codes : ndarray of shape (n_rows,) or None
        Classes of the rows, as indices.
    anchors : ndarray of shape (n_anchors, 2) or None
        Anchors that are drawn.
    lines : ndarray of shape (n_lines, 2, 2)
        Ends of the local lines.
    support : ndarray of int, or None
        Indices of the support vectors among the rows.
    margins : bool, default=False
        Whether to draw the lines of score -1 and +1.
    axis_names : (str, str)
        Labels of the two axes.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    """

    across: np.ndarray
    up: np.ndarray
    regions: np.ndarray
    scores: np.ndarray | None
    classes: np.ndarray
    rows: np.ndarray
    codes: np.ndarray | None
    anchors: np.ndarray | None
    lines: np.ndarray
    support: np.ndarray | None = None
    margins: bool = False
    axis_names: tuple[str, str] = ("", "")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        anchors: bool = True,
        local_lines: bool = True,
        margins: bool = False,
        support_vectors: bool = False,
        n_points: int = 250,
        ax: Any = None,
    ) -> BoundaryDisplay:
        """Draw the boundary of a fitted classifier over rows of two features.

        Anchors are drawn as stars, if the model has any. A local line is the tangent of the
        boundary at the point that the explanation of an anchor gives; it is left out where that
        point is far from the anchor.

        Parameters
        ----------
        estimator : classifier, or Pipeline that ends in one
            Fitted to two features.
        X : array-like of shape (n_rows, 2)
            The rows.
        y : array-like of shape (n_rows,), default=None
            Labels, shown as colors.
        anchors, local_lines : bool, default=True
            Whether to draw the anchors, and the local lines besides.
        margins : bool, default=False
            Draw dashed lines where the decision function is -1 and +1; two classes only.
        support_vectors : bool, default=False
            Draw circles around the rows in ``support_``; ``X`` must be the training rows.
        n_points : int, default=250
            Points of the grid along each axis.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        BoundaryDisplay

        Examples
        --------
        >>> from hyperlocal import LocallyLinearSVC
        >>> from hyperlocal.datasets import make_banana
        >>> from hyperlocal.plots import BoundaryDisplay
        >>> X, y = make_banana(200, random_state=0)
        >>> model = LocallyLinearSVC(8, n_neighbors=3, random_state=0).fit(X, y)
        >>> BoundaryDisplay.from_estimator(model, X, y, n_points=50).anchors.shape
        (8, 2)
        """
        return measure_boundary(
            estimator, X, y, anchors=anchors, local_lines=local_lines, margins=margins,
            support_vectors=support_vectors, n_points=n_points,
        ).plot(ax=ax)  # fmt: skip

    def plot(self, *, ax: Any = None, legend: bool = True) -> BoundaryDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        legend : bool, default=True
            Whether to say which color is which class.

        Returns
        -------
        BoundaryDisplay
            The display itself.
        """
        self.ax_, self.figure_ = ax, _ = open_axes(ax)
        levels = np.arange(len(self.classes) + 1) - 0.5
        plane = (self.across, self.up, self.regions)
        ax.contourf(*plane, levels=levels, colors=class_colors(len(self.classes)), alpha=0.16)
        if self.scores is None:
            ax.contour(*plane, levels=levels[1:-1], colors=INK, linewidths=1.8)
        else:
            self._draw_contours(self.scores)
        draw_rows(ax, self.rows, self.codes)
        if self.support is not None:
            ax.scatter(*self.rows[self.support].T, fc="none", ec=INK, s=34, lw=0.6)
        for line in self.lines:
            ax.plot(*line.T, color="#b3123f", lw=2.2, solid_capstyle="round")
        if self.anchors is not None:
            draw_anchors(ax, self.anchors)
        fit_axes_to_plane(ax, self.across, self.up, self.axis_names)
        if legend:
            name_classes(ax, self.classes)
        return self

    def _draw_contours(self, scores: np.ndarray) -> None:
        """The line of score zero, and the margins."""
        plane = (self.across, self.up, scores)
        self.ax_.contour(*plane, levels=[0], colors=INK, linewidths=1.8)
        if self.margins:
            self.ax_.contour(*plane, levels=[-1, 1], colors=INK, linestyles="--", linewidths=0.8)


def measure_boundary(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    anchors: bool = True,
    local_lines: bool = True,
    margins: bool = False,
    support_vectors: bool = False,
    n_points: int = 250,
) -> BoundaryDisplay:
    """A display that is not drawn yet; arguments as in :meth:`BoundaryDisplay.from_estimator`."""
    check_is_fitted(estimator)
    rows, classes = plane_rows(X), estimator.classes_
    if margins and len(classes) != 2:
        raise ValueError(f"margins=True needs two classes, not {len(classes)}.")
    model = split_pipeline(estimator)[1]
    if support_vectors and not hasattr(model, "support_"):
        raise ValueError(f"support_vectors=True: {type(model).__name__} has no support_.")
    across, up, points = plane_grid(rows, n_points)
    regions, scores = _regions(estimator, with_names(points, getattr(X, "columns", None)))
    stars, lines = None, NO_LINES
    if anchors:
        stars, lines = _anchors_and_lines(estimator, model, local_lines)
    shape = (n_points, n_points)
    return BoundaryDisplay(
        across, up, regions.reshape(shape), None if scores is None else scores.reshape(shape),
        classes, rows=rows, codes=class_codes(classes, y), anchors=stars, lines=lines,
        support=model.support_ if support_vectors else None, margins=margins,
        axis_names=plane_names(X),
    )  # fmt: skip


def _regions(estimator: Any, points: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Index of the predicted class at each point; the scores too, if there are two classes."""
    if len(estimator.classes_) == 2 and hasattr(estimator, "decision_function"):
        scores = estimator.decision_function(points)
        return (scores > 0).astype(int), scores
    return np.searchsorted(estimator.classes_, estimator.predict(points)), None


def _anchors_and_lines(
    estimator: Any, model: Any, local_lines: bool
) -> tuple[np.ndarray | None, np.ndarray]:
    """Anchors and local lines in the features that the user gave."""
    anchors = input_anchors(model)
    if anchors is None:
        return None, NO_LINES
    lines = _local_lines(model, anchors) if local_lines and len(anchors) > 1 else NO_LINES
    ends = undo_steps(estimator, lines.reshape(-1, 2)) if len(lines) else lines
    return undo_steps(estimator, anchors), ends.reshape(-1, 2, 2)


def _local_lines(model: Any, anchors: np.ndarray) -> np.ndarray:
    """Ends of the local lines near their anchors, ``(n_lines, 2, 2)``."""
    names = getattr(model, "feature_names_in_", None)
    own = getattr(model, "model_", None)
    known = own.feature_map.unit if isinstance(own, LocalModel) else None
    size = np.ones(2) if known is None else 1 / known
    away = np.linalg.norm((anchors[:, None] - anchors) / size, axis=2)
    np.fill_diagonal(away, np.inf)
    lines = []
    for explanation, unit in zip(
        model.explain(with_names(anchors, names)), away.min(axis=1), strict=True
    ):
        point = explanation.boundary
        if point is None or not point.found:
            continue
        if np.linalg.norm(point.changes / size) > FARTHEST * unit:
            continue
        normal = _normal(model, point.row, DIFFERENCE * unit * size, names)
        along = np.array([-normal[1], normal[0]]) * HALF_LENGTH * unit * size
        lines.append([point.row - along, point.row + along])
    return np.array(lines).reshape(-1, 2, 2)


def _normal(model: Any, row: np.ndarray, step: np.ndarray, names: Any) -> np.ndarray:
    """The unit normal of the boundary at a row on it: the gradient of the score, by differences.

    (The weights of the local models alone leave out that the gate changes too.)
    """
    around = row + step * np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]])
    scores = model.decision_function(with_names(around, names))
    if scores.ndim == 2:
        first, second = np.argsort(-scores[0])[:2]
        scores = scores[:, first] - scores[:, second]
    gradient = scores[1::2] - scores[2::2]
    return gradient / (np.linalg.norm(gradient) or 1.0)
