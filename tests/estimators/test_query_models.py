"""Tests of hyperlocal.estimators.query_models: SVMs of queries written out score as the solver."""

import numpy as np
import pytest

from estimators.data import make_data
from hyperlocal import NeighborhoodSVC
from hyperlocal.estimators.query_models import own_models
from hyperlocal.runtime.threads import Workers


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("between", [False, True])
def test_models_score_as_the_solver(kernel, n_classes, between):
    """Also between some classes alone; absent classes score below all others."""
    X, y = make_data(n_classes)
    svms = NeighborhoodSVC(15, kernel=kernel).fit(X, y).model_
    queries = X[:40] + 0.1
    candidates = np.random.default_rng(0).random((40, n_classes)) < 0.6 if between else None
    with Workers(1) as workers:
        found = svms.find(queries, 15, workers)
        scores, _ = svms.scores_by(queries, found, 15, workers, candidates)
        models = own_models(svms.solver(), queries, found.first(15), workers, candidates)
    written = np.array(
        [model.scores(one[None])[0] for model, one in zip(models, queries, strict=True)]
    )
    np.testing.assert_allclose(written, scores, atol=1e-9)


def test_paths_give_the_change_of_the_score():
    """From the mean of the neighborhood to the query."""
    X, y = make_data(3)
    svms = NeighborhoodSVC(15).fit(X, y).model_
    with Workers(1) as workers:
        found = svms.find(X[:20], 15, workers).first(15)
        models = own_models(svms.solver(), X[:20], found, workers)
    for model, row in zip(models, X, strict=False):
        change = model.scores(row[None])[0] - model.scores(model.near[None])[0]
        np.testing.assert_allclose(model.path_weights(row, model.near) @ (row - model.near), change)
