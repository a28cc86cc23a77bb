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
        first, n_given = data.given_rows(), data.n_given_rows
        self._folds = []
        for fold in folds:
            if not isinstance(fold, (tuple, list, np.ndarray)) or len(fold) != 2:
                raise ValueError("cv must give pairs of numbers of rows: to train and to test on.")
            train, test = (np.flatnonzero(np.isin(first, _numbers(one, n_given))) for one in fold)
            if len(train) and len(test):  # a fold may hold rows of weight zero alone
                self._folds.append((train, test))
        if not self._folds:
            raise ValueError("cv gives no fold with rows to train on and rows to test on.")

    def split(self, X: Any, y: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Pairs of numbers of rows."""
        yield from self._folds


def _numbers(rows: Any, n_rows: int) -> np.ndarray:
    """Numbers of rows, also of a mask."""
    rows = np.asarray(rows)
    if rows.dtype == bool and rows.shape == (n_rows,):
        return np.flatnonzero(rows)
    if rows.ndim != 1 or (len(rows) and rows.dtype.kind not in "iu"):
        raise ValueError(f"cv must give numbers of rows, not {rows.dtype} of shape {rows.shape}.")
    if len(rows) and not 0 <= rows.min() <= rows.max() < n_rows:
        raise ValueError(f"cv gives rows from {rows.min()} to {rows.max()}; there are {n_rows}.")
    return rows


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
