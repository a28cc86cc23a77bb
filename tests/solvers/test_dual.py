"""Tests of hyperlocal.solvers.dual: solutions against other solvers, what the duality gap promises,
stopping, shrinking and warm starts."""

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.datasets import make_classification
from sklearn.svm import LinearSVC

from hyperlocal import LocallyLinearSVC
from hyperlocal.data.labelled import EqualRows, LabelledRows, merge_equal_rows
from hyperlocal.data.rows import core_rows
from hyperlocal.model.lifting import LiftedRows
from hyperlocal.model.local_model import ChainSettings
from hyperlocal.runtime.threads import Workers
from hyperlocal.solvers import Problem, dual, newton, qp
from reference import dual as reference
from reference import losses as reference_losses
from reference.problems import (
    DTYPES,
    assert_feasible,
    compiled_dual,
    dual_arrays,
    every_hinge,
    every_map,
    every_problem,
    every_storage,
    full_matrix,
    make_codes,
    make_lifted,
    make_problem,
    make_rows,
    one_anchor,
)


def solve_by_epochs(problem, tol=1e-9, max_iter=20_000, seed=0, **options):
    """Solve without Newton's steps, unless they are asked for."""
    options = {"newton_after": math.inf} | options
    rng = np.random.default_rng(seed)
    return dual.solve(problem, tol=tol, max_iter=max_iter, rng=rng, **options)


def solve_by_steps(problem, **options):
    """Solve by Newton's steps from the start where they apply."""
    never = math.isinf(newton.epochs_worth_it(problem))
    return solve_by_epochs(problem, newton_after=math.inf if never else 0, **options)


@pytest.fixture(params=[solve_by_epochs, solve_by_steps], ids=["epochs", "newton"], scope="module")
def solve(request):
    """Narrow rows go by Newton's steps: what is claimed holds for them, and without them."""
    return request.param


def best_objective(problem):
    """From an independent method: interior points, or quasi-Newton for the smooth log loss."""
    if problem.loss != "log":
        return qp.solve(problem, tol=1e-10, max_iter=200).objective
    matrix = problem.lifted.to_csr().astype(float)
    labels, costs = problem.labels.astype(float), problem.costs.astype(float)
    return sum(_logistic_objective(matrix, y, costs) for y in labels.T)


def _logistic_objective(matrix, y, costs):
    def value_and_gradient(w):
        margins = y * (matrix @ w)
        value = 0.5 * w @ w + costs @ np.logaddexp(0, -margins)
        return value, w - matrix.T @ (costs * y / (1 + np.exp(margins)))

    start = np.zeros(matrix.shape[1])
    options = {"maxiter": 10_000, "ftol": 1e-15, "gtol": 1e-10}
    return minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options=options).fun


# Against other solvers ----------------------------------------------------------------------------


def liblinear_problem(n_classes, loss, crammer_singer=False, C=0.5):
    X, y = make_classification(
        150, 8, n_informative=5, n_classes=n_classes, n_clusters_per_class=1, flip_y=0.1,
        random_state=0,
    )  # fmt: skip
    two_in_one = n_classes == 2 and not crammer_singer
    target, n_columns = (np.where(y == 1, 0, -1), 1) if two_in_one else (y, n_classes)
    costs = np.full(150, C)
    lifted = one_anchor(X)
    return Problem(lifted, target.astype(np.int32), costs, n_columns, loss, crammer_singer), X, y


def liblinear_objective(problem, X, y, **options):
    model = LinearSVC(
        C=float(problem.costs[0]), loss=problem.loss, dual=True, tol=1e-10, max_iter=10**7,
        intercept_scaling=1, random_state=0, **options,
    ).fit(X, y)  # fmt: skip
    weights = np.column_stack([model.coef_, model.intercept_])
    if len(weights) < problem.n_columns:  # LinearSVC keeps the difference of two classes only
        weights = np.vstack([-weights / 2, weights / 2])
    return problem.objective(np.ascontiguousarray(weights[None]))


@every_hinge
@pytest.mark.parametrize("n_classes", [2, 3])
def test_one_anchor_is_liblinear(solve, loss, n_classes):
    """With one anchor and no normalisation the problem is LinearSVC's, and so is the optimum."""
    problem, X, y = liblinear_problem(n_classes, loss)
    expected = liblinear_objective(problem, X, y)
    assert solve(problem).objective == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_one_anchor_is_liblinear_for_crammer_singer(solve, n_classes):
    """The joint problem with hinge loss is LinearSVC's too."""
    problem, X, y = liblinear_problem(n_classes, "hinge", crammer_singer=True)
    expected = liblinear_objective(problem, X, y, multi_class="crammer_singer")
    assert solve(problem).objective == pytest.approx(expected, rel=1e-6)


