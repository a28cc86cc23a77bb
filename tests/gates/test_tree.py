"""Tests of hyperlocal.gates.tree: paths through a tree, and the weights of their nodes."""

import numpy as np
import pytest

from hyperlocal.gates.tree import GATE, ROUTE, Tree, encode
from reference.problems import every_storage, make_rows
from reference.rows import written_out


def make_tree(depth, dtype="float64"):
    """Random nodes as the core stores them, and their tree."""
    nodes = np.zeros((2 ** (depth + 1) - 1, 3, 8), dtype)
    nodes[..., :6] = np.random.default_rng(depth).standard_normal((*nodes.shape[:2], 6))
    used = nodes[..., :6]
    return nodes, Tree(used[: 2**depth - 1, ROUTE], used[:, GATE], used[:, 2:])


@every_storage
@pytest.mark.parametrize("depth", [0, 1, 4])
def test_codes_are_paths_and_gates(dtype, storage, depth):
    """A row's nodes from the root on, and ``tanh(θ'·[x, 1])`` of each."""
    X = make_rows(dtype, storage)
    nodes, tree = make_tree(depth, dtype)
    paths, weights = encode(X, nodes, depth)
    np.testing.assert_array_equal(paths, tree.paths(written_out(X)))
    rows = np.column_stack([written_out(X), np.ones(40)])
    expected = np.tanh(np.einsum("ikv,iv->ik", tree.gates[paths], rows))
    np.testing.assert_allclose(weights, expected, atol=1e-5 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_leaves_are_numbered_from_the_left(depth):
    """Leaves count from 0 to 2^depth − 1, in the order of the paths' turns."""
    X = make_rows(n_rows=300)
    _, tree = make_tree(depth)
    assert (tree.depth, tree.n_nodes) == (depth, 2 ** (depth + 1) - 1)
    turns = (tree.paths(X)[:, 1:] + 1) % 2  # the first child of n is 2n + 1
    expected = turns @ 2 ** np.arange(depth)[::-1] if depth else np.zeros(300)
    np.testing.assert_array_equal(tree.leaves(X), expected)
