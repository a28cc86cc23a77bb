"""Tests of hyperlocal.solvers.small_svms: local SVMs against LIBSVM, rules, cached models."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperlocal.kernels import Kernel
from hyperlocal.neighbors.base import Neighbors
from hyperlocal.neighbors.exact import ExactSearch
from hyperlocal.runtime.threads import Workers
from hyperlocal.solvers.small_svms import NeighborhoodSolver, SvmOptions, kernel_matrices
from reference import neighborhood as reference
from reference.problems import every_storage, stored

ONE_THREAD = Workers(1)
every_kernel = pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])


def make_options(kernel="rbf", gamma="local", tol=1e-7, max_iter=10**6):
    if gamma == "local":
        return SvmOptions(Kernel(kernel), True, tol, max_iter)
    return SvmOptions(Kernel(kernel, gamma), False, tol, max_iter)


def make_task(n_classes=3, n_rows=80, n_queries=25, k=14, n_features=4, seed=0):
    """Rows of overlapping classes, costs, queries, and their neighbors."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features))
    target = (X[:, 0] + 0.5 * rng.standard_normal(n_rows) + 1.5).clip(0, n_classes - 1)
    costs = rng.uniform(0.5, 4, n_rows)
    queries = rng.standard_normal((n_queries, n_features))
    neighbors, _ = reference.nearest_rows(X, queries, k)
    return X, target.astype(np.int32), costs, queries, neighbors


def dual_variables(models, center, n_rows):
    """Those of a center's columns, written out for all rows."""
    support = models.support[slice(*models.support_starts[center : center + 2])]
    sizes = np.diff(models.starts) * np.diff(models.support_starts)
    begin = sizes[:center].sum()
    beta = np.zeros((np.diff(models.starts)[center], n_rows))
    beta[:, support] = models.beta[begin : begin + sizes[center]].reshape(len(beta), len(support))
    return beta


def solve(X, target, costs, n_classes, queries, k, options, workers=ONE_THREAD):
    solver = NeighborhoodSolver(X, target, costs, n_classes, options)
    return solver.scores(queries, ExactSearch(X).query(queries, k, workers), workers)


@every_storage
@every_kernel
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("gamma", ["local", 1.02])
def test_scores_are_those_of_libsvm(dtype, storage, kernel, n_classes, gamma):
    """Each query's scores are those of LIBSVM on the same neighbors."""
    X, target, costs, queries, neighbors = make_task(n_classes)
    X, queries = (np.round(rows * 64) / 64 for rows in (X, queries))  # exact in single precision
    neighbors, _ = reference.nearest_rows(X, queries, 14)
    scores, n_unsolved = solve(
        stored(X, dtype, storage), target, costs, n_classes, stored(queries, dtype, storage), 14,
        make_options(kernel, gamma),
    )  # fmt: skip
    expected = reference.scores(X, target, costs, n_classes, queries, neighbors, kernel, gamma)
    assert n_unsolved == 0
    assert scores.dtype == dtype
    # LIBSVM keeps kernel values in single precision.
    tolerance = 1e-5 if dtype == "float64" else 5e-3
    np.testing.assert_allclose(scores, expected, atol=tolerance, rtol=tolerance)


@every_kernel
@settings(max_examples=12)
@given(seed=st.integers(0, 10**6), k=st.integers(2, 30), n_classes=st.integers(2, 4))
def test_dual_objectives_are_those_of_libsvm(kernel, seed, k, n_classes):
    """The dual objective is LIBSVM's to 1e-6, and the labels are the same."""
    X, target, costs, queries, neighbors = make_task(n_classes, k=k, n_queries=2, seed=seed)
    # Centers' models are about the center itself: put it first among the rows.
    for query, near in zip(queries, neighbors, strict=True):
        rows = np.vstack([query, X[near]])
        labels, weights = np.r_[target[near[0]], target[near]], np.r_[costs[near[0]], costs[near]]
        solver = NeighborhoodSolver(rows, labels, weights, n_classes, make_options(kernel, 0.125))
        distances = ((rows - query) ** 2).sum(axis=1)
        found = Neighbors(np.arange(k + 1, dtype=np.int32)[None], distances[None])
        models, n_unsolved = solver.train(query[None], found, ONE_THREAD)
        assert n_unsolved == 0
        gram = reference.kernel_matrix(rows, query, kernel, 0.125)[:-1, :-1]
        columns = dual_variables(models, 0, k + 1)
        for label, beta, bias in zip(models.classes, columns, models.bias, strict=True):
            y = np.where(labels == label, 1, -1)
            expected, expected_bias = reference.solve(gram, y, weights)
            best = reference.dual_objective(gram, y, expected)
            assert reference.dual_objective(gram, y, beta) == pytest.approx(best, rel=1e-6)
            margins, expected_margins = gram @ beta + bias, gram @ expected + expected_bias
            clear = np.abs(expected_margins) > 1e-4
            np.testing.assert_array_equal(margins[clear] > 0, expected_margins[clear] > 0)


