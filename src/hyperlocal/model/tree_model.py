"""Trees of gates (LDKL): what prediction and explanation need of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import _core
from ..data.checks import check_values
from ..data.rows import core_rows
from ..gates.tree import FIRST_COLUMN, GATE, ROUTE, Tree, encode, padded
from ..maps.base import FeatureMap
from ..maps.linear import InputMap
from ..maps.plain import Step
from ..runtime.threads import Workers, row_blocks
from .background import Background
from .explanation import LocalRows
from .local_model import NUMBERS_PER_EXPLANATION_BLOCK

ROWS_PER_PREDICTION_BLOCK = 4_096


@dataclass(frozen=True)
class TreeModel:
    """``f_c(x) = Σ_{n on the path} tanh(θ'_n·x) (w_nc·x)`` in one tree per column, or in one tree.

    Attributes
    ----------
    nodes : ndarray of shape (n_trees, n_nodes, 2 + columns of a tree, stride)
        The vectors of each node (its route, its gate, the weights of its columns) on the features
        and a constant 1, padded with zeros. The properties give them without padding.
    n_features_in : int
        Features of a row.
    """

    nodes: np.ndarray
    n_features_in: int

    def pulled_back(self, before: InputMap) -> TreeModel:
        """The same scores from rows that are not yet mapped by ``before``, which has a center."""
        coef = before.pull_back(self.nodes[..., : self.n_features_in])
        n_features = coef.shape[-1]
        nodes = np.zeros((*coef.shape[:-1], padded(n_features + 1)), coef.dtype)
        nodes[..., :n_features] = coef
        nodes[..., n_features] = self.nodes[..., self.n_features_in] - coef @ before.center
        return TreeModel(nodes, n_features)

    @property
    def depth(self) -> int:
        """Levels of routing."""
        return self.nodes.shape[1].bit_length() - 1

    @property
    def trees(self) -> list[Tree]:
        """The trees, without padding."""
        used = self.nodes[..., : self.n_features_in + 1]
        n_routes = 2**self.depth - 1
        return [
            Tree(nodes[:n_routes, ROUTE], nodes[:, GATE], nodes[:, FIRST_COLUMN:]) for nodes in used
        ]

    @property
    def n_columns(self) -> int:
        """Columns of scores: one per class, or one for two classes."""
        return self.nodes.shape[0] * self._columns_per_tree

    @property
    def feature_map(self) -> FeatureMap:
        """The identity: nodes see rows as they are."""
        return FeatureMap(self.n_features_in)

    @property
    def dtype(self) -> np.dtype:
        """Precision of the scores."""
        return self.nodes.dtype

    @property
    def weights(self) -> np.ndarray:
        """Weights of the nodes, ``(n_nodes, n_columns, n_features + 1)``: a view where possible."""
        used = self.nodes[:, :, FIRST_COLUMN:, : self.n_features_in + 1]
        n_trees, n_nodes, per_tree, width = used.shape
        return used.transpose(1, 0, 2, 3).reshape(n_nodes, n_trees * per_tree, width)

    @property
    def coef(self) -> np.ndarray:
        """Weights of the nodes on features, ``(n_nodes, n_columns, n_features)``."""
        return self.weights[..., :-1]

    @property
    def intercept(self) -> np.ndarray:
        """Intercepts of the nodes, ``(n_nodes, n_columns)``."""
        return self.weights[..., -1]

    @property
    def _columns_per_tree(self) -> int:
        return self.nodes.shape[2] - FIRST_COLUMN

    def plain(self) -> Step:
        """The trees as one plain step from rows to scores, for export."""
        parts = {
            name: np.stack([getattr(tree, name) for tree in self.trees])
            for name in ("routes", "gates", "weights")
        }
        return Step("tree", {**parts, "depth": self.depth})

    def scores(
        self, X: Any, workers: Workers, *, rows_per_block: int = ROWS_PER_PREDICTION_BLOCK
    ) -> np.ndarray:
        """Scores of rows, ``(n_rows, n_columns)``; raises where values are not finite."""
        scores = np.empty((X.shape[0], self.n_columns), self.dtype)

        def fill(block: tuple[int, int]) -> None:
            rows, own = X[slice(*block)], scores[slice(*block)]
            if not _core.tree_scores(core_rows(rows), 0, len(own), self.nodes, self.depth, own):
                check_values(rows)  # they are checked only where scores are not finite

        workers.map(fill, row_blocks(X.shape[0], rows_per_block))
        return scores

    def local_rows(
        self, X: Any, workers: Workers, *, numbers_per_block: int = NUMBERS_PER_EXPLANATION_BLOCK
    ) -> Iterator[LocalRows]:
        """The linear model at each row, ``Σ tanh(θ'_n·x) w_n`` along the paths, in row blocks."""
        weights = self.weights
        size = max(1, numbers_per_block // weights[0].size)
        for begin, end in row_blocks(X.shape[0], size):
            yield self._local_rows(X[begin:end], weights)

    def _local_rows(self, X: Any, weights: np.ndarray) -> LocalRows:
        codes = [encode(X, nodes, self.depth) for nodes in self.nodes]
        local = np.zeros((X.shape[0], *weights.shape[1:]), self.dtype)
        per_tree = self._columns_per_tree
        for columns, (paths, gates) in zip(self._tree_columns(), codes, strict=True):
            for nodes, gate in zip(paths.T, gates.T, strict=True):
                local[:, columns] += gate[:, None, None] * weights[nodes, columns]
        values = X.toarray() if sp.issparse(X) else X

        def active(best: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
            for i, column in enumerate(best if self.n_columns > 1 else np.zeros_like(best)):
                paths, gates = codes[column // per_tree]
                own = weights[paths[i], column]
                yield paths[i], gates[i], gates[i] * (own[:, :-1] @ values[i] + own[:, -1])

        return LocalRows(local[..., :-1], local[..., -1], values, active)

    def path_weights(
        self, X: Any, references: np.ndarray, workers: Workers
    ) -> Iterator[np.ndarray]:
        """Gradients averaged on the way from each reference to rows, gates and all.

        What a change of the path through a tree adds stays in the remainder.
        """
        rows, starts = self._padded(X), self._padded(references)
        shape = (len(starts), len(rows), self._columns_per_tree, rows.shape[1])
        parts = [np.empty(shape) for _ in self.nodes]
        for lines, out in zip(self._lines(starts), parts, strict=True):
            lines.averages(rows, out)
        yield from np.concatenate(parts, axis=2)[..., : self.n_features_in]

    def contributions(self, X: Any, background: Background, workers: Workers) -> np.ndarray:
        """Differences times :meth:`path_weights`, averaged over the references in one pass."""
        rows, starts = self._padded(X), self._padded(background.rows)
        parts = [np.zeros((len(rows), self._columns_per_tree, rows.shape[1])) for _ in self.nodes]
        for lines, out in zip(self._lines(starts), parts, strict=True):
            lines.contributions(rows, background.weights, out)
        found = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
        return found[..., : self.n_features_in]

    def _padded(self, X: Any) -> np.ndarray:
        """Rows with their constant, padded like the nodes, in double precision."""
        rows = np.zeros((X.shape[0], self.nodes.shape[-1]))
        rows[:, : self.n_features_in] = X.toarray() if sp.issparse(X) else X
        rows[:, self.n_features_in] = 1
        return rows

    def _lines(self, starts: np.ndarray) -> Iterator[Any]:
        """The ways from padded references through each tree."""
        for nodes in self.nodes.astype(np.float64, copy=False):
            products = np.tensordot(starts, nodes, axes=(1, 2))
            yield _core.tree_lines(nodes, self.depth, starts, products)

    def _tree_columns(self) -> list[slice]:
        """The columns of each tree."""
        per_tree = self._columns_per_tree
        return [slice(i * per_tree, (i + 1) * per_tree) for i in range(len(self.nodes))]
