"""Tests of hyperlocal.model.paths: averages of gradients against quadrature of exact gradients."""

import numpy as np
import pytest

from estimators.data import make_data
from hyperlocal import LocallyLinearSVC
from hyperlocal.model.gradients import score_gradients
from hyperlocal.model.paths import averaged_gradients, local_path_weights
from hyperlocal.runtime.threads import Workers
from model.models import fitted

OPTIONS = [
    {"feature_map": None},
    {"feature_map": None, "normalize": False},
    {"feature_map": "quadratic"},
    {"feature_map": "auto", "n_neighbors": 3},
    {"feature_map": "bias_only"},
    {"feature_map": None, "coding": "hard"},
    {"feature_map": None, "coding": "llc"},
    {"code_on": [0, 2]},
]


def make_model(n_classes=3, **options):
    """A model of eight anchors, rows, and a reference."""
    X, y = make_data(n_classes)
    model = LocallyLinearSVC(8, C=1.0, random_state=0, **options).fit(X, y)
    return model.model_, X[:20], X[50:51]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_averages_are_those_of_the_gradients(options, n_classes):
    """The ends of the line give the same as gradients at every node."""
    model, X, reference = make_model(n_classes, **options)
    with Workers(1) as workers:
        [found] = local_path_weights(model, X, reference, workers)
        [expected] = averaged_gradients(
            lambda points: score_gradients(model, points, workers), X, reference
        )
    np.testing.assert_allclose(found, expected, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("feature_map", [None, "quadratic", "nystroem", "additive_chi2"])
@pytest.mark.parametrize("normalize", [False, True])
def test_smooth_models_leave_no_remainder(feature_map, normalize):
    """Where all anchors are active, averages times differences are the change of the score."""
    model, X, reference = make_model(feature_map=feature_map, normalize=normalize)
    with Workers(1) as workers:
        [found] = local_path_weights(model, X, reference, workers, n_nodes=64)
        change = model.scores(X, workers) - model.scores(reference, workers)
    total = np.einsum("ncd,nd->nc", found, X - reference)
    np.testing.assert_allclose(total, change, atol=1e-6)


@pytest.mark.parametrize("feature_map", [None, "quadratic", "nystroem"])
def test_levels(feature_map):
    """Gates of several levels: their derivative is in the averages, or in the remainder."""
    X, y = make_data(3)
    options = {"n_neighbors": 4, "feature_map": feature_map, "C": 1.0, "random_state": 0}
    estimator = LocallyLinearSVC((1, 4), **options).fit(X, y)
    found = estimator.explain(X[:10])
    total = found.references + found.contributions.sum(axis=2) + found.remainders
    np.testing.assert_allclose(total, estimator.decision_function(X[:10]), atol=1e-10)
    left = np.abs(found.remainders).mean() / np.abs(found.scores - found.references).mean()
    assert left < 0.01 or feature_map == "nystroem"


@pytest.mark.parametrize("name", ["tree", "latent", "stages"])
def test_other_models_have_the_averages_of_numerical_gradients(name):
    """Gradients of trees, latent models and stacks by central differences, on a short path."""
    estimator, X = fitted(name)
    model, step = estimator.model_, 1e-6
    rows, reference = X[:10], X[:1] + 1e-4
    with Workers(1) as workers:
        [found] = model.path_weights(rows, reference, workers)
        change = model.scores(rows, workers) - model.scores(reference, workers)
        total = np.einsum("ncd,nd->nc", found, rows - reference)
        assert np.abs(total - change)[0].max() < 1e-3 * step + 1e-3 * np.abs(change[0]).max()
