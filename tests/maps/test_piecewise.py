"""Pieces of features between quantiles."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from hyperlocal import LocallyLinearSVC
from hyperlocal.maps.named import make_feature_map
from hyperlocal.maps.piecewise import knots_of

NAMES = ("piecewise", "piecewise_quadratic")


def rows_of(n_rows=300, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.exponential(size=(n_rows, 3))
    X[:, 2] = rng.integers(2, size=n_rows)
    return X.astype(dtype)


def fitted(name, X):
    weights = np.ones(len(X))
    rng = np.random.default_rng(0)
    return make_feature_map(name, X, rng).fit(X, None, weights, rng)


def banded(X):
    return (np.abs(X[:, 0] - 0.7) < 0.4).astype(int)


def test_pieces_reach_from_bound_to_bound():
    """Each piece grows from −½ at its lower bound to ½ at its upper one; indicators have none."""
    X = rows_of()
    own = fitted("piecewise", X)
    assert set(own.columns) == {0, 1}
    at = np.zeros((2, 3))
    at[:, 0] = own.starts[0], own.starts[0] + own.widths[0]
    np.testing.assert_allclose(own.changed(at)[:, 3], [-0.5, 0.5])
    assert own.n_features_out == 3 + len(own.columns) == 3 + 2 * 8


def test_one_feature_is_stored_row_by_row():
    """The compiled core reads rows that are contiguous, also where there is one feature."""
    X = rows_of()[:, :1].copy()
    assert fitted("piecewise", X).stored(X).flags.c_contiguous


def test_weights_count_as_rows():
    """A weight of two moves the quantiles as the row twice does."""
    values = np.random.default_rng(0).normal(size=50)
    weights = np.arange(50) % 3 + 1.0
    repeated = np.repeat(values, weights.astype(int))
    np.testing.assert_array_equal(
        knots_of(values, weights, 4), knots_of(repeated, np.ones(len(repeated)), 4)
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("normalize", [True, False])
def test_local_weights_give_the_score(name, normalize):
    """Weights at a row times the row plus the intercept are its score."""
    X = rows_of()
    model = LocallyLinearSVC(1, n_neighbors=1, feature_map=name, normalize=normalize, C=1.0)
    model.fit(X, banded(X))
    scores = np.einsum("ncd,nd->nc", model.local_coef(X), X) + model.local_intercept(X)
    np.testing.assert_allclose(scores[:, 0], model.decision_function(X), atol=1e-8)
    assert model.score(X, banded(X)) > 0.95


@pytest.mark.parametrize("name", NAMES)
def test_contributions_add_up(name):
    """Contributions are of the input's features, and add up to the difference of scores."""
    X = rows_of()
    model = LocallyLinearSVC(1, n_neighbors=1, feature_map=name, C=1.0).fit(X, banded(X))
    found = model.explain(X[:20])
    assert found.contributions.shape == (20, 1, 3)
    assert np.abs(found.remainders).max() < 0.01
    total = found.contributions.sum(axis=2) + found.references + found.remainders
    np.testing.assert_allclose(total, found.scores, atol=1e-6)


def test_slopes_are_derivatives():
    """The weights at a row are the derivatives of an additive model's score."""
    X = rows_of()
    model = LocallyLinearSVC(1, n_neighbors=1, feature_map="piecewise", normalize=False, C=1.0)
    model.fit(X, banded(X))
    step = np.array([1e-7, 0, 0])
    slope = (model.decision_function(X + step) - model.decision_function(X)) / 1e-7
    inside = ~np.isin(X[:, 0], model.model_.feature_map.starts)
    inside &= X[:, 0] < X[:, 0].max()
    np.testing.assert_allclose(slope[inside], model.local_coef(X)[inside, 0, 0], atol=1e-4)


def test_sparse_rows_are_refused():
    """Pieces of sparse rows would not be sparse."""
    X = sp.csr_array(rows_of())
    with pytest.raises(ValueError, match="dense"):
        LocallyLinearSVC(1, n_neighbors=1, feature_map="piecewise", C=1.0).fit(
            X, np.arange(300) % 2
        )


def test_thresholds_are_found_by_default():
    """Where classes differ by thresholds of a feature, pieces are chosen."""
    X = np.random.default_rng(0).uniform(size=(800, 3))
    y = (np.floor(6 * X[:, 0]) % 2).astype(int)
    model = LocallyLinearSVC(random_state=0).fit(X, y)
    assert str(model.chosen_["feature_map"]).startswith("piecewise")
    again = LocallyLinearSVC(**model.chosen_, random_state=0).fit(X, y)
    np.testing.assert_allclose(again.decision_function(X), model.decision_function(X), rtol=1e-2)


def test_pieces_are_made_in_blocks():
    """Mapping many rows takes the memory of the mapped rows and of one block."""
    X = np.random.default_rng(0).standard_normal((50_000, 4))
    own = fitted("piecewise", X)
    tracemalloc.start()
    mapped = own.changed(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5 * mapped.nbytes
