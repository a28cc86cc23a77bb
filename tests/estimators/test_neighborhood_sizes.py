"""Tests of hyperlocal.estimators.neighborhood_sizes: the choice of the number of neighbors."""

import numpy as np

from estimators.data import make_data
from hyperlocal import NeighborhoodSVC
from hyperlocal.estimators.neighborhood_sizes import leave_one_out_merits
from hyperlocal.runtime.threads import Workers


def test_a_sample_of_rows_chooses_for_large_data():
    """At most ``most_rows`` rows are left out, and the monitor is called for each size."""
    X, y = make_data(2, n_rows=120)
    model = NeighborhoodSVC(20).fit(X, y).model_
    calls = []

    def monitor(number, /, **facts):
        calls.append((number, facts["n_neighbors"]))
        return False

    rng = np.random.default_rng(0)
    accuracy = leave_one_out_merits(model, [5, 20], rng, Workers(1), monitor, most_rows=30)
    assert calls == [(1, 5), (2, 20)]
    assert list(accuracy) == [5, 20]
    assert all((30 * share) % 1 < 1e-9 for share in accuracy.values())
