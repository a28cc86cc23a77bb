"""Epochs of hyperlocal.solvers.anchor_descent against the reference."""

from dataclasses import replace

import numpy as np
import pytest

from hyperlocal.data.rows import core_rows
from hyperlocal.runtime.threads import Workers
from hyperlocal.solvers import anchor_descent, sgd
from reference import anchor_descent as reference
from reference import sgd as reference_sgd
from reference.problems import (
    DTYPES,
    every_hinge,
    every_loss,
    every_problem,
    sgd_core,
    sgd_schedule,
)
from solvers.moving_anchors import (
    CLOSE,
    Compiled,
    Setting,
    assert_equal_runs,
    every_pair_of_storages,
    every_scale,
    run_epochs,
)

# Recoding dual descent: one epoch -----------------------------------------------------------------


@every_pair_of_storages
@every_scale
@every_problem
def test_epochs_equal_the_reference(
    dtype, storage, coded, normalize, loss, crammer_singer, n_columns
):
    """Two epochs of batches recode, step, pull and move as the slow reference does."""
    setting = Setting(
        dtype=dtype, storage=storage, coded=coded, normalize=normalize, n_rows=12, loss=loss,
        crammer_singer=crammer_singer, n_columns=n_columns, C=0.7, weighted=True,
    )  # fmt: skip
    assert_equal_runs(*run_epochs(setting, 2))


@every_pair_of_storages
@pytest.mark.parametrize("own_share", [0.0, 1.0])
def test_quadratic_rows_equal_the_reference(dtype, storage, coded, own_share):
    """Rows expanded on the fly, and all or none of a row's own share."""
    setting = Setting(dtype=dtype, storage=storage, coded=coded, quadratic=True, n_rows=16, C=0.5)
    runs = run_epochs(setting, 2, own_share=own_share, n_visits=13, batch_size=5)
    assert_equal_runs(*runs)


@pytest.mark.parametrize("dtype", DTYPES)
@every_scale
@every_hinge
@pytest.mark.parametrize("crammer_singer", [False, True])
def test_shrinking_equals_the_reference(dtype, normalize, loss, crammer_singer):
    """Variables are switched off as in the reference; those with a share still follow the codes."""
    setting = Setting(dtype=dtype, normalize=normalize, n_rows=25, loss=loss, C=0.5, noise=0.1,
                      crammer_singer=crammer_singer)  # fmt: skip
    runs = run_epochs(setting, 4, bounds=(0.05, -0.05), n_visits=25, batch_size=8)
    assert_equal_runs(*runs)
    active = runs[0].arrays.active
    assert 0 < np.mean(active == 0) < 1


def test_switched_off_variables_keep_their_share_up_to_date():
    """A variable that is switched off at its bound keeps its value; its share of W is recoded."""
    setting = Setting(loss="hinge", C=0.3)
    compiled = Compiled(setting, alpha=np.full((40, 3), 0.3))
    compiled.arrays.active[:] = 0
    codes = compiled.lifted.gate.copy()
    # Bounds that no gradient lies within: every variable at a bound stays.
    compiled.run(np.arange(40), np.full(5, 0.1), 8, 0.5, bounds=(-np.inf, np.inf))
    assert (compiled.arrays.alpha == 0.3).all()
    assert not np.allclose(codes, compiled.lifted.gate)
    np.testing.assert_allclose(compiled.arrays.weights, compiled.rebuilt_weights(), atol=1e-12)


@pytest.mark.parametrize("crammer_singer", [False, True])
def test_skipped_rows_change_nothing(crammer_singer):
    """Rows that are switched off and have no share move neither weights nor anchors."""
    compiled = Compiled(Setting(crammer_singer=crammer_singer))
    compiled.arrays.active[:] = 0
    before = compiled.gate.anchors.copy()
    compiled.run(np.arange(40), np.ones(2), 20, 0.5)
    np.testing.assert_array_equal(compiled.gate.anchors, before)
    for array in (compiled.arrays.weights, compiled.arrays.alpha, compiled.momentum):
        assert not array.any()


