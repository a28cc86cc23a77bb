"""Tests of hyperlocal.solvers.stored: the problem of a chain over rows in files."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from estimators.data import make_data
from hyperlocal.data.stream import StoredRows, collect_stream
from hyperlocal.model.chain_settings import ChainSettings
from hyperlocal.solvers.stored import StoredProblem
from hyperlocal.solvers.training import Training


@pytest.mark.parametrize("feature_map", [None, "quadratic"])
def test_blocks_are_the_problem_in_parts(tmp_path, workers, feature_map):
    """Each row is in one block, with the same lifted row; losses of the blocks add up."""
    X, y = make_data(3, n_rows=300)
    settings = ChainSettings(n_anchors=5, n_neighbors=2, feature_map=feature_map)
    training = Training(1.0, "squared_hinge")
    with StoredRows(tmp_path) as rows:
        collect_stream(BaseEstimator(), [(X, y)], rows)
        data = rows.read([(0, 300)])
        chain = settings.fit(data, np.random.default_rng(0), workers)
        whole = training.problem(chain, data, workers)
        weights = np.random.default_rng(1).normal(size=whole.lifted.zero_weights(3).shape)
        with StoredProblem(chain, training, rows, 70, workers) as stored:
            stored.prepare()
            blocks = list(stored.problems(np.random.default_rng(0)))
            objectives = [one.objective(weights) for one in blocks]
    assert len(blocks) > 3
    assert sum(one.lifted.n_rows for one in blocks) == 300
    penalty = 0.5 * np.sum(weights**2)
    together = penalty + sum(objective - penalty for objective in objectives)
    assert together == pytest.approx(whole.objective(weights), rel=1e-9)
