"""Why a row was classified as it was, and what the support vectors say about the error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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


def support_fraction_bound(model: Any, X: Any = None, y: Any = None) -> float:
    """The share of training rows that are support vectors: a bound of the expected test error.

    Leaving out a row that is no support vector changes nothing, so it would be classified right.
    Hence at most the share of support vectors is wrong when each row in turn is left out, and that
    leave-one-out error estimates the error of a model trained on one row less, without bias. The
    bound holds for the solution of a hinge loss; of a solver that stopped early it is an estimate.

    Parameters
    ----------
    model : classifier
        Fitted. Without ``X`` and ``y`` it tells its own support vectors: it has ``support_``, and
        ``n_samples_fit_`` or ``shape_fit_``, as SDCASVC, KernelPegasosSVC and scikit-learn's SVC
        have.
    X, y : training rows and labels, optional
        For any model with ``decision_function``: support vectors are then the rows whose margin
        (of any class, one-vs-rest) is at most one.

    Returns
    -------
    float

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from hyperlocal import SDCASVC
    >>> from hyperlocal.inspection import support_fraction_bound
    >>> X, y = make_blobs(200, centers=2, random_state=0)
    >>> model = SDCASVC(random_state=0).fit(X, y)
    >>> bool(1 - model.score(X, y) <= support_fraction_bound(model) < 0.3)
    True
    """
    if (X is None) != (y is None):
        raise ValueError("give both X and y, or neither.")
    if X is not None:
        scores = model.decision_function(X)
        scores = scores[:, None] if scores.ndim == 1 else scores
        own = model.classes_[-scores.shape[1] :] == np.asarray(y)[:, None]
        # A solver leaves the margins of support vectors a little above one.
        return float((np.where(own, scores, -scores).min(axis=1) <= 1 + 1e-3).mean())
    n_rows = getattr(model, "n_samples_fit_", None) or getattr(model, "shape_fit_", (None,))[0]
    if n_rows is None or not hasattr(model, "support_"):
        raise TypeError(
            f"{type(model).__name__} does not tell its support vectors; give its training rows and "
            "labels as X and y."
        )
    return len(model.support_) / n_rows
