"""Contributions of many rows: as a heat map or images, of one feature, and of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..model.explanation import Explanation
from ..model.explanations import Explanations
from ..model.inspection import MeanInteractions, mean_interactions
from ..model.through import explain
from .drawing import INK, frame_left_and_below, grid_of_axes, open_axes

FEATURES_SHOWN = 12
ANCHORS_IN_COLOR = 10


@dataclass(eq=False, repr=False)
class ContributionMapDisplay:
    """Contributions of several rows to their deciding scores, as a heat map.

    Parameters
    ----------
    explanations : Explanations
        Of the rows that are drawn.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Set by :meth:`plot`.
    """

    explanations: Explanations

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, **options: Any) -> ContributionMapDisplay:
        """Explain the rows of ``X`` and draw; ``options`` are those of :meth:`plot`.

        Parameters
        ----------
        estimator : estimator
            A fitted model.
        X : {array-like, CSR} of shape (n_rows, n_features)
            The rows.
        **options
            Options of :meth:`plot`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from hyperlocal import LocallyLinearSVC
        >>> from hyperlocal.plots import ContributionMapDisplay
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> model = LocallyLinearSVC(random_state=0).fit(X, y)
        >>> len(ContributionMapDisplay.from_estimator(model, X[::10]).explanations)
        15
        """
        return cls(_several(estimator, X)).plot(**options)

    def plot(
        self, ax: Any = None, *, n_features: int = FEATURES_SHOWN, image_shape: Any = None
    ) -> ContributionMapDisplay:
        """Draw a line per row and a column per feature, the largest first; returns self.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        n_features : int, default=12
            The features shown: those of the largest mean ``|contribution|``.
        image_shape : tuple of int, default=None
            Where features are pixels: each row is drawn as an image, and below it its contributions
            as another, all of them in the same colors. A column per row.

        Returns
        -------
        ContributionMapDisplay
            The display itself.
        """
        if image_shape is not None:
            return self._plot_images(ax, image_shape)
        rows = self.explanations
        deciding = _deciding(rows)
        order = np.argsort(-np.abs(deciding).mean(axis=0), kind="stable")[:n_features]
        size = (2 + 0.45 * len(order), 1.6 + 0.2 * len(rows))
        self.ax_, self.figure_ = open_axes(ax, figsize=size)
        most = np.abs(deciding[:, order]).max() or 1.0
        image = self.ax_.imshow(
            deciding[:, order], cmap="PuOr_r", vmin=-most, vmax=most, aspect="auto"
        )
        names = [str(rows.feature_names[i]) for i in order]
        self.ax_.set_xticks(np.arange(len(order)), names, rotation=45, ha="right")
        step = max(1, len(rows) // 30)
        labels = [f"{one.prediction}" for one in rows]
        self.ax_.set_yticks(np.arange(len(rows))[::step], labels[::step])
        self.ax_.set_ylabel("prediction")
        self.figure_.colorbar(image, ax=self.ax_, label=f"contribution to the {_score_name(rows)}")
        return self

    def _plot_images(self, ax: Any, shape: Any) -> ContributionMapDisplay:
        rows, deciding = self.explanations, _deciding(self.explanations)
        grid, self.figure_ = grid_of_axes(ax, 2, len(rows), (1.0 + 1.3 * len(rows), 3.0))
        most = np.abs(deciding).max() or 1.0
        for i, (above, below) in enumerate(grid.T):
            above.imshow(np.asarray(rows.values[i], float).reshape(shape), cmap="gray_r")
            above.set_title(f"predicted {rows[i].prediction}", fontsize=9)
            image = below.imshow(deciding[i].reshape(shape), cmap="PuOr_r", vmin=-most, vmax=most)
        for one in grid.flat:
            one.set(xticks=[], yticks=[])
        self.ax_ = grid[0, 0]
        self.figure_.colorbar(image, ax=grid[1].tolist(), label="contribution")
        return self


@dataclass(eq=False, repr=False)
class DependenceDisplay:
    """Contributions of one feature against its value, colored by the nearest anchor.

    Parameters
    ----------
    explanations : Explanations
        Of the rows that are drawn.
    feature : str or int
        Index or name of the feature.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Set by :meth:`plot`.
    """

    explanations: Explanations
    feature: Any

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, feature: Any, **options: Any
    ) -> DependenceDisplay:
        """Explain the rows of ``X`` and draw; ``options`` are those of :meth:`plot`.

        Parameters
        ----------
        estimator : estimator
            A fitted model.
        X : {array-like, CSR} of shape (n_rows, n_features)
            The rows.
        feature : int or str
            Index or name of the feature.
        **options
            Options of :meth:`plot`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from hyperlocal import LocallyLinearSVC
        >>> from hyperlocal.plots import DependenceDisplay
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> model = LocallyLinearSVC(random_state=0).fit(X, y)
        >>> DependenceDisplay.from_estimator(model, X, "petal width (cm)").ax_.get_xlabel()
        'petal width (cm)'
        """
        return cls(_several(estimator, X), feature).plot(**options)

    def plot(self, ax: Any = None, *, label: object = None) -> DependenceDisplay:
        """Draw a point per row; returns self.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        label : label, default=None
            The class whose score is shown; by default the last.

        Returns
        -------
        DependenceDisplay
            The display itself.
        """
        rows = self.explanations
        names = rows.feature_names.tolist()
        place = names.index(self.feature) if isinstance(self.feature, str) else int(self.feature)
        column = rows.scores.shape[1] - 1 if label is None else rows[0].position(label)
        self.ax_, self.figure_ = open_axes(ax, figsize=(5, 3.6))
        values = rows.values[:, place]
        nearest = np.array([one.anchors[0] if len(one.anchors) else 0 for one in rows])
        self.ax_.axhline(0, color=INK, lw=0.8)
        self.ax_.scatter(
            values, rows.contributions[:, column, place], c=nearest % ANCHORS_IN_COLOR,
            cmap="tab10", vmin=0, vmax=ANCHORS_IN_COLOR - 1, s=14, alpha=0.8, linewidths=0,
        )  # fmt: skip
        self.ax_.set_xlabel(str(names[place]))
        self.ax_.set_ylabel(f"contribution to the {rows[0].score_names[column]}")
        if len(np.unique(nearest)) > 1:
            self.ax_.set_title("color: nearest anchor", fontsize=9, loc="right")
        frame_left_and_below(self.ax_)
        return self


@dataclass(eq=False, repr=False)
class InteractionDisplay:
    """How much pairs of features act together in quadratic local models, as a heat map.

    Parameters
    ----------
    interactions : MeanInteractions
        What :func:`mean_interactions` returned.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Set by :meth:`plot`.
    """

    interactions: MeanInteractions

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, **options: Any) -> InteractionDisplay:
        """Find the interactions at the rows of ``X`` and draw; options are those of :meth:`plot`.

        Parameters
        ----------
        estimator : estimator
            A fitted model.
        X : {array-like, CSR} of shape (n_rows, n_features)
            The rows.
        **options
            Options of :meth:`plot`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from hyperlocal import LocallyLinearSVC
        >>> from hyperlocal.plots import InteractionDisplay
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> model = LocallyLinearSVC(feature_map="quadratic", C=1.0, random_state=0).fit(X, y)
        >>> len(InteractionDisplay.from_estimator(model, X, n_features=3).ax_.get_xticks())
        3
        """
        return cls(mean_interactions(estimator, X)).plot(**options)

    def plot(self, ax: Any = None, *, n_features: int = FEATURES_SHOWN) -> InteractionDisplay:
        """Draw a cell per pair, squares on the diagonal; returns self.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        n_features : int, default=12
            The features shown: those of the largest interactions.

        Returns
        -------
        InteractionDisplay
            The display itself.
        """
        values = self.interactions.values
        order = np.argsort(-values.max(axis=0), kind="stable")[:n_features]
        size = 2.2 + 0.4 * len(order)
        self.ax_, self.figure_ = open_axes(ax, figsize=(size + 0.8, size))
        image = self.ax_.imshow(values[np.ix_(order, order)], cmap="Oranges", vmin=0)
        names, places = [str(self.interactions.feature_names[i]) for i in order], range(len(order))
        self.ax_.set_xticks(places, names, rotation=45, ha="right")
        self.ax_.set_yticks(places, names)
        self.figure_.colorbar(image, ax=self.ax_, label="mean |interaction|", shrink=0.8)
        return self


def _several(estimator: Any, X: Any) -> Explanations:
    found = explain(estimator, X)
    return Explanations([found]) if isinstance(found, Explanation) else found


def _score_name(rows: Explanations) -> str:
    """What the contributions of all rows are to: with one score, always the same class."""
    names = rows[0].score_names
    return names[0] if len(names) == 1 else "score of the predicted class"


def _deciding(rows: Explanations) -> np.ndarray:
    """Contributions to the score of each row's predicted class, ``(n_rows, n_features)``."""
    columns = np.array([one.column for one in rows])
    return rows.contributions[np.arange(len(rows)), columns]
