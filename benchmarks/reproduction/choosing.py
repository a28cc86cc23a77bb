"""Settings chosen on training rows: all candidates on few rows, the best few on more."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .adapters import Settings, make_estimator
from .rows import folds_of, thinned
from .table import MethodPlan, SetPlan


@dataclass(frozen=True)
class Choice:
    """Settings, and the error in % that they had on held-out training rows (None: no choice)."""

    settings: Settings
    validation_error: float | None = None


def choose(
    method: MethodPlan,
    plan: SetPlan,
    X: np.ndarray,
    y: np.ndarray,
    *,
    n_folds: int,
    n_finalists: int,
    seed: int,
) -> Choice:
    """Choose among the candidates of a method by cross-validation over training rows."""
    fixed, candidates = method.fixed(plan.name), method.candidates(plan.name)
    if len(candidates) == 1:
        return Choice(fixed | candidates[0])
    tried = [fixed | candidate for candidate in candidates]
    error = 0.0
    # Among many candidates some are first by chance: at least a tenth is evaluated again.
    n_again = max(n_finalists, math.ceil(len(tried) / 10))
    rounds = [(plan.tune_rows, n_again), (plan.final_rows, 1)]
    if plan.tune_rows >= min(plan.final_rows, len(y)):
        rounds = rounds[1:]
    for n_rows, n_kept in rounds:
        few = thinned(X, y, n_rows)
        splits = list(folds_of(plan, n_folds).split(*few))
        errors = [_held_out_error(method, one, *few, splits, seed) for one in tried]
        order = np.argsort(errors, kind="stable")[:n_kept]
        tried, error = [tried[index] for index in order], errors[order[0]]
    return Choice(tried[0], error)


def _held_out_error(
    method: MethodPlan,
    settings: Settings,
    X: np.ndarray,
    y: np.ndarray,
    splits: Sequence[tuple[np.ndarray, np.ndarray]],
    seed: int,
) -> float:
    errors = []
    for train, held_out in splits:
        model = make_estimator(method.entry, settings, X[train], seed)
        fit_quietly(model, X[train], y[train])
        errors.append(error_percent(model.predict(X[held_out]), y[held_out]))
    return float(np.mean(errors))


def fit_quietly(model: Any, X: np.ndarray, y: np.ndarray) -> bool:
    """Fit; return whether it converged. What else it warns of is of no use in a table."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    return not any(issubclass(warning.category, ConvergenceWarning) for warning in caught)


def error_percent(predicted: np.ndarray, truth: np.ndarray) -> float:
    """Share of wrong labels."""
    return 100 * float(np.mean(predicted != truth))