@every_scale
def test_rows_of_zeros_are_no_trouble(normalize):
    """Without a bias, a row of zeros has a lifted row of zeros, and pulls no anchor."""
    setting = Setting(bias=0.0, n_rows=16, normalize=normalize)
    runs = run_epochs(setting, 2, n_visits=16, batch_size=5)
    assert_equal_runs(*runs)
    assert runs[0].norms[-1] == 0


def test_an_anchor_without_rows_stays():
    """An anchor that is no row's neighbour has no gradient to follow."""
    setting = Setting()
    setting.gate.anchors[4] = 1e3
    learned = setting.learn()
    np.testing.assert_array_equal(learned.gate.anchors[4], 1e3)
    assert (learned.gate.anchors[:4] != setting.gate.anchors[:4]).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("own_share", [0.0, 0.5, 1.0])
def test_rounding_is_no_gradient(dtype, own_share):
    """A row that meets only itself has no say where lifted rows have norm one: anchors stay."""
    for seed in range(5):
        setting = Setting(dtype=dtype, n_rows=1, seed=seed)
        compiled = Compiled(setting)
        compiled.run(np.zeros(1, np.int64), np.full(1, 0.1), 1, own_share)
        assert compiled.arrays.alpha.any()
        np.testing.assert_allclose(compiled.gate.anchors, setting.gate.anchors, atol=1e-3)


# The share of W follows ---------------------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-4), ("float64", 1e-12)])
@every_scale
@every_loss
def test_weights_stay_the_sum_of_shares(dtype, tolerance, normalize, loss, crammer_singer):
    """After many recodings W is still ``Σ a γ [φ; B]``, up to rounding."""
    setting = Setting(
        dtype=dtype, normalize=normalize, loss=loss, crammer_singer=crammer_singer, n_rows=60
    )
    compiled = Compiled(setting)
    rng = np.random.default_rng(0)
    for _ in range(40):
        compiled.run(rng.permutation(60), np.full(8, 0.05), 8, 0.5)
    assert np.abs(compiled.gate.anchors - setting.gate.anchors).max() > 0.3
    expected = compiled.rebuilt_weights()
    drift = np.abs(compiled.arrays.weights - expected).max()
    assert drift <= tolerance * np.abs(expected).max()


# Rows that choose their neighbours ----------------------------------------------------------------


