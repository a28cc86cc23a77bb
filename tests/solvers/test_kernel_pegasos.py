"""Tests of hyperlocal.solvers.kernel_pegasos: blocks against single visits, tiles, the gap."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperlocal import _core
from hyperlocal.kernels import Kernel
from hyperlocal.runtime.threads import Workers
from hyperlocal.solvers import kernel_pegasos, pegasos, visits
from hyperlocal.solvers.kernel_pegasos import MatrixKernel, RowKernel
from reference import pegasos as reference
from reference.problems import every_storage, make_rows
from reference.rows import written_out

LAMBDA = 0.02


def make_data(n_rows=120, n_columns=3, dtype="float64", storage="dense"):
    X = make_rows(dtype, storage, n_rows=n_rows, n_features=5)
    rng = np.random.default_rng(1)
    target = (written_out(X) @ rng.standard_normal((5, n_columns))).argmax(axis=1).astype(np.int32)
    costs = rng.uniform(0.5, 1.5, n_rows)
    return X, target - (n_columns == 1), costs / costs.mean()


def solve(source, target, costs, n_columns=3, *, n_jobs=1, **options):
    defaults = {"lambda_": LAMBDA, "sampling": "permutation", "average": False, "tol": 0.0}
    defaults |= {"max_iter": 4, "cache_bytes": 1e8, "rng": np.random.default_rng(0)}
    with Workers(n_jobs) as workers:
        return kernel_pegasos.solve(
            source, target, costs, n_columns, workers=workers, **defaults | options
        )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("steps", [0, 37])
def test_a_block_equals_single_visits(dtype, steps):
    """The compiled pass over a block counts, and measures, as visits one at a time do."""
    X, target, costs = make_data(n_rows=40, dtype=dtype)
    K = (X @ X.T + 1).astype(dtype)
    rng = np.random.default_rng(2)
    before = rng.integers(-2, 3, (40, 3)).astype(float) if steps else np.zeros((40, 3))
    norms = np.einsum("ic,ij,jc->c", before, K.astype(float), before)
    losses, added = np.zeros(3), np.empty((40, 3))
    block = _core.kernel_block((K @ before).astype(dtype), K, target, costs)
    block.visit(LAMBDA, steps, norms, losses, added)
    counts, _, met = reference.kernel_epoch(
        K.astype(float), target, costs, 3, before, steps, range(40), LAMBDA
    )
    np.testing.assert_allclose(before + added, counts, rtol=1e-6)
    assert losses.sum() == pytest.approx(met, rel=1e-4)
    expected = np.einsum("ic,ij,jc->c", counts, K.astype(float), counts)
    np.testing.assert_allclose(norms, expected, rtol=1e-4)


@pytest.mark.parametrize("sampling", visits.SAMPLINGS)
@pytest.mark.parametrize("block", [7, 64, 512])
def test_epochs_equal_single_visits(sampling, block):
    """Blocks and tiles of any size lead to the counts of plain kernel Pegasos, same order."""
    X, target, costs = make_data()
    kernel = Kernel("rbf", gamma=0.3)
    sizes = {"rows_per_block": block, "rows_per_tile": 16}
    found = solve(RowKernel(kernel, X, 0.5), target, costs, sampling=sampling, **sizes)
    K, counts, steps = kernel.values(X, X) + 0.5, np.zeros((120, 3)), 0
    orders = visits.sampled_orders(120, sampling, np.random.default_rng(0))
    for _ in range(4):
        counts, steps, _ = reference.kernel_epoch(
            K, target, costs, 3, counts, steps, next(orders), LAMBDA
        )
    dense = np.zeros((120, 3))
    dense[found.support] = found.coefficients
    np.testing.assert_allclose(dense, counts / (LAMBDA * steps), rtol=1e-9, atol=1e-12)
    assert sorted(found.support) == sorted(np.flatnonzero(counts.any(axis=1)))


@every_storage
@pytest.mark.parametrize("average", [False, True])
def test_a_linear_kernel_is_linear_pegasos(dtype, storage, average):
    """With products of rows as kernel, the expansion is linear Pegasos with the same order."""
    X, target, costs = make_data(dtype=dtype, storage=storage)
    found = solve(RowKernel(Kernel("linear"), X, 0.49), target, costs, average=average)
    problem = pegasos.PegasosProblem(
        X=X, costs=costs.astype(dtype), lambda_=LAMBDA, bias=0.7, n_columns=3, target=target,
        coupling="one_vs_rest", workers=Workers(1),
    )  # fmt: skip
    state = pegasos.PegasosState.start(problem, average)
    orders = visits.sampled_orders(120, "permutation", np.random.default_rng(0))
    for _ in range(4):
        pegasos.run_epoch(problem, state, next(orders))
    coef = found.coefficients.T @ written_out(X)[found.support]
    close = {"rtol": 2e-2, "atol": 2e-2} if dtype == "float32" else {"rtol": 1e-9, "atol": 1e-9}
    np.testing.assert_allclose(coef, state.weights[:, :-1], **close)
    assert found.objective == pytest.approx(
        problem.objective(state.weights), rel=1e-2 if dtype == "float32" else 1e-9
    )


@given(cache=st.sampled_from([0, 20_000, 1e9]), n_jobs=st.sampled_from([1, 2]))
def test_cache_and_threads_change_nothing(cache, n_jobs):
    """The result does not depend on how much is cached, nor on the threads."""
    X, target, costs = make_data()
    source = RowKernel(Kernel("rbf", gamma=0.3), X)
    options = {"max_iter": 2, "rows_per_tile": 16}
    found = solve(source, target, costs, cache_bytes=cache, n_jobs=n_jobs, **options)
    plain = solve(source, target, costs, **options)
    np.testing.assert_array_equal(found.support, plain.support)
    np.testing.assert_allclose(found.coefficients, plain.coefficients, rtol=1e-12)


def test_the_cache_keeps_its_budget():
    """Full tiles are cached while they fit; a cached value is computed once."""
    X, target, costs = make_data()

    class Counting(RowKernel):
        computed = 0

        def block(self, rows, others):
            Counting.computed += len(rows) * len(others)
            return super().block(rows, others)

    counts = []
    for cache in (0, 2 * 120 * 16 * 8, 1e9):
        Counting.computed = 0
        source = Counting(Kernel("rbf", gamma=0.3), X)
        with Workers(1) as workers:
            support = kernel_pegasos.Support(source, 3, cache, workers, rows_per_tile=16)
        solve(source, target, costs, cache_bytes=cache, rows_per_tile=16)
        counts.append(Counting.computed)
        assert support.tiles_left == min(int(cache // (120 * 16 * 8)), int(1e9) // (120 * 16 * 8))
    assert counts[0] > counts[1] > counts[2]


def test_a_matrix_serves_as_well_as_rows():
    """A precomputed matrix gives what computing its values gives."""
    X, target, costs = make_data()
    kernel = Kernel("rbf", gamma=0.3)
    K = kernel.values(X, X)
    by_rows = solve(RowKernel(kernel, X, 1.0), target, costs)
    by_matrix = solve(MatrixKernel(K, 1.0), target, costs)
    np.testing.assert_allclose(by_rows.coefficients, by_matrix.coefficients, rtol=1e-9)


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("sampling", visits.SAMPLINGS)
def test_the_gap_certifies(average, sampling):
    """The objective is that of the expansion, the optimum lies within the gap, the gap closes."""
    X, target, costs = make_data()
    kernel = Kernel("rbf", gamma=0.3)
    K = kernel.values(X, X)
    results = [
        solve(
            RowKernel(kernel, X), target, costs, max_iter=epochs, average=average, sampling=sampling
        )
        for epochs in (3, 300)
    ]
    for found in results:
        W = np.zeros((120, 3))
        W[found.support] = found.coefficients
        labels = np.where(target[:, None] == np.arange(3), 1, -1)
        hinge = np.maximum(0, 1 - labels * (K @ W)).sum(axis=1)
        primal = 0.5 * LAMBDA * np.einsum("ic,ij,jc->", W, K, W) + costs @ hinge / 120
        assert found.objective == pytest.approx(primal, rel=1e-9)
    first, last = results
    assert first.objective - first.duality_gap <= last.objective
    assert last.duality_gap < 0.03 * last.objective
    assert last.history[-1] == (300, last.objective, last.duality_gap)


def test_it_stops_at_the_gap():
    """A run ends at the first check that finds the gap small enough; a monitor may end it too."""
    X, target, costs = make_data()
    source = RowKernel(Kernel("rbf", gamma=0.3), X)
    found = solve(source, target, costs, tol=0.2, max_iter=100)
    assert found.converged
    assert found.duality_gap <= 0.2 * found.objective
    assert all(gap > 0.2 * objective for _, objective, gap in found.history[:-1])
    assert [number for number, _, _ in found.history] == [3, 5, 8, 12, 18][: len(found.history)]
    stopped = solve(source, target, costs, monitor=lambda number, **facts: number == 2)
    assert stopped.stopped
    assert stopped.n_iter == 2


@every_storage
def test_an_expansion_is_summed_over_the_support(dtype, storage):
    """Scores are kernel values times coefficients plus the intercept; threads play no part."""
    X, _, _ = make_data(n_rows=1100, dtype=dtype, storage=storage)
    support = X[:70]
    rng = np.random.default_rng(0)
    coefficients, intercept = (rng.normal(size=n).astype(dtype) for n in ((3, 70), 3))
    kernel = Kernel("rbf", gamma=0.3)
    found = []
    for n_jobs in (1, 2):
        with Workers(n_jobs) as workers:
            found.append(
                kernel_pegasos.expansion_scores(
                    lambda rows, part: kernel.values(rows, support[part]), X, coefficients,
                    intercept, workers,
                )
            )  # fmt: skip
    np.testing.assert_array_equal(*found)
    expected = kernel.values(X, support) @ coefficients.T + intercept
    np.testing.assert_allclose(found[0], expected, atol=1e-4 if dtype == "float32" else 1e-12)
