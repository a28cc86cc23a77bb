"""Decision boundaries in the plane, with anchors and the lines of local models."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..model.inspection import split_pipeline
from .anchors import as_given
from .drawing import BLUE, INK, ORANGE, axes_or_new, plane_grid

GRID_POINTS = 250
# Half a line's length, in distances from its anchor to the nearest other anchor.
HALF_LENGTH = 0.4
# A line farther from its anchor than this many such distances says nothing about its surroundings.
FARTHEST = 1.0
# Step of differences, in the same distances.
DIFFERENCE = 1e-4


class LocalBoundaryDisplay:
    """The boundary of a model in the plane, its anchors, and their local lines.

    Parameters
    ----------
    across, up : ndarray of shape (n_points,)
        The grid.
    regions : ndarray of shape (n_points, n_points)
        Index of the predicted class.
    anchors : ndarray of shape (n_anchors, 2) or None
    lines : ndarray of shape (n_lines, 2, 2)
        Ends of the local lines.
    rows, codes : ndarray or None
        Rows to show, and their classes as indices.
    classes : ndarray

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    """

    def __init__(
        self,
        across: np.ndarray,
        up: np.ndarray,
        regions: np.ndarray,
        anchors: np.ndarray | None,
        lines: np.ndarray,
        rows: np.ndarray,
        codes: np.ndarray | None,
        classes: np.ndarray,
    ):
        self.across = across
        self.up = up
        self.regions = regions
        self.anchors = anchors
        self.lines = lines
        self.rows = rows
        self.codes = codes
        self.classes = classes

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        local_lines: bool = True,
        n_points: int = GRID_POINTS,
        ax: Any = None,
    ) -> LocalBoundaryDisplay:
        """Draw a fitted model over rows of two features.

        From each anchor the local normal is followed to the boundary, and there the line is drawn
        that the model is locally: the tangent of its score. (The weights of the local models alone
        leave out that the gate changes too.) Lines far from their anchor are left out.

        Parameters
        ----------
        estimator : classifier, or Pipeline that ends in one
            Fitted to two features.
        X : array-like of shape (n_rows, 2)
        y : array-like of shape (n_rows,), default=None
            Labels, shown as colours.
        local_lines : bool, default=True
        n_points : int, default=250
            Points of the grid along each axis.
        ax : matplotlib Axes, default=None

        Returns
        -------
        LocalBoundaryDisplay

        Examples
        --------
        >>> from hyperlocal import LocallyLinearSVC
        >>> from hyperlocal.datasets import make_banana
        >>> from hyperlocal.plots import LocalBoundaryDisplay
        >>> X, y = make_banana(200, random_state=0)
        >>> model = LocallyLinearSVC(8, n_neighbors=3, random_state=0).fit(X, y)
        >>> LocalBoundaryDisplay.from_estimator(model, X, y, n_points=50).anchors.shape
        (8, 2)
        """
        names = getattr(X, "columns", None)
        rows = np.asarray(X, dtype=float)
        if rows.ndim != 2 or rows.shape[1] != 2:
            raise ValueError("a boundary can be drawn for two features only.")
        across, up, points = plane_grid(rows, n_points)
        if names is not None:
            points = type(X)(points, columns=list(names))
        labels = estimator.predict(points).reshape(n_points, n_points)
        classes = estimator.classes_
        anchors, lines = None, np.empty((0, 2, 2))
        model = split_pipeline(estimator)[1]
        own = getattr(model, "anchors_", None)
        if own is not None and own.shape[1] == model.n_features_in_:
            anchors = as_given(estimator, own)
            if local_lines:
                ends = _local_lines(model, own)
                lines = as_given(estimator, ends.reshape(-1, 2)).reshape(-1, 2, 2)
        codes = None if y is None else np.searchsorted(classes, np.asarray(y))
        display = cls(
            across, up, np.searchsorted(classes, labels), anchors, lines, rows, codes, classes
        )
        return display.plot(ax=ax)

    def plot(self, *, ax: Any = None) -> LocalBoundaryDisplay:
        """Draw; returns the display itself."""
        from matplotlib.colors import ListedColormap

        ax = axes_or_new(ax)
        colours = _colours(len(self.classes))
        levels = np.arange(len(self.classes) + 1) - 0.5
        plane = (self.across, self.up, self.regions)
        ax.contourf(*plane, levels=levels, colors=colours, alpha=0.16)
        ax.contour(*plane, levels=levels[1:-1], colors=INK, linewidths=1.8)
        options = {"s": 9, "lw": 0, "alpha": 0.6}
        if self.codes is None:
            ax.scatter(*self.rows.T, color=INK, **options)
        else:
            ax.scatter(
                *self.rows.T, c=self.codes, cmap=ListedColormap(colours), vmin=-0.5,
                vmax=len(colours) - 0.5, **options,
            )  # fmt: skip
        for line in self.lines:
            ax.plot(*line.T, color="#b3123f", lw=2.2, solid_capstyle="round")
        if self.anchors is not None:
            ax.plot(*self.anchors.T, "*", color=INK, ms=12, mec="white", mew=0.9, ls="none")
        ax.set(xlim=(self.across[0], self.across[-1]), ylim=(self.up[0], self.up[-1]))
        ax.set(xticks=[], yticks=[])
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _colours(n_classes: int) -> list[Any]:
    if n_classes == 2:
        return [BLUE, ORANGE]
    from matplotlib import colormaps

    return [colormaps["tab10"](i % 10) for i in range(n_classes)]


def _local_lines(model: Any, anchors: np.ndarray) -> np.ndarray:
    """Ends of the local lines near their anchors, ``(n_lines, 2, 2)``."""
    if len(anchors) == 1:  # its line would be the boundary itself
        return np.empty((0, 2, 2))
    explained = model.explain(_named(model, anchors))
    away = np.linalg.norm(anchors[:, None] - anchors, axis=2)
    np.fill_diagonal(away, np.inf)
    lines = []
    for explanation, room in zip(explained, away.min(axis=1), strict=True):
        point = explanation.boundary
        if point is None or not point.found or point.distance > FARTHEST * room:
            continue
        normal = _normal(model, point.row, DIFFERENCE * room)
        along = np.array([-normal[1], normal[0]]) * HALF_LENGTH * room
        lines.append([point.row - along, point.row + along])
    return np.array(lines).reshape(-1, 2, 2)


def _normal(model: Any, row: np.ndarray, step: float) -> np.ndarray:
    """The unit normal of the boundary at a row on it: the gradient of the score, by differences."""
    around = row + step * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
    scores = model.decision_function(_named(model, np.vstack([row, around])))
    if scores.ndim == 2:
        first, second = np.argsort(-scores[0])[:2]
        scores = scores[:, first] - scores[:, second]
    gradient = scores[1::2] - scores[2::2]
    return gradient / (np.linalg.norm(gradient) or 1.0)


def _named(model: Any, rows: np.ndarray) -> Any:
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return rows
    import pandas

    return pandas.DataFrame(rows, columns=names)
