"""Explanations of rows by the look that scores them: the first, or the second."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..data.rows import take_rows
from ..model.contributions import Paths, as_dense
from ..model.explanation import LocalRows
from ..model.foreign import foreign_model, is_known
from ..model.through import input_paths, is_explained
from ..runtime.threads import Workers
from .neighborhood_classifier import NeighborhoodClassifier


def look_paths(
    first: Any,
    second: NeighborhoodClassifier,
    X: Any,
    low: np.ndarray,
    candidates: np.ndarray,
    background: Any,
) -> Paths:
    """The ways to each row by its look.

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
    Paths
    """
    rest, seen = np.setdiff1d(np.arange(X.shape[0]), low), as_dense(X)
    parts: list[tuple[np.ndarray, Paths]] = []
    if len(rest):
        found = input_paths(first, take_rows(X, rest), background)
        if found is None:
            raise ValueError(
                f"first_look, {type(first).__name__}, cannot be explained in the features of X; "
                "give one whose steps can be undone, such as scalers and PCA."
            )
        parts.append((rest, found))
    if len(low):
        with Workers(second.n_jobs) as workers:
            own = second.explained_model(candidates).own_paths(take_rows(X, low), workers)
        parts.append((low, own))
    shares = parts[0][1].shares

    def merged(found: list[np.ndarray]) -> np.ndarray:
        out = np.empty((len(seen), *found[0].shape[1:]))
        for (rows, _), values in zip(parts, found, strict=True):
            out[rows] = values
        return out

    numbers = range(len(shares))  # a second look has one reference: its share is split
    return Paths(
        [merged([one.starts[i % len(one.starts)] for _, one in parts]) for i in numbers],
        [merged([one.weights[i % len(one.weights)] for _, one in parts]) for i in numbers],
        shares,
        seen,
        merged([one.scores for _, one in parts]),
        merged([one.references for _, one in parts]),
        are_own=True,
    )


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
        elif is_explained(first):
            yield from first.local_rows(row)
        elif not is_known(first):
            raise ValueError(
                f"first_look, {type(first).__name__}, has no weights on the features of X; explain "
                "states contributions through its steps."
            )
        else:
            with Workers(1) as workers:
                yield from foreign_model(first).local_rows(as_dense(row), workers)
