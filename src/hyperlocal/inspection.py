"""Why a row was classified as it was: exact contributions per feature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

FEATURES_SHOWN = 10


@dataclass(frozen=True)
class Explanation:
    """The exact linear explanation of one prediction.

    Attributes
    ----------
    prediction : label
        The predicted class.
    classes : ndarray
        The class that each row of ``contributions`` speaks for (for two classes: the second).
    contributions : ndarray of shape (n_columns, n_features)
        What each feature adds to the score: its local weight times its value.
    intercepts : ndarray of shape (n_columns,)
        What is added whatever the features are.
    scores : ndarray of shape (n_columns,)
        ``contributions.sum(axis=1) + intercepts``: the decision function.
    feature_names : ndarray of str
    anchors, anchor_weights : ndarray of shape (n_neighbors,)
        The local models that spoke, and how loudly.
    """

    prediction: object
    classes: np.ndarray
    contributions: np.ndarray
    intercepts: np.ndarray
    scores: np.ndarray
    feature_names: np.ndarray
    anchors: np.ndarray
    anchor_weights: np.ndarray

    def of_class(self, label: object) -> np.ndarray:
        """Contributions to the score of one class."""
        position = np.flatnonzero(self.classes == label)
        if not len(position):
            raise ValueError(
                f"no score for {label!r}; there are scores for {self.classes.tolist()}."
            )
        return self.contributions[position[0]]

    def __str__(self) -> str:
        # The column that decided: the predicted class's own, or the only one there is.
        decided = np.flatnonzero(self.classes == self.prediction)
        column = int(decided[0]) if len(decided) else 0
        contributions = self.contributions[column]
        order = np.argsort(-np.abs(contributions), kind="stable")
        width = max([9, *(len(str(name)) for name in self.feature_names[order[:FEATURES_SHOWN]])])
        lines = [f"predicted {self.prediction}; score of {self.classes[column]}:"]
        for feature in order[:FEATURES_SHOWN]:
            lines.append(
                f"  {self.feature_names[feature]!s:<{width}} {contributions[feature]:+.4f}"
            )
        if len(order) > FEATURES_SHOWN:
            rest = float(contributions[order[FEATURES_SHOWN:]].sum())
            lines.append(f"  {f'{len(order) - FEATURES_SHOWN} others':<{width}} {rest:+.4f}")
        lines.append(f"  {'intercept':<{width}} {self.intercepts[column]:+.4f}")
        lines.append(f"  {'score':<{width}} {self.scores[column]:+.4f}")
        spoke = ", ".join(
            f"{anchor} ({weight:.2f})"
            for anchor, weight in zip(self.anchors, self.anchor_weights, strict=True)
        )
        return "\n".join([*lines, f"  anchors: {spoke}"])
