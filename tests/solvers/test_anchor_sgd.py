"""Runs of stochastic gradient with anchors that move, hyperlocal.solvers.anchor_sgd."""

import math
from dataclasses import replace

import numpy as np
import pytest

from hyperlocal.solvers import anchor_sgd
from reference.problems import every_loss
from solvers.moving_anchors import Setting, every_scale, solved


def learn_by_sgd(setting, t0=None, n_epochs=5, seed=0, penalize=False, weights=None, **options):
    rng = np.random.default_rng(seed)
    if weights is None:
        weights = solved(setting.problem(setting.gate), 1e-3).weights
    state = anchor_sgd.start_sgd(
        setting.space, setting.gate, setting.problem, weights, t0, penalize, rng
    )
    learned = anchor_sgd.learn_by_sgd(
        setting.space, setting.gate, setting.problem, n_epochs=n_epochs, state=state,
        **{"skip": None, "penalize_intercept": penalize, "rng": rng, **options},
    )  # fmt: skip
    return learned, state


@every_loss
@every_scale
def test_stochastic_gradient_lowers_the_objective(loss, crammer_singer, normalize):
    """From the best weights for fixed anchors, it finds anchors and weights that are better."""
    setting = Setting(loss=loss, crammer_singer=crammer_singer, normalize=normalize, n_rows=200)
    start = solved(setting.problem(setting.gate), 1e-6)
    learned, _ = learn_by_sgd(setting, penalize=True, n_epochs=20, weights=start.weights)
    assert [record.epoch for record in learned.history] == list(range(21))
    assert learned.history[0].objective == pytest.approx(start.objective)
    best = min(record.objective for record in learned.history)
    assert best < start.objective
    assert all(math.isnan(record.duality_gap) for record in learned.history)
    final = setting.problem(learned.gate).objective(learned.weights)
    assert best == pytest.approx(final, rel=1e-12)


def test_a_given_delay_is_used():
    """``t0`` is taken as given, λ is one over the sum of costs, and the weights are copied."""
    setting = Setting(weighted=True)
    problem = setting.problem(setting.gate)
    weights = np.ones((6, 3, 5))
    rng = np.random.default_rng(0)
    start = (setting.space, setting.gate, setting.problem, weights)
    state = anchor_sgd.start_sgd(*start, 123.0, False, rng)
    assert (state.t0, state.visits) == (123.0, 0)
    assert state.lambda_ == pytest.approx(1 / problem.costs.sum())
    assert state.weights is not weights
    np.testing.assert_array_equal(state.weights, weights)
    assert state.average is state.weights


def test_a_long_delay_moves_little():
    """The longer the delay, the smaller the steps."""
    setting = Setting()
    moved = []
    for t0 in (1e3, 1e6, 1e12):
        learned, _ = learn_by_sgd(setting, t0=t0, n_epochs=1)
        moved.append(np.abs(learned.gate.anchors - setting.gate.anchors).max())
    assert moved[0] > 100 * moved[1] > 0
    assert moved[2] < 1e-8


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("C", [1e-3, 1e3])
def test_the_first_stochastic_step_fits_any_scale(scale, C):
    """Rows and costs of any scale find a delay at which nothing diverges."""
    setting = Setting(C=C, n_rows=100, normalize=False)
    setting.X, setting.space = scale * setting.X, scale * setting.space
    setting.gate = replace(setting.gate, anchors=scale * setting.gate.anchors, beta=0.7 / scale**2)
    zero = setting.first.lifted.zero_weights(3)
    learned, _ = learn_by_sgd(setting, n_epochs=3, weights=zero)
    assert np.isfinite(learned.gate.anchors).all()
    assert np.isfinite(learned.weights).all()
    assert learned.history[-1].objective < learned.history[0].objective


def test_stochastic_gradient_can_be_stopped():
    """A monitor is called after every epoch and may end the run; the last record is of the end."""
    seen = []

    def monitor(number, objective, accuracy):
        seen.append((number - 1, objective, accuracy))
        return number == 2

    learned, _ = learn_by_sgd(Setting(), n_epochs=9, monitor=monitor)
    assert learned.stopped
    assert len(learned.history) == 3
    assert seen == [(r.epoch, r.objective, r.accuracy) for r in learned.history[:2]]


def test_skipped_decays_are_about_the_same():
    """Decaying the weights seldom, but by more, ends close to decaying them at every visit."""
    ends = [
        learn_by_sgd(Setting(n_rows=200), t0=1e5, n_epochs=3, skip=skip)[1].weights
        for skip in (1, 8)
    ]
    assert not np.array_equal(*ends)
    np.testing.assert_allclose(ends[0], ends[1], atol=0.02)