@every_problem
@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weighted"])
@pytest.mark.parametrize("normalize", [False, True], ids=["papers", "unit"])
def test_the_optimum_is_found(solve, loss, crammer_singer, n_columns, weighted, normalize):
    """An interior-point method (quasi-Newton for log loss) finds the same objective."""
    problem = make_problem(loss=loss, crammer_singer=crammer_singer, n_columns=n_columns, C=2.0,
                           weighted=weighted, normalize=normalize, n_rows=60)  # fmt: skip
    found = solve(problem)
    assert found.converged
    assert found.objective == pytest.approx(best_objective(problem), rel=1e-6)


@every_storage
@every_map
def test_the_optimum_is_found_in_every_storage(solve, dtype, storage, quadratic):
    """float32 and CSR rows lead to the same objective, to their precision."""
    X = make_rows(dtype, storage, n_rows=60)
    problem = make_problem(make_lifted(X, quadratic=quadratic, normalize=True), C=2.0)
    found = solve(problem, tol=1e-5 if dtype == "float32" else 1e-9)
    assert found.converged
    rel = 3e-5 if dtype == "float32" else 1e-6
    assert found.objective == pytest.approx(best_objective(problem), rel=rel)


@pytest.mark.parametrize("bias", [0.0, 5.0])
def test_the_optimum_is_found_for_other_biases(solve, bias):
    """The constant feature may be large, or missing."""
    problem = make_problem(bias=bias, C=1.0, n_rows=50)
    assert solve(problem).objective == pytest.approx(best_objective(problem), rel=1e-6)


@every_problem
def test_rows_of_zeros_are_harmless(solve, loss, crammer_singer, n_columns):
    """Without a bias a row of zeros has no effect on the weights, nor on convergence."""
    problem = make_problem(loss=loss, crammer_singer=crammer_singer, n_columns=n_columns, bias=0.0,
                           n_rows=30)  # fmt: skip
    assert problem.lifted.squared_norms()[-1] == 0
    found = solve(problem, tol=1e-7, max_iter=3000)
    assert found.objective == pytest.approx(best_objective(problem), rel=1e-6)
    assert found.converged


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log"])
def test_the_smallest_weights_are_harmless(loss):
    """A row whose weight vanishes beside the others' in float32 leaves the gap a number."""
    X = make_rows("float32", n_rows=60)
    weights = np.ones(60)
    weights[0] = 1e-14
    model = LocallyLinearSVC(4, n_neighbors=2, loss=loss, random_state=0)
    model.fit(X, X[:, 0] > 0, sample_weight=weights)
    assert 0 <= model.duality_gap_ <= model.tol * model.objective_


# The duality gap ----------------------------------------------------------------------------------


@every_problem
def test_the_gap_bounds_the_error(solve, loss, crammer_singer, n_columns):
    """At every check the gap is not negative, and the optimum lies within it."""
    problem = make_problem(loss=loss, crammer_singer=crammer_singer, n_columns=n_columns, C=2.0)
    best = best_objective(problem)
    for max_iter in (1, 2, 5, 20, 5000):
        found = solve(problem, max_iter=max_iter)
        for _, objective, gap in found.history:
            assert gap >= -1e-12 * objective
            assert objective - gap <= best * (1 + 1e-8)
            assert objective >= best * (1 - 1e-8)
    assert found.duality_gap <= 1e-9 * found.objective


@pytest.mark.parametrize("dtype", DTYPES)
@every_problem
def test_what_is_reported_is_true(solve, dtype, loss, crammer_singer, n_columns):
    """The objective is that of the weights, the last entry of the history, and W = Σ α y z."""
    problem = make_problem(loss=loss, crammer_singer=crammer_singer, n_columns=n_columns,
                           dtype=dtype, weighted=True)  # fmt: skip
    found = solve(problem, tol=1e-4)
    precision = 1e-5 if dtype == "float32" else 1e-12
    assert found.objective == pytest.approx(problem.objective(found.weights), rel=precision)
    assert found.history[-1] == (found.n_iter, found.objective, found.duality_gap)
    signs = 1.0 if crammer_singer else problem.labels.astype(float)
    weights = reference.weights_of(full_matrix(problem.lifted), found.alpha.astype(float), signs)
    np.testing.assert_allclose(found.weights, weights, atol=100 * precision)


