"""Tests of hyperlocal.selection.trials: held-out rows and what is measured on them."""

from dataclasses import replace

import numpy as np
import pytest

from hyperlocal.data.labelled import LabelledRows
from hyperlocal.model.chain_settings import ChainSettings
from hyperlocal.selection.trials import (
    MOST_CLASSES,
    N_FOLDS,
    repeated_rows,
    row_criteria,
    row_log_losses,
    sample,
)


def labelled(n_rows=120, n_features=12, n_classes=3, dtype=np.float64):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features)).astype(dtype)
    target = (X[:, :n_classes].argmax(axis=1)).astype(np.int32)
    return LabelledRows(X, target, np.arange(n_classes), np.ones(n_rows))


@pytest.mark.parametrize("feature_map", ["auto", "quadratic", None, "bias_only"])
def test_products_of_lifted_rows(feature_map, workers):
    """Products of pairs are those of the rows written out."""
    data = labelled(30, 5)
    settings = ChainSettings(4, feature_map=feature_map, global_intercept=True)
    chain = settings.fit(data, np.random.default_rng(0), workers)
    codes = chain.encode(data.X, workers)
    lifted = chain.lift(data.X, workers, codes)
    weights = np.zeros((lifted.n_blocks, 30, lifted.width + 1))
    lifted.add(np.eye(30), weights)  # column i is lifted row i
    expected = lifted.scores(weights)
    products = chain.products(data.X, lifted, np.arange(5, 30))
    np.testing.assert_allclose(products, expected[:, 5:], atol=1e-5)


def test_the_criterion_does_not_depend_on_the_scale():
    """Scores are scaled before their log loss is taken."""
    rng = np.random.default_rng(0)
    scores, target = rng.normal(size=(50, 3)), rng.integers(3, size=50)
    values = [row_criteria(factor * scores, target, np.ones(50)) for factor in (1e-3, 1.0, 1e3)]
    np.testing.assert_allclose(values[0], values[1], rtol=1e-4)
    np.testing.assert_allclose(values[2], values[1], rtol=1e-4)


def test_log_losses_tell_small_differences():
    """Of two scores that differ a little, the difference in log loss varies less than in errors."""
    rng = np.random.default_rng(0)
    target, weights = rng.integers(2, size=500), rng.random(500)
    better = (2 * target - 1 + 2 * rng.normal(size=500))[:, None]
    worse = better + 1.0 * rng.normal(size=(500, 1))
    found = {}
    for criteria in (row_criteria, row_log_losses):
        values = [criteria(scores, target, weights) for scores in (better, worse)]
        gains = values[1] - values[0]
        found[criteria] = gains.mean() / gains.std()
    assert found[row_log_losses] > 1.5 * found[row_criteria]
    errors = row_criteria(better, target, weights) - row_log_losses(better, target, weights)
    expected = weights / weights.mean() * ((better[:, 0] > 0) != target)
    np.testing.assert_allclose(errors, expected, atol=1e-12)


def test_of_very_many_classes_some_are_sampled():
    """The rows of a sample are of at most so many classes, and keep their labels."""
    n_classes, n_rows = 3 * MOST_CLASSES, 6 * MOST_CLASSES
    target = np.arange(n_rows, dtype=np.int32) % n_classes
    data = LabelledRows(target[:, np.newaxis] * 1.0, target, np.arange(n_classes), np.ones(n_rows))
    some = sample(data, n_rows, np.random.default_rng(0))
    assert len(some.classes) == len(np.unique(some.target)) == MOST_CLASSES
    np.testing.assert_array_equal(some.labels, some.X[:, 0])
    assert some.n_represented == n_rows


def test_repeated_rows_keep_the_weight():
    """Copies are as many as rows of the unit's weight, at most one per fold; weights sum up."""
    data = labelled(60)
    rng = np.random.default_rng(0)
    for factors in (np.ones(3), np.array([0.3, 1.7, 5.1])):
        counts = rng.integers(1, 2 * N_FOLDS, 60)
        counts[:12] = 1
        weights = counts * factors[data.target]
        found = repeated_rows(replace(data, sample_weight=weights))
        assert len(found.target) == np.minimum(counts, N_FOLDS).sum()
        assert found.total_weight == pytest.approx(weights.sum())
        assert found.n_represented == 60


@pytest.mark.parametrize("weights", [np.full(120, 3.0), np.linspace(1, 2, 120)])
def test_rows_of_other_weights_stand_for_themselves(weights):
    """Neither equal weights nor those that are no multiples of the smallest are repetitions."""
    data = replace(labelled(), sample_weight=weights)
    assert repeated_rows(data) is data
