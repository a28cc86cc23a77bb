"""Tests of hyperlocal.estimators.neighborhood_models: how the fitted models score queries."""

import numpy as np
import pytest

from estimators.data import make_data
from hyperlocal import NeighborhoodSVC
from hyperlocal.estimators.neighborhood_base import scores_in_blocks
from hyperlocal.neighbors.exact import nearest_of_lists
from hyperlocal.runtime.threads import Workers
from reference import neighborhood as reference

ONE_THREAD = Workers(1)


def make_parts(n_classes=3):
    X, y = make_data(n_classes, n_rows=240)
    return np.ascontiguousarray(X[::2]), y[::2], np.ascontiguousarray(X[1::2])


@pytest.mark.parametrize("cache", [False, True])
def test_blocks_of_queries_do_not_matter(cache):
    """Scores of blocks are those of all queries at once."""
    X, y, X_test = make_parts()
    model = NeighborhoodSVC(cache_neighborhoods=cache).fit(X, y).model_
    whole, _ = model.scores(X_test, ONE_THREAD)
    seen = []
    blocks, n_unsolved = scores_in_blocks(
        lambda part: model.scores(X_test[part], ONE_THREAD),
        len(X_test),
        seen.append,
        queries_per_block=7,
    )
    assert seen == [*range(7, 120, 7), 120]
    np.testing.assert_array_equal(blocks, whole)
    assert n_unsolved == 0


@pytest.mark.parametrize("n_classes", [2, 4])
def test_queries_on_which_centers_differ_get_svms(n_classes):
    """The first center scores where its margin is high or the second agrees; else own SVMs do."""
    X, y, X_test = make_parts(n_classes)
    fitted = NeighborhoodSVC(cache_neighborhoods=True, low_margin=2.0).fit(X, y)
    near, _ = reference.nearest_rows(X[fitted.centers_], X_test, 2)
    model = fitted.model_
    solver = model.svms.solver()
    first, second = (
        solver.center_scores(model.models, X_test, one, Workers(1))
        for one in near.T.astype(np.int32)
    )
    written_out = [np.hstack([-one, one]) if n_classes == 2 else one for one in (first, second)]
    margin = np.diff(np.sort(written_out[0], axis=1)[:, -2:], axis=1)[:, 0]
    best = [one.argmax(axis=1) for one in written_out]
    differ = (margin < 2.0) & (best[0] != best[1])
    candidates = np.eye(n_classes, dtype=bool)[best].any(axis=0)
    assert 0 < differ.sum() < len(X_test) / 2
    lists = model.models.neighbors[near[differ]].reshape(differ.sum(), -1)
    found = nearest_of_lists(X, X_test[differ], lists, fitted.n_neighbors_, Workers(1))
    own, _ = solver.scores(X_test[differ], found, Workers(1), candidates[differ])
    scores = fitted.decision_function(X_test).reshape(first.shape)
    np.testing.assert_array_equal(scores[differ], own)
    np.testing.assert_array_equal(scores[~differ], first[~differ])
