"""Anchors as prototypes, and the weights of their local models, as pictures or in one map."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..model.inspection import anchor_weights, split_pipeline
from ..model.multiclass import predicted_codes
from .anchors import anchors_of, as_given
from .drawing import pyplot

MOST_SHOWN = 25
# Names of features are written up to this many.
MOST_NAMES = 40


class _MapDisplay:
    """A map of numbers per local model: a picture each, or a line each.

    Parameters
    ----------
    values : ndarray of shape (n_shown, n_features)
    titles : list of str
    image_shape : (height, width) or (height, width, 3), or None
        None draws one map with a line per local model.
    feature_names : ndarray of str

    Attributes
    ----------
    axes_, figure_ : matplotlib Axes and Figure
    """

    _cmap = "viridis"
    _signed = False

    def __init__(
        self, values: np.ndarray, titles: list[str], image_shape: Any, feature_names: np.ndarray
    ):
        self.values = values
        self.titles = titles
        self.image_shape = image_shape
        self.feature_names = feature_names

    def plot(self) -> Any:
        """Draw in a new figure; returns the display itself."""
        if self.image_shape is None:
            self._plot_lines()
        else:
            self._plot_images()
        return self

    def _limits(self) -> dict[str, Any]:
        if not self._signed:
            return {"cmap": self._cmap}
        largest = float(np.abs(self.values).max()) or 1.0
        return {"cmap": self._cmap, "vmin": -largest, "vmax": largest}

    def _plot_images(self) -> None:
        n_shown = len(self.values)
        n_columns = int(np.ceil(np.sqrt(n_shown)))
        n_lines = -(-n_shown // n_columns)
        self.figure_, grid = pyplot().subplots(
            n_lines, n_columns, figsize=(1.35 * n_columns, 1.5 * n_lines), squeeze=False,
            layout="constrained",
        )  # fmt: skip
        self.axes_ = grid
        for ax in grid.flat:
            ax.set_axis_off()
        for ax, values, title in zip(grid.flat, self.values, self.titles, strict=False):
            image = values.reshape(self.image_shape)
            if image.ndim == 3:
                low, high = float(image.min()), float(image.max())
                ax.imshow((image - low) / (high - low or 1.0))
            else:
                ax.imshow(image, **self._limits())
            ax.set_title(title, fontsize=8)

    def _plot_lines(self) -> None:
        n_shown, n_features = self.values.shape
        size = (min(12, 2.5 + 0.3 * n_features), 1.4 + 0.24 * n_shown)
        self.figure_, self.axes_ = pyplot().subplots(figsize=size, layout="constrained")
        picture = self.axes_.imshow(self.values, aspect="auto", **self._limits())
        self.axes_.set_yticks(np.arange(n_shown), self.titles, fontsize=8)
        if n_features <= MOST_NAMES:
            names = [str(name) for name in self.feature_names]
            self.axes_.set_xticks(np.arange(n_features), names, rotation=90, fontsize=8)
        self.figure_.colorbar(picture)


class PrototypeDisplay(_MapDisplay):
    """Anchors as prototypes: what the rows around them look like.

    Parameters and attributes: ``values`` (anchors), ``titles``, ``image_shape``, ``feature_names``;
    ``axes_``, ``figure_``.
    """

    _cmap = "gray_r"

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, image_shape: Any = None, n_shown: int = MOST_SHOWN
    ) -> PrototypeDisplay:
        """Draw the anchors of a fitted model, in the rows' own units.

        Parameters
        ----------
        estimator : classifier with anchors, or Pipeline that ends in one
        image_shape : (height, width) or (height, width, 3), default=None
            How a row is a picture; by default a map with a line per anchor is drawn.
        n_shown : int, default=25
            The first so many anchors.

        Returns
        -------
        PrototypeDisplay
            Titles are the anchors' numbers, and what the model would say of a row there.

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
        model, anchors = anchors_of(estimator)
        chosen = model._row_scores(anchors[:n_shown])
        titles = [
            f"{number}: {label}"
            for number, label in enumerate(model.classes_[predicted_codes(chosen)])
        ]
        values = as_given(estimator, anchors[:n_shown])
        names = _input_names(estimator, values.shape[1])
        return cls(values, titles, image_shape, names).plot()


class WeightMapDisplay(_MapDisplay):
    """Weights of the local models: what speaks for a class there, and what against it.

    Parameters and attributes: ``values`` (weights), ``titles``, ``image_shape``, ``feature_names``;
    ``axes_``, ``figure_``.
    """

    _cmap = "RdBu_r"
    _signed = True

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        label: Any = None,
        image_shape: Any = None,
        n_shown: int = MOST_SHOWN,
    ) -> WeightMapDisplay:
        """Draw the weights of a fitted model's local models for one class.

        Parameters
        ----------
        estimator : classifier with local models, or Pipeline that ends in one
            Weights are on the features that the last step sees.
        label : label, default=None
            Whose score; the last class by default.
        image_shape : (height, width), default=None
            How a row is a picture; by default a map with a line per local model is drawn.
        n_shown : int, default=25
            The first so many local models.

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
            raise ValueError(f"no weights for {label!r}; there are for {scored.tolist()}.")
        values = weights[:n_shown, position[0]]
        titles = [f"{number}" for number in range(len(values))]
        names = _input_names(model if steps is None else steps, values.shape[1], out=bool(steps))
        return cls(values, titles, image_shape, names).plot()


def _input_names(estimator: Any, n_features: int, out: bool = False) -> np.ndarray:
    if out:
        return np.asarray(estimator.get_feature_names_out(), dtype=object)
    default = np.array([f"x{i}" for i in range(n_features)], dtype=object)
    return getattr(estimator, "feature_names_in_", default)