@every_hinge
@pytest.mark.parametrize("weighted", [False, True])
def test_dual_variables_are_feasible(solve, loss, weighted):
    """0 ≤ α, and α ≤ C s for hinge."""
    problem = make_problem(loss=loss, weighted=weighted)
    alpha = solve(problem, tol=1e-5).alpha
    assert alpha.min() >= 0
    assert (alpha > 0).any()
    if loss == "hinge":
        assert (alpha <= problem.costs[:, None]).all()
        assert (alpha == problem.costs[:, None]).any()


@every_hinge
@pytest.mark.parametrize("weighted", [False, True])
def test_joint_dual_variables_are_feasible(solve, loss, weighted):
    """A row's variables sum to zero; only that of its class is positive, at most C s for hinge."""
    problem = make_problem(loss=loss, weighted=weighted, crammer_singer=True)
    found = solve(problem, tol=1e-5)
    assert_feasible(found.alpha, problem.target, problem.costs, loss)
    assert found.alpha.any()


@pytest.mark.parametrize("crammer_singer", [False, True])
def test_variables_at_their_bound_are_exactly_there(solve, crammer_singer):
    """Hinge: no variable is a rounding error away from C, where it would count as a violation."""
    problem = make_problem(loss="hinge", crammer_singer=crammer_singer, C=0.37, weighted=True,
                           n_rows=200)  # fmt: skip
    alpha = solve(problem, tol=1e-4).alpha
    costs = np.broadcast_to(problem.costs[:, None], alpha.shape)
    near = np.abs(alpha - costs) < 1e-10
    assert near.any()
    np.testing.assert_array_equal(alpha[near], costs[near])


@pytest.mark.parametrize("loss", ["squared_hinge", "log"])
@pytest.mark.parametrize("n_columns", [1, 3])
def test_optimality_conditions(loss, n_columns):
    """At the optimum each dual variable is what the slope of the loss at its margin asks for."""
    problem = make_problem(loss=loss, n_columns=n_columns)
    found = solve_by_epochs(problem, tol=1e-12)
    margins = problem.labels * problem.lifted.scores(found.weights)
    pulls = np.vectorize(lambda margin: reference_losses.pull(loss, margin))(margins)
    np.testing.assert_allclose(found.alpha, problem.costs[:, None] * pulls, atol=1e-4)


# Stopping -----------------------------------------------------------------------------------------


@every_problem
def test_few_epochs_do_not_converge(loss, crammer_singer, n_columns):
    """When epochs run out the result says so, with the gap that is left."""
    problem = make_problem(loss=loss, crammer_singer=crammer_singer, n_columns=n_columns, C=10.0)
    found = solve_by_epochs(problem, max_iter=1)
    assert not found.converged
    assert found.n_iter == 1
    assert found.duality_gap > 1e-9 * found.objective
    assert [entry[0] for entry in found.history] == [1]


@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
def test_the_tolerance_is_kept(solve, tol):
    """A converged run has a relative gap of at most ``tol``."""
    found = solve(make_problem(C=5.0), tol=tol)
    assert found.converged
    assert found.duality_gap <= tol * found.objective


def test_a_tighter_tolerance_takes_longer(solve):
    """Loose tolerances save epochs."""
    problem = make_problem(C=5.0, n_rows=200)
    assert solve(problem, tol=1e-1).n_iter < solve(problem, tol=1e-8).n_iter


def test_a_monitor_is_called_after_every_epoch(solve):
    """The monitor gets number, objective, gap and active share of each epoch."""
    seen = []
    found = solve(
        make_problem(), tol=1e-4, monitor=lambda number, **facts: seen.append((number, facts))
    )
    assert [number for number, _ in seen] == list(range(1, found.n_iter + 1))
    for _, facts in seen:
        assert facts.keys() == {"objective", "gap", "active"}
        assert all(np.isfinite(list(facts.values())))
        assert 0 <= facts["active"] <= 1


def test_a_monitor_can_stop(solve):
    """A monitor that returns True ends the run with a correct result."""
    problem = make_problem(C=10.0)
    found = solve(problem, monitor=lambda number, **facts: number == 2)
    assert found.n_iter == 2
    assert found.stopped
    assert not found.converged
    assert found.objective == pytest.approx(problem.objective(found.weights))


