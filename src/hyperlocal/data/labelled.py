"""Labelled rows as the chain takes them, and equal rows made one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..runtime.threads import row_blocks
from .rows import canonical, take_rows

# Equal rows are merged up to so many rows, where that takes almost no time.
MOST_ROWS_TO_MERGE = 16_384
NUMBERS_PER_KEY_BLOCK = 1 << 17
# Most different rows differ in so many features from the middle.
FEATURES_COMPARED_FIRST = 64


@dataclass(frozen=True)
class LabelledRows:
    """Training data ready for the chain.

    Attributes
    ----------
    X : ndarray or csr_array of shape (n_rows, n_features)
        float32 or float64, C order; CSR with sorted, unique columns.
    target : ndarray of int32, shape (n_rows,)
        Index into ``classes``.
    classes : ndarray
        Sorted distinct labels.
    sample_weight : ndarray of float64, shape (n_rows,)
        Class weights included, none zero.
    origin : RowOrigin or None
        Where the given rows went; None: they are these rows, in their order.
    population : int or None
        The number of rows of which these are a sample; None: they are all.
    is_numeric : bool
        Whether ``classes`` are the distinct values of a regression, of shape (n_values,) or
        (n_values, n_targets).
    """

    X: Any
    target: np.ndarray
    classes: np.ndarray
    sample_weight: np.ndarray
    origin: RowOrigin | None = None
    population: int | None = None
    is_numeric: bool = False

    @property
    def n_represented(self) -> int:
        """How many rows these represent."""
        return self.X.shape[0] if self.population is None else self.population

    @property
    def n_given(self) -> int:
        """The number of rows before equal ones were merged and those of weight zero left out."""
        return self.X.shape[0] if self.origin is None else len(self.origin.row)

    @property
    def total_weight(self) -> float:
        """The sum of the weights of all rows."""
        return float(self.sample_weight.sum())

    def astype(self, dtype: Any) -> LabelledRows:
        """The same rows in another precision."""
        return replace(self, X=self.X.astype(dtype, copy=False))

    @property
    def labels(self) -> np.ndarray:
        """The label of each row."""
        return self.classes[self.target]

    @property
    def strata(self) -> np.ndarray:
        """What parts of the rows should have in equal shares: the classes, if there are any."""
        return np.zeros_like(self.target) if self.is_numeric else self.target

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Values of these rows as values of the given rows, each times the share of its row."""
        if self.origin is None:
            return values
        return values[self.origin.row] * self.origin.share[:, None].astype(values.dtype)

    @property
    def n_given_rows(self) -> int:
        """Rows that were given, before equal ones were merged."""
        return self.X.shape[0] if self.origin is None else len(self.origin.row)

    def given_rows(self) -> np.ndarray:
        """For each row, the first given row that was merged into it."""
        if self.origin is None:
            return np.arange(self.X.shape[0])
        kept = np.flatnonzero(self.origin.share)[::-1]
        first = np.empty(self.X.shape[0], np.int64)
        first[self.origin.row[kept]] = kept  # of several, the last to be written is the first
        return first


@dataclass(frozen=True)
class RowOrigin:
    """Where given rows went.

    Attributes
    ----------
    row : ndarray of int64, shape (n_given,)
        The row that a given row was merged into; arbitrary for a row of weight zero.
    share : ndarray of float64, shape (n_given,)
        Its share of that row's weight.
    """

    row: np.ndarray
    share: np.ndarray


def merge_equal_rows(data: LabelledRows, *, keep_order: bool = False) -> LabelledRows:
    """Make one row of all equal rows of a class, with the sum of their weights.

    Rows are then ordered by content. So a row of weight two and the same row twice, and rows in any
    order, give bitwise the same result. Large data are returned unchanged. With ``keep_order`` rows
    stay in the order in which they first occur, and data of any size are merged.
    """
    if keep_order and _are_distinct(data.X):
        return data
    groups = equal_row_groups(data, any_size=keep_order)
    if groups is None or not keep_order:
        return merge_groups(data, groups)
    first, group = groups
    if len(first) == len(group):
        return data
    by_occurrence = np.argsort(first)
    place = np.empty(len(first), np.intp)
    place[by_occurrence] = np.arange(len(first))
    return merge_groups(data, (first[by_occurrence], place[group]))


def merge_groups(data: LabelledRows, groups: tuple[np.ndarray, np.ndarray] | None) -> LabelledRows:
    """Make one row of each group that :func:`equal_row_groups` found; None leaves all rows."""
    if groups is None:
        return data
    first, group = groups
    weights = np.bincount(group, weights=data.sample_weight)
    origin = RowOrigin(group, data.sample_weight / weights[group])
    if data.origin is not None:
        before = data.origin
        origin = RowOrigin(origin.row[before.row], origin.share[before.row] * before.share)
    return replace(
        data, X=canonical(data.X[first]), target=data.target[first], sample_weight=weights,
        origin=origin, population=None,
    )  # fmt: skip


