"""Tests of hyperlocal.solvers.trees: compiled trees against the reference, and schedules."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperlocal import _core
from hyperlocal.data.rows import core_rows
from hyperlocal.runtime.threads import Workers
from hyperlocal.solvers import trees as local_deep
from reference import local_deep as reference
from reference.problems import every_storage, make_rows
from reference.rows import written_out

CLOSE = {"float32": {"rtol": 2e-3, "atol": 2e-4}, "float64": {"rtol": 1e-9, "atol": 1e-11}}
N_FEATURES = 5


def make_nodes(depth, n_columns=1, dtype="float64", n_features=N_FEATURES, seed=0):
    """Random nodes; padding is zero, and so are the routes of leaves."""
    rng = np.random.default_rng([seed, 2])
    stride = local_deep.padded(n_features + 1)
    nodes = np.zeros((2 ** (depth + 1) - 1, 2 + n_columns, stride))
    nodes[..., : n_features + 1] = 0.5 * rng.standard_normal((*nodes.shape[:2], n_features + 1))
    nodes[2**depth - 1 :, 0] = 0
    return nodes.astype(dtype)


def make_targets(n_rows, n_columns, dtype, seed=0):
    """Labels (none for some rows where there is one column) and weights."""
    rng = np.random.default_rng([seed, 3])
    low = -1 if n_columns == 1 else 0
    target = rng.integers(low, n_columns, n_rows).astype(np.int32)
    return target, rng.uniform(0.5, 1.5, n_rows).astype(dtype)


def compiled_gradient(X, target, costs, nodes, depth, alpha, sharpness, hard, first_column=0):
    """Gradient, scores and report of all rows as one batch."""
    n_rows = X.shape[0]
    gradient = np.full_like(nodes, np.nan)
    scores = np.empty((n_rows, nodes.shape[1] - 2), nodes.dtype)
    core = _core.tree_problem(core_rows(X), target, costs, depth, alpha)
    routing = _core.Routing(sharpness=sharpness, hard=hard)
    report = core.gradient(nodes, first_column, routing, np.arange(n_rows), gradient, scores)
    return gradient, scores, report


# One batch ----------------------------------------------------------------------------------------


@every_storage
@pytest.mark.parametrize("hard", [False, True], ids=["soft", "hard"])
@pytest.mark.parametrize(("depth", "n_columns"), [(0, 1), (2, 1), (3, 1), (2, 3), (1, 4), (1, 2)])
def test_gradients_equal_the_reference(dtype, storage, hard, depth, n_columns):
    """Scores and gradients of a batch are those of the slow reference."""
    X = make_rows(dtype, storage, n_rows=29)
    nodes = make_nodes(depth, n_columns, dtype)
    target, costs = make_targets(29, n_columns, dtype)
    given = (0.01, 1.3, hard)
    gradient, scores, report = compiled_gradient(X, target, costs, nodes, depth, *given)
    Z = reference.with_constant(written_out(X), nodes.shape[-1])
    wide = nodes.astype(float)
    np.testing.assert_allclose(
        scores, [reference.scores(wide, x, 1.3, hard) for x in Z], **CLOSE[dtype]
    )
    columns = np.arange(n_columns)
    expected = reference.gradient(wide, Z, target, costs, columns, *given)
    np.testing.assert_allclose(gradient, expected, **CLOSE[dtype])
    loss = reference.objective(wide, Z, target, costs, columns, 0.0, 1.3, hard) * len(Z)
    np.testing.assert_allclose(report[0], loss, rtol=1e-4)


@pytest.mark.parametrize(("depth", "n_columns"), [(0, 1), (3, 1), (2, 3)])
def test_gradients_equal_central_differences(depth, n_columns):
    """The gradient of the compiled kernel is the slope of the objective, in float64."""
    X = make_rows(n_rows=30)
    nodes = make_nodes(depth, n_columns)
    target, costs = make_targets(30, n_columns, "float64")
    alpha, sharpness = 0.02, 0.4
    gradient, _, _ = compiled_gradient(X, target, costs, nodes, depth, alpha, sharpness, False)
    Z = reference.with_constant(X, nodes.shape[-1])

    def objective(at):
        columns = np.arange(n_columns)
        return reference.objective(at, Z, target, costs, columns, alpha, sharpness, False, least=0)

    rng = np.random.default_rng(0)
    for _ in range(20):
        direction = np.zeros_like(nodes)
        direction[..., : N_FEATURES + 1] = rng.standard_normal((*nodes.shape[:2], N_FEATURES + 1))
        direction[2**depth - 1 :, 0] = 0
        h = 1e-6
        slope = (objective(nodes + h * direction) - objective(nodes - h * direction)) / (2 * h)
        np.testing.assert_allclose(np.sum(gradient * direction), slope, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("least", [6, 31])
def test_tiles_and_single_rows_agree(least):
    """Dense rows, by tiles or one by one, give what CSR rows give."""
    nodes = make_nodes(3, 2)
    target, costs = make_targets(least, 2, "float64")
    dense, sparse = (make_rows("float64", storage, n_rows=least) for storage in ("dense", "csr"))
    for hard in (False, True):
        runs = [
            compiled_gradient(X, target, costs, nodes, 3, 0.1, 2.0, hard) for X in (dense, sparse)
        ]
        np.testing.assert_allclose(runs[0][0], runs[1][0], rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(runs[0][1], runs[1][1], rtol=1e-12, atol=1e-14)


def test_a_tree_serves_its_own_column():
    """With ``first_column`` a tree takes the rows of that column as positive."""
    X, nodes = make_rows(n_rows=20), make_nodes(2)
    target = (np.arange(20) % 3).astype(np.int32)
    as_one = np.where(target == 2, 0, -1).astype(np.int32)
    costs = np.ones(20)
    of_class, _, _ = compiled_gradient(X, target, costs, nodes, 2, 0.0, 1.0, False, first_column=2)
    of_binary, _, _ = compiled_gradient(X, as_one, costs, nodes, 2, 0.0, 1.0, False)
    np.testing.assert_array_equal(of_class, of_binary)


# The limit of soft routing, and depth 0 -----------------------------------------------------------


def hard_scores(X, nodes, depth):
    """Scores by paths, as at prediction."""
    out = np.empty((X.shape[0], nodes.shape[0] * (nodes.shape[2] - 2)), nodes.dtype)
    _core.tree_scores(core_rows(X), 0, X.shape[0], nodes, depth, out)
    return out


@every_storage
@pytest.mark.parametrize("n_features", [1, 5, 19])
def test_paths_equal_the_reference(dtype, storage, n_features):
    """Scores along paths, paths and gates are those of the reference, tree by tree."""
    X = make_rows(dtype, storage, n_rows=70, n_features=n_features)
    nodes = np.stack([make_nodes(3, 1, dtype, n_features, seed) for seed in range(3)])
    Z = reference.with_constant(written_out(X), nodes.shape[-1])
    expected = [[reference.scores(t.astype(float), x)[0] for t in nodes] for x in Z]
    np.testing.assert_allclose(hard_scores(X, nodes, 3), expected, **CLOSE[dtype])
    path, gates = np.empty((70, 4), np.int32), np.empty((70, 4), nodes.dtype)
    _core.tree_paths(core_rows(X), 0, 70, nodes[1], 3, path, gates)
    reached = np.array([reference.reach(nodes[1].astype(float), x, 0.0, True) > 0 for x in Z])
    np.testing.assert_array_equal(path, np.nonzero(reached)[1].reshape(70, 4))
    expected = np.tanh(np.einsum("ilv,iv->il", nodes[1].astype(float)[path, 1], Z))
    np.testing.assert_allclose(gates, expected, **CLOSE[dtype])


@every_storage
def test_rows_walk_together_as_alone(dtype, storage):
    """A row's scores are the same bits whatever rows are scored beside it."""
    X = make_rows(dtype, storage, n_rows=700, n_features=11)
    nodes = np.stack([make_nodes(5, 2, dtype, 11, seed) for seed in range(2)])
    together = hard_scores(X, nodes, 5)
    for begin, end in [(0, 1), (3, 5), (17, 24), (690, 700)]:
        np.testing.assert_array_equal(hard_scores(X[begin:end], nodes, 5), together[begin:end])