@every_kernel
@settings(max_examples=12)
@given(seed=st.integers(0, 10**6))
def test_dual_variables_are_feasible(kernel, seed):
    """Signed dual variables lie within their bounds and sum to zero."""
    X, target, costs, _, _ = make_task(3, seed=seed)
    solver = NeighborhoodSolver(X, target, costs, 3, make_options(kernel, tol=1e-3))
    found = ExactSearch(X).query(X[:5], 20, ONE_THREAD)
    models, _ = solver.train(X[:5], found, ONE_THREAD)
    for c in range(5):
        columns = dual_variables(models, c, len(X))
        assert (columns[:, np.setdiff1d(np.arange(len(X)), found.indices[c])] == 0).all()
        for label, beta in zip(models.classes[models.starts[c] :], columns, strict=False):
            alpha = beta * np.where(target == label, 1, -1)
            assert alpha.min() >= 0
            assert (alpha <= costs).all()
            assert abs(beta.sum()) < 1e-9 * costs.max()


def test_scores_do_not_depend_on_threads():
    """The same bits for one thread and two."""
    X, target, costs, _, _ = make_task(3, n_rows=300)
    queries = np.random.default_rng(5).standard_normal((200, 4))
    one, _ = solve(X, target, costs, 3, queries, 20, make_options(tol=1e-3))
    with Workers(2) as two_threads:
        two, _ = solve(X, target, costs, 3, queries, 20, make_options(tol=1e-3), two_threads)
    np.testing.assert_array_equal(one, two)


def test_one_class_scores_one():
    """Where all neighbors agree, their class scores 1 and the others −1."""
    X = np.arange(6.0)[:, None]
    target = np.array([0, 0, 0, 2, 2, 1], np.int32)
    scores, _ = solve(X, target, np.ones(6), 3, np.array([[0.5]]), 3, make_options())
    np.testing.assert_array_equal(scores, [[1, -1, -1]])


def test_absent_classes_score_below_all_present():
    """A class without neighbors never wins, and comes last."""
    X, target, costs, queries, _ = make_task(3)
    scores, _ = solve(X, target + 1, costs, 5, queries, 14, make_options())
    present = scores[:, 1:4]
    assert (scores[:, [0, 4]] <= -1).all()
    assert (scores[:, [0, 4]].max(axis=1) < present.max(axis=1)).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rivals_meet_alone(n_classes):
    """Two classes score as if the neighbors were theirs alone; unless one of the two is absent."""
    X, target, costs, queries, neighbors = make_task(n_classes)
    solver = NeighborhoodSolver(X, target, costs, n_classes, make_options(gamma=1.02))
    found = ExactSearch(X).query(queries, 14, ONE_THREAD)
    all_scores, _ = solver.scores(queries, found, ONE_THREAD)
    rivals = np.zeros((len(queries), n_classes), bool)
    rivals[:, [0, -1]] = True
    scores, _ = solver.scores(queries, found, ONE_THREAD, rivals)
    meet = np.array([{0, n_classes - 1} <= set(target[near]) for near in neighbors])
    assert 0 < meet.sum() < len(queries)
    np.testing.assert_array_equal(scores[~meet], all_scores[~meet])
    for query, near, found_scores in zip(queries[meet], neighbors[meet], scores[meet], strict=True):
        near = near[target[near] != 1] if n_classes == 3 else near
        expected = reference.scores(
            X, target, costs, n_classes, query[None], near[None], "rbf", 1.02
        )  # fmt: skip
        np.testing.assert_allclose(found_scores, expected[0], atol=1e-5)


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_ties_go_to_the_nearest_neighbors_class(order, n_classes):
    """Two rows at equal distances on both sides: the first row's class wins, by next to nothing."""
    X = np.array([[-1.0], [1.0]])
    target = np.array(order, np.int32)
    scores, _ = solve(X, target, np.ones(2), n_classes, np.zeros((1, 1)), 2, make_options())
    chosen = int(scores[0, 0] > 0) if n_classes == 2 else int(scores[0].argmax())
    assert chosen == order[0]
    assert np.abs(scores[0]).min() < 1e-300


