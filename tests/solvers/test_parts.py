"""Tests of hyperlocal.solvers.parts: epochs that threads share, for one group of columns."""

import numpy as np
import pytest

from hyperlocal import _core
from hyperlocal.gates.codes import Codes
from hyperlocal.model.lifting import LiftedRows
from hyperlocal.model.losses import conjugate_sums
from hyperlocal.model.problem import half_norm
from hyperlocal.runtime.threads import Workers
from hyperlocal.solvers import dual, parts
from reference.problems import compiled_dual, dual_arrays, make_lifted, make_problem

TWO_CLASSES = {"n_columns": 1}
JOINT = {"n_columns": 3, "crammer_singer": True}
SHAPE = {"n_rows": 600, "n_anchors": 12, "n_neighbors": 3}


@pytest.fixture(autouse=True)
def share_small_problems(monkeypatch):
    """Epochs of a few hundred rows are shared, by as many threads as there are."""
    for name in ("FEWEST_NUMBERS", "FEWEST_NUMBERS_AT_ONCE", "FEWEST_ROWS"):
        monkeypatch.setattr(parts, name, 0)


def solved(n_jobs=1, share=True, monkeypatch=None, **options):
    """A result of dual descent, shared or not."""
    with Workers(n_jobs) as workers:
        problem = make_problem(**{**SHAPE, **options}, workers=workers)
        if not share:
            monkeypatch.setattr(parts, "FEWEST_NUMBERS", 1 << 60)
        assert parts.worth_parts(problem) == share
        return dual.solve(
            problem, tol=1e-5, max_iter=2000, rng=np.random.default_rng(0), newton_after=np.inf
        )


