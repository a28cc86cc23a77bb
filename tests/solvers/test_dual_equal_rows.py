"""Tests of hyperlocal.solvers.dual: equal rows with different labels."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from hyperlocal.data.labelled import EqualRows, LabelledRows, merge_equal_rows
from hyperlocal.data.rows import core_rows
from hyperlocal.model.chain_settings import ChainSettings
from hyperlocal.model.lifting import LiftedRows
from hyperlocal.runtime.threads import Workers
from hyperlocal.solvers import Problem, dual
from reference import dual as reference
from reference.problems import (
    DTYPES,
    compiled_dual,
    dual_arrays,
    full_matrix,
    make_codes,
    make_rows,
)
from solvers.dual_solves import solve_by_epochs


def repeated_rows(n_columns, loss, dtype="float64", n_labels=3, C=3.0):
    """Rows in groups that are equal but for their labels, with costs of all sizes."""
    n_groups = 13
    base = make_rows(dtype, n_rows=n_groups)
    again = np.repeat(np.arange(n_groups), n_labels)
    codes = make_codes(n_groups, 6, 3, base.dtype, 0).take(again)
    lifted = LiftedRows(core_rows(base[again]), codes, 6, 1.0, False, Workers(1))
    n_rows = n_groups * n_labels
    costs = C * np.exp(np.random.default_rng(0).normal(size=n_rows) * 2)
    labels = np.tile(np.arange(n_labels), n_groups)
    target = (labels if n_columns > 1 else np.where(labels == 0, 0, -1)).astype(np.int32)
    groups = EqualRows(np.arange(n_rows), np.arange(0, n_rows + 1, n_labels))
    return Problem(lifted, target, costs.astype(dtype), n_columns, loss, equal_rows=groups)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log"])
@pytest.mark.parametrize(("n_columns", "n_labels"), [(1, 2), (3, 3), (4, 3)])
def test_equal_rows_are_solved_together(loss, n_columns, n_labels):
    """No variable of the last group can be improved, and D has grown by what is reported."""
    problem = repeated_rows(n_columns, loss, n_labels=n_labels)
    arrays, rng = dual_arrays(problem), np.random.default_rng(0)
    arrays.alpha[:] = rng.uniform(0.1, 0.9, arrays.alpha.shape) * problem.costs[:, None]
    problem.lifted.add(problem.signed(arrays.alpha), arrays.weights)
    Z = full_matrix(problem.lifted)
    before = reference.dual_values(Z, problem.target, problem.costs, loss, arrays.alpha)
    core, groups = compiled_dual(problem, arrays), problem.equal_rows
    core.equal_rows(groups.rows, groups.starts, 0, n_columns, arrays.reports)
    after = reference.dual_values(Z, problem.target, problem.costs, loss, arrays.alpha)
    np.testing.assert_allclose(arrays.reports[:, dual.GAIN], after - before, rtol=1e-6)
    expected = reference.weights_of(Z, arrays.alpha, problem.labels)
    np.testing.assert_allclose(arrays.weights, expected, atol=1e-8)
    scores, norms = problem.lifted.scores(arrays.weights), problem.lifted.squared_norms()
    for row in range(problem.lifted.n_rows - n_labels, problem.lifted.n_rows):
        for column in range(n_columns):
            margin = problem.labels[row, column] * scores[row, column]
            if len(set(problem.labels[-n_labels:, column])) == 1:
                continue  # a column in which all rows of the group have one label
            alpha, cost = arrays.alpha[row, column], problem.costs[row]
            best = reference.best_alpha(loss, alpha, margin, norms[row], cost)
            assert best == pytest.approx(alpha, rel=1e-6, abs=1e-7 * cost)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_equal_rows_have_the_same_solution(loss, dtype):
    """Solved together or one by one, the objective is the same."""
    together = repeated_rows(3, loss, dtype, C=0.3)
    apart = replace(together, equal_rows=None)
    tol = 1e-4 if dtype == "float32" else 1e-8
    found, expected = (solve_by_epochs(one, tol=tol) for one in (together, apart))
    assert found.converged
    assert found.objective == pytest.approx(expected.objective, rel=10 * tol)


def test_equal_rows_with_different_labels_need_few_epochs():
    """Merged rows, solved together, need no more epochs than all rows, one by one many more."""
    rng = np.random.default_rng(0)
    distinct = sp.random(600, 400, 0.02, random_state=0, format="csr")
    chosen = rng.choice(600, 3_000, p=(share := 1 / np.arange(1, 601)) / share.sum())
    X, direction = distinct[chosen], rng.normal(size=400)
    y = X @ direction + rng.normal(size=3_000) > 0
    settings = ChainSettings(n_anchors=1, n_neighbors=1, feature_map=None)

    def problem_of(data):
        chain = settings.fit(data, np.random.default_rng(0), Workers(1))
        return chain.problem(data, 1.0, "squared_hinge", workers=Workers(1))

    all_rows = LabelledRows(sp.csr_array(X), y.astype(np.int32), np.array([0, 1]), np.ones(3_000))
    merged = problem_of(merge_equal_rows(all_rows))
    assert merged.equal_rows is not None
    runs = [
        solve_by_epochs(one, tol=1e-3)
        for one in (merged, problem_of(all_rows), replace(merged, equal_rows=None))
    ]
    together, unmerged, apart = runs
    assert together.objective == pytest.approx(unmerged.objective, rel=2e-3)
    assert together.n_iter <= 2 * unmerged.n_iter
    assert apart.n_iter > 5 * together.n_iter
