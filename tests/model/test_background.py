"""Tests of hyperlocal.model.background: a few rows that stand for all."""

import numpy as np
import pytest
import scipy.sparse as sp

from hyperlocal.model.background import N_REFERENCES, Background, summarize_rows


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_mean_and_variances_are_those_of_all_rows(form, dtype):
    """Also of rows with weights, and of features that do not vary."""
    rng = np.random.default_rng(0)
    X = rng.normal(2, 3, size=(200, 4)).astype(dtype)
    X[:, 2] = 5
    weights = rng.integers(0, 3, 200).astype(float)
    background = summarize_rows(form(X), weights)
    assert background.rows.shape == (N_REFERENCES, 4)
    assert background.rows.dtype == dtype
    repeated = np.repeat(X, weights.astype(int), axis=0).astype(np.float64)
    np.testing.assert_allclose(background.mean, repeated.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(background.rows.std(axis=0), repeated.std(axis=0), atol=1e-4)


def test_wide_or_few_rows_have_their_mean():
    """One reference where there are many features, or one row."""
    X = np.arange(12.0).reshape(4, 3)
    assert summarize_rows(X, widest_with_sample=2).rows.tolist() == [[4.5, 5.5, 6.5]]
    assert summarize_rows(X[:1]).rows.tolist() == X[:1].tolist()


def test_drawn_together_until_none_is_negative():
    """Means stay as they are; features that are not negative are left alone."""
    rows = np.random.default_rng(0).normal([0.5, 9.0, 0.0], [1.0, 1.0, 0.0], (8, 3))
    background = Background.of(rows).nonnegative()
    assert background.rows.min() == 0
    np.testing.assert_allclose(background.mean, rows.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(background.rows[:, 1], rows[:, 1])
