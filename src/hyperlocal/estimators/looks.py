"""The two looks of SecondLookSVC: how each is fitted, and where the second is taken."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn import get_config
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from ..data.labelled import LabelledRows
from ..data.rows import take_rows
from ..model.multiclass import as_columns, candidate_classes, predicted_codes
from .neighborhood_classifier import NeighborhoodClassifier

# What low_margin="auto" chooses from besides 0.
LOW_MARGINS = (0.5, 1.0)
# The most rows that a trial looks at again: enough to see a gain that is worth the time.
MOST_TRIED = 400


class LookTrial(NamedTuple):
    """What a trial on held-out rows found; errors are sums of weights.

    ``low`` counts the held-out rows of a low margin, and ``tried`` those of them that got a second
    look: none, if the first look errs on so few that there is nothing to gain.
    """

    low_margin: float
    held_out: int
    low: int
    tried: int
    first_errors: float
    second_errors: float


def check_looks(first: Any, second: Any) -> None:
    """Raise unless the first look has scores and the second scores between given classes."""
    if isinstance(first, type) or not hasattr(first, "decision_function"):
        raise TypeError(
            "first_look must be None or a classifier with a decision_function, such as "
            f"LocallyLinearSVC(), not {first!r}."
        )
    if not isinstance(second, NeighborhoodClassifier):
        raise TypeError(
            "second_look must be None, a NeighborhoodSVC or an AdaptiveNeighborhoodSVC, not "
            f"{second!r}."
        )
    if second.cache_neighborhoods:
        raise ValueError(
            "second_look must have cache_neighborhoods=False: its SVMs are trained between the "
            "classes that score best in the first look, which cached models are not."
        )


def fit_look(
    look: Any, data: LabelledRows, is_weighted: bool, random_state: Any, **changes: Any
) -> Any:
    """A fitted clone with these changes, and with the seed if it has none.

    Its labels are indices of classes. Weights are passed if there are any.
    """
    weights = {weights_argument(look): data.sample_weight} if is_weighted else {}
    look = clone(look)
    own = look.get_params(deep=False)
    if own.get("random_state", 0) is None:
        changes["random_state"] = random_state
    look.set_params(**{name: value for name, value in changes.items() if name in own})
    return look.fit(data.X, data.target, **weights)


def weights_argument(look: Any) -> str:
    """The argument of a look's ``fit`` that takes weights of rows; raises if there is none.

    A pipeline passes them to its last step, or, with metadata routing, to the steps that request
    them.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.svm import LinearSVC
    >>> from hyperlocal.estimators.looks import weights_argument
    >>> weights_argument(make_pipeline(StandardScaler(), LinearSVC()))
    'linearsvc__sample_weight'
    """
    steps, last = [], look
    while isinstance(last, Pipeline):
        step, last = last.steps[-1]
        steps.append(step)
    if not has_fit_parameter(last, "sample_weight"):
        what = "the last step of first_look" if steps else "first_look"
        raise ValueError(
            f"{what}, {type(last).__name__}, takes no sample_weight; give a classifier that does, "
            "or leave out sample_weight and class_weight."
        )
    is_routed = get_config()["enable_metadata_routing"]
    return "sample_weight" if is_routed else "__".join([*steps, "sample_weight"])


def check_scores(first_look: Any, data: LabelledRows) -> None:
    """Raise unless a fitted first look has one score per class."""
    shape, n_classes = np.shape(first_look.decision_function(data.X[:1])), len(data.classes)
    if shape != ((1,) if n_classes == 2 else (1, n_classes)):
        raise ValueError(
            "first_look must have one score per class (one in all for two classes), but its "
            f"decision_function returns an array of shape {shape} for one row of {n_classes} "
            "classes."
        )


def looked_again(
    scores: np.ndarray, X: Any, second_look: NeighborhoodClassifier, low_margin: float
) -> np.ndarray:
    """Scores of the first look, replaced by those of the second where the margin is low."""
    candidates = candidate_classes(scores, low_margin)
    low = np.flatnonzero(candidates.sum(axis=1) > 1)
    if not len(low):
        return scores
    scores = scores.copy()
    again = second_look.decision_between(take_rows(X, low), candidates[low])
    scores[low] = as_columns(again)
    return scores


def tried_margin(
    first_look: Any,
    second_look: Callable[[], NeighborhoodClassifier],
    test: LabelledRows,
    rng: np.random.Generator,
) -> LookTrial:
    """The margin that lowers the error on test rows most, less a standard error; 0 if none does.

    The first look's own scores come first: a second look of the rows of a low margin can at best
    correct the errors among them. If these are too few to be a gain beyond chance, no second look
    is fitted. Otherwise it scores a sample of these rows.
    """
    scores = as_columns(first_look.decision_function(test.X))
    costs = test.sample_weight * (predicted_codes(scores) != test.target)
    low = np.flatnonzero(candidate_classes(scores, max(LOW_MARGINS)).sum(axis=1) > 1)
    n_low, n_held_out = len(low), len(scores)
    if not gain_beyond_chance(costs[low]) > 0:
        errors = float(costs[low].sum())
        return LookTrial(0.0, n_held_out, n_low, 0, errors, errors)
    low = np.sort(rng.permutation(low)[:MOST_TRIED])
    alone, weights, X = costs[low], test.sample_weight[low], take_rows(test.X, low)
    second = second_look()
    best, most, fewest = 0.0, 0.0, float(alone.sum())
    for low_margin in LOW_MARGINS:
        again = predicted_codes(looked_again(scores[low], X, second, low_margin))
        left = weights * (again != test.target[low])
        gain = gain_beyond_chance(alone - left)
        if gain > most:
            best, most, fewest = low_margin, gain, float(left.sum())
    return LookTrial(best, n_held_out, n_low, len(low), float(alone.sum()), fewest)


def gain_beyond_chance(gains: np.ndarray) -> float:
    """Sum of the gains of rows, less its standard error.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.estimators.looks import gain_beyond_chance
    >>> gain_beyond_chance(np.array([1.0, 1.0, 1.0, 0.0, -1.0]))
    0.0
    """
    return float(gains.sum()) - math.sqrt(float(gains @ gains))