def test_hard_routing_is_the_limit_of_soft_routing():
    """With sharpness growing, the soft scores become those along the paths."""
    X, nodes = make_rows(n_rows=30), make_nodes(3)
    target, costs = make_targets(30, 1, "float64")
    X = X[np.abs(reference.with_constant(X, 8) @ nodes[:7, 0].T).min(axis=1) > 1e-3]
    hard = hard_scores(X, nodes[None], 3)
    given = (target[: len(X)], costs[: len(X)], nodes, 3, 0.0)
    distances = [
        np.abs(compiled_gradient(X, *given, sharpness, False)[1] - hard).max()
        for sharpness in (1.0, 1e2, 1e5)
    ]
    assert distances[0] > distances[1] > distances[2]
    assert distances[2] < 1e-12
    np.testing.assert_allclose(compiled_gradient(X, *given, 1.0, True)[1], hard, rtol=1e-12)


@given(seed=st.integers(0, 1000), n_features=st.integers(1, 20))
def test_depth_zero_is_one_gated_model(seed, n_features):
    """Depth 0 scores ``tanh(θ'·x)(w·x)``."""
    X = make_rows(n_rows=9, n_features=n_features, seed=seed)
    nodes = make_nodes(0, n_features=n_features, seed=seed)
    Z = reference.with_constant(X, nodes.shape[-1])
    expected = np.tanh(Z @ nodes[0, 1]) * (Z @ nodes[0, 2])
    np.testing.assert_allclose(hard_scores(X, nodes[None], 0)[:, 0], expected, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gates_are_precise_at_all_sizes(dtype):
    """The vectorised tanh is within a few units of the last place of one, and exact far out."""
    X = np.concatenate([np.linspace(-30, 30, 4001), [0, 1e-8, -1e-8, 1e5, -1e5, 800, -800]])
    X = X.astype(dtype)[:, None]
    nodes = np.zeros((1, 3, 8), dtype)
    nodes[0, 1, 0] = 1
    path, gates = np.empty((len(X), 1), np.int32), np.empty((len(X), 1), dtype)
    _core.tree_paths(core_rows(X), 0, len(X), nodes, 0, path, gates)
    error = np.abs(gates[:, 0] - np.tanh(X[:, 0].astype(np.longdouble)))
    assert error.max() < 4 * np.finfo(dtype).eps
    assert (gates[X > 30] == 1).all()
    assert (gates[X < -30] == -1).all()


# Epochs -------------------------------------------------------------------------------------------


@every_storage
@pytest.mark.parametrize("hard", [False, True], ids=["soft", "hard"])
def test_epochs_equal_the_reference(dtype, storage, hard):
    """Two epochs of batches, the last one short, step as the slow Adam does."""
    X = make_rows(dtype, storage, n_rows=80)
    nodes = make_nodes(2, 2, dtype)
    mean, square = np.zeros_like(nodes), np.zeros_like(nodes)
    target, costs = make_targets(80, 2, dtype)
    Z = reference.with_constant(written_out(X), nodes.shape[-1])
    expected = nodes.astype(float)
    rng = np.random.default_rng(0)
    rates, order = np.array([0.02, 0.01, 0.005]), rng.permutation(80)[:75]
    expected = reference.epoch(
        expected, mean, square, Z, target, costs, np.arange(2), 0.01, 0.8, hard, rates, order
    )
    routing = _core.Routing(sharpness=0.8, hard=hard)
    core = _core.tree_problem(core_rows(X), target, costs, 2, 0.01)
    core.epoch(nodes, mean, square, 0, routing, rates, order)
    atol = 2e-3 if dtype == "float32" else 1e-10
    np.testing.assert_allclose(nodes, expected, rtol=0, atol=atol)


# Runs ---------------------------------------------------------------------------------------------


def make_problem(n_columns=3, storage="dense", share_tree=False, n_rows=120):
    X = make_rows("float64", storage, n_rows=n_rows)
    target, costs = make_targets(n_rows, n_columns, "float64")
    return local_deep.TreeProblem(X, target, costs, n_columns, share_tree)


def run(problem, n_jobs=1, n_epochs=6, depth=2, **options):
    with Workers(n_jobs) as workers:
        return local_deep.solve(
            problem, depth=depth, alpha=1e-3, n_epochs=n_epochs, workers=workers,
            rng=np.random.default_rng(0), **options,
        )  # fmt: skip


@pytest.mark.parametrize("share_tree", [False, True])
def test_the_same_bits_for_any_number_of_threads(share_tree):
    """Trees do not depend on the number of threads."""
    problem = make_problem(share_tree=share_tree)
    np.testing.assert_array_equal(run(problem, 1).nodes, run(problem, 3).nodes)


def test_sparse_rows_train_like_dense_rows():
    """CSR rows give the trees that dense rows give, but for rounding."""
    dense, sparse = (run(make_problem(storage=storage)) for storage in ("dense", "csr"))
    np.testing.assert_allclose(dense.nodes, sparse.nodes, atol=1e-6)


def test_padding_stays_zero():
    """Nothing is learned beyond the constant, nor on the routes of leaves."""
    nodes = run(make_problem()).nodes
    assert not nodes[..., N_FEATURES + 1 :].any()
    assert not nodes[:, 3:, 0].any()


def test_training_lowers_the_loss():
    """The loss falls from epoch to epoch, on the whole."""
    history = run(make_problem(n_columns=1), n_epochs=60).history
    assert history[-1][1] < 0.9 * history[0][1]


def test_the_last_epochs_are_hard():
    """Routes rest in the last fifth of the epochs, gates and weights do not."""
    problem, states = make_problem(n_columns=1), []
    nodes = []
    original = local_deep.initial_nodes

    def keep(*arguments):
        nodes.append(original(*arguments))
        return nodes[0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_deep, "initial_nodes", keep)
        run(problem, n_epochs=10, monitor=lambda number, loss: states.append(nodes[0].copy()))
    moved = [np.abs(now - before).max(axis=(0, 1, 3)) for before, now in pairwise(states)]
    assert (np.array(moved)[:, 1:] > 0).all()
    assert [bool(m[0] > 0) for m in moved] == [True] * 7 + [False] * 2


def test_a_monitor_stops_a_run():
    """A run ends with the epoch at which the monitor asks to stop."""
    result = run(make_problem(), monitor=lambda number, loss: number == 3)
    assert (result.n_iter, result.stopped, len(result.history)) == (3, True, 3)


def test_first_routes_halve_their_rows():
    """Each route's first cut is the median of its rows, at a mean distance of one."""
    X = np.random.default_rng(0).standard_normal((200, 4))
    problem = local_deep.TreeProblem(X, np.zeros(200, np.int32), np.ones(200), 1)
    nodes = local_deep.initial_nodes(problem, 2, np.random.default_rng(1))
    projections = X @ nodes[0, 0, 0, :4] + nodes[0, 0, 0, 4]
    assert (projections > 0).sum() in (99, 100)
    np.testing.assert_allclose(np.abs(projections).mean(), 1)


@pytest.mark.parametrize("X", [np.zeros((5, 3)), np.ones((1, 3)), np.eye(3)])
def test_trees_grow_on_any_rows(X):
    """Equal rows, a single row and fewer rows than leaves give finite trees."""
    problem = local_deep.TreeProblem(X, np.zeros(len(X), np.int32), np.ones(len(X)), 1)
    nodes = local_deep.initial_nodes(problem, 4, np.random.default_rng(0))
    assert np.isfinite(nodes).all()


def test_steps_fall_and_sharpness_grows():
    """Steps end at nearly zero; sharpness ends forty times as large when routing turns hard."""
    schedule = local_deep.Schedule.over(50, 320)
    rates = schedule.rates(np.arange(500))
    assert rates[-1] < 0.01 * rates[50]
    assert schedule.n_soft_epochs == 40
    np.testing.assert_allclose(schedule.sharpness(400) / schedule.sharpness(0), 40)
