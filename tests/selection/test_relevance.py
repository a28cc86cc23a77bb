"""Tests of hyperlocal.selection.relevance: features scaled by the gradients of scores."""

import numpy as np
import pytest
import scipy.sparse as sp

from hyperlocal import LocallyLinearSVC
from hyperlocal.data.labelled import LabelledRows
from hyperlocal.model.chain_settings import ChainSettings
from hyperlocal.model.gradients import gradient_products, score_gradients
from hyperlocal.selection.relevance import learn_relevance, scales_of
from hyperlocal.solvers.training import Training


def few_of_many(n_rows=700, n_features=12, seed=0):
    """Classes by the angle in two features of many."""
    X = np.random.default_rng(seed).normal(size=(n_rows, n_features))
    angle = np.arctan2(X[:, 1], X[:, 0]) + np.pi
    return X, (np.floor(angle / (np.pi / 3)) % 3).astype(int)


def all_alike(n_rows=500, n_features=5, seed=0):
    """Two classes by the length of a row: every feature and direction matters as much."""
    X = np.random.default_rng(seed).normal(size=(n_rows, n_features))
    return X, ((X**2).sum(axis=1) > n_features).astype(int)


def learned(X, y, workers, **options):
    data = LabelledRows(X, y.astype(np.int32), np.unique(y), np.ones(len(y)))
    settings = ChainSettings(global_intercept=True)
    rng = np.random.default_rng(0)
    return learn_relevance(settings, Training(10.0, "squared_hinge"), data, rng, workers, **options)


def test_the_mean_product_of_gradients(workers):
    """``M`` is the weighted mean of ``g gᵀ`` over rows and columns."""
    X, y = few_of_many(60, 4)
    model = LocallyLinearSVC(8, C=1.0, random_state=0).fit(X, y).model_
    weights = np.random.default_rng(0).random(60)
    g = score_gradients(model, X, workers)
    expected = np.einsum("n,nci,ncj->ij", weights, g, g) / (weights.sum() * 3)
    np.testing.assert_allclose(gradient_products(model, X, weights, workers), expected)


def test_scales_of_a_matrix():
    """The matrix power has the eigenvectors of the products; squares have mean one."""
    root = np.random.default_rng(0).normal(size=(4, 4))
    products = root @ root.T
    full = scales_of(products, "full", 0.5)
    np.testing.assert_allclose(full @ full / np.trace(full @ full), products / np.trace(products))
    assert np.trace(full @ full) == pytest.approx(4)
    diagonal = scales_of(products, "diagonal", 0.5)
    assert (diagonal**2).mean() == pytest.approx(1)
    np.testing.assert_allclose(diagonal**2 / diagonal[0] ** 2, np.diag(products) / products[0, 0])
    np.testing.assert_array_equal(scales_of(np.zeros((3, 3)), "diagonal"), np.ones(3))


@pytest.mark.parametrize("kind", ["diagonal", "full"])
@pytest.mark.parametrize("power", [0.0, 1e3, 1e90])
def test_any_power_gives_finite_scales(kind, power):
    """Powers of large and of small products neither overflow nor become NaN."""
    for factor in (1e-200, 1.0, 1e200):
        scales = scales_of(factor * np.diag([81.0, 1.0, 0.0]), kind, power)
        assert (scales**2).sum() == pytest.approx(3)


def test_irrelevant_features_become_small(workers):
    """Of twelve features, the two that decide get the largest scales, and errors are halved."""
    X, y = few_of_many()
    found = learned(X[:400], y[:400], workers, kinds=("diagonal",))
    scales = found.before.factors
    assert set(scales.argsort()[-2:]) == {0, 1}
    assert scales[:2].min() > 3 * scales[2:].max()
    errors = [
        (model.fit(X[:400], y[:400]).predict(X[400:]) != y[400:]).mean()
        for model in (
            LocallyLinearSVC(relevance=None, random_state=0),
            LocallyLinearSVC(random_state=0),
        )
    ]
    assert errors[1] < 0.5 * errors[0]


def test_directions_are_found(workers):
    """Where two mixtures of features decide, the matrix is chosen, and has two large directions."""
    X, y = few_of_many(n_features=6)
    turn, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(6, 6)))
    found = learned(X @ turn, y, workers)
    assert found.kind == "full"
    values = np.linalg.eigvalsh(found.before.factors)
    assert values[-2] > 2 * values[-3]


@pytest.mark.parametrize("seed", range(3))
def test_features_stay_as_given_where_nothing_is_gained(seed, workers):
    """Where all features matter as much, they keep their scales."""
    found = learned(*all_alike(seed=seed), workers)
    assert ("none", 0) in found.values
    if found.before is None:
        assert found.n_rounds == 0
    else:  # a round can win by chance, but not change much
        scales = np.linalg.svd(np.atleast_2d(found.before.factors), compute_uv=False)
        assert scales.max() < 1.2 * scales.min()


def test_always_takes_the_best_round(workers):
    """Even if it is not better than none."""
    found = learned(*all_alike(), workers, always=True, kinds=("diagonal",))
    rounds = {key: value for key, value in found.values.items() if key[0] == "diagonal"}
    assert (found.kind, found.n_rounds) == min(rounds, key=rounds.get)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_every_storage(dtype, convert, workers):
    """Sparse rows are never mixed; scales have the precision of the rows."""
    X, y = few_of_many(300, 6)
    found = learned(convert(X.astype(dtype)), y, workers, always=True)
    assert found.before.factors.dtype == dtype
    assert found.kind == "diagonal" or not sp.issparse(convert(X))


def test_too_few_rows_stay_as_given(workers):
    """Nothing is decided on a handful of rows."""
    assert learned(*few_of_many(12), workers).before is None


def test_a_given_C_leaves_features_as_they_are():
    """Nothing is chosen where C is a number, unless relevance is asked for."""
    X, y = few_of_many(300)
    assert LocallyLinearSVC(C=10.0, random_state=0).fit(X, y).relevance_ is None
    assert LocallyLinearSVC(C=10.0, relevance="gradient").fit(X, y).relevance_ is not None


@pytest.mark.parametrize(
    ("relevance", "message"),
    [("none", "relevance must be"), (np.ones(3), "relevance has the shape"),
     ([1.0, np.nan, 1.0, 1.0], "finite")],
)  # fmt: skip
def test_scales_that_make_no_sense(relevance, message):
    """Errors name the argument and what is wrong with it."""
    X, y = few_of_many(60, 4)
    with pytest.raises(ValueError, match=message):
        LocallyLinearSVC(C=1.0, relevance=relevance).fit(X, y)
