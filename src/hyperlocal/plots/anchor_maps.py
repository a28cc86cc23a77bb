"""Anchors as prototypes, and the weights of their local models, as images or in one map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..model.inspection import anchor_weights, split_pipeline
from .anchors import model_and_anchors, undo_steps
from .drawing import grid_of_axes, open_axes, with_names

MOST_SHOWN = 25
MOST_NAMES = 40  # with more features, their names would overlap


@dataclass(eq=False, repr=False)
class _MapDisplay:
    """Numbers per local model and feature."""

    values: np.ndarray
    titles: list[str]
    image_shape: Any
    feature_names: np.ndarray

    def _draw(self, colors: dict[str, Any], ax: Any) -> None:
        draw = self._draw_map if self.image_shape is None else self._draw_images
        self.axes_, self.figure_ = draw(colors, ax)
        self.ax_ = self.axes_[0, 0]

    def _draw_images(self, colors: dict[str, Any], ax: Any) -> tuple[np.ndarray, Any]:
        """One image per local model."""
        n_columns = int(np.ceil(np.sqrt(len(self.values))))
        n_rows = -(-len(self.values) // n_columns)
        grid, figure = grid_of_axes(ax, n_rows, n_columns, (1.35 * n_columns, 1.5 * n_rows))
        for one in grid.flat:
            one.set_axis_off()
        for one, values, title in zip(grid.flat, self.values, self.titles, strict=False):
            image = values.reshape(self.image_shape)
            if image.ndim == 3:
                low, high = float(image.min()), float(image.max())
                one.imshow((image - low) / (high - low or 1.0))
            else:
                one.imshow(image, **colors)
            one.set_title(title, fontsize=8)
        return grid, figure

    def _draw_map(self, colors: dict[str, Any], ax: Any) -> tuple[np.ndarray, Any]:
        """One map with a line per local model and a column per feature."""
        n_shown, n_features = self.values.shape
        size = (min(12, 2.5 + 0.3 * n_features), 1.4 + 0.24 * n_shown)
        ax, figure = open_axes(ax, figsize=size)
        picture = ax.imshow(self.values, aspect="auto", **colors)
        ax.set_yticks(np.arange(n_shown), self.titles, fontsize=8)
        if n_features <= MOST_NAMES:
            names = [str(name) for name in self.feature_names]
            ax.set_xticks(np.arange(n_features), names, rotation=90, fontsize=8)
        figure.colorbar(picture, ax=ax)
        return np.array([[ax]]), figure


class PrototypeDisplay(_MapDisplay):
    """Anchors as prototypes: what the rows around them look like.

    Parameters
    ----------
    values : ndarray of shape (n_shown, n_features)
        The anchors.
    titles : list of str
        One per anchor.
    image_shape : (height, width) or (height, width, 3), or None
        None draws one map with a line per anchor.
    feature_names : ndarray of str
        Labels of bars, where anchors are no images.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        One per image, or one alone.
    ax_ : matplotlib Axes
        The first of them.
    figure_ : matplotlib Figure
    """

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, image_shape: Any = None, n_shown: int = MOST_SHOWN, ax: Any = None
    ) -> PrototypeDisplay:
        """Draw the anchors of a fitted model, in the units of the given rows.

        Parameters
        ----------
        estimator : classifier with anchors, or Pipeline that ends in one
            A fitted model with anchors.
        image_shape : (height, width) or (height, width, 3), default=None
            How a row is an image; by default a map with a line per anchor is drawn.
        n_shown : int, default=25
            The number of anchors shown; the first ones are.
        ax : matplotlib Axes, default=None
            Images take their place, side by side; a new figure by default.

        Returns
        -------
        PrototypeDisplay
            Titles are the anchors' numbers and the classes that the model predicts for them.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from hyperlocal import LocallyLinearSVC
        >>> from hyperlocal.plots import PrototypeDisplay
        >>> X, y = load_digits(return_X_y=True)
        >>> model = LocallyLinearSVC(9, feature_map=None, random_state=0).fit(X[:300], y[:300])
        >>> PrototypeDisplay.from_estimator(model, image_shape=(8, 8)).values.shape
        (9, 64)
        """
        model, anchors = model_and_anchors(estimator)
        anchors = anchors[:n_shown]
        predicted = model.predict(with_names(anchors, getattr(model, "feature_names_in_", None)))
        titles = [f"{number}: {label}" for number, label in enumerate(predicted)]
        values = undo_steps(estimator, anchors)
        names = _feature_names(estimator, values.shape[1])
        return cls(values, titles, image_shape, names).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> PrototypeDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        PrototypeDisplay
            The display itself.
        """
        self._draw({"cmap": "gray_r"}, ax)
        return self


class WeightMapDisplay(_MapDisplay):
    """Weights of the local models for one class: positive ones raise its score.

    Parameters
    ----------
    values : ndarray of shape (n_shown, n_features)
        The weights.
    titles : list of str
        One per local model.
    image_shape : (height, width) or None
        None draws one map with a line per local model.
    feature_names : ndarray of str
        Labels of bars, where weights are no images.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        One per image, or one alone.
    ax_ : matplotlib Axes
        The first of them.
    figure_ : matplotlib Figure
    """

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        label: Any = None,
        image_shape: Any = None,
        n_shown: int = MOST_SHOWN,
        ax: Any = None,
    ) -> WeightMapDisplay:
        """Draw the weights of a fitted model's local models for one class.

        Parameters
        ----------
        estimator : classifier with local models, or Pipeline that ends in one
            Weights are on the features that the last step takes.
        label : label, default=None
            The class whose score the weights belong to; the last class by default.
        image_shape : (height, width), default=None
            How a row is an image; by default a map with a line per local model is drawn.
        n_shown : int, default=25
            The number of local models shown; the first ones are.
        ax : matplotlib Axes, default=None
            Images take their place, side by side; a new figure by default.

        Returns
        -------
        WeightMapDisplay

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from hyperlocal import LocallyLinearSVC
        >>> from hyperlocal.plots import WeightMapDisplay
        >>> X, y = load_digits(return_X_y=True)
        >>> model = LocallyLinearSVC(9, feature_map=None, random_state=0).fit(X[:300], y[:300])
        >>> WeightMapDisplay.from_estimator(model, label=3, image_shape=(8, 8)).values.shape
        (9, 64)
        """
        check_is_fitted(estimator)
        steps, model = split_pipeline(estimator)
        weights = anchor_weights(model)
        scored = model.classes_[-weights.shape[1] :]
        position = np.flatnonzero(scored == (scored[-1] if label is None else label))
        if not len(position):
            raise ValueError(f"no weights for {label!r}; there are weights for {scored.tolist()}.")
        values = weights[:n_shown, position[0]]
        titles = [f"{number}" for number in range(len(values))]
        names = _feature_names(model, values.shape[1]) if steps is None else _names_after(steps)
        return cls(values, titles, image_shape, names).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> WeightMapDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        WeightMapDisplay
            The display itself.
        """
        largest = float(np.abs(self.values).max()) or 1.0
        colors = {"cmap": "RdBu_r", "vmin": -largest, "vmax": largest}
        self._draw(colors, ax)
        return self


def _feature_names(estimator: Any, n_features: int) -> np.ndarray:
    default = np.array([f"x{i}" for i in range(n_features)], dtype=object)
    return getattr(estimator, "feature_names_in_", default)


def _names_after(steps: Any) -> np.ndarray:
    return np.asarray(steps.get_feature_names_out(), dtype=object)
