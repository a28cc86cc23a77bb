"""Explanations of rows by the look that scores them: the first, or the second."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..data.rows import take_rows
from ..model.contributions import Contributions, as_dense
from ..model.explanation import Explanation, LocalRows
from ..model.foreign import foreign_model, is_known
from ..model.through import ExplainedEstimator, explain
from ..runtime.threads import Workers
from .neighborhood_base import NeighborhoodClassifier


def look_contributions(
    first: Any,
    second: NeighborhoodClassifier,
    X: Any,
    low: np.ndarray,
    candidates: np.ndarray,
    background: Any,
) -> Contributions:
    """Contributions of each row by its look.

    Parameters
    ----------
    first, second : fitted looks
    X : ndarray or CSR of shape (n_rows, n_features)
    low : ndarray of int
        The rows that get a second look.
    candidates : ndarray of bool, shape (n_low, n_classes)
        The classes between which it decides.
    background : rows or None
        Of the first look. A second look is relative to the row's own neighborhood.

    Returns
    -------
    Contributions
    """
    rest = np.setdiff1d(np.arange(X.shape[0]), low)
    parts: list[tuple[np.ndarray, Contributions]] = []
    if len(rest):
        parts.append((rest, _by_first(first, take_rows(X, rest), background)))
    if len(low):
        with Workers(second.n_jobs) as workers:
            paths = second.explained_model(candidates).own_paths(take_rows(X, low), workers)
        parts.append((low, paths.contributions()))
    order = np.argsort(np.concatenate([rows for rows, _ in parts]))
    names = ("values", "references", "remainders", "scores", "seen")
    return Contributions(
        *(np.concatenate([getattr(found, name) for _, found in parts])[order] for name in names)
    )


def _by_first(first: Any, X: Any, background: Any) -> Contributions:
    found = explain(first, X, background)
    rows = [found] if isinstance(found, Explanation) else found
    seen = as_dense(X)
    if rows[0].contributions.shape[1] != seen.shape[1]:
        raise ValueError(
            f"first_look, {type(first).__name__}, cannot be explained in the features of X; give "
            "one whose steps can be undone, such as scalers and PCA."
        )
    names = ("contributions", "references", "remainders", "scores")
    values, *others = (np.array([getattr(one, name) for one in rows]) for name in names)
    return Contributions(values, others[0], others[1], others[2], seen)


def look_rows(
    first: Any, second: NeighborhoodClassifier, X: Any, low: np.ndarray, candidates: np.ndarray
) -> Iterator[LocalRows]:
    """The linear model at each row, by its look, one row at a time."""
    place = {int(row): number for number, row in enumerate(low)}
    for i in range(X.shape[0]):
        row = take_rows(X, np.array([i]))
        if i in place:
            model = second.explained_model(candidates[place[i] : place[i] + 1])
            with Workers(1) as workers:
                yield from model.local_rows(row, workers)
        elif isinstance(first, ExplainedEstimator):
            yield from first.local_rows(row)
        elif not is_known(first):
            raise ValueError(
                f"first_look, {type(first).__name__}, has no weights on the features of X; explain "
                "states contributions through its steps."
            )
        else:
            with Workers(1) as workers:
                yield from foreign_model(first).local_rows(as_dense(row), workers)
