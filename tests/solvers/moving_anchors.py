"""Small problems whose anchors move, and their compiled epochs beside the reference."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from hyperlocal import _core
from hyperlocal.data.rows import core_rows
from hyperlocal.gates.gate import Gate
from hyperlocal.model.lifting import LiftedRows
from hyperlocal.runtime.threads import Workers
from hyperlocal.solvers import anchor_descent, dual
from reference import anchor_descent as reference
from reference.problems import DTYPES, STORAGES, dual_arrays, make_problem, make_rows
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

    def lift(self, gate):
        """Rows lifted by a gate."""
        return LiftedRows(
            core_rows(self.X, quadratic=self.quadratic), gate.encode(self.space, self.workers),
            gate.n_anchors, self.bias, self.normalize, self.workers, self.is_dense,
        )  # fmt: skip

    def problem(self, gate):
        """The problem for a gate; labels and costs stay."""
        return replace(self.first, lifted=self.lift(gate))

    def full_pass(self, gate, n_reserves=2):
        """The problem for a gate and each row's anchors in reserve."""
        reserves = gate.encode(self.space, self.workers, n_reserves).reserves
        return anchor_descent.FullPass(self.problem(gate), reserves)

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
            self.space, self.gate if gate is None else gate, self.full_pass, n_epochs=n_epochs,
            step=step, rng=np.random.default_rng(seed), **options,
        )  # fmt: skip

    def learner(self, pass_over, **options):
        """The state of such a run, whose epochs are run by hand."""
        gate = replace(self.gate, anchors=self.gate.anchors.copy())
        rng = np.random.default_rng(0)
        return anchor_descent.DualLearner(
            core_rows(self.space), gate, pass_over, rng=rng, **options
        )


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
        self.norms = lifted.squared_norms()
        self.dual = _core.dual_problem(
            lifted.core, problem.target, problem.costs, self.norms, problem.n_columns,
            problem.core_loss, problem.crammer_singer,
        )  # fmt: skip
        self.reserves = setting.full_pass(self.gate).reserves
        self.moving = anchor_descent.moving_gate(
            core_rows(setting.space), self.gate, problem, self.norms
        )
        self.momentum = np.zeros(self.gate.anchors.shape)
        self.spread = np.zeros(len(self.gate.anchors))
        self.right = np.zeros(lifted.n_rows, np.uint8)
        self.n_moves = 0

    def run(self, order, rates, batch_size, own_share, bounds=NO_BOUNDS):
        """Visit rows; one thread."""
        arrays = self.arrays
        arrays.bounds[:] = bounds
        arrays.reports[:] = [0.0, 0.0, -np.inf, np.inf]
        epoch = _core.anchor_epoch(
            _core.dual_state(self.dual, arrays.weights, arrays.alpha, arrays.active, arrays.bounds),
            self.moving,
            _core.anchor_motion(self.momentum, self.spread, rates, self.n_moves),
            _core.AnchorEpochOptions(own_share=own_share, batch_size=batch_size),
            order,
            arrays.reports,
            self.right,
        )
        assert epoch.run(0, 0, self.problem.n_columns)
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
        np.zeros(len(twin.anchors)), np.zeros(shape[0], np.uint8),
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
    np.testing.assert_array_equal(compiled.right, state.right)
    np.testing.assert_allclose(compiled.momentum, state.momentum, **close)
    np.testing.assert_allclose(compiled.spread, state.spread, **close)
    written = np.zeros(state.Z.shape)
    for i, anchors in enumerate(compiled.lifted.anchors):
        written[i, anchors] = np.outer(compiled.lifted.gate[i].astype(float), twin.blocks[i])
    np.testing.assert_allclose(written, state.Z, **close)
    np.testing.assert_allclose(compiled.norms, np.sum(state.Z**2, axis=(1, 2)), **close)
    found = arrays.reports
    if problem.crammer_singer and problem.loss == "hinge":
        # Which gradients count depends on whether a variable is at its bound to the last bit.
        found, reports = found[:, :2], reports[:, :2]
    np.testing.assert_allclose(found, reports, **close)


def solved(problem, tol=1e-13):
    return dual.solve(problem, tol=tol, max_iter=20_000, rng=np.random.default_rng(0))
