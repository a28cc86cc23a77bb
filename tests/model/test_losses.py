"""Tests of hyperlocal.model.losses, and of the compiled losses against them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hyperlocal import _core
from hyperlocal.model.losses import LOSSES, curvatures, loss_sum, loss_values, margins, pulls
from reference import losses as reference
from reference.problems import make_problem, sgd_core

every_loss = pytest.mark.parametrize("loss", LOSSES)
numbers = st.floats(-30, 30)


@every_loss
@given(margin=st.floats(-500, 500))
def test_loss_values(loss, margin):
    """The losses are those of the plain formulas, without overflow."""
    value = loss_values(loss, np.array([margin]))
    np.testing.assert_allclose(value, [reference.value(loss, margin)], rtol=1e-12)


@pytest.mark.parametrize("loss", ["squared_hinge", "log"])
@given(margin=st.floats(-4, 4).filter(lambda margin: abs(margin - 1) > 1e-3))
def test_derivatives(loss, margin):
    """Central differences agree, away from the corner of the squared hinge's slope."""
    around = np.array([margin - 1e-5, margin, margin + 1e-5])
    below, slope, above = -pulls(loss, around)
    values = loss_values(loss, around)
    np.testing.assert_allclose(slope, (values[2] - values[0]) / 2e-5, atol=1e-6)
    np.testing.assert_allclose(curvatures(loss, around[1]), (above - below) / 2e-5, atol=1e-6)


@every_loss
@given(u=numbers, v=numbers, share=st.floats(0, 1))
def test_losses_are_convex_and_fall(loss, u, v, share):
    """A loss lies below its chords, is never negative, and falls with the margin."""
    between = share * u + (1 - share) * v
    at_u, at_v, at_between = loss_values(loss, np.array([u, v, between]))
    assert at_between <= share * at_u + (1 - share) * at_v + 1e-9
    assert at_between >= 0
    assert (at_u - at_v) * (u - v) <= 0


@every_loss
@given(margin=numbers, share=st.floats(0, 1), cost=st.floats(1e-3, 1e3))
def test_gap_shares_are_never_negative(loss, margin, share, cost):
    """Fenchel and Young: C ℓ(u) + α u + C ℓ*(−α/C) ≥ 0, and 0 at α = −C ℓ'(u)."""
    scale = 1 + cost * loss_values(loss, np.array(margin)) + cost * abs(margin)
    assert reference.gap_share(loss, share * cost, margin, cost) >= -1e-12 * scale
    best = cost * reference.pull(loss, margin)
    assert reference.gap_share(loss, best, margin, cost) == pytest.approx(0, abs=1e-9 * scale)


def compiled_gap(loss, alpha, margin, cost):
    """The share of one row, whose score is its margin, as the compiled check reports it."""
    problem = make_problem(n_columns=1, n_rows=1, loss=loss)
    core = _core.dual_problem(
        problem.lifted.core, np.zeros(1, np.int32), np.array([cost]), np.ones(1), 1,
        getattr(_core.Loss, loss),
    )  # fmt: skip
    state = _core.dual_state(
        core, problem.lifted.zero_weights(1), np.array([[alpha]]), np.ones((1, 1), np.uint8),
        np.array([[np.inf, -np.inf]]),
    )  # fmt: skip
    sums, gaps = np.zeros(1), np.zeros(1)
    state.check(0, 1, np.array([[margin]]), sums, gaps)
    return sums[0], gaps[0]


@every_loss
@given(margin=numbers, share=st.floats(0, 1), cost=st.floats(1e-3, 1e3))
def test_compiled_losses(loss, margin, share, cost):
    """The compiled loss and gap share are those of the plain formulas."""
    value, gap = compiled_gap(loss, share * cost, margin, cost)
    scale = 1 + cost * (1 + margin**2)
    assert value == pytest.approx(cost * reference.value(loss, margin), rel=1e-12)
    expected = reference.gap_share(loss, share * cost, margin, cost)
    assert gap == pytest.approx(expected, abs=1e-12 * scale)


# Gradients ----------------------------------------------------------------------------------------


def compiled_pulls(problem, weights):
    """``Σ_i −∂ℓ_i/∂W``, from one tiny stochastic step per row."""
    lifted, step, total = problem.lifted, 1e-3, np.zeros_like(weights)
    t0 = 1e12  # so large that weights do not decay
    core = sgd_core(problem)
    schedule = _core.SgdSchedule(lambda_=1 / (step * t0), t0=t0, skip=1, decay_bias=False)
    for row in range(lifted.n_rows):
        moved = weights.copy()
        core.epoch(moved, None, 0, schedule, np.array([row]), 0, problem.n_columns)
        total += (moved - weights) / step
    return total


@pytest.mark.parametrize(
    ("loss", "crammer_singer"),
    [*((loss, False) for loss in LOSSES), ("hinge", True), ("squared_hinge", True)],
)
def test_pulls_are_gradients(loss, crammer_singer):
    """What a stochastic step follows is minus the numerical gradient of the sum of losses."""
    problem = make_problem(n_rows=6, n_features=2, n_anchors=3, n_neighbors=2, loss=loss,
                           crammer_singer=crammer_singer, weighted=True)  # fmt: skip
    weights = np.random.default_rng(0).standard_normal((3, 3, 3))

    def total_loss(at):
        scores = problem.lifted.scores(at)
        return loss_sum(scores, problem.target, problem.costs, loss, crammer_singer)

    gradient = np.zeros_like(weights)
    for place in np.ndindex(weights.shape):
        nudge = np.zeros_like(weights)
        nudge[place] = 1e-5
        gradient[place] = (total_loss(weights + nudge) - total_loss(weights - nudge)) / 2e-5
    np.testing.assert_allclose(compiled_pulls(problem, weights), -gradient, atol=1e-6)


# Margins and sums ---------------------------------------------------------------------------------

score_tables = st.tuples(st.integers(1, 6), st.integers(2, 5)).flatmap(
    lambda shape: st.tuples(
        arrays(np.float64, shape, elements=numbers),
        arrays(np.int32, shape[0], elements=st.integers(0, shape[1] - 1)),
    )
)


@given(score_tables)
def test_margins(drawn):
    """One-vs-rest: ± the score. Crammer–Singer: the lead over the best rival."""
    scores, target = drawn
    one_vs_rest = margins(scores, target, False)
    joint = margins(scores, target, True)
    assert joint.shape == (len(scores), 1)
    for i, truth in enumerate(target):
        signs = np.where(np.arange(scores.shape[1]) == truth, 1, -1)
        np.testing.assert_array_equal(one_vs_rest[i], signs * scores[i])
        assert joint[i, 0] == scores[i, truth] - np.delete(scores[i], truth).max()


def test_margins_of_two_classes_in_one_column():
    """A target of −1 makes the single column negative."""
    scores = np.array([[2.0], [3.0]])
    np.testing.assert_array_equal(margins(scores, np.array([0, -1]), False), [[2.0], [-3.0]])


@every_loss
def test_loss_sum_is_in_double_precision(loss):
    """The sum of many float32 losses does not lose digits."""
    scores = np.full((50_000, 1), 0.1, np.float32)
    costs = np.full(50_000, 0.1, np.float32)
    total = loss_sum(scores, np.zeros(50_000, np.int32), costs, loss, False)
    exact = 50_000 * float(costs[0]) * reference.value(loss, float(scores[0, 0]))
    assert total == pytest.approx(exact, rel=1e-12)
