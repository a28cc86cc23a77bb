"""Tests of hyperlocal.model.residuals, and of the compiled losses against plain formulas."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperlocal import _core
from hyperlocal.model.residuals import REGRESSION_LOSSES, RegressionLoss
from reference import regression as reference
from reference.problems import every_regression, make_regression, sgd_core

numbers = st.floats(-30, 30)
parameters = st.floats(0.01, 0.99)


def column_loss(loss, parameter):
    """The loss of a column, whose parameter is a level for quantiles and else ε."""
    return RegressionLoss(loss, parameter, parameter).columns(1)[0]


@every_regression
@given(residual=numbers, parameter=parameters)
def test_values(loss, parameter, residual):
    """The losses are those of the plain formulas."""
    value = column_loss(loss, parameter).values(np.array([-residual]))
    expected = reference.value(loss, parameter, residual)
    np.testing.assert_allclose(value, [expected], rtol=1e-12, atol=1e-12)


@every_regression
@given(residual=numbers, parameter=parameters)
def test_slopes(loss, parameter, residual):
    """Pulls are minus the slopes in the margin, away from corners; curvatures are theirs."""
    one, size = column_loss(loss, parameter), 1e-6
    corners = (0.0, parameter, -parameter)
    if min(abs(residual - corner) for corner in corners) < 1e-4:
        return
    around = -residual + np.array([-size, 0.0, size])
    values, pulls = one.values(around), one.pulls(around)
    np.testing.assert_allclose(-pulls[1], (values[2] - values[0]) / (2 * size), atol=1e-4)
    if one.is_smooth:
        slopes = (pulls[0] - pulls[2]) / (2 * size)
        np.testing.assert_allclose(one.curvatures(around)[1], slopes, atol=1e-4)


@every_regression
@given(margin=numbers, parameter=parameters, share=st.floats(-1, 1), cost=st.floats(1e-3, 1e3))
def test_compiled_losses(loss, parameter, margin, share, cost):
    """The compiled loss and share of the gap are those of the formulas; no share is negative."""
    low, high = np.clip(reference.bounds(loss, parameter, cost), -100 * cost, 100 * cost)
    alpha = share * (high if share > 0 else -low)
    problem = make_regression(n_targets=1, n_rows=1)
    table = np.array([[getattr(column_loss(loss, parameter), name) for name in
                       ("epsilon", "curvature", "lower", "upper")]])  # fmt: skip
    core = _core.dual_regression(
        problem.lifted.core, np.zeros((1, 1)), table, np.array([cost]), np.ones(1)
    )
    state = _core.dual_state(
        core, problem.lifted.zero_weights(1), np.array([[alpha]]), np.ones((1, 1), np.uint8),
        np.array([[np.inf, -np.inf]]),
    )  # fmt: skip
    sums, gaps = np.zeros(1), np.zeros(1)
    state.check(0, 1, np.array([[margin]]), sums, gaps)
    scale = cost * (1 + margin**2 + 100**2)
    assert sums[0] == pytest.approx(cost * reference.value(loss, parameter, -margin), rel=1e-9)
    expected = reference.gap_share(loss, parameter, alpha, -margin, cost)
    assert gaps[0] == pytest.approx(expected, abs=1e-12 * scale)
    assert gaps[0] >= 0


@pytest.mark.parametrize("losses", [(-0.1, 0, -1, 1), (0, 0, -1, np.inf), (0, 1, 0, 1)])
def test_compiled_losses_are_checked(losses):
    """A loss without a conjugate of this family is refused."""
    problem = make_regression(n_targets=1, n_rows=3)
    ones = np.ones(3)
    with pytest.raises(ValueError, match="losses must have"):
        _core.dual_regression(
            problem.lifted.core, np.zeros((3, 1)), np.array([losses], float), ones, ones
        )


@every_regression
def test_stochastic_steps_are_gradients(loss):
    """What a stochastic step follows is minus the numerical gradient of the sum of losses."""
    problem = make_regression(n_rows=6, n_features=2, n_anchors=3, n_neighbors=2, loss=loss,
                              weighted=True)  # fmt: skip
    weights = np.random.default_rng(0).standard_normal((3, problem.n_columns, 3))
    step, total, t0 = 1e-3, np.zeros_like(weights), 1e12
    schedule = _core.SgdSchedule(lambda_=1 / (step * t0), t0=t0, skip=1, decay_bias=False)
    for row in range(6):
        moved = weights.copy()
        sgd_core(problem).epoch(moved, None, 0, schedule, np.array([row]), 0, problem.n_columns)
        total += (moved - weights) / step
    for place in np.ndindex(weights.shape):
        size = np.zeros_like(weights)
        size[place] = 1e-6
        slope = (problem.losses(weights + size) - problem.losses(weights - size)) / 2e-6
        assert -total[place] == pytest.approx(slope, abs=1e-4)


def test_columns():
    """Each target has all quantiles; other losses have one column per target."""
    columns = RegressionLoss("quantile", quantiles=[0.1, 0.9]).columns(2)
    assert [one.upper for one in columns] == [0.1, 0.9, 0.1, 0.9]
    assert len(RegressionLoss("huber").columns(3)) == 3
    assert RegressionLoss("quantile", quantiles=0.3).levels == (0.3,)
    assert RegressionLoss("squared").levels == ()


def test_evaluated():
    """Held-out rows are evaluated without a tube."""
    names = [RegressionLoss(name).evaluated().name for name in REGRESSION_LOSSES]
    assert names == ["squared", "squared", "quantile", "huber", "quantile"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": "hinge"}, "loss must be one of"),
        ({"name": "squared", "epsilon": -1}, "epsilon"),
        ({"name": "huber", "epsilon": 0.0}, "epsilon"),
        ({"name": "quantile", "quantiles": 1.0}, "quantiles must lie"),
        ({"name": "quantile", "quantiles": [0.5, 0.5]}, "increasing"),
        ({"name": "quantile", "quantiles": []}, "increasing"),
    ],
)
def test_arguments_are_checked(given, message):
    """Errors name the argument."""
    with pytest.raises(ValueError, match=message):
        RegressionLoss(**given).check()
