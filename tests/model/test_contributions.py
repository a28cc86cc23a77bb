"""Tests of hyperlocal.model.contributions: sums of blocks, of groups, and through transformers."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from hyperlocal import LocallyLinearSVC
from hyperlocal.model.background import Background
from hyperlocal.model.contributions import model_paths, path_contributions
from hyperlocal.model.expansion import linear_expansion
from hyperlocal.runtime.threads import Workers
from model.models import every_model, fitted


@every_model
@pytest.mark.parametrize("n_threads", [1, 2])
def test_blocks_change_nothing(name, n_threads):
    """Contributions do not depend on the size of blocks, nor on threads."""
    estimator, X = fitted(name)
    background = estimator.background
    with Workers(1) as one, Workers(n_threads) as workers:
        whole = path_contributions(estimator.model_, X[:40], background, one)
        parts = path_contributions(
            estimator.model_, X[:40], background, workers, numbers_per_block=1
        )
    np.testing.assert_allclose(whole.values, parts.values, atol=1e-12)
    total = whole.references + whole.values.sum(axis=2) + whole.remainders
    np.testing.assert_allclose(total, whole.scores, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("seed", range(6))
def test_random_models_and_backgrounds_add_up(seed, dtype):
    """To 1e-10 in double and 1e-4 in single precision; a row on its only reference adds nothing."""
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(120, 4)) * rng.uniform(0.5, 2, 4) + rng.normal(size=4)).astype(dtype)
    y = (X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 2] > 0) * (seed % 2)
    model = LocallyLinearSVC(
        8, n_neighbors=int(rng.integers(1, 9)), beta=10.0 ** rng.uniform(-3, 3), C=1.0,
        feature_map=[None, "quadratic"][seed // 3], normalize=bool(seed % 2), random_state=seed,
    ).fit(X, y)  # fmt: skip
    found = model.explain(X[:20], background=X[100 : 101 + seed])
    total = found.references + found.contributions.sum(axis=2) + found.remainders
    scores = model.decision_function(X[:20]).reshape(20, -1)
    size = np.abs(found.contributions).sum(axis=2).max() + np.abs(scores).max()
    limit = 1e-10 if dtype is np.float64 else 1e-4
    np.testing.assert_allclose(total, scores, atol=limit * size)
    itself = model.explain(X[:1], background=X[:1])
    assert np.abs(itself.contributions).max() == 0
    assert np.abs(itself.remainders).max() < limit * size


def test_groups_are_summed():
    """Features of a group add up, whatever their order."""
    rng = np.random.default_rng(0)
    model = linear_expansion(rng.normal(size=(2, 5)), np.zeros(2))
    with Workers(1) as workers:
        found = path_contributions(model, rng.normal(size=(3, 5)), Background.of(np.zeros((1, 5))),
                                   workers)  # fmt: skip
    groups = np.array([1, 0, 1, 1, 2])
    seen = np.array([list("abc")] * 3, dtype=object)
    grouped = found.grouped(groups, 3, seen)
    np.testing.assert_allclose(grouped.values[:, :, 1], found.values[:, :, [0, 2, 3]].sum(axis=2))
    assert grouped.seen is seen


def test_paths_before_a_transformer_have_the_same_sums():
    """What principal components add is what the features add."""
    rng = np.random.default_rng(0)
    X, references = rng.normal(size=(20, 4)), rng.normal(size=(2, 4))
    pca = PCA(2).fit(X)
    model = linear_expansion(rng.normal(size=(1, 2)), np.ones(1))
    with Workers(1) as workers:
        after = model_paths(model, pca.transform(X), Background.of(pca.transform(references)),
                            workers)  # fmt: skip
    before = after.before(pca, X, [row[None] for row in references]).contributions()
    np.testing.assert_allclose(before.values.sum(axis=2), after.contributions().values.sum(axis=2))
    assert before.values.shape == (20, 1, 4)
