"""Scores of rows as sums over features, relative to references."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeGuard

import numpy as np
import scipy.sparse as sp

from ..maps.backwards import weights_before
from ..maps.base import FeatureMap
from ..runtime.threads import Workers, row_blocks
from .background import Background

NUMBERS_PER_BLOCK = 1 << 21
MOST_ROWS_PER_BLOCK = 1024


@dataclass(frozen=True)
class Contributions:
    """Scores of rows as sums over features, relative to references.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_columns, n_features)
        What each feature adds.
    references, remainders : ndarray of shape (n_rows, n_columns)
        The mean score of the references, and what no feature adds.
    scores : ndarray of shape (n_rows, n_columns)
        ``references + values.sum(axis=2) + remainders``.
    seen : ndarray of shape (n_rows, n_features)
        The features.
    """

    values: np.ndarray
    references: np.ndarray
    remainders: np.ndarray
    scores: np.ndarray
    seen: np.ndarray

    def grouped(self, groups: np.ndarray, n_groups: int, seen: np.ndarray) -> Contributions:
        """Contributions summed over groups of features, which have these values.

        Parameters
        ----------
        groups : ndarray of int, shape (n_features,)
        n_groups : int
        seen : ndarray of shape (n_rows, n_groups)
        """
        members = sp.csr_array((np.ones(len(groups)), (np.arange(len(groups)), groups)))
        members.resize((len(groups), n_groups))
        flat = self.values.reshape(-1, len(groups)) @ members
        values = np.asarray(flat).reshape(*self.values.shape[:2], n_groups)
        return replace(self, values=values, seen=seen)


@dataclass(frozen=True)
class Paths:
    """The ways from references to rows, and the gradients averaged along them.

    Attributes
    ----------
    starts : sequence of ndarray of shape (1, n_features) or (n_rows, n_features)
        The references: the same for all rows, or one for each row.
    weights : sequence of ndarray of shape (n_rows, n_columns, n_features)
        For each reference.
    shares : ndarray of shape (n_references,)
        Weights of the references; they sum to one.
    seen : ndarray of shape (n_rows, n_features)
        The rows.
    scores, references : ndarray of shape (n_rows, n_columns)
        Scores of the rows, and mean scores of the references.
    names : ndarray of str or None
        Names of the features, where they are not those of the rows that the model takes.
    are_own : bool
        Whether each row has references of its own.
    """

    starts: Sequence[np.ndarray]
    weights: Sequence[np.ndarray]
    shares: np.ndarray
    seen: np.ndarray
    scores: np.ndarray
    references: np.ndarray
    names: np.ndarray | None = None
    are_own: bool = False

    def contributions(self) -> Contributions:
        """Differences times averages, and what they leave."""
        values = np.zeros((*self.scores.shape, self.seen.shape[1]))
        for share, start, weights in zip(self.shares, self.starts, self.weights, strict=True):
            values += share * weights * (self.seen - start)[:, None]
        remainders = self.scores - self.references - summed(values)
        return Contributions(values, self.references, remainders, self.scores, self.seen)

    def before(self, transformer: Any, X: Any, starts: Sequence[np.ndarray]) -> Paths:
        """The same ways in the input of a transformer.

        Parameters
        ----------
        transformer : fitted transformer
            Known to :func:`hyperlocal.maps.backwards.can_go_back`.
        X : ndarray or CSR of shape (n_rows, n_features)
            Its input.
        starts : sequence of ndarray
            The references there.
        """
        seen = as_dense(X)
        weights = [
            weights_before(transformer, weights, seen, start)
            for weights, start in zip(self.weights, starts, strict=True)
        ]
        return replace(self, starts=starts, weights=weights, seen=seen)


class PathModel(Protocol):
    """What contributions need of a model."""

    @property
    def feature_map(self) -> FeatureMap:
        """The map whose features contributions may be of."""

    def scores(self, X: Any, workers: Workers) -> np.ndarray:
        """Scores of rows, ``(n_rows, n_columns)``."""

    def path_weights(
        self, X: Any, references: np.ndarray, workers: Workers
    ) -> Iterator[np.ndarray]:
        """Gradients averaged on the way to rows, for one reference after the other."""


class HasContributions(Protocol):
    """A model that may have contributions without the averages of each way."""

    def contributions(self, X: Any, background: Background, workers: Workers) -> np.ndarray | None:
        """``(n_rows, n_columns, n_features)``; None where it has not."""


def has_contributions(model: Any) -> TypeGuard[HasContributions]:
    """By its name: ``isinstance`` would take as long as the scores of some hundred rows."""
    return hasattr(model, "contributions")


def model_paths(model: PathModel, X: Any, background: Background, workers: Workers) -> Paths:
    """The ways from the background to checked rows.

    Parameters
    ----------
    model : PathModel
    X : ndarray or CSR of shape (n_rows, n_features)
    background : Background
        In the precision of the rows.
    workers : Workers
    """
    scores = model.scores(X, workers).astype(np.float64)
    expected = mean_score(model, background, workers)
    return Paths(
        [start[None] for start in _seen(model, background.rows)],
        list(model.path_weights(X, background.rows, workers)),
        background.weights,
        _seen(model, X),
        scores,
        np.broadcast_to(expected, scores.shape),
    )


def path_contributions(
    model: PathModel,
    X: Any,
    background: Background,
    workers: Workers,
    *,
    numbers_per_block: int = NUMBERS_PER_BLOCK,
) -> Contributions:
    """Contributions of the features to the scores of checked rows, in blocks.

    Parameters
    ----------
    model : PathModel
    X : ndarray or CSR of shape (n_rows, n_features)
    background : Background
        In the precision of the rows.
    workers : Workers
    numbers_per_block : int
        Rows are explained in blocks such that so many numbers are held at a time.

    Returns
    -------
    Contributions
    """
    per_row = background.rows.size * max(1, getattr(model, "n_columns", 1))
    size = min(MOST_ROWS_PER_BLOCK, numbers_per_block // max(1, per_row))
    blocks = row_blocks(X.shape[0], max(1, size))
    mean = mean_score(model, background, workers)

    def explain(block: tuple[int, int]) -> Contributions:
        rows = X[slice(*block)]
        values = None
        if has_contributions(model):
            values = model.contributions(rows, background, Workers(1))
        if values is None:
            return model_paths(model, rows, background, Workers(1)).contributions()
        scores = model.scores(rows, Workers(1)).astype(np.float64)
        references = np.broadcast_to(mean, scores.shape)
        remainders = scores - references - summed(values)
        return Contributions(values, references, remainders, scores, _seen(model, rows))

    return joined(list(workers.map(explain, blocks)))


def mean_score(model: PathModel, background: Background, workers: Workers) -> np.ndarray:
    """The mean scores of references, ``(n_columns,)``."""
    return background.weights @ model.scores(background.rows, workers).astype(np.float64)


def summed(values: np.ndarray) -> np.ndarray:
    """Sums over features, ``(n_rows, n_columns)``: a product takes a fifth of the time of a sum."""
    flat = np.ascontiguousarray(values).reshape(-1, values.shape[2])
    return (flat @ np.ones(values.shape[2])).reshape(values.shape[:2])


def joined(parts: Sequence[Contributions]) -> Contributions:
    """Contributions of several blocks of rows as one."""
    if len(parts) == 1:
        return parts[0]
    names = ("values", "references", "remainders", "scores", "seen")
    return Contributions(*(np.concatenate([getattr(one, name) for one in parts]) for name in names))


def _seen(model: PathModel, X: Any) -> np.ndarray:
    """The features that contributions are of: the input's, or the mapped ones."""
    return as_dense(X if model.feature_map.attributes_input else model.feature_map.mapped(X))


def as_dense(X: Any) -> np.ndarray:
    """Rows as a dense array in double precision."""
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
