"""Tests of hyperlocal.model.contributions: sums of blocks, of groups, and through transformers."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

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
