"""A tree as a gate: a row's path from the root to a leaf, and the weight of each node on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from ..data.rows import core_rows

ROUTE, GATE, FIRST_COLUMN = range(3)  # the vectors of a node, as the compiled core stores them
STRIDE = 8  # they are padded with zeros to a multiple of this


def padded(width: int) -> int:
    """The next multiple of the stride.

    Examples
    --------
    >>> from hyperlocal.gates.tree import padded
    >>> padded(8), padded(9)
    (8, 16)
    """
    return -(-width // STRIDE) * STRIDE


@dataclass(frozen=True)
class Tree:
    """A complete binary tree with hard routing; the children of node ``n`` are 2n + 1 and 2n + 2.

    Attributes
    ----------
    routes : ndarray of shape (2^depth - 1, n_features + 1)
        ``θ`` of the inner nodes, the constant last: a row goes to the first child where
        ``θ·[x, 1] > 0``.
    gates : ndarray of shape (2^(depth + 1) - 1, n_features + 1)
        ``θ'`` of all nodes: a node on the row's path has the weight ``tanh(θ'·[x, 1])``.
    weights : ndarray of shape (2^(depth + 1) - 1, n_columns, n_features + 1)
        Linear models of all nodes, for the columns of the tree.
    """

    routes: np.ndarray
    gates: np.ndarray
    weights: np.ndarray

    @property
    def depth(self) -> int:
        """Levels of routing."""
        return len(self.routes).bit_length()

    @property
    def n_nodes(self) -> int:
        """Inner nodes and leaves."""
        return len(self.gates)

    def paths(self, X: np.ndarray) -> np.ndarray:
        """The nodes that dense rows pass, root first, ``(n_rows, depth + 1)``.

        Examples
        --------
        >>> import numpy as np
        >>> from hyperlocal.gates.tree import Tree
        >>> tree = Tree(np.array([[1.0, 0.0]]), np.zeros((3, 2)), np.zeros((3, 1, 2)))
        >>> tree.paths(np.array([[2.0], [-2.0]]))
        array([[0, 1],
               [0, 2]])
        """
        node = np.zeros(len(X), np.intp)
        passed = [node]
        for _ in range(self.depth):
            route = self.routes[node]
            left = np.einsum("ij,ij->i", X, route[:, :-1]) + route[:, -1] > 0
            node = 2 * node + np.where(left, 1, 2)
            passed.append(node)
        return np.column_stack(passed)

    def leaves(self, X: np.ndarray) -> np.ndarray:
        """The leaf of each dense row, counted from 0 at the left."""
        return self.paths(X)[:, -1] - len(self.routes)


def encode(X: Any, nodes: np.ndarray, depth: int) -> tuple[np.ndarray, np.ndarray]:
    """Paths of rows in one tree and the weights of their nodes, both ``(n_rows, depth + 1)``."""
    shape = (X.shape[0], depth + 1)
    path, gates = np.empty(shape, np.int32), np.empty(shape, X.dtype)
    _core.tree_paths(core_rows(X), 0, X.shape[0], nodes, depth, path, gates)
    return path, gates
