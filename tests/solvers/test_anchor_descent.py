"""Tests of hyperlocal.solvers.anchor_descent: kernels against the reference, gradients, runs."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from hyperlocal import _core
from hyperlocal.coding import Codes
from hyperlocal.gates import Gate
from hyperlocal.lifting import LiftedRows
from hyperlocal.rows import core_rows
from hyperlocal.solvers import anchor_descent, dual, sgd
from hyperlocal.threads import Workers
from reference import anchor_descent as reference
from reference import dual as reference_dual
from reference import sgd as reference_sgd
from reference.problems import (
    DTYPES,
    STORAGES,
    dual_arrays,
    every_hinge,
    every_loss,
    every_problem,
    make_problem,
    make_rows,
)
from reference.rows import written_out

CLOSE = {"float32": {"rtol": 5e-3, "atol": 5e-3}, "float64": {"rtol": 1e-7, "atol": 1e-7}}
NO_BOUNDS = (np.inf, -np.inf)

every_pair_of_storages = pytest.mark.parametrize(
    ("dtype", "storage", "coded"),
    [pytest.param(*kind, id="-".join(kind)) for kind in product(DTYPES, STORAGES, STORAGES)],
)
every_scale = pytest.mark.parametrize("normalize", [False, True], ids=["papers", "unit"])


class Setting:
    """Rows to code, other rows for the local models, a gate, and labels to learn."""

    def __init__(
        self, *, dtype="float64", storage="dense", coded="dense", quadratic=False, n_rows=40,
        n_anchors=6, n_neighbors=3, beta=0.7, bias=1.0, normalize=True, workers=None, seed=0,
        **options,
    ):  # fmt: skip
        rng = np.random.default_rng([seed, 3])
        self.space = make_rows(dtype, coded, n_rows, 3, seed + 7)
        self.X, self.quadratic = make_rows(dtype, storage, n_rows, 4, seed), quadratic
        self.gate = Gate(
            rng.standard_normal((n_anchors, 3)).astype(dtype), n_neighbors, "soft", beta
        )
        self.bias, self.normalize = bias, normalize
        self.workers = Workers(1) if workers is None else workers
        self.is_dense = storage == "dense"
        self.first = make_problem(self.lift(self.gate), seed=seed, **options)

    def lift(self, gate, chosen=slice(None)):
        """Rows lifted by a gate."""
        rows = core_rows(self.X[chosen], quadratic=self.quadratic)
        return LiftedRows(
            rows, gate.encode(self.space[chosen], self.workers),
            gate.n_anchors, self.bias, self.normalize, self.workers, self.is_dense,
        )  # fmt: skip

    def problem(self, gate, chosen=slice(None)):
        """The problem for a gate; labels and costs stay."""
        target, costs = self.first.target[chosen], self.first.costs[chosen]
        return replace(self.first, lifted=self.lift(gate, chosen), target=target, costs=costs)

    def twin(self, gate, neighbours=None):
        """The gate of the reference."""
        phi = written_out(self.X, self.quadratic)
        blocks = np.column_stack([phi, np.full(len(phi), self.bias)])
        if neighbours is None:
            neighbours = gate.encode(self.space, self.workers).anchors
        return reference.MovingGate(
            written_out(self.space), blocks, gate.anchors.astype(float), neighbours.copy(),
            gate.beta, self.normalize,
        )  # fmt: skip

    def learn(self, *, n_epochs=4, step=0.1, seed=0, gate=None, **options):
        """A run of recoding dual descent."""
        return anchor_descent.learn_by_dual(
            self.space, self.gate if gate is None else gate, self.problem, n_epochs=n_epochs,
            step=step, rng=np.random.default_rng(seed), **options,
        )  # fmt: skip


class Compiled:
    """Epochs of the compiled kernel, all of whose arrays are at hand."""

    def __init__(self, setting, alpha=None):
        self.gate = replace(setting.gate, anchors=setting.gate.anchors.copy())
        self.problem = problem = setting.problem(self.gate)
        self.lifted = lifted = problem.lifted
        self.arrays = dual_arrays(problem)
        if alpha is not None:
            signs = 1 if problem.crammer_singer else problem.labels
            self.arrays.alpha[:] = alpha
            lifted.add(self.arrays.alpha * signs, self.arrays.weights)
        kind = str(lifted.dtype).capitalize()
        self.norms = lifted.squared_norms()
        self.dual = getattr(_core, f"Dual{kind}")(
            lifted.core, problem.target, problem.costs, self.norms, problem.n_columns,
            problem.core_loss,
        )  # fmt: skip
        self.moving = getattr(_core, f"MovingGate{kind}")(
            core_rows(setting.space), self.gate.anchors, lifted.anchors, lifted.gate, self.norms,
            lifted.row_norms, self.gate.beta, lifted.normalize,
        )  # fmt: skip
        self.epoch = getattr(_core, f"AnchorEpoch{kind}")
        self.momentum = np.zeros(self.gate.anchors.shape)
        self.spread = np.zeros(len(self.gate.anchors))
        self.n_moves = 0

    def run(self, order, rates, batch_size, own_share, bounds=NO_BOUNDS):
        """Visit rows; one thread."""
        arrays = self.arrays
        arrays.bounds[:] = bounds
        arrays.reports[:] = [0.0, 0.0, -np.inf, np.inf]
        self.epoch(
            self.dual, self.moving, arrays.weights, arrays.alpha, arrays.active, self.momentum,
            self.spread, rates, self.n_moves, self.problem.crammer_singer, own_share, order,
            batch_size, arrays.bounds, arrays.reports, 1,
        ).run(0, 0, self.problem.n_columns)  # fmt: skip
        self.n_moves += len(rates)

    def rebuilt_weights(self):
        """``Σ_i a_i z_i`` from the variables and the codes, in doubles."""
        signs = 1 if self.problem.crammer_singer else self.problem.labels.astype(float)
        a = self.arrays.alpha.astype(float) * signs
        phi = np.empty((self.lifted.n_rows, self.lifted.width), self.lifted.dtype)
        self.lifted.rows.gather(np.arange(self.lifted.n_rows), phi)
        blocks = np.column_stack([phi, np.full(len(phi), self.lifted.bias)]).astype(float)
        weights = np.zeros(self.arrays.weights.shape)
        for i, (anchors, gate) in enumerate(
            zip(self.lifted.anchors, self.lifted.gate, strict=True)
        ):
            shares = np.einsum("j,c,v->jcv", gate.astype(float), a[i], blocks[i])
            np.add.at(weights, anchors, shares)
        return weights


def run_epochs(setting, n_epochs, bounds=NO_BOUNDS, own_share=0.5, n_visits=9, batch_size=4):
    """Compiled epochs beside the reference, from the same state, in the same order."""
    compiled = Compiled(setting)
    problem = compiled.problem
    twin = setting.twin(compiled.gate, problem.lifted.anchors)
    shape = compiled.arrays.alpha.shape
    state = reference.State(
        twin.lifted(), np.zeros(shape), np.ones(shape, np.uint8), np.zeros(twin.anchors.shape),
        np.zeros(len(twin.anchors)),
    )  # fmt: skip
    rng = np.random.default_rng(0)
    given = (problem.target, problem.costs.astype(float), problem.loss, problem.crammer_singer)
    for _ in range(n_epochs):
        order = rng.permutation(problem.lifted.n_rows)[:n_visits]
        rates = rng.uniform(0.02, 0.1, -(-n_visits // batch_size))
        compiled.run(order, rates, batch_size, own_share, bounds)
        reports, weights = reference.recoding_epoch(
            twin, state, *given, rates, own_share, order, batch_size, compiled.arrays.bounds
        )
    return compiled, twin, state, reports, weights


def assert_equal_runs(compiled, twin, state, reports, weights):
    close = CLOSE[str(compiled.lifted.dtype)]
    arrays, problem = compiled.arrays, compiled.problem
    np.testing.assert_allclose(compiled.gate.anchors, twin.anchors, **close)
    np.testing.assert_allclose(arrays.alpha, state.alpha, **close)
    np.testing.assert_allclose(arrays.weights, weights, **close)
    np.testing.assert_array_equal(arrays.active, state.active)
    np.testing.assert_allclose(compiled.momentum, state.momentum, **close)
    np.testing.assert_allclose(compiled.spread, state.spread, **close)
    written = np.zeros(state.Z.shape)
    for i, anchors in enumerate(compiled.lifted.anchors):
        written[i, anchors] = np.outer(compiled.lifted.gate[i].astype(float), twin.blocks[i])
    np.testing.assert_allclose(written, state.Z, **close)
    np.testing.assert_allclose(compiled.norms, np.sum(state.Z**2, axis=(1, 2)), **close)
    told = arrays.reports
    if problem.crammer_singer and problem.loss == "hinge":
        # Which gradients count depends on whether a variable is at its bound to the last bit.
        told, reports = told[:, :2], reports[:, :2]
    np.testing.assert_allclose(told, reports, **close)


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
def test_resting_rows_say_nothing(crammer_singer):
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


# Gradients ----------------------------------------------------------------------------------------


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


def solved(problem, tol=1e-13):
    return dual.solve(problem, tol=tol, max_iter=20_000, rng=np.random.default_rng(0))


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
    _core.sgd_epoch(
        lifted.core, problem.target, np.ones(lifted.n_rows), problem.core_loss,
        problem.crammer_singer, weights, None, 0, 1.0, 1 / step, 1, False, np.array([row]), 0,
        problem.n_columns, moving,
    )  # fmt: skip


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
        _core.sgd_epoch(
            lifted.core, *given, problem.core_loss, crammer_singer, weights, average, *schedule,
            order, 0, 3, moving,
        )  # fmt: skip
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


# Runs of recoding dual descent --------------------------------------------------------------------


@every_loss
@every_scale
def test_anchors_that_learn_serve_better(loss, crammer_singer, normalize):
    """The best objective for the learned anchors is below that for the first ones."""
    setting = Setting(loss=loss, crammer_singer=crammer_singer, normalize=normalize, n_rows=150,
                      noise=0.1)  # fmt: skip
    # The labels follow a model on the anchors there were; learning starts from others.
    elsewhere = np.random.default_rng(5).standard_normal(setting.gate.anchors.shape)
    setting.gate = replace(setting.gate, anchors=elsewhere)
    learned = setting.learn(n_epochs=20, step=0.1)
    before = solved(setting.problem(setting.gate), 1e-4).objective
    after = solved(setting.problem(learned.gate), 1e-4).objective
    assert after < 0.99 * before


@every_loss
def test_frozen_anchors_are_left_alone(loss, crammer_singer):
    """With steps of zero anchors stay to the bit, and what runs is a dual descent."""
    setting = Setting(loss=loss, crammer_singer=crammer_singer, n_rows=60)
    learned = setting.learn(n_epochs=30, step=0.0)
    np.testing.assert_array_equal(learned.gate.anchors, setting.gate.anchors)
    objectives, gaps = (np.array([record[i] for record in learned.history]) for i in (1, 2))
    best = solved(setting.problem(setting.gate), 1e-6).objective
    assert objectives[-1] < objectives[0]
    assert gaps[-1] < 0.2 * gaps[0]
    assert objectives.min() >= best * (1 - 1e-6)
    assert objectives[-1] == pytest.approx(best, rel=0.02)


@every_loss
def test_frozen_anchors_end_at_the_fixed_gates_solution(loss, crammer_singer):
    """From the variables of a frozen run, the fixed-gate solver ends where it always does."""
    setting = Setting(loss=loss, crammer_singer=crammer_singer)
    learned = setting.learn(n_epochs=5, step=0.0)
    problem = setting.problem(learned.gate)
    rng = np.random.default_rng(1)
    found = dual.solve(problem, tol=1e-13, max_iter=50_000, rng=rng, alpha=learned.alpha)
    expected = solved(setting.problem(setting.gate))
    assert found.objective == pytest.approx(expected.objective, rel=1e-9)
    np.testing.assert_allclose(found.weights, expected.weights, atol=1e-5)


@every_loss
@pytest.mark.parametrize("dtype", DTYPES)
def test_history_tells_what_is_true(dtype, loss, crammer_singer):
    """Before each epoch: its number, the objective, the gap and the accuracy, all finite."""
    setting = Setting(dtype=dtype, loss=loss, crammer_singer=crammer_singer, weighted=True)
    learned = setting.learn(n_epochs=5)
    assert [record.epoch for record in learned.history] == list(range(5))
    assert np.isfinite(learned.history).all()
    assert all(record.objective >= record.duality_gap >= -1e-6 for record in learned.history)
    assert all(0 <= record.accuracy <= 1 for record in learned.history)
    assert np.isfinite(learned.gate.anchors).all()
    assert learned.gate.anchors.dtype == dtype
    # The first record is of weights of zero: every row's loss is ℓ(0).
    zero = setting.first.lifted.zero_weights(setting.first.n_columns)
    assert learned.history[0].objective == pytest.approx(setting.first.objective(zero), rel=1e-5)


def test_the_gates_given_are_not_changed():
    """Runs move a copy of the anchors, and start from a copy of the variables."""
    setting = Setting()
    alpha = solved(setting.problem(setting.gate), 1e-2).alpha
    kept = setting.gate.anchors.copy(), alpha.copy()
    learned = setting.learn(alpha=alpha)
    np.testing.assert_array_equal(setting.gate.anchors, kept[0])
    np.testing.assert_array_equal(alpha, kept[1])
    assert learned.gate.beta == setting.gate.beta
    assert not np.array_equal(learned.gate.anchors, kept[0])


def test_no_epochs_change_nothing():
    """A run of no epochs gives back what it was given."""
    setting = Setting()
    alpha = solved(setting.problem(setting.gate), 1e-2).alpha
    learned = setting.learn(n_epochs=0, alpha=alpha)
    np.testing.assert_array_equal(learned.gate.anchors, setting.gate.anchors)
    np.testing.assert_array_equal(learned.alpha, alpha)
    assert learned.history == []
    assert not learned.stopped


def test_the_first_anchor_steps_have_the_length_asked_for():
    """One batch moves each anchor by ``step``: gradients are scaled to length one."""
    setting = Setting(n_rows=8, n_neighbors=6)
    learned = setting.learn(n_epochs=1, step=0.01)
    moved = np.linalg.norm(learned.gate.anchors - setting.gate.anchors, axis=1)
    np.testing.assert_allclose(moved, 0.01, rtol=1e-6)


def test_a_monitor_hears_of_every_epoch_and_can_stop():
    """The monitor is told number, objective and accuracy, and ends the run by returning True."""
    heard = []

    def monitor(number, objective, accuracy):
        heard.append((number - 1, objective, accuracy))
        return number == 3

    learned = Setting().learn(n_epochs=9, monitor=monitor)
    assert learned.stopped
    assert heard == [(r.epoch, r.objective, r.accuracy) for r in learned.history]
    assert len(heard) == 3
    assert not Setting().learn(n_epochs=2, monitor=lambda number, **facts: False).stopped


# Threads ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("coded", STORAGES)
@every_problem
def test_threads_do_not_change_a_bit(dtype, coded, loss, crammer_singer, n_columns):
    """One thread, two and three (more than there are columns) learn the same."""
    runs = []
    for n_jobs in (1, 2, 3):
        with Workers(n_jobs) as workers:
            setting = Setting(dtype=dtype, coded=coded, workers=workers, loss=loss, n_rows=200,
                              crammer_singer=crammer_singer, n_columns=n_columns)  # fmt: skip
            runs.append(setting.learn(n_epochs=2))
    for other in runs[1:]:
        np.testing.assert_array_equal(other.gate.anchors, runs[0].gate.anchors)
        np.testing.assert_array_equal(other.alpha, runs[0].alpha)
        assert other.history == runs[0].history


def test_more_threads_than_anchors_and_rows():
    """Threads without an anchor, a row or a column wait with the others."""
    with Workers(4) as workers:
        setting = Setting(workers=workers, n_anchors=2, n_neighbors=2, n_rows=3, n_columns=2)
        many = setting.learn(n_epochs=2)
    setting = Setting(n_anchors=2, n_neighbors=2, n_rows=3, n_columns=2)
    np.testing.assert_array_equal(many.gate.anchors, setting.learn(n_epochs=2).gate.anchors)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_anchors_without_rows_come_to_rest(dtype):
    """Average gradients fade away for as long as it takes, and never push a forgotten anchor."""
    setting = Setting(dtype=dtype, n_rows=40, n_anchors=6, n_neighbors=2)
    compiled = Compiled(setting)
    lonely = int(np.argmin(np.bincount(compiled.lifted.anchors.ravel(), minlength=6)))
    order = np.flatnonzero((compiled.lifted.anchors != lonely).all(axis=1))
    compiled.momentum[lonely], compiled.spread[lonely] = 1e-12, 1e-20
    start = compiled.gate.anchors[lonely].copy()
    for _ in range(-(-10_000 // len(order))):
        compiled.run(order, np.full(len(order), 1e-3), 1, 0.5)
    assert np.abs(compiled.gate.anchors[lonely] - start).max() < 0.1


# Runs of stochastic gradient ----------------------------------------------------------------------


def test_rows_at_rest_are_left_out_until_the_next_look_at_all(monkeypatch):
    monkeypatch.setattr(anchor_descent, "EPOCHS_BETWEEN_LOOKS", 3)
    setting = Setting(n_rows=300, n_anchors=8, seed=1)
    easy = (setting.X[:, 0] > 0).astype(np.int32)
    setting.first = replace(setting.first, target=easy, costs=np.full(300, 10.0))
    looks = []

    def problem_of(gate, chosen=None):
        looks.append(chosen)
        return setting.problem(gate, slice(None) if chosen is None else chosen)

    learned = anchor_descent.learn_by_dual(
        setting.space, setting.gate, problem_of, n_epochs=7, step=0.1, rng=np.random.default_rng(0)
    )
    looks = looks[1:]  # the first is for the shape
    assert [chosen is None for chosen in looks] == [True, False, False, True, False, False, True]
    assert all(len(set(chosen)) == len(chosen) for chosen in looks if chosen is not None)
    assert len(looks[5]) < 300
    assert learned.alpha.any()
    assert len(learned.history) == 7
    assert all(0.5 < record.accuracy <= 1 for record in learned.history)


def learn_by_sgd(setting, t0=None, n_epochs=5, seed=0, penalize=False, weights=None, **options):
    rng = np.random.default_rng(seed)
    if weights is None:
        weights = solved(setting.problem(setting.gate), 1e-3).weights
    state = anchor_descent.start_sgd(
        setting.space, setting.gate, setting.problem, weights, t0, penalize, rng
    )
    learned = anchor_descent.learn_by_sgd(
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
    state = anchor_descent.start_sgd(*start, 123.0, False, rng)
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
    """A monitor hears of every epoch and may end the run; the last record is of the end."""
    heard = []

    def monitor(number, objective, accuracy):
        heard.append((number - 1, objective, accuracy))
        return number == 2

    learned, _ = learn_by_sgd(Setting(), n_epochs=9, monitor=monitor)
    assert learned.stopped
    assert len(learned.history) == 3
    assert heard == [(r.epoch, r.objective, r.accuracy) for r in learned.history[:2]]


def test_skipped_decays_are_about_the_same():
    """Decaying the weights seldom, but by more, ends close to decaying them at every visit."""
    ends = [
        learn_by_sgd(Setting(n_rows=200), t0=1e5, n_epochs=3, skip=skip)[1].weights
        for skip in (1, 8)
    ]
    assert not np.array_equal(*ends)
    np.testing.assert_allclose(ends[0], ends[1], atol=0.02)


# Defaults -----------------------------------------------------------------------------------------


def test_default_epochs_fall_with_the_rows():
    """Few rows need many epochs, many rows need few, and there is a least and a most."""
    epochs = [anchor_descent.default_epochs(n) for n in (0, 1, 100, 10_000, 20_000, 10**5, 10**9)]
    assert epochs == sorted(epochs, reverse=True)
    assert epochs[0] == epochs[2] > epochs[-2] == epochs[-1] > 0
    assert all(isinstance(n, int) for n in epochs)


def codes_at(distances):
    distances = np.asarray(distances, float)[:, None]
    return Codes(np.zeros(distances.shape, np.int32), np.ones(distances.shape), distances)


def test_default_step_is_a_part_of_the_typical_distance():
    """Blunt gates: a fixed part of the median distance to the nearest anchor."""
    near = anchor_descent.default_step(codes_at([1, 4, 100]), np.ones(3), beta=1e-9)
    far = anchor_descent.default_step(codes_at([4, 16, 400]), np.ones(3), beta=1e-9)
    assert 0 < near < 2
    assert far == pytest.approx(2 * near)
    heavy = anchor_descent.default_step(codes_at([1, 4, 16]), np.array([1, 1, 5.0]), beta=1e-9)
    assert heavy == pytest.approx(far)


def test_default_step_is_shorter_for_sharp_gates():
    """Sharp gates: twice as sharp, half the step."""
    one, two = (
        anchor_descent.default_step(codes_at([1, 4, 9]), np.ones(3), beta) for beta in (1e3, 2e3)
    )
    assert one == pytest.approx(2 * two)


def test_default_step_of_rows_on_anchors_is_zero():
    """Where most rows lie on an anchor, anchors stay."""
    assert anchor_descent.default_step(codes_at([0, 0, 9]), np.ones(3), beta=1.0) == 0