@every_problem
def test_more_epochs_raise_the_lower_bound(loss, crammer_singer, n_columns):
    """Wherever a run is cut short, what is known of the optimum is no worse than it was before."""
    problem = make_problem(loss=loss, crammer_singer=crammer_singer, n_columns=n_columns, C=5.0)
    found = [solve_by_epochs(problem, max_iter=most) for most in (1, 2, 3, 4, 6, 9, 14, 30, 60)]
    bounds = [result.objective - result.duality_gap for result in found]
    assert (np.diff(bounds) >= -1e-9 * abs(bounds[-1])).all()


# Shrinking ----------------------------------------------------------------------------------------


@every_hinge
@pytest.mark.parametrize("crammer_singer", [False, True])
@given(seed=st.integers(0, 10**6), C=st.sampled_from([0.01, 0.3, 10.0]))
def test_shrinking_never_changes_the_optimum(solve, loss, crammer_singer, seed, C):
    """Epochs that never switch a variable off end at the same objective."""
    problem = make_problem(loss=loss, crammer_singer=crammer_singer, seed=seed, C=C, n_rows=25)
    found = solve(problem, tol=1e-8, max_iter=100_000)
    assert found.converged
    assert found.objective == pytest.approx(objective_without_shrinking(problem), rel=1e-6)


def objective_without_shrinking(problem):
    arrays = dual_arrays(problem)
    core = compiled_dual(problem, arrays)
    rng = np.random.default_rng(1)
    for _ in range(20_000):
        arrays.reports[:, 0] = 0
        order = rng.permutation(problem.lifted.n_rows)
        core.epoch(order, 0, problem.n_columns, arrays.reports)
        if arrays.reports[:, 0].sum() < 1e-9 * problem.objective(arrays.weights):
            break
    return problem.objective(arrays.weights)


def test_bounds_come_from_violations_on_either_side():
    """A side without violations takes the other's; without any, nothing is switched off."""
    reports = np.zeros((3, 4))
    reports[:, [dual.LARGEST, dual.SMALLEST]] = [[1.0, -0.5], [0.0, -0.5], [0.0, 0.0]]
    expected = dual.SHRINKING * np.array([[1.0, -0.5], [0.5, -0.5], [np.inf, -np.inf]])
    np.testing.assert_array_equal(dual.shrink_bounds(reports), expected)


def test_easy_rows_are_switched_off():
    """Near the optimum most variables of well separated classes are not visited any more."""
    problem = make_problem(noise=0.0, n_rows=300, C=10.0)
    shares = []
    solve_by_epochs(
        problem, tol=1e-7, monitor=lambda number, active, **facts: shares.append(active)
    )
    assert min(shares[:-1]) < 0.7


# Warm starts --------------------------------------------------------------------------------------


@every_problem
def test_warm_starts_are_faster(solve, loss, crammer_singer, n_columns):
    """From the solution of a nearby problem the same objective takes fewer epochs."""
    options = {"loss": loss, "crammer_singer": crammer_singer, "n_columns": n_columns}
    before, problem = (make_problem(C=C, n_rows=80, **options) for C in (1.0, 1.02))
    cold = solve(problem, tol=1e-7)
    warm = solve(problem, tol=1e-7, alpha=solve(before, tol=1e-7).alpha)
    assert warm.n_iter < cold.n_iter
    assert warm.objective == pytest.approx(cold.objective, rel=1e-6)


@every_problem
def test_a_solution_stays_a_solution(solve, loss, crammer_singer, n_columns):
    """Started from its own solution a solver stops at once."""
    problem = make_problem(loss=loss, crammer_singer=crammer_singer, n_columns=n_columns)
    first = solve(problem, tol=1e-6)
    again = solve(problem, tol=1e-5, alpha=first.alpha)
    assert again.converged
    assert again.n_iter <= 2
    assert again.objective == pytest.approx(first.objective, rel=1e-4)


@every_problem
@pytest.mark.parametrize("C", [0.02, 50.0])
def test_a_start_from_another_cost(solve, loss, crammer_singer, n_columns, C):
    """Variables of a problem with other costs, out of bounds here, lead to the right optimum."""
    options = {"loss": loss, "crammer_singer": crammer_singer, "n_columns": n_columns}
    start = solve(make_problem(C=1.0, **options), tol=1e-5).alpha
    problem = make_problem(C=C, **options)
    found = solve(problem, tol=1e-7, max_iter=100_000, alpha=start)
    assert found.converged
    assert found.duality_gap >= -1e-12 * found.objective
    assert found.objective == pytest.approx(best_objective(problem), rel=1e-5)