def equal_row_groups(
    data: LabelledRows, *, any_size: bool = False
) -> tuple[np.ndarray, np.ndarray] | None:
    """The first row of each group of equal rows, and the group of each row; None for large data."""
    X, target = data.X, data.target
    if X.shape[0] > MOST_ROWS_TO_MERGE and not any_size:
        return None
    keys = row_keys(X)
    order = np.lexsort((target, keys))
    is_first = np.ones(len(order), bool)
    is_first[1:] = (np.diff(keys[order]) != 0) | (np.diff(target[order]) != 0)
    in_order = np.cumsum(is_first) - 1
    first, again = order[is_first], order[~is_first]
    if not _equal(X[again], X[first[in_order[~is_first]]]):
        return None  # two different rows have the same key
    group = np.empty(len(order), np.intp)
    group[order] = in_order
    return first, group


@dataclass(frozen=True)
class EqualRows:
    """Groups of equal rows that follow each other: group g is ``rows[starts[g] : starts[g + 1]]``.

    Attributes
    ----------
    rows, starts : ndarray of int64
    """

    rows: np.ndarray
    starts: np.ndarray


def equal_neighbors(X: Any, target: np.ndarray) -> EqualRows | None:
    """Rows that follow each other and are equal, with different labels; None if there are none.

    That is where :func:`merge_equal_rows` puts them; of data that it leaves as they are, None.
    Rows without features are not compared.
    """
    if not 1 < X.shape[0] <= MOST_ROWS_TO_MERGE or X.shape[1] == 0:
        return None
    keys = row_keys(X)
    again = np.flatnonzero((keys[1:] == keys[:-1]) & (target[1:] != target[:-1])) + 1
    if not len(again) or not _equal(X[again], X[again - 1]):
        return None
    is_first = np.diff(again, prepend=-1) > 1
    sizes = np.bincount(np.cumsum(is_first) - 1) + 1
    rows = np.sort(np.concatenate([again, again[is_first] - 1]))
    return EqualRows(rows, np.concatenate([[0], np.cumsum(sizes)]))


def _are_distinct(X: Any) -> bool:
    """Whether some features of wide rows already show that no two rows are equal."""
    if sp.issparse(X) or X.shape[1] <= FEATURES_COMPARED_FIRST:
        return False
    begin = (X.shape[1] - FEATURES_COMPARED_FIRST) // 2
    _, group, counts = np.unique(
        row_keys(X[:, begin : begin + FEATURES_COMPARED_FIRST]),
        return_inverse=True,
        return_counts=True,
    )
    alike = np.flatnonzero(counts[group] > 1)
    return len(np.unique(row_keys(X[alike]))) == len(alike)


def row_keys(X: Any) -> np.ndarray:
    """One integer per row: equal for equal rows, different for others except in rare collisions."""
    factors = np.random.default_rng(0).integers(2**63, size=X.shape[1], dtype=np.uint64)
    factors = factors * np.uint64(2) + np.uint64(1)
    if sp.issparse(X):
        return sp.csr_array((_mixed_bits(X.data), X.indices, X.indptr), shape=X.shape) @ factors
    keys = np.empty(X.shape[0], np.uint64)
    for begin, end in row_blocks(X.shape[0], max(1, NUMBERS_PER_KEY_BLOCK // X.shape[1])):
        keys[begin:end] = _mixed_bits(X[begin:end]) @ factors
    return keys


def _mixed_bits(values: np.ndarray) -> np.ndarray:
    values = values + 0  # makes -0.0 and 0.0 the same bits
    bits = values.view(f"u{values.itemsize}").astype(np.uint64, copy=False)
    bits ^= bits >> np.uint64(32)  # round numbers differ in their upper bits only
    return bits


def _equal(A: Any, B: Any) -> bool:
    return not (A != B).nnz if sp.issparse(A) else np.array_equal(A, B)


def join_rows(first: LabelledRows, second: LabelledRows) -> LabelledRows:
    """The rows of both, which are stored alike and of the same classes."""
    parts = [first.X, second.X]
    return replace(
        first,
        X=canonical(sp.vstack(parts, format="csr") if sp.issparse(first.X) else np.vstack(parts)),
        target=np.concatenate([first.target, second.target]),
        sample_weight=np.concatenate([first.sample_weight, second.sample_weight]),
        origin=None,
        population=None,
    )


def part_of(data: LabelledRows, rows: np.ndarray) -> LabelledRows:
    """Some of the rows, in their order."""
    rows = np.sort(rows)
    return replace(
        data, X=take_rows(data.X, rows), target=data.target[rows],
        sample_weight=data.sample_weight[rows], origin=None, population=None,
    )  # fmt: skip
