"""Gradients by anchors against central differences."""

from dataclasses import replace

import numpy as np
import pytest

from hyperlocal import _core
from hyperlocal.data.rows import core_rows
from hyperlocal.solvers import anchor_descent
from reference import anchor_descent as reference
from reference import dual as reference_dual
from reference.problems import STORAGES, every_problem, sgd_schedule
from solvers.moving_anchors import Compiled, Setting, every_scale, solved


def central_differences(function, anchors, step=1e-5):
    """``∂f/∂v``, one coordinate after the other."""
    gradient = np.zeros(anchors.shape)
    for place in np.ndindex(*anchors.shape):
        shift = np.zeros(anchors.shape)
        shift[place] = step
        gradient[place] = (function(anchors + shift) - function(anchors - shift)) / (2 * step)
    return gradient


def batch_gradient(compiled, own_share):
    """The gradient of one batch of all rows while anchors stand still."""
    n_rows = compiled.lifted.n_rows
    compiled.run(np.arange(n_rows), np.zeros(1), n_rows, own_share)
    return compiled.momentum / (1 - reference.KEEP_MOMENTUM)


@every_scale
@every_problem
def test_the_dual_gradient_is_exact(normalize, loss, crammer_singer, n_columns):
    """Anchors are pulled by ``∂/∂v of −½‖W(v)‖²`` at fixed α, less a part of the rows' own terms.

    ``−½‖Σ a_i z_i‖²`` has terms ``−½ a_i² ‖z_i‖²`` of single rows; ``own_share`` of them counts.
    """
    setting = Setting(normalize=normalize, loss=loss, crammer_singer=crammer_singer, n_rows=12,
                      n_anchors=4, n_columns=n_columns, weighted=True, C=0.5)  # fmt: skip
    alpha = solved(setting.problem(setting.gate)).alpha
    neighbours = setting.lift(setting.gate).anchors
    for own_share in (0.0, 0.5, 1.0):
        compiled = Compiled(setting, alpha)
        gradient = batch_gradient(compiled, own_share)
        np.testing.assert_allclose(compiled.arrays.alpha, alpha, atol=1e-6)
        signs = 1 if crammer_singer else compiled.problem.labels
        a = compiled.arrays.alpha * signs

        def coupling(anchors, a=a, own_share=own_share):
            Z = setting.twin(replace(setting.gate, anchors=anchors), neighbours).lifted()
            own = np.sum(a**2 * np.sum(Z**2, axis=(1, 2))[:, None])
            W = reference_dual.weights_of(Z, a, 1.0)
            return -0.5 * (np.sum(W**2) - (1 - own_share) * own)

        expected = central_differences(coupling, setting.gate.anchors)
        scale = np.abs(expected).max()
        assert scale > 1e-3
        np.testing.assert_allclose(gradient, expected, atol=1e-5 * max(1, scale))


@every_scale
@every_problem
def test_the_dual_gradient_is_that_of_the_best_objective(
    normalize, loss, crammer_singer, n_columns
):
    """With all of the rows' own share, it is the derivative of ``min_W P(W, v)`` by the anchors."""
    setting = Setting(normalize=normalize, loss=loss, crammer_singer=crammer_singer, n_neighbors=6,
                      n_columns=n_columns, n_rows=30, weighted=True, C=0.5)  # fmt: skip
    alpha = solved(setting.problem(setting.gate)).alpha
    gradient = batch_gradient(Compiled(setting, alpha), 1.0)
    for direction in np.random.default_rng(0).standard_normal((2, *gradient.shape)):
        best = [
            solved(setting.problem(replace(setting.gate, anchors=anchors)), 1e-11).objective
            for anchors in setting.gate.anchors + np.array([[[1e-3]], [[-1e-3]]]) * direction
        ]
        slope = (best[0] - best[1]) / 2e-3
        assert np.sum(gradient * direction) == pytest.approx(slope, rel=1e-3, abs=1e-5)


@pytest.mark.parametrize("coded", STORAGES)
@every_scale
@every_problem
def test_the_stochastic_gradient_is_exact(coded, normalize, loss, crammer_singer, n_columns):
    """One visit moves anchors down the gradient of the row's loss, W being fixed."""
    setting = Setting(coded=coded, normalize=normalize, loss=loss, crammer_singer=crammer_singer,
                      n_columns=n_columns, n_rows=7, n_anchors=4)  # fmt: skip
    W = np.random.default_rng(1).standard_normal((4, n_columns, 5))
    moved = 0
    for row in range(setting.first.lifted.n_rows):
        gate = replace(setting.gate, anchors=setting.gate.anchors.copy())
        problem = setting.problem(gate)
        neighbours = problem.lifted.anchors.copy()
        visit_one(setting, problem, gate, row, W.copy(), step=1e-3)
        one = problem.target[row : row + 1]

        def row_loss(anchors, row=row, neighbours=neighbours, one=one):
            twin = setting.twin(replace(setting.gate, anchors=anchors), neighbours)
            scores = np.einsum("jv,jcv->c", twin.lifted_row(row), W)
            if crammer_singer:
                margins = np.array([reference_dual.lead(scores, one[0])])
            else:
                margins = scores * reference_dual.labels_of(one, n_columns)[0]
            return sum(reference.losses.value(loss, margin) for margin in margins)

        expected = central_differences(row_loss, setting.gate.anchors)
        found = (setting.gate.anchors - gate.anchors) / 1e-3
        np.testing.assert_allclose(found, expected, atol=1e-6 * (1 + np.abs(expected).max()))
        moved += bool(expected.any())
    assert moved >= 3


def visit_one(setting, problem, gate, row, weights, step):
    """One visit of stochastic gradient with a step of the given size."""
    lifted = problem.lifted
    moving = anchor_descent.moving_gate(
        core_rows(setting.space), gate, problem, lifted.squared_norms()
    )
    core = _core.sgd_problem(
        lifted.core, problem.target, np.ones(lifted.n_rows), problem.n_columns, problem.core_loss,
        problem.crammer_singer,
    )  # fmt: skip
    schedule = sgd_schedule(1.0, 1 / step, 1, False)
    core.epoch(weights, None, 0, schedule, np.array([row]), 0, problem.n_columns, moving)
