"""Tests of hyperlocal.model.expansion: kernel SVMs explained exactly, however wide the kernel."""

import numpy as np
import pytest

from hyperlocal.kernels import Kernel
from hyperlocal.model.background import Background
from hyperlocal.model.contributions import path_contributions
from hyperlocal.model.expansion import ExpansionModel, linear_expansion
from hyperlocal.runtime.threads import Workers


def make_model(kernel, seed=0):
    """Random support vectors, two of them equal; rows, one of them a reference; references."""
    rng = np.random.default_rng(seed)
    support = rng.normal(size=(12, 4))
    support[5] = support[4]
    model = ExpansionModel(kernel, support, rng.normal(size=(12, 3)), rng.normal(size=3))
    X, references = rng.normal(size=(6, 4)), rng.normal(size=(3, 4))
    X[2] = references[1]
    return model, X, references


@pytest.mark.parametrize("gamma", [1e-6, 1e-3, 0.1, 1.0, 30.0, 1e3])
@pytest.mark.parametrize("name", ["rbf", "poly", "linear", "sigmoid"])
@pytest.mark.parametrize("seed", range(3))
def test_contributions_add_up(name, gamma, seed):
    """Reference and contributions are the score, to 1e-10 of its size, without remainder."""
    model, X, references = make_model(Kernel(name, gamma, coef0=0.5), seed)
    with Workers(1) as workers:
        found = path_contributions(model, X, Background.of(references), workers)
        size = np.abs(model.coef).sum() * max(1.0, np.abs(model.kernel.values(X, X)).max())
    assert np.abs(found.remainders).max() < 1e-10 * size
    np.testing.assert_allclose(
        found.references + found.values.sum(axis=2), found.scores, atol=1e-10 * size
    )


def test_a_row_on_the_reference_has_no_contributions():
    """There is no way to go."""
    model, X, references = make_model(Kernel("rbf", 0.3))
    with Workers(1) as workers:
        found = path_contributions(model, X[2:3], Background.of(references[1:2]), workers)
    assert not found.values.any()


@pytest.mark.parametrize("name", ["rbf", "poly", "linear", "sigmoid"])
def test_local_models(name):
    """Weights at a row times the row plus the intercept are the scores; normals are gradients."""
    model, X, _ = make_model(Kernel(name, 0.3, coef0=0.5))
    with Workers(1) as workers:
        [block] = model.local_rows(X, workers)
        np.testing.assert_allclose(block.scores, model.scores(X, workers), atol=1e-10)
        for i in range(4):
            step = np.zeros(4)
            step[i] = 1e-6
            slopes = (model.scores(X + step, workers) - model.scores(X - step, workers)) / 2e-6
            np.testing.assert_allclose(block.normals[:, :, i], slopes, atol=1e-6)


def test_linear_models():
    """Contributions are weights times differences from the mean of the references."""
    model = linear_expansion(np.array([[1.0, -2.0]]), np.array([0.5]))
    X, references = np.array([[3.0, 1.0]]), np.array([[0.0, 0.0], [2.0, 4.0]])
    with Workers(1) as workers:
        found = path_contributions(model, X, Background.of(references), workers)
    np.testing.assert_allclose(found.values[0, 0], [2.0, 2.0])
    np.testing.assert_allclose(found.references[0], [-2.5])
