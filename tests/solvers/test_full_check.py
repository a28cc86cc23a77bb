"""Tests of hyperlocal.solvers.full_check: sums over rows, against the problem's own."""

import numpy as np
import pytest

from hyperlocal import _core
from hyperlocal.solvers.full_check import best_stretches, half_norms, losses_and_gaps
from reference.problems import every_problem, make_problem


@every_problem
def test_sums_are_those_of_the_problem(loss, crammer_singer, n_columns):
    """At weights that no variables belong to; scores of all rows are handed on."""
    problem = make_problem(n_columns=n_columns, loss=loss, crammer_singer=crammer_singer)
    lifted = problem.lifted
    weights = np.random.default_rng(0).standard_normal(lifted.zero_weights(n_columns).shape)
    shape, n_groups = (lifted.n_rows, n_columns), 1 if crammer_singer else n_columns
    bounds = np.tile([np.inf, -np.inf], (n_groups, 1))
    state = _core.dual_state(
        problem.core_dual(lifted.squared_norms()), weights, np.zeros(shape),
        np.ones(shape, np.uint8), bounds,
    )  # fmt: skip
    seen = np.full(shape, np.nan)

    def see_scores(begin, end, scores):
        seen[begin:end] = scores

    losses, gaps = losses_and_gaps(problem, state, weights, see_scores)
    norms = half_norms(problem, weights)
    assert losses.shape == gaps.shape == norms.shape == (n_groups,)
    assert losses.sum() == pytest.approx(problem.losses(weights))
    assert losses.sum() + norms.sum() == pytest.approx(problem.objective(weights))
    np.testing.assert_allclose(seen, lifted.scores(weights))


def test_weights_are_stretched_where_that_lowers_the_objective():
    """Each group by its own share; one that rounding has left as it should be stays."""
    weights = np.ones((2, 3, 4), np.float32)
    digits = np.finfo(np.float32).eps

    def objectives_of(stretched):
        wanted = np.array([0, 64, 1000]) * digits
        return np.abs(stretched[0, :, 0].astype(float) - 1 - wanted)

    found = best_stretches(weights, objectives_of)
    np.testing.assert_allclose(found / digits, [0, 64, 512])
