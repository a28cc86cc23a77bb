"""Tests of hyperlocal.solvers.dual: solutions against other solvers, what the duality gap promises,
stopping and shrinking."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.svm import LinearSVC

from hyperlocal import LocallyLinearSVC
from hyperlocal.solvers import Problem
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
    make_lifted,
    make_problem,
    make_rows,
    one_anchor,
)
from solvers.dual_solves import best_objective, solve_by_epochs

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


@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")  # to so small a tolerance
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
    """The objective is that of the weights, the last entry of the history, and W = Σ α y z; after
    Newton's steps ½‖W − Σ α y z‖² is a part of the gap."""
    problem = make_problem(loss=loss, crammer_singer=crammer_singer, n_columns=n_columns,
                           dtype=dtype, weighted=True)  # fmt: skip
    found = solve(problem, tol=1e-4)
    precision = 1e-5 if dtype == "float32" else 1e-12
    assert found.objective == pytest.approx(problem.objective(found.weights), rel=precision)
    assert found.history[-1] == (found.n_iter, found.objective, found.duality_gap)
    signs = 1.0 if crammer_singer else problem.labels.astype(float)
    weights = reference.weights_of(full_matrix(problem.lifted), found.alpha.astype(float), signs)
    apart = found.weights - weights
    assert 0.5 * (apart**2).sum() <= found.duality_gap + precision
    if solve is solve_by_epochs:
        np.testing.assert_allclose(apart, 0, atol=100 * precision)


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


def test_easy_rows_are_switched_off():
    """Near the optimum most variables of well separated classes are not visited any more."""
    problem = make_problem(noise=0.0, n_rows=300, C=10.0)
    shares = []
    solve_by_epochs(
        problem, tol=1e-7, monitor=lambda number, active, **facts: shares.append(active)
    )
    assert min(shares[:-1]) < 0.7
