"""Tests of hyperlocal.model.tree_model: scores and linear models along paths."""

import numpy as np
import pytest

from hyperlocal.model.background import Background
from hyperlocal.model.tree_model import TreeModel
from hyperlocal.runtime.threads import Workers
from reference.problems import every_storage, make_rows
from reference.rows import written_out

CLOSE = {"float32": {"rtol": 2e-3, "atol": 2e-4}, "float64": {"rtol": 1e-9, "atol": 1e-11}}
# Trees, and columns of each.
SHAPES = [(1, 1), (3, 1), (1, 3)]


def make_model(depth=2, n_trees=1, per_tree=1, dtype="float64"):
    """Random trees of five features."""
    rng = np.random.default_rng(depth)
    nodes = np.zeros((n_trees, 2 ** (depth + 1) - 1, 2 + per_tree, 8), dtype)
    nodes[..., :6] = 0.5 * rng.standard_normal((*nodes.shape[:3], 6))
    return TreeModel(nodes, 5)


def by_hand(model, X):
    """Scores row by row, along the paths of the trees."""
    rows = written_out(X)
    with_constant = np.column_stack([rows, np.ones(len(rows))])
    columns = []
    for tree in model.trees:
        scores = np.zeros((len(rows), tree.weights.shape[1]))
        for i, path in enumerate(tree.paths(rows)):
            for node in path:
                gate = np.tanh(tree.gates[node] @ with_constant[i])
                scores[i] += gate * (tree.weights[node] @ with_constant[i])
        columns.append(scores)
    return np.hstack(columns)


@every_storage
@pytest.mark.parametrize(("n_trees", "per_tree"), SHAPES)
@pytest.mark.parametrize("depth", [0, 1, 3])
def test_scores_and_local_models(dtype, storage, n_trees, per_tree, depth):
    """Scores are sums over paths, in blocks of any size; so are the linear models at rows."""
    X, model = make_rows(dtype, storage), make_model(depth, n_trees, per_tree, dtype)
    assert (model.depth, model.n_columns) == (depth, n_trees * per_tree)
    expected = by_hand(model, X)
    with Workers(2) as workers:
        scores = model.scores(X, workers, rows_per_block=7)
        blocks = list(model.local_rows(X, workers, numbers_per_block=100))
    assert scores.dtype == dtype
    np.testing.assert_allclose(scores, expected, **CLOSE[dtype])
    sums = [block.scores for block in blocks]
    np.testing.assert_allclose(np.concatenate(sums), expected, **CLOSE[dtype])


@pytest.mark.parametrize(("n_trees", "per_tree"), SHAPES)
def test_active_nodes_add_up_to_the_score(n_trees, per_tree):
    """The nodes of the path in a class's tree; their parts sum to the score of the class."""
    X, model = make_rows(), make_model(2, n_trees, per_tree)
    classes = np.arange(40) % max(2, model.n_columns)
    columns = classes if model.n_columns > 1 else np.zeros(40, int)
    with Workers(1) as workers:
        (block,) = model.local_rows(X, workers)
    expected = by_hand(model, X)
    for i, (path, _, parts) in enumerate(block.active(classes)):
        tree = model.trees[columns[i] // per_tree]
        np.testing.assert_array_equal(path, tree.paths(X[i : i + 1])[0])
        assert parts.sum() == pytest.approx(expected[i, columns[i]])


@pytest.mark.parametrize(("n_trees", "per_tree"), SHAPES)
def test_weights_of_all_columns(n_trees, per_tree):
    """``weights`` are those of all trees, by node and column, without padding."""
    model = make_model(2, n_trees, per_tree)
    assert model.weights.shape == (7, n_trees * per_tree, 6)
    expected = np.concatenate([tree.weights for tree in model.trees], axis=1)
    np.testing.assert_array_equal(model.weights, expected)
    np.testing.assert_array_equal(model.coef, expected[..., :-1])
    np.testing.assert_array_equal(model.intercept, expected[..., -1])


def test_values_are_checked_while_scoring():
    """A value that is not finite raises, in whatever block it stands."""
    X = make_rows()
    X[38, 1] = np.inf
    with Workers(1) as workers, pytest.raises(ValueError, match="infinity"):
        make_model().scores(X, workers, rows_per_block=7)


def gradients(model, points):
    """``Σ tanh(θ'·x) w + (1 − tanh²(θ'·x)) (w·x) θ'`` along the paths."""
    with_constant = np.column_stack([points, np.ones(len(points))])
    parts = []
    for tree in model.trees:
        own = np.zeros((len(points), tree.weights.shape[1], points.shape[1]))
        for nodes in tree.paths(points).T:
            gates, weights = tree.gates[nodes], tree.weights[nodes]
            tanh = np.tanh(np.einsum("nv,nv->n", gates, with_constant))[:, None, None]
            scores = np.einsum("ncv,nv->nc", weights, with_constant)[..., None]
            own += tanh * weights[..., :-1] + (1 - tanh**2) * scores * gates[:, None, :-1]
        parts.append(own)
    return np.concatenate(parts, axis=1)


@pytest.mark.parametrize(("n_trees", "per_tree"), SHAPES)
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e3])
def test_averages_along_lines_are_integrals(n_trees, per_tree, size):
    """Closed forms are the integrals of gradients, also where gates are flat, or nearly steps."""
    model = make_model(2, n_trees, per_tree)
    model.nodes[..., 1, :] *= size
    rng = np.random.default_rng(0)
    X, starts = rng.normal(size=(3, 5)), rng.normal(size=(10, 5))
    starts[0] = X[0]
    n_steps = 40_000
    times = (np.arange(n_steps) + 0.5) / n_steps
    with Workers(1) as workers:
        found = list(model.path_weights(X, starts, workers))
    assert len(found) == len(starts)
    for start, weights in zip(starts, found, strict=True):
        for row, own in zip(X, weights, strict=True):
            line = start + times[:, None] * (row - start)
            expected = gradients(model, line).mean(axis=0)
            scale = np.abs(gradients(model, line)).max()
            np.testing.assert_allclose(own, expected, rtol=0, atol=1e-4 * scale)


