"""How good predictions are: the figures of a comparison and of ``hyperlocal score``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import (
    average_precision_score,
    log_loss,
    mean_absolute_error,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)

from .experiment import Experiment
from .targets import CLASSIFICATION, REGRESSION, in_short


@dataclass(frozen=True)
class Metric:
    """A figure of the table: its heading, and how it is written and drawn."""

    heading: str
    axis: str  #: name of the axis on which errors are drawn
    text_of: Callable[[float], str] = "{:.4f}".format
    is_loss: bool = True  #: whether lower is better; otherwise the best is 1
    task: str = CLASSIFICATION

    def text(self, value: float | None) -> str:
        """The figure as the table shows it."""
        return "–" if value is None else self.text_of(value)

    def error(self, value: float) -> float:
        """What is drawn: lower is better."""
        return value if self.is_loss else 100 * (1 - value)


def _share(heading: str, axis: str = "") -> Metric:
    axis = axis or f"100 % − {heading}, %"
    return Metric(heading, axis, lambda value: f"{100 * value:.2f} %", is_loss=False)


def _r2_text(value: float) -> str:
    return f"{round(value, 4) + 0.0:.4f}"  # no "-0.0000"


def _in_units(value: float) -> str:
    return f"{value:#.4g}" if abs(value) < 1000 else in_short(value)


#: Attributes of a row by the names that ``--metric`` takes; of each task, the first is the default.
METRICS: Mapping[str, Metric] = {
    "accuracy": _share("accuracy", "test error, %"),
    "balanced_accuracy": _share("balanced accuracy"),
    "auc": _share("AUC"),
    "average_precision": _share("average precision"),
    "log_loss": Metric("log-loss", "test log-loss"),
    "r2": Metric("R²", "variance not explained, %", _r2_text, is_loss=False, task=REGRESSION),
    "rmse": Metric("RMSE", "test RMSE", _in_units, task=REGRESSION),
    "mae": Metric("MAE", "test MAE", _in_units, task=REGRESSION),
}


def metrics_of(task: str) -> list[str]:
    """Names of the metrics of a task."""
    return [name for name, metric in METRICS.items() if metric.task == task]


def measures(
    model: Any, X: Any, predicted: np.ndarray, experiment: Experiment
) -> tuple[dict[str, float | None], np.ndarray | None]:
    """All figures of a fitted model that are defined, and its probabilities if it has any."""
    if experiment.is_regression:
        return figures_of_values(experiment.y_test, predicted), None
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
    """The figures of predicted classes by name; None where one is not defined.

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
    found: dict[str, float | None] = dict.fromkeys(metrics_of(CLASSIFICATION))
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


def figures_of_values(y: np.ndarray, predicted: np.ndarray) -> dict[str, float | None]:
    """The figures of predicted values; errors are in the units of ``y``.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.compare.metrics import figures_of_values
    >>> figures_of_values(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 6.0]))["mae"]
    1.0
    """
    return {
        "r2": float(r2_score(y, predicted)) if len(y) > 1 else None,
        "rmse": float(root_mean_squared_error(y, predicted)),
        "mae": float(mean_absolute_error(y, predicted)),
    }


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
