"""How good predictions are: the figures of a comparison and of ``hyperlocal score``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import (
    average_precision_score,
    log_loss,
    roc_auc_score,
)

from .experiment import Experiment


@dataclass(frozen=True)
class Metric:
    """A figure of the table: its heading, and how it is written and drawn."""

    heading: str
    is_loss: bool = False  #: whether lower is better

    def text(self, value: float | None) -> str:
        """The figure as the table shows it."""
        if value is None:
            return "–"
        return f"{value:.4f}" if self.is_loss else f"{100 * value:.2f} %"

    def error(self, value: float) -> float:
        """What is drawn: lower is better."""
        return value if self.is_loss else 100 * (1 - value)

    @property
    def axis(self) -> str:
        """Name of the axis on which errors are drawn."""
        if self.is_loss:
            return f"test {self.heading}"
        return "test error, %" if self.heading == "accuracy" else f"100 % − {self.heading}, %"


#: Attributes of a row by the names that ``--metric`` takes.
METRICS: Mapping[str, Metric] = {
    "accuracy": Metric("accuracy"),
    "balanced_accuracy": Metric("balanced accuracy"),
    "auc": Metric("AUC"),
    "average_precision": Metric("average precision"),
    "log_loss": Metric("log-loss", is_loss=True),
}


def measures(
    model: Any, X: Any, predicted: np.ndarray, experiment: Experiment
) -> tuple[dict[str, float | None], np.ndarray | None]:
    """All figures of a fitted model that are defined, and its probabilities if it has any."""
    y, classes = experiment.y_test, model.classes_
    probabilities = _output(model, "predict_proba", X)
    scores = _output(model, "decision_function", X) if probabilities is None else probabilities
    return figures(y, predicted, classes, scores, probabilities, experiment.positive), probabilities


def figures(
    y: np.ndarray,
    predicted: np.ndarray,
    classes: np.ndarray,
    scores: np.ndarray | None,
    probabilities: np.ndarray | None,
    positive: Any = None,
) -> dict[str, float | None]:
    """The figures by the names of :data:`METRICS`; None where one is not defined.

    Parameters
    ----------
    y, predicted : ndarray of shape (n_rows,)
    classes : ndarray of shape (n_classes,)
        Those of the scores.
    scores : ndarray of shape (n_rows,) or (n_rows, n_classes), or None
    probabilities : ndarray of shape (n_rows, n_classes), or None
    positive : label, optional
        Of two classes, the one of which average precision is.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.compare.metrics import figures
    >>> y = np.array([0, 0, 1, 1])
    >>> found = figures(y, np.array([0, 1, 1, 1]), y[1:3], np.array([-1.0, 0.2, 0.1, 1.0]), None)
    >>> found["accuracy"], found["auc"], found["log_loss"]
    (0.75, 0.75, None)
    """
    present = [label for label in classes if label in set(y.tolist())]
    found: dict[str, float | None] = dict.fromkeys(METRICS)
    found["accuracy"] = float(np.mean(predicted == y))
    recalls = [np.mean(predicted[y == label] == label) for label in np.unique(y)]
    found["balanced_accuracy"] = float(np.mean(recalls))
    if scores is not None and len(present) > 1:
        columns = {label: _of_class(scores, j) for j, label in enumerate(classes)}
        used = present if len(classes) > 2 or positive is None else [positive]
        if len(classes) == 2 and positive is None:
            used = [classes[1]]
        truths = {label: y == label for label in used}
        found["auc"] = float(
            np.mean([roc_auc_score(truths[label], columns[label]) for label in used])
        )
        found["average_precision"] = float(
            np.mean([average_precision_score(truths[label], columns[label]) for label in used])
        )
    if probabilities is not None and set(y.tolist()) <= set(classes.tolist()):
        found["log_loss"] = float(log_loss(y, probabilities, labels=classes))
    return found


def _of_class(scores: np.ndarray, j: int) -> np.ndarray:
    """Scores of a class; a single column is that of the second of two."""
    if scores.ndim == 1:
        return scores if j else -scores
    return scores[:, j]


def _output(model: Any, method: str, X: Any) -> np.ndarray | None:
    """What a method gives, one number per class or for the second of two; else None."""
    try:
        output = getattr(model, method)(X)
    except (AttributeError, NotImplementedError, ValueError):  # it has no such method
        return None
    n_classes = len(model.classes_)
    fits = output.ndim == 1 if output.ndim < 2 else output.shape[1] == n_classes
    return output if fits and np.isfinite(output).all() else None
