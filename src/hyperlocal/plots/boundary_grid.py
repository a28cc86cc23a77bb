"""Boundaries for several values of two parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone

from .boundary import BoundaryDisplay, measure_boundary
from .drawing import grid_of_axes


@dataclass(eq=False, repr=False)
class BoundaryGridDisplay:
    """A grid of boundaries: one parameter changes down the rows, another across the columns.

    Parameters
    ----------
    panels : list of lists of BoundaryDisplay
        The boundaries.
    titles : list of lists of str
        One per panel.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
    ax_ : matplotlib Axes
        The first of them.
    figure_ : matplotlib Figure
    """

    panels: list[list[BoundaryDisplay]]
    titles: list[list[str]]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        down: Mapping[str, Sequence[Any]],
        across: Mapping[str, Sequence[Any]],
        margins: bool = True,
        support_vectors: bool = True,
        n_points: int = 200,
        ax: Any = None,
    ) -> BoundaryGridDisplay:
        """Fit clones with several values of two parameters, and draw their boundaries.

        Parameters
        ----------
        estimator : classifier
            A classifier; clones of it are fitted.
        X : array-like of shape (n_rows, 2)
            The rows.
        y : array-like of shape (n_rows,)
            Labels.
        down, across : dict of one parameter name and its values
            The parameter that changes down the rows, and the one that changes across the columns.
        margins, support_vectors : bool, default=True
            As in :meth:`BoundaryDisplay.from_estimator`.
        n_points : int, default=200
            Points of the grid along each axis.
        ax : matplotlib Axes, default=None
            The grid takes their place; a new figure by default.

        Returns
        -------
        BoundaryGridDisplay

        Examples
        --------
        >>> from sklearn.svm import SVC
        >>> from hyperlocal.datasets import make_banana
        >>> from hyperlocal.plots import BoundaryGridDisplay
        >>> X, y = make_banana(60, random_state=0)
        >>> display = BoundaryGridDisplay.from_estimator(
        ...     SVC(), X, y, down={"C": (1, 100)}, across={"gamma": (0.1, 1, 10)}, n_points=20
        ... )
        >>> display.axes_.shape, display.titles[1][0]
        ((2, 3), 'C = 100, gamma = 0.1')
        """
        settings = [[{**row, **column} for column in _settings(across)] for row in _settings(down)]

        def panel(values: dict[str, Any]) -> BoundaryDisplay:
            model = clone(estimator).set_params(**values).fit(X, y)
            return measure_boundary(
                model, X, y, margins=margins, support_vectors=support_vectors, n_points=n_points
            )

        panels = [[panel(values) for values in line] for line in settings]
        titles = [[_title(values) for values in line] for line in settings]
        return cls(panels, titles).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> BoundaryGridDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        BoundaryGridDisplay
            The display itself.
        """
        shape = (len(self.panels), len(self.panels[0]))
        self.axes_, self.figure_ = grid_of_axes(ax, *shape, (3.0 * shape[1], 3.0 * shape[0]))
        self.ax_ = self.axes_[0, 0]
        for axes, panels, titles in zip(self.axes_, self.panels, self.titles, strict=True):
            for one, panel, title in zip(axes, panels, titles, strict=True):
                panel.plot(ax=one, legend=one is self.ax_).ax_.set_title(title, fontsize=10)
        return self


def _settings(choice: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    if len(choice) != 1:
        raise ValueError(f"down and across each take one parameter, not {sorted(choice)}.")
    return [{name: value} for name, values in choice.items() for value in values]


def _title(values: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name} = {value:g}" if isinstance(value, (int, float)) else f"{name} = {value}"
        for name, value in values.items()
    )