@every_storage
def test_contributions_are_differences_times_averages(dtype, storage):
    """For several references of different weights; the sum is the score's change where no path
    changes."""
    X, model = make_rows(dtype, storage), make_model(2, 3, 1, dtype)
    rows = written_out(X)
    shares = np.arange(1.0, 12) / np.arange(1.0, 12).sum()
    starts = rows[:11]
    with Workers(1) as workers:
        found = model.contributions(X, Background(starts, shares), workers)
        weights = model.path_weights(X, starts, workers)
        expected = sum(
            share * (rows - start)[:, None] * own
            for share, start, own in zip(shares, starts, weights, strict=True)
        )
        [own] = model.path_weights(X, starts[:1], workers)
        change = model.scores(X, workers) - model.scores(X[:1], workers)
    # They are computed in single precision.
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
    leaves = np.array([tree.leaves(rows) for tree in model.trees])
    stays = (leaves == leaves[:, :1]).all(axis=0)
    assert stays.sum() > 1
    sums = np.einsum("ncf,nf->nc", own, rows - starts[0])
    np.testing.assert_allclose(sums[stays], change[stays], **CLOSE[dtype])


@pytest.mark.parametrize("n_references", [1, 8, 11])
@pytest.mark.parametrize("units", [1e-60, 1.0, 1e30])
def test_contributions_of_far_rows_in_other_units(n_references, units):
    """Differences of rows keep their digits; nodes that see the rows as before say the same."""
    X, model = make_rows(), make_model(3, 1, 3)
    background = Background.of(X[20 : 20 + n_references])
    away = np.array([0.0, 1e3, 1e6, 1.6e9, -1e6])
    nodes = model.nodes.copy()
    nodes[..., 5] -= nodes[..., :5] @ away
    nodes[..., :5] /= units
    far = Background((background.rows + away) * units, background.weights)
    with Workers(1) as workers:
        expected = model.contributions(X, background, workers)
        found = TreeModel(nodes, 5).contributions((X + away) * units, far, workers)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4 * np.abs(expected).max())


def test_large_products_are_computed_in_double_precision():
    """Where rounding would matter, and where single precision has no such numbers."""
    model = make_model(2)
    X = make_rows()
    background = Background.of(X[:8])
    for size in (1e6, 1e60):
        model.nodes[..., 2:, :] *= size
        with Workers(1) as workers:
            found = model.contributions(X, background, workers)
            weights = list(model.path_weights(X, X[:8], workers))
        expected = np.mean(
            [(X - start)[:, None] * own for start, own in zip(X, weights, strict=False)], axis=0
        )
        np.testing.assert_allclose(found, expected, atol=1e-12 * np.abs(expected).max())
