"""Scorers of held-out rows, whatever they take and return."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import get_scorer


class CheckedScorer:
    """A scorer of scikit-learn, or a function ``(estimator, X, y)``, that returns a finite number.

    Weights of rows are passed on to those that take them.

    Parameters
    ----------
    scoring : str or callable

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.selection.scorers import CheckedScorer
    >>> scorer = CheckedScorer(lambda estimator, X, y: 0.5)
    >>> scorer(None, np.arange(2), np.arange(2), sample_weight=np.ones(2))
    0.5
    """

    def __init__(self, scoring: Any):
        self._scorer: Callable[..., Any] = get_scorer(scoring)
        self._takes_weights = _may_take_weights(self._scorer)

    def __call__(
        self, estimator: Any, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray
    ) -> float:
        """The score; a ValueError where it is not a finite number."""
        score = self._value(estimator, X, y, sample_weight)
        if np.ndim(score) != 0 or not isinstance(score, (int, float, np.number)):
            raise TypeError(f"scoring returned {score!r}; it must return a number.")
        if not np.isfinite(score):
            raise ValueError(
                f"scoring returned {score} for held-out rows; some scores are not defined for rows "
                "of one class. Use fewer folds, or another scoring."
            )
        return float(score)

    def _value(self, estimator: Any, X: np.ndarray, y: np.ndarray, weights: np.ndarray) -> Any:
        if not self._takes_weights:
            return self._scorer(estimator, X, y)
        try:
            return self._scorer(estimator, X, y, sample_weight=weights)
        except TypeError as error:  # of a metric that takes none, which a scorer does not say
            if "sample_weight" not in str(error):
                raise
        self._takes_weights = False
        return self._scorer(estimator, X, y)


def _may_take_weights(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # of some compiled functions
        return True
    return "sample_weight" in parameters or any(
        one.kind is one.VAR_KEYWORD for one in parameters.values()
    )
