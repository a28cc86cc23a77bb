"""Tests of hyperlocal.model.stacked: models whose features are the scores of models."""

import numpy as np
import pytest

from hyperlocal.gates.code_on import CodeOn
from hyperlocal.gates.gate import Gate
from hyperlocal.maps.landmarks import LandmarkMap
from hyperlocal.model.local_model import Bias, LocalModel
from hyperlocal.model.stacked import StackedMap, first_map, n_models_before
from hyperlocal.runtime.threads import Workers
from reference.problems import TOLERANCE, every_storage, make_rows

SCALES = (0.5, 2.0)


def make_stack(X, n_models=3, projection="linear", offset=1.5):
    """Models with random weights, each on the scores of the one before."""
    rng = np.random.default_rng(0)
    feature_map = LandmarkMap(rng.normal(size=(4, 5)).astype(X.dtype), projection, 0.3)
    feature_map = feature_map.fit(X, None, np.ones(X.shape[0]), rng)
    models = []
    for number in range(n_models):
        gate = Gate(rng.normal(size=(3, 5)).astype(X.dtype), 2, "soft", 0.7)
        n_blocks = 3 + (offset != 0)
        weights = rng.normal(size=(n_blocks, 2, feature_map.n_features_out + 1)).astype(X.dtype)
        models.append(LocalModel(feature_map, CodeOn(), gate, Bias(0.7, offset), weights=weights))
        if number + 1 < n_models:
            feature_map = StackedMap(models[-1], SCALES[number])
    return models


@every_storage
@pytest.mark.parametrize("projection", ["linear", "rbf"])
def test_a_model_sees_projections_and_scaled_scores(dtype, storage, projection):
    """``φ(x) = [μ(x), scale · f(x)]`` with the scores of the model before, stage by stage."""
    X = make_rows(dtype, storage)
    models = make_stack(X, projection=projection)
    projections = models[0].feature_map.stored(X)
    with Workers(1) as workers:
        for before, model, scale in zip(models, models[1:], SCALES, strict=False):
            expected = np.hstack([projections, scale * before.scores(X, workers)])
            tolerance = 10 * TOLERANCE[dtype]
            np.testing.assert_allclose(model.feature_map.stored(X), expected, tolerance, tolerance)
            assert model.feature_map.stored(X).dtype == dtype
            assert model.feature_map.n_features_out == 4 + 2


@every_storage
@pytest.mark.parametrize("projection", ["linear", "rbf"])
@pytest.mark.parametrize("offset", [1.5, 0.0])
def test_weights_on_scores_are_traced_back(dtype, storage, projection, offset):
    """The linear model at a row, on features or projections, gives the scores of the stack."""
    X = make_rows(dtype, storage)
    last = make_stack(X, projection=projection, offset=offset)[-1]
    with Workers(1) as workers:
        blocks = list(last.local_rows(X, workers, numbers_per_block=200))
        scores = last.scores(X, workers)
    assert len(blocks) > 1
    assert {block.values.shape[1] for block in blocks} == {5 if projection == "linear" else 4}
    sums = [block.scores for block in blocks]
    tolerance = 100 * TOLERANCE[dtype]
    np.testing.assert_allclose(np.concatenate(sums), scores, rtol=tolerance, atol=tolerance)


def test_threads_do_not_change_a_bit():
    """One thread or two: the same scores."""
    X = make_rows(n_rows=5000)
    last = make_stack(X)[-1]
    scores = []
    for n_jobs in (1, 2):
        with Workers(n_jobs) as workers:
            scores.append(last.scores(X, workers))
    np.testing.assert_array_equal(*scores)


def test_names_and_places_in_the_stack():
    """Features are named as those of the first map, which every map of the stack knows."""
    X, names = make_rows(), np.array(list("abcde"), dtype=object)
    for projection in ("linear", "rbf"):
        models = make_stack(X, projection=projection)
        first = models[0].feature_map
        for number, model in enumerate(models):
            assert first_map(model.feature_map) is first
            assert n_models_before(model.feature_map) == number
            assert model.feature_map.explains_input == (projection == "linear")
            own = model.feature_map.feature_names(names)
            np.testing.assert_array_equal(own, first.feature_names(names))
