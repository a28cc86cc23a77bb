"""A team reaches the optimum of one solver over all rows, however rows are divided."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperlocal.model.losses import conjugate_sums, conjugates_along, loss_values, pulls
from hyperlocal.solvers import dual
from hyperlocal.solvers.team import Coordinator, best_steps, solve, stiffness_of
from solvers.teams import divided_problem, team_of

CASES = [
    {},
    {"loss": "hinge"},
    {"loss": "log"},
    {"n_classes": 3},
    {"n_classes": 3, "multi_class": "crammer_singer"},
    {"n_classes": 3, "multi_class": "crammer_singer", "loss": "hinge"},
    {"grouped": False},
    {"normalize": False},
    {"feature_map": None, "intercept_scaling": 0.0},
    {"dtype": np.float32},
    {"global_intercept": True},
    {"global_intercept": True, "grouped": False, "loss": "log"},
    {"global_intercept": True, "n_classes": 3, "multi_class": "crammer_singer"},
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_optimum_is_that_of_one_solver(case):
    """Members that divide the rows reach the optimum of one solver over all rows."""
    whole, problems = divided_problem(4, **case)
    reference = dual.solve(whole, tol=1e-6, max_iter=5000, rng=np.random.default_rng(0))
    result = solve(team_of(problems), tol=1e-4, max_iter=2000, n_epochs=4)
    assert result.converged
    assert result.duality_gap <= 1e-4 * result.objective
    assert result.objective == pytest.approx(reference.objective, rel=2e-4)
    # The losses that members computed add up to the objective of the weights.
    assert whole.objective(result.weights) == pytest.approx(result.objective, rel=1e-5)


def test_the_dual_objective_never_falls():
    """The search for steps keeps rounds safe, also where members share anchors without care."""
    _, problems = divided_problem(4, grouped=False)
    coordinator, values = Coordinator(team_of(problems, care=0.0), tol=0.0, n_epochs=2), []
    for number in range(15):
        coordinator.ask(number, is_last=False)
        values.append(coordinator.dual_value)
        coordinator.decide()
    assert (np.diff(values) >= -1e-9).all()


def test_a_monitor_sees_rounds_and_can_stop():
    """The monitor is called after each round with its facts, and ends the run."""
    _, problems = divided_problem(2)
    seen = []

    def monitor(number, **facts):
        seen.append(facts)
        return number == 3

    result = solve(team_of(problems), tol=0.0, max_iter=50, n_epochs=4, monitor=monitor)
    assert (result.n_iter, result.stopped, result.converged) == (3, True, False)
    assert set(seen[0]) == {"objective", "gap", "step"}
    assert np.isfinite(result.objective)


def test_rounds_end_at_max_iter():
    """Without convergence the last round is the one asked for."""
    _, problems = divided_problem(2)
    result = solve(team_of(problems), tol=0.0, max_iter=5, n_epochs=4)
    assert (result.n_iter, result.converged, result.stopped) == (5, False, False)


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 5), st.integers(0, 10_000))
def test_steps_are_the_best_in_the_box(n_members, seed):
    """No step can be moved within [0, 1] to raise the objective."""
    rng = np.random.default_rng(seed)
    changes = rng.standard_normal((n_members, 6))
    quadratic = (changes @ changes.T + 1e-3 * np.eye(n_members))[None]
    linear = rng.standard_normal((1, n_members))
    steps = best_steps(linear, quadratic)[:, 0]
    assert ((steps >= 0) & (steps <= 1)).all()
    slope = linear[0] - quadratic[0] @ steps
    scale = np.abs(quadratic).max()
    assert (slope[steps < 1] <= 1e-3 * scale).all()
    assert (slope[steps > 0] >= -1e-3 * scale).all()


def test_full_care_makes_whole_steps_safe():
    """Stiff members, each by itself, count at least the curvature of all together."""
    rng = np.random.default_rng(0)
    masses = rng.random((4, 7)) * (rng.random((4, 7)) < 0.7)
    stiffness = stiffness_of(masses, 1.0)
    changes = rng.standard_normal((4, 7, 5)) * (masses > 0)[..., None]
    together = (changes.sum(axis=0) ** 2).sum()
    apart = (stiffness[..., None] * changes**2).sum()
    assert together <= apart


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log"])
def test_conjugates_and_pulls_meet_their_losses(loss):
    """Losses and conjugates add up to minus the product where a variable is the pull."""
    margins = np.array([[-1.5], [0.3], [0.9], [2.0]])
    costs = np.array([1.0, 2.0, 0.5, 1.5])
    alpha = costs[:, None] * pulls(loss, margins)
    conjugate = conjugate_sums(alpha, np.zeros(4, int), costs, loss, False)
    primal = (costs[:, None] * loss_values(loss, margins)).sum()
    # Fenchel-Young holds with equality where the variable is the pull of the loss.
    assert primal + (alpha * margins).sum() + conjugate.sum() == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log"])
def test_conjugates_along_a_path(loss, joint):
    """The three sums along a path are those of its start, middle and end."""
    rng = np.random.default_rng(0)
    n_rows = 20_000  # more than a block
    costs, target = rng.uniform(0.5, 2, n_rows), rng.integers(3, size=n_rows)
    start, end = (rng.uniform(0, 1, (n_rows, 3)) * costs[:, None] for _ in range(2))
    found = conjugates_along(start, end, target, costs, loss, joint)
    for along, values in zip((0, 0.5, 1), found, strict=True):
        alpha = start + along * (end - start)
        expected = conjugate_sums(alpha, target, costs, loss, joint)
        np.testing.assert_allclose(values, expected, rtol=1e-10)
