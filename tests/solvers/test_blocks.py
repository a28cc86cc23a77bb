"""Tests of hyperlocal.solvers.blocks: the solution over blocks is that over all rows."""

import numpy as np
import pytest

from hyperlocal.data.rows import core_rows
from hyperlocal.model.lifting import LiftedRows
from hyperlocal.runtime.threads import Workers
from hyperlocal.solvers import Problem, dual
from hyperlocal.solvers import blocks as block_descent
from reference import losses as reference_losses
from reference.problems import every_loss, make_codes, make_problem, make_rows


class Source:
    """A problem cut into blocks of fixed rows; dual variables are kept in an array."""

    def __init__(self, n_rows=60, n_blocks=4, n_columns=3, dtype="float64", **options):
        self.n_rows, self.n_columns = n_rows, n_columns
        self.X = make_rows(dtype, n_rows=n_rows)
        self.codes = make_codes(n_rows, 6, 3, dtype)
        self.whole = make_problem(self._lift(slice(None)), n_columns=n_columns, **options)
        self.alpha = np.zeros((n_rows, n_columns), dtype)
        self.parts = np.array_split(np.random.default_rng(0).permutation(n_rows), n_blocks)

    def _lift(self, rows):
        codes = self.codes.take(rows)
        return LiftedRows(core_rows(self.X[rows]), codes, 6, 1.0, False, Workers(1))

    def blocks(self, rng):
        for number in rng.permutation(len(self.parts)):
            rows, whole = self.parts[number], self.whole
            problem = Problem(
                self._lift(rows), whole.target[rows], whole.costs[rows], whole.n_columns,
                whole.loss, whole.crammer_singer,
            )  # fmt: skip

            def keep(alpha, rows=rows):
                self.alpha[rows] = alpha

            yield block_descent.Block(problem, self.alpha[rows], keep)


def solve(source, tol=1e-7, max_iter=2_000, **options):
    rng = np.random.default_rng(0)
    return block_descent.solve(source, tol=tol, max_iter=max_iter, rng=rng, **options)


@every_loss
@pytest.mark.parametrize("n_blocks", [1, 5])
def test_objective_of_all_rows(loss, crammer_singer, n_blocks):
    """Objective, weights and gap are those of a solver that sees all rows."""
    source = Source(n_blocks=n_blocks, loss=loss, crammer_singer=crammer_singer, weighted=True)
    result = solve(source)
    rng = np.random.default_rng(1)
    whole = dual.solve(source.whole, tol=1e-9, max_iter=20_000, rng=rng)
    assert result.converged
    assert whole.objective - 1e-12 <= result.objective * (1 + 1e-9)
    assert result.objective - whole.objective <= result.duality_gap + whole.duality_gap
    np.testing.assert_allclose(result.objective, source.whole.objective(result.weights))
    np.testing.assert_allclose(result.weights, whole.weights, atol=2e-3)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log"])
def test_gap_is_exact(loss):
    """Even after one pass, the reported gap is primal minus dual objective, by the definitions."""
    source = Source(n_columns=1, loss=loss)
    result = solve(source, max_iter=1)
    lifted = source.whole.lifted
    weights = lifted.zero_weights(1)
    lifted.add(source.alpha * source.whole.labels, weights)
    np.testing.assert_allclose(result.weights, weights, atol=1e-10)
    conjugates = sum(
        reference_losses.conjugate(loss, alpha, cost)
        for alpha, cost in zip(source.alpha[:, 0], source.whole.costs, strict=True)
    )
    dual_objective = -0.5 * (weights**2).sum() - conjugates
    np.testing.assert_allclose(result.duality_gap, result.objective - dual_objective)
    assert not result.converged
    assert result.n_iter == 1


def test_monitor_stops():
    """A monitor sees each pass and may stop the run, which then still has its exact gap."""
    seen = []

    def monitor(number, **facts):
        seen.append((number, sorted(facts)))
        return number == 2

    result = solve(Source(), monitor=monitor)
    assert seen == [(1, ["gap", "objective"]), (2, ["gap", "objective"])]
    assert result.stopped
    assert result.n_iter == 2
    assert [number for number, *_ in result.history] == [2]
    assert np.isfinite(result.duality_gap)


def test_zero_tolerance_never_claims_convergence():
    """Without a tolerance all passes are run."""
    result = solve(Source(n_rows=20), tol=0.0, max_iter=5)
    assert result.n_iter == 5
    assert not result.converged