def test_a_round_is_the_sum_of_what_parts_do_alone():
    """One round adds the changes of epochs that each part runs on stretched rows of its own."""
    problem = make_problem(**SHAPE, **TWO_CLASSES, offset=0.7)
    lifted, order = problem.lifted, np.random.default_rng(0).permutation(600)
    part_of = (np.arange(600) % 2).astype(np.uint8)
    stretches = np.sqrt(np.random.default_rng(1).uniform(1, 2, (2, lifted.n_blocks)))
    stretches[:, -1] = 1.2
    gate, norms = np.empty_like(lifted.gate), np.empty(600)
    given = (lifted.core, lifted.squared_norms(), part_of, stretches, 0, 600)
    _core.stretch_codes(*given, gate, norms)
    np.testing.assert_allclose(gate, lifted.gate * stretches[part_of[:, None], lifted.anchors])
    stretched = LiftedRows(
        lifted.rows, Codes(lifted.anchors, gate, gate), 12, lifted.bias, False, lifted.workers,
        offset=0.7 * 1.2,
    )  # fmt: skip
    np.testing.assert_allclose(norms, stretched.squared_norms())

    alone, expected = dual_arrays(problem), np.zeros(lifted.zero_weights(1).shape)
    own_problem = make_problem(stretched, n_columns=1)
    own_problem.target[:], own_problem.costs[:] = problem.target, problem.costs
    orders = [order[part_of[order] == part] for part in range(2)]
    for part in range(2):
        alone.weights[:] = 0
        compiled_dual(own_problem, alone).epoch(orders[part], 0, 1, alone.reports)
        expected += alone.weights / stretches[part][:, None, None]

    arrays = dual_arrays(own_problem)
    own_alpha, own_active = np.zeros((2, 600, 1)), np.ones((2, 600, 1), np.uint8)
    memory = _core.parts_memory(
        np.zeros((2, *arrays.weights.shape)), own_alpha, own_active, stretches,
        np.ones((2, lifted.n_blocks), np.uint8),
    )  # fmt: skip
    reports = np.tile([0.0, 0.0, -np.inf, np.inf], (2, 1))
    starts = np.array([0, len(orders[0]), 600])
    epoch = _core.parts_epoch(
        compiled_dual(own_problem, arrays), memory, np.concatenate(orders), starts, 1, 1, reports
    )
    assert epoch.run(0)
    np.testing.assert_allclose(arrays.weights, expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(reports[:, :2].sum(axis=0), alone.reports[0, :2])
    alpha = own_alpha[part_of, np.arange(600)]
    np.testing.assert_array_equal(alpha, alone.alpha)
    signed = problem.signed(alpha)
    whole = lifted.zero_weights(1)
    lifted.add(signed, whole)
    np.testing.assert_allclose(arrays.weights, whole, rtol=1e-10, atol=1e-12)
    growth = -half_norm(whole) - conjugate_sums(
        alpha, problem.target, problem.costs, problem.loss, False
    )
    np.testing.assert_allclose(reports[:, 1].sum() + epoch.excess(), growth.sum(), rtol=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", [TWO_CLASSES, JOINT], ids=["two classes", "joint"])
def test_same_bits_for_any_number_of_threads(kind, dtype):
    """One, two and three threads give the same weights to the last bit."""
    results = [solved(n_jobs, **kind, dtype=dtype, C=0.1) for n_jobs in (1, 2, 3)]
    for other in results[1:]:
        np.testing.assert_array_equal(results[0].weights, other.weights)
        np.testing.assert_array_equal(results[0].alpha, other.alpha)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log"])
@pytest.mark.parametrize("storage", ["dense", "csr"])
@pytest.mark.parametrize("offset", [0.0, 1.0])
def test_the_optimum_is_that_of_one_descent(loss, storage, offset, monkeypatch):
    """Shared epochs end within the tolerance of the objective that unshared ones reach."""
    options = {**TWO_CLASSES, "loss": loss, "storage": storage, "offset": offset, "weighted": True}
    shared = solved(**options)
    assert shared.converged
    assert shared.duality_gap <= 1e-5 * shared.objective
    alone = solved(share=False, monkeypatch=monkeypatch, **options)
    assert abs(shared.objective - alone.objective) <= 2e-5 * alone.objective


def test_parts_that_overshoot_become_stiffer():
    """Rows that all share a direction end at the optimum although parts overshoot at first."""
    lifted = make_lifted(np.full((600, 3), 2.0), n_anchors=12, n_neighbors=3)
    problem = make_problem(lifted, n_columns=1, C=100.0)
    result = dual.solve(problem, tol=1e-4, max_iter=3000, rng=np.random.default_rng(0))
    assert result.converged


def test_variables_are_collected_and_handed_out_again():
    """A descent that continues from a result's variables has nothing left to do."""
    first = solved(**TWO_CLASSES)
    problem = make_problem(**SHAPE, **TWO_CLASSES)
    again = dual.solve(
        problem, tol=1.1e-5, max_iter=5, rng=np.random.default_rng(1), alpha=first.alpha
    )
    assert again.n_iter == 0
    assert again.converged


def test_short_epochs_and_many_columns_are_not_shared():
    """Parts are for long epochs over one group of columns and several anchors."""
    assert parts.worth_parts(make_problem(**SHAPE, **TWO_CLASSES))
    assert not parts.worth_parts(make_problem(**SHAPE, n_columns=3))
    assert not parts.worth_parts(make_problem(n_rows=600, n_anchors=3, n_neighbors=3, n_columns=1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "FEWEST_ROWS", 1000)
        assert not parts.worth_parts(make_problem(**SHAPE, **TWO_CLASSES))


def test_short_epochs_of_a_shared_run_are_not_shared(monkeypatch):
    """Parts are left once few rows are active, and the optimum is the same."""
    shared = []
    run_epoch = parts.Parts.run_epoch
    monkeypatch.setattr(
        parts.Parts, "run_epoch", lambda self, *rest: shared.append(1) or run_epoch(self, *rest)
    )
    together = solved(**TWO_CLASSES)
    n_shared, shared[:] = len(shared), []
    monkeypatch.setattr(parts, "FEWEST_NUMBERS_AT_ONCE", 600 * 3 * 6)  # all rows
    result = solved(**TWO_CLASSES)
    assert 0 < len(shared) < min(n_shared, result.n_iter)
    assert result.objective == pytest.approx(together.objective, rel=2e-5)
