"""A quick classifier that is asked first; what it is in doubt about gets a second look."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from ..data.labelled import LabelledRows


def check_first_look(first_look: Any, cache_neighborhoods: bool) -> None:
    """Refuse what has no scores to doubt, and two ways to answer first."""
    if first_look is None:
        return
    if isinstance(first_look, type) or not hasattr(first_look, "decision_function"):
        raise TypeError(
            "first_look must be None or a classifier with a decision_function, such as "
            f"LocallyLinearSVC(), not {first_look!r}."
        )
    if cache_neighborhoods:
        raise ValueError(
            "first_look and cache_neighborhoods=True are two ways to answer most queries at once; "
            "leave one of them out."
        )


def fit_first_look(first_look: Any, data: LabelledRows, weighted: bool, random_state: Any) -> Any:
    """A fitted clone, which knows classes by their number.

    Weights are handed on if there are any: a pipeline, for one, takes none.
    """
    fitted = clone(first_look)
    if fitted.get_params().get("random_state", 0) is None:
        fitted.set_params(random_state=random_state)
    if weighted and not has_fit_parameter(fitted, "sample_weight"):
        raise ValueError(
            f"first_look={type(fitted).__name__} takes no sample_weight; give a classifier that "
            "does, or leave out sample_weight and class_weight."
        )
    weights = {"sample_weight": data.sample_weight} if weighted else {}
    fitted.fit(data.X, data.target, **weights)
    shape = np.shape(fitted.decision_function(data.X[:1]))
    if shape != ((1,) if len(data.classes) == 2 else (1, len(data.classes))):
        raise ValueError(
            "first_look must have one score per class (one in all for two classes), but its "
            f"decision_function returns an array of shape {shape} for one row of "
            f"{len(data.classes)} classes."
        )
    return fitted


def classes_in_question(scores: np.ndarray, clear_lead: float) -> np.ndarray:
    """Which classes score within ``clear_lead`` of the best, for each row of scores.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.estimators.first_look import classes_in_question
    >>> classes_in_question(np.array([[-1.0, 0.3, 0.5]]), 1.0).tolist()
    [[False, True, True]]
    >>> classes_in_question(np.array([[0.2], [0.9]]), 1.0).tolist()
    [[True, True], [False, True]]
    """
    if scores.shape[1] == 1:
        scores = np.hstack([-scores, scores])
    return scores > scores.max(axis=1, keepdims=True) - clear_lead
