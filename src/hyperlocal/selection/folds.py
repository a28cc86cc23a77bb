"""Folds of a search: shuffled, given, or by groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
)
from sklearn.utils.validation import check_consistent_length, column_or_1d

from ..data.labelled import LabelledRows

# Of more rows, three folds do.
FEWEST_ROWS_PER_FOLD_OF_FIVE = 5_000


def default_folds(data: LabelledRows, n_splits: int | None, rng: np.random.Generator) -> Any:
    """Shuffled folds, stratified by class; None where no class has two rows.

    Folds of values have two rows or more: R² of one is not defined.
    """
    strata = data.strata
    most = len(strata) // 2 if data.is_numeric else int(np.bincount(strata).max())
    n_splits = min(n_splits or _n_folds(len(strata)), most)
    if n_splits < 2:
        return None
    kind = KFold if data.is_numeric else StratifiedKFold
    return kind(n_splits, shuffle=True, random_state=int(rng.integers(2**31)))


class GivenFolds:
    """Folds as pairs of numbers of given rows, before equal rows were merged.

    A row that merges several given rows is assigned as the first of them.
    """

    def __init__(self, folds: Iterable[Any], data: LabelledRows):
        self._folds = [(np.asarray(train), np.asarray(test)) for train, test in folds]
        self._first = data.given_rows()

    def split(self, X: Any, y: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Pairs of numbers of rows."""
        for train, test in self._folds:
            in_train, in_test = (np.flatnonzero(np.isin(self._first, one)) for one in (train, test))
            if len(in_train) and len(in_test):  # a fold may hold rows of weight zero alone
                yield in_train, in_test


def _n_folds(n_rows: int) -> int:
    return 5 if n_rows < FEWEST_ROWS_PER_FOLD_OF_FIVE else 3


def group_folds(
    cv: Any, y: Any, groups: Any, rng: np.random.Generator, *, is_numeric: bool = False
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Folds of given rows in which no group is divided.

    Parameters
    ----------
    cv : int, None or splitter
        Its ``split`` takes groups; a number or None are shuffled folds stratified by class.
    y, groups : array-like of shape (n_rows,)
    rng : numpy Generator
    is_numeric : bool
        Whether ``y`` are values, of one target or several; folds are then not stratified.
    """
    y, groups = np.asarray(y) if is_numeric else column_or_1d(y), column_or_1d(groups)
    check_consistent_length(y, groups)
    if isinstance(cv, Iterable) and not hasattr(cv, "split"):
        raise ValueError("groups must be None where cv gives the folds.")
    if not hasattr(cv, "split"):
        n_splits = min(cv or _n_folds(len(y)), len(np.unique(groups)))
        if n_splits < 2:
            raise ValueError("groups must hold at least two different values.")
        seed = int(rng.integers(2**31))
        kind = GroupKFold if is_numeric else StratifiedGroupKFold
        cv = kind(n_splits, shuffle=True, random_state=seed)
    return list(cv.split(np.zeros((len(y), 1)), y, groups))