@every_pair_of_storages
@every_scale
def test_recoded_rows_equal_the_reference(dtype, storage, coded, normalize):
    """Rows take the nearest of neighbours and reserves, and the codes and norms that belong."""
    setting = Setting(dtype=dtype, storage=storage, coded=coded, normalize=normalize, n_rows=30,
                      n_anchors=8)  # fmt: skip
    compiled = Compiled(setting)
    lifted, anchors = compiled.lifted, compiled.gate.anchors
    anchors += np.random.default_rng(1).standard_normal(anchors.shape).astype(dtype)
    twin = setting.twin(compiled.gate, lifted.anchors)
    twin.reserves = compiled.reserves.copy()
    chosen, others = np.arange(0, 30, 2), np.arange(1, 30, 2)
    before = lifted.anchors.copy(), lifted.gate.copy()
    for i in chosen:
        twin.choose_neighbours(i)
    compiled.moving.recode(chosen, compiled.reserves)
    assert (lifted.anchors[chosen] != before[0][chosen]).any()
    np.testing.assert_array_equal(np.sort(lifted.anchors), np.sort(twin.neighbours))
    np.testing.assert_array_equal(np.sort(compiled.reserves), np.sort(twin.reserves))
    np.testing.assert_array_equal(lifted.anchors[others], before[0][others])
    np.testing.assert_array_equal(lifted.gate[others], before[1][others])
    for i in chosen:
        written = np.zeros(len(anchors))
        written[lifted.anchors[i]] = lifted.gate[i]
        expected = np.zeros(len(anchors))
        expected[twin.neighbours[i]] = twin.mix(i)
        np.testing.assert_allclose(written, expected, **CLOSE[dtype])
        norm = np.sum(twin.lifted_row(i) ** 2)
        np.testing.assert_allclose(compiled.norms[i], norm, **CLOSE[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
def test_with_all_anchors_in_reserve_rows_find_their_nearest(dtype):
    """If neighbours and reserves are all anchors, recoding is a search among all of them."""
    setting = Setting(dtype=dtype, n_rows=50, n_anchors=8, n_neighbors=3)
    gate = replace(setting.gate, anchors=setting.gate.anchors.copy())
    problem, reserves = setting.full_pass(gate, n_reserves=5)
    moving = anchor_descent.moving_gate(
        core_rows(setting.space), gate, problem, problem.lifted.squared_norms()
    )
    gate.anchors[:] += np.random.default_rng(2).standard_normal(gate.anchors.shape).astype(dtype)
    moving.recode(np.arange(50), reserves)
    expected = gate.encode(setting.space, Workers(1)).anchors
    np.testing.assert_array_equal(np.sort(problem.lifted.anchors), np.sort(expected))


# Stochastic gradient: one epoch -------------------------------------------------------------------


@every_pair_of_storages
@every_scale
@every_loss
def test_stochastic_epochs_equal_the_reference(
    dtype, storage, coded, normalize, loss, crammer_singer
):
    """Two epochs search, code, step and decay as the slow reference does."""
    setting = Setting(dtype=dtype, storage=storage, coded=coded, normalize=normalize, loss=loss,
                      crammer_singer=crammer_singer, n_rows=12, weighted=True)  # fmt: skip
    gate = replace(setting.gate, anchors=setting.gate.anchors.copy())
    problem = setting.problem(gate)
    lifted, given = problem.lifted, (problem.target, problem.costs)
    twin = setting.twin(gate)
    moving = anchor_descent.moving_gate(
        core_rows(setting.space), gate, problem, lifted.squared_norms()
    )
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((6, 3, 5)).astype(dtype)
    average = weights.copy()
    expected = (weights.astype(float), average.astype(float))
    for epoch in range(2):
        order = rng.permutation(12)[:11]
        schedule = (11 * epoch, 0.5, 40.0, 4, False)
        sgd_core(problem).epoch(
            weights, average, 11 * epoch, sgd_schedule(*schedule[1:]), order, 0, 3, moving
        )
        expected = reference_sgd.epoch(
            twin.lifted(), *given, loss, crammer_singer, *expected, *schedule, order,
            reference.LearnedGate(twin),
        )  # fmt: skip
    assert np.abs(gate.anchors - setting.gate.anchors).max() > 0.01
    np.testing.assert_array_equal(lifted.anchors, twin.neighbours)
    np.testing.assert_allclose(gate.anchors, twin.anchors, **CLOSE[dtype])
    np.testing.assert_allclose(weights, expected[0], **CLOSE[dtype])
    np.testing.assert_allclose(average, expected[1], **CLOSE[dtype])


def test_a_gate_without_sharpness_does_not_learn():
    """β → 0 leaves nothing to learn: the epoch is that of a fixed gate."""
    runs = []
    for learns in (False, True):
        setting = Setting(beta=1e-300, n_neighbors=6)
        problem = setting.problem(setting.gate)
        moving = anchor_descent.moving_gate(
            core_rows(setting.space), setting.gate, problem, problem.lifted.squared_norms()
        )
        weights = problem.lifted.zero_weights(3)
        state = sgd.SgdState(weights, weights, 0, 0.1, 30.0)
        sgd.visit(problem, state, np.arange(40), True, learned_gate=moving if learns else None)
        runs.append((weights, setting.gate.anchors))
    np.testing.assert_allclose(runs[0][0], runs[1][0], atol=1e-12)
    np.testing.assert_allclose(runs[0][1], runs[1][1], atol=1e-12)