@every_problem
def test_a_start_from_other_labels(solve, loss, crammer_singer, n_columns):
    """Variables of other labels for the same rows lead to the right optimum."""
    options = {"loss": loss, "crammer_singer": crammer_singer, "n_columns": n_columns}
    problem = make_problem(**options)
    flipped = np.roll(problem.target, 1)
    other = Problem(problem.lifted, flipped, problem.costs, n_columns, loss, crammer_singer)
    found = solve(problem, tol=1e-7, alpha=solve(other, tol=1e-5).alpha)
    assert found.converged
    assert found.objective == pytest.approx(best_objective(problem), rel=1e-5)


def test_a_start_is_not_changed(solve):
    """The caller's dual variables stay as they were."""
    problem = make_problem()
    alpha = solve(problem, tol=1e-1).alpha
    kept = alpha.copy()
    solve(problem, tol=1e-6, alpha=alpha)
    np.testing.assert_array_equal(alpha, kept)


# Threads and seeds --------------------------------------------------------------------------------


@every_storage
@every_problem
def test_threads_do_not_change_a_bit(dtype, storage, loss, crammer_singer, n_columns):
    """One and two threads give the same weights, variables and history."""
    X = make_rows(dtype, storage, n_rows=300)
    results = []
    for n_jobs in (1, 2):
        with Workers(n_jobs) as workers:
            lifted = make_lifted(X, workers=workers, normalize=True)
            problem = make_problem(lifted, loss=loss, crammer_singer=crammer_singer,
                                   n_columns=n_columns)  # fmt: skip
            results.append(solve_by_epochs(problem, tol=1e-3, max_iter=60))
    one, two = results
    np.testing.assert_array_equal(one.weights, two.weights)
    np.testing.assert_array_equal(one.alpha, two.alpha)
    assert one.history == two.history


