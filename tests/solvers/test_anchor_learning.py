"""Tests of hyperlocal.solvers.anchor_learning: rows for one gate after another."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from estimators.data import make_data
from estimators.supervised_models import model
from hyperlocal.data.checks import check_labelled_rows
from hyperlocal.solvers.anchor_descent import RESERVES
from hyperlocal.solvers.anchor_learning import RecodedRows
from hyperlocal.solvers.training import Training


def rows_of(X, y, workers):
    """Rows of a small fitted model."""
    fitted = model(anchor_epochs=0).fit(X, y)
    data = check_labelled_rows(fitted, X, y)
    return RecodedRows(fitted.model_, Training(1.0, "squared_hinge"), data, workers)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_a_look_is_the_problem_and_the_anchors_that_come_next(workers, convert):
    """Its problem is the same as without the reserves, which are a copy of their own."""
    X, y = make_data(3)
    rows = rows_of(convert(X), y, workers)
    gate = rows.chain.gate
    plain, (problem, reserves) = rows.problem(gate, 2.0), rows.full_pass(gate, 2.0)
    np.testing.assert_array_equal(problem.lifted.anchors, plain.lifted.anchors)
    np.testing.assert_array_equal(problem.lifted.gate, plain.lifted.gate)
    np.testing.assert_array_equal(problem.costs, plain.costs)
    everyone = np.sort(np.hstack([problem.lifted.anchors, reserves]))
    n_known = min(gate.n_anchors, gate.n_neighbors + RESERVES)
    assert everyone.shape == (90, n_known)
    assert (np.diff(everyone) > 0).all()
    kept = reserves.copy()
    reserves[:] = 0
    np.testing.assert_array_equal(rows.full_pass(gate, 2.0).reserves, kept)


def test_codes_follow_the_gate(workers):
    """Rows are coded anew for other anchors, and what callers change does not stay."""
    X, y = make_data()
    rows = rows_of(X, y, workers)
    gate = rows.chain.gate
    rows.codes(gate).weights[:] = 0
    np.testing.assert_array_equal(rows.codes(gate).weights, gate.encode(X, workers).weights)
    gate = replace(gate, anchors=gate.anchors + 1)
    np.testing.assert_array_equal(rows.codes(gate).weights, gate.encode(X, workers).weights)
