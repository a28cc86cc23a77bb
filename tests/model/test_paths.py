"""Tests of hyperlocal.model.paths: averages of gradients against quadrature of exact gradients."""

import numpy as np
import pytest

from estimators.data import make_data
from hyperlocal import LocallyLinearSVC
from hyperlocal.maps.linear import InputMap
from hyperlocal.model.background import Background
from hyperlocal.model.contributions import model_paths
from hyperlocal.model.gradients import score_gradients
from hyperlocal.model.paths import (
    FINE_NODES,
    PATH_NODES,
    averaged_gradients,
    local_contributions,
    local_path_weights,
)
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
        [found] = local_path_weights(model, X, reference, workers, (6, 0))
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
        [found] = local_path_weights(model, X, reference, workers, (64, 0))
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


DIRECT = [
    {"feature_map": None},
    {"feature_map": None, "normalize": False},
    {"feature_map": "quadratic"},
    {"feature_map": "quadratic", "n_neighbors": 3, "normalize": False},
    {"feature_map": None, "coding": "hard"},
    {"feature_map": None, "coding": "llc"},
    {"n_anchors": (1, 8)},
]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("options", DIRECT, ids=str)
def test_contributions_in_one_pass_are_those_of_the_averages(options, n_classes):
    """The compiled pass gives differences times averages, for eleven references."""
    X, y = make_data(n_classes)
    settings = {"n_anchors": 8, "C": 1.0, "random_state": 0} | options
    model = LocallyLinearSVC(**settings).fit(X, y).model_
    if "normalize" not in options:
        model = model.after(InputMap(np.array([1.0, 2.0, 0.5, 1.5, 0.0])))
    background = Background.of(X[50:61])
    with Workers(1) as workers:
        found = model.contributions(X[:20], background, workers)
        expected = model_paths(model, X[:20], background, workers).contributions().values
    np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())


def test_maps_that_mix_features_have_no_single_pass():
    """None is returned, and averages are used instead."""
    X, y = make_data(2)
    model = LocallyLinearSVC(8, feature_map="nystroem", C=1.0, random_state=0).fit(X, y).model_
    assert local_contributions(model, X, Background.of(X[:2]), Workers(1)) is None


def test_wide_rows_with_principal_components_are_explained():
    """Products of components beside all features: gradients agree, and nothing is left over."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 120))
    y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)
    model = LocallyLinearSVC(8, feature_map="auto", C=1.0, random_state=0).fit(X, y).model_
    assert model.feature_map.lengths[2] < model.feature_map.inner_rows(X[:1]).shape[1]
    with Workers(1) as workers:
        [found] = local_path_weights(model, X[:5], X[50:51], workers, (6, 0))
        [expected] = averaged_gradients(
            lambda points: score_gradients(model, points, workers), X[:5], X[50:51]
        )
    np.testing.assert_allclose(found, expected, atol=1e-10 * np.abs(expected).max())


def test_lines_that_need_more_nodes_get_them():
    """A sharp gate whose anchors are all active: the finer rule leaves less than the first."""
    X, y = make_data(2)
    model = LocallyLinearSVC(8, beta=1.0, feature_map=None, C=1.0, random_state=0).fit(X, y).model_
    with Workers(1) as workers:
        change = model.scores(X, workers) - model.scores(X[50:51], workers)
        left = [
            np.abs(change - np.einsum("ncd,nd->nc", found, X - X[50])).mean()
            for nodes in ((PATH_NODES, 0), (PATH_NODES, FINE_NODES))
            for found in local_path_weights(model, X, X[50:51], workers, nodes)
        ]
    assert left[1] < 0.5 * left[0]