def test_the_seed_decides_the_path_not_the_end():
    """Equal seeds give equal bits; other seeds the same objective."""
    problem = make_problem()
    first, same, other = (solve_by_epochs(problem, tol=1e-8, seed=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.weights, same.weights)
    assert not np.array_equal(first.weights, other.weights)
    assert first.objective == pytest.approx(other.objective, rel=1e-7)


def test_sparse_and_dense_rows_agree(solve):
    """The same rows in both storages lead to the same weights."""
    X = make_rows()
    dense, sparse = (solve(make_problem(make_lifted(rows))) for rows in (X, sp.csr_array(X)))
    np.testing.assert_allclose(dense.weights, sparse.weights, atol=1e-4)


@every_problem
def test_scores_are_shown_at_full_checks(solve, loss, crammer_singer, n_columns):
    """What is shown last are the scores of the result, of each row once."""
    problem = make_problem(
        make_lifted(), loss=loss, crammer_singer=crammer_singer, n_columns=n_columns
    )
    shown = np.full((problem.lifted.n_rows, n_columns), np.nan)

    def see_scores(begin, end, scores):
        shown[begin:end] = scores

    result = solve(problem, tol=1e-4, see_scores=see_scores)
    np.testing.assert_allclose(shown, problem.lifted.scores(result.weights), rtol=1e-12)


@every_problem
def test_first_variables_are_those_of_the_first_epochs(loss, crammer_singer, n_columns):
    """They are what the solver has after as many epochs; a monitor is called and may stop."""
    problem = make_problem(
        make_lifted(), loss=loss, crammer_singer=crammer_singer, n_columns=n_columns
    )
    seen = []

    def monitor(number, **facts):
        seen.append(number)
        return number == 2

    options = {"n_epochs": 3, "rng": np.random.default_rng(0)}
    found = dual.first_variables(problem, **options)
    expected = solve_by_epochs(problem, tol=1e-30, max_iter=3).alpha
    np.testing.assert_array_equal(found, expected)
    dual.first_variables(problem, **options, monitor=monitor)
    assert seen == [1, 2]


# Equal rows with different labels -----------------------------------------------------------------


def repeated_rows(n_columns, loss, dtype="float64", n_labels=3, C=3.0):
    """Rows in groups that are equal but for their labels, with costs of all sizes."""
    n_groups = 13
    base = make_rows(dtype, n_rows=n_groups)
    again = np.repeat(np.arange(n_groups), n_labels)
    codes = make_codes(n_groups, 6, 3, base.dtype, 0).take(again)
    lifted = LiftedRows(core_rows(base[again]), codes, 6, 1.0, False, Workers(1))
    n_rows = n_groups * n_labels
    costs = C * np.exp(np.random.default_rng(0).normal(size=n_rows) * 2)
    labels = np.tile(np.arange(n_labels), n_groups)
    target = (labels if n_columns > 1 else np.where(labels == 0, 0, -1)).astype(np.int32)
    groups = EqualRows(np.arange(n_rows), np.arange(0, n_rows + 1, n_labels))
    return Problem(lifted, target, costs.astype(dtype), n_columns, loss, equal_rows=groups)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log"])
@pytest.mark.parametrize(("n_columns", "n_labels"), [(1, 2), (3, 3), (4, 3)])
def test_equal_rows_are_solved_together(loss, n_columns, n_labels):
    """No variable of the last group can be improved, and D has grown by what is reported."""
    problem = repeated_rows(n_columns, loss, n_labels=n_labels)
    arrays, rng = dual_arrays(problem), np.random.default_rng(0)
    arrays.alpha[:] = rng.uniform(0.1, 0.9, arrays.alpha.shape) * problem.costs[:, None]
    problem.lifted.add(problem.signed(arrays.alpha), arrays.weights)
    Z = full_matrix(problem.lifted)
    before = reference.dual_values(Z, problem.target, problem.costs, loss, arrays.alpha)
    core, groups = compiled_dual(problem, arrays), problem.equal_rows
    core.equal_rows(groups.rows, groups.starts, 0, n_columns, arrays.reports)
    after = reference.dual_values(Z, problem.target, problem.costs, loss, arrays.alpha)
    np.testing.assert_allclose(arrays.reports[:, dual.GAIN], after - before, rtol=1e-6)
    expected = reference.weights_of(Z, arrays.alpha, problem.labels)
    np.testing.assert_allclose(arrays.weights, expected, atol=1e-8)
    scores, norms = problem.lifted.scores(arrays.weights), problem.lifted.squared_norms()
    for row in range(problem.lifted.n_rows - n_labels, problem.lifted.n_rows):
        for column in range(n_columns):
            margin = problem.labels[row, column] * scores[row, column]
            if len(set(problem.labels[-n_labels:, column])) == 1:
                continue  # a column in which all rows of the group have one label
            alpha, cost = arrays.alpha[row, column], problem.costs[row]
            best = reference.best_alpha(loss, alpha, margin, norms[row], cost)
            assert best == pytest.approx(alpha, rel=1e-6, abs=1e-7 * cost)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_equal_rows_have_the_same_solution(loss, dtype):
    """Solved together or one by one, the objective is the same."""
    together = repeated_rows(3, loss, dtype, C=0.3)
    apart = replace(together, equal_rows=None)
    tol = 1e-4 if dtype == "float32" else 1e-8
    found, expected = (solve_by_epochs(one, tol=tol) for one in (together, apart))
    assert found.converged
    assert found.objective == pytest.approx(expected.objective, rel=10 * tol)


def test_equal_rows_with_different_labels_need_few_epochs():
    """Merged rows, solved together, need no more epochs than all rows, one by one many more."""
    rng = np.random.default_rng(0)
    distinct = sp.random(600, 400, 0.02, random_state=0, format="csr")
    chosen = rng.choice(600, 3_000, p=(share := 1 / np.arange(1, 601)) / share.sum())
    X, direction = distinct[chosen], rng.normal(size=400)
    y = X @ direction + rng.normal(size=3_000) > 0
    settings = ChainSettings(n_anchors=1, n_neighbors=1, feature_map=None)

    def problem_of(data):
        chain = settings.fit(data, np.random.default_rng(0), Workers(1))
        return chain.problem(data, 1.0, "squared_hinge", workers=Workers(1))

    all_rows = LabelledRows(sp.csr_array(X), y.astype(np.int32), np.array([0, 1]), np.ones(3_000))
    merged = problem_of(merge_equal_rows(all_rows))
    assert merged.equal_rows is not None
    runs = [
        solve_by_epochs(one, tol=1e-3)
        for one in (merged, problem_of(all_rows), replace(merged, equal_rows=None))
    ]
    together, unmerged, apart = runs
    assert together.objective == pytest.approx(unmerged.objective, rel=2e-3)
    assert together.n_iter <= 2 * unmerged.n_iter
    assert apart.n_iter > 5 * together.n_iter
