"""Bars of contributions: of one prediction, and of many rows on average."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..model.explanation import Explanation
from ..model.inspection import MeanContributions, mean_contributions
from ..model.through import explain
from .drawing import GREY, INK, draw_bars, open_axes

FEATURES_SHOWN = 10


@dataclass(eq=False, repr=False)
class ExplanationDisplay:
    """The largest contributions to one score of one row.

    Parameters
    ----------
    explanation : Explanation
        What is drawn.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Set by :meth:`plot`.
    """

    explanation: Explanation

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, **options: Any) -> ExplanationDisplay:
        """Explain one row and draw it; ``options`` are those of :meth:`plot`.

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
        >>> from hyperlocal.plots import ExplanationDisplay
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> model = LocallyLinearSVC(random_state=0).fit(X, y)
        >>> int(ExplanationDisplay.from_estimator(model, X.iloc[[0]]).explanation.prediction)
        0
        """
        explanation = explain(estimator, X)
        if not isinstance(explanation, Explanation):
            raise ValueError(f"X must be one row, not {len(explanation)}.")
        return cls(explanation).plot(**options)

    def plot(
        self,
        ax: Any = None,
        *,
        label: object = None,
        n_features: int = FEATURES_SHOWN,
        waterfall: bool = False,
    ) -> ExplanationDisplay:
        """Draw bars.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        label : label, default=None
            The class whose score is shown; by default the one that decides the prediction.
        n_features : int, default=10
            Bars for this many features; the others are summed in one bar.
        waterfall : bool, default=False
            Each bar begins where the last one ended, from the reference to the score.

        Returns
        -------
        self
            The fitted estimator.
        """
        one = self.explanation
        column = one.column if label is None else one.position(label)
        pairs = one.largest(one.contributions[column], n_features, with_values=True)
        pairs += one.constants(column)
        n_bars = len(pairs) + waterfall  # and the score
        self.ax_, self.figure_ = open_axes(ax, figsize=(6, 1.2 + 0.28 * n_bars))
        if waterfall:
            draw_waterfall(pairs[-1:] + pairs[:-1], self.ax_)
        else:
            names, values = zip(*pairs, strict=True)
            draw_bars(names, np.array(values), self.ax_)
        what = "" if waterfall else "contribution to the "
        self.ax_.set_xlabel(f"{what}{one.score_names[column]}")
        title = f"predicted {one.prediction}; {one.score_names[column]}"
        self.ax_.set_title(f"{title} {one.scores[column]:+.3f}", fontsize=10)
        return self


@dataclass(eq=False, repr=False)
class MeanContributionsDisplay:
    """The features with the largest contributions over many rows.

    Parameters
    ----------
    contributions : MeanContributions
        What is drawn.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Set by :meth:`plot`.
    """

    contributions: MeanContributions

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, **options: Any) -> MeanContributionsDisplay:
        """Average over the rows of ``X`` and draw; ``options`` are those of :meth:`plot`.

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
        >>> from hyperlocal.plots import MeanContributionsDisplay
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> model = LocallyLinearSVC(random_state=0).fit(X, y)
        >>> MeanContributionsDisplay.from_estimator(model, X).contributions.by_class.shape
        (3, 4)
        """
        return cls(mean_contributions(estimator, X)).plot(**options)

    def plot(self, ax: Any = None, *, n_features: int = FEATURES_SHOWN) -> MeanContributionsDisplay:
        """Draw bars, the largest first; returns self.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        n_features : int, default=10
            How many features are drawn.

        Returns
        -------
        MeanContributionsDisplay
            The display itself.
        """
        mean = self.contributions
        order = np.argsort(-mean.overall, kind="stable")[:n_features]
        self.ax_, self.figure_ = open_axes(ax, figsize=(6, 1.2 + 0.28 * len(order)))
        draw_bars(mean.feature_names[order], mean.overall[order], self.ax_)
        self.ax_.set_xlabel("mean |contribution| to the deciding score")
        return self


def draw_waterfall(pairs: list[tuple[str, float]], ax: Any) -> None:
    """Bars that each begin where the last one ended; the first is where they start.

    The last is their sum.
    """
    names, values = [name for name, _ in pairs], np.array([value for _, value in pairs])
    ends = np.cumsum(values)
    draw_bars([*names, "score"], np.append(values, ends[-1]), ax)
    for bar, begin in zip(ax.patches[1:-1], ends[:-1], strict=True):
        bar.set_x(bar.get_x() + begin)
    for bar in (ax.patches[0], ax.patches[-1]):
        bar.set_color(GREY)
    for place, end in enumerate(ends):
        ax.plot([end, end], [place - 0.36, place + 1.36], color=INK, lw=0.6)
    corners = np.append(ends, 0.0)
    margin = 0.05 * (np.ptp(corners) or 1.0)
    ax.set_xlim(corners.min() - margin, corners.max() + margin)