def test_neighbors_on_the_query_give_the_first_ones_class():
    """With no distance to scale by, the nearest row by order decides."""
    X, target = np.zeros((4, 2)), np.array([1, 0, 0, 0], np.int32)
    scores, _ = solve(X, target, np.ones(4), 2, np.zeros((1, 2)), 4, make_options())
    np.testing.assert_array_equal(scores, [[1.0]])


def test_too_few_steps_are_counted():
    """The number of problems that did not converge is returned."""
    X, target, costs, queries, _ = make_task(3)
    _, n_unsolved = solve(X, target, costs, 3, queries, 14, make_options(max_iter=1))
    assert n_unsolved > 0


@every_storage
@every_kernel
@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_center_scores_itself_as_a_query_would(dtype, storage, kernel, n_classes):
    """Cached models give a query on the center the scores of its own SVMs."""
    X, target, costs, _, _ = make_task(n_classes)
    X = stored(X, dtype, storage)
    solver = NeighborhoodSolver(X, target, costs, n_classes, make_options(kernel, tol=1e-8))
    found = ExactSearch(X).query(X[:20], 14, ONE_THREAD)
    expected, _ = solver.scores(X[:20], found, ONE_THREAD)
    models, _ = solver.train(X[:20], found, ONE_THREAD)
    own = np.arange(20, dtype=np.int32)
    scores = solver.center_scores(models, X[:20], own, ONE_THREAD)
    np.testing.assert_allclose(scores, expected, atol=1e-5 if dtype == "float64" else 1e-2)


@every_kernel
def test_cached_models_of_dense_and_sparse_rows_agree(kernel):
    """Queries away from the center get the same scores from either storage."""
    X, target, costs, queries, _ = make_task(3)
    scores = []
    for kind in (np.asarray, sp.csr_array):
        rows, points = kind(X), kind(queries)
        solver = NeighborhoodSolver(rows, target, costs, 3, make_options(kernel))
        models, _ = solver.train(rows, ExactSearch(rows).query(rows, 14, ONE_THREAD), ONE_THREAD)
        nearest = ExactSearch(rows).query(points, 2, ONE_THREAD).indices[:, 1]
        scores.append(solver.center_scores(models, points, nearest, ONE_THREAD))
    np.testing.assert_allclose(*scores, atol=1e-5)


@pytest.mark.parametrize("storage", ["dense", "csr"])
def test_a_function_as_kernel_equals_the_built_in_one(storage):
    """A callable RBF of the same width gives the same scores."""
    X, target, costs, queries, _ = make_task(3)

    def rbf(A, B):
        A, B = (rows.toarray() if sp.issparse(rows) else rows for rows in (A, B))
        return np.exp(-reference.squared_distances(B, A) * 1.02)

    X, queries = stored(X, "float64", storage), stored(queries, "float64", storage)
    by_name, _ = solve(X, target, costs, 3, queries, 14, make_options("rbf", 1.02))
    by_function, _ = solve(X, target, costs, 3, queries, 14, make_options(rbf))
    np.testing.assert_allclose(by_function, by_name, atol=1e-6)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (lambda A, B: np.ones(3), "shape"),
        (lambda A, B: np.full((len(A), len(B)), np.nan), "NaN"),
    ],
)
def test_bad_kernel_values_are_refused(kernel, message):
    """A function that returns something else is an error that says so."""
    X, target, costs, queries, _ = make_task(3)
    with pytest.raises(ValueError, match=message):
        solve(X, target, costs, 3, queries, 14, make_options(kernel))


@every_kernel
@pytest.mark.parametrize("gamma", ["local", 1.02])
def test_kernel_matrices_equal_the_reference(kernel, gamma):
    """Many small Gram matrices at once are those of a loop."""
    X, _, _, queries, neighbors = make_task(3)
    rows = np.concatenate([X[neighbors] - queries[:, None], np.zeros((25, 1, 4))], axis=1)
    distances = (rows[:, :-1] ** 2).sum(axis=2)
    matrices = kernel_matrices(make_options(kernel, gamma), rows, distances)
    for matrix, query, near in zip(matrices, queries, neighbors, strict=True):
        expected = reference.kernel_matrix(X[near], query, kernel, gamma)
        np.testing.assert_allclose(matrix, expected, atol=1e-12)
