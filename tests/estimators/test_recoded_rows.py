"""Tests of hyperlocal.estimators.recoded_rows: rows for one gate after another."""

import numpy as np
import pytest
import scipy.sparse as sp

from estimators.data import make_data
from estimators.supervised_models import model
from hyperlocal.estimators.recoded_rows import RecodedRows
from hyperlocal.validation import check_labelled_rows


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_chosen_rows_come_in_the_order_named(workers, convert):
    """Labels, costs, codes and features of chosen rows are those of the same rows."""
    X, y = make_data(3)
    fitted = model(anchor_epochs=0).fit(convert(X), y)
    data = check_labelled_rows(fitted, convert(X), y, np.arange(90) + 1.0)
    rows = RecodedRows(fitted, data, workers)
    chosen = np.random.default_rng(0).permutation(90)[:20]
    whole, part = (rows.problem(fitted._gate, 2.0, some) for some in (None, chosen))
    np.testing.assert_array_equal(part.target, whole.target[chosen])
    np.testing.assert_array_equal(part.costs, whole.costs[chosen])
    np.testing.assert_array_equal(part.lifted.anchors, whole.lifted.anchors[chosen])
    scores = whole.lifted.scores(fitted._weights)
    np.testing.assert_allclose(part.lifted.scores(fitted._weights), scores[chosen], rtol=1e-12)


def test_codes_follow_the_gate(workers):
    """Rows are coded anew for other anchors, and what callers change does not stay."""
    X, y = make_data()
    fitted = model(anchor_epochs=0).fit(X, y)
    rows = RecodedRows(fitted, check_labelled_rows(fitted, X, y), workers)
    gate = fitted._gate
    rows.codes(gate).weights[:] = 0
    np.testing.assert_array_equal(rows.codes(gate).weights, gate.encode(X, workers).weights)
    gate.anchors += 1
    np.testing.assert_array_equal(rows.codes(gate).weights, gate.encode(X, workers).weights)
