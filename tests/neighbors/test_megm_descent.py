"""Tests of hyperlocal.neighbors.megm_descent: the loss and its gradient."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from hyperlocal.neighbors.megm_descent import loss_and_gradient
from hyperlocal.runtime.threads import Workers
from reference.neighborhood import megm_gradient, megm_loss
from reference.problems import every_storage, stored

ONE_THREAD = Workers(1)
N_CLASSES = 3


def make_data(n_rows=30, n_features=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n_rows, n_features)), rng.integers(N_CLASSES, size=n_rows)


def evaluate(A, X, target, neighbors=None, workers=ONE_THREAD, **options):
    one_hot = np.eye(N_CLASSES, dtype=X.dtype)[target]
    return loss_and_gradient(A, X, target.astype(np.int32), one_hot, workers, neighbors, **options)


def some_neighbors(n_rows, k, seed=0):
    rng = np.random.default_rng(seed)
    lists = [np.delete(np.arange(n_rows), i) for i in range(n_rows)]
    return np.array([rng.permutation(row)[:k] for row in lists], np.int32)


every_map = pytest.mark.parametrize(
    "shape", [(4, 4), (2, 4), (4,)], ids=["full", "low", "diagonal"]
)


@every_storage
@every_map
@pytest.mark.parametrize("k", [None, 7])
def test_loss_and_gradient(dtype, storage, shape, k):
    """The loss is that of plain loops over pairs, and the gradient that of central differences."""
    X, target = make_data()
    A = np.random.default_rng(1).standard_normal(shape)
    near = None if k is None else some_neighbors(30, k)
    loss, gradient = evaluate(A, stored(X, dtype, storage), target, near)
    tolerance = 1e-9 if dtype == "float64" else 1e-4
    assert loss == pytest.approx(megm_loss(A, X, target, N_CLASSES, near), rel=tolerance)
    if dtype == "float64":
        flat = approx_central(lambda a: evaluate(a.reshape(shape), X, target, near)[0], A.ravel())
        np.testing.assert_allclose(gradient.ravel(), flat, atol=1e-8)
    else:
        exact = evaluate(A, X, target, near)[1]
        np.testing.assert_allclose(gradient, exact, atol=1e-4)


@pytest.mark.parametrize("shape", [(4, 4), (2, 4)], ids=["full", "low"])
def test_the_gradient_is_that_of_the_matrix_formula(shape):
    """Blocks of rows give what one formula over all pairs gives."""
    X, target = make_data(60)
    A = np.random.default_rng(2).standard_normal(shape)
    expected = megm_gradient(A, X, target, N_CLASSES)
    np.testing.assert_allclose(evaluate(A, X, target)[1], expected, atol=1e-12)


def approx_central(function, at, step=1e-6):
    forward, backward = (approx_fprime(at, function, sign * step) for sign in (1, -1))
    return 0.5 * (forward + backward)


@every_map
def test_all_neighbors_are_all_pairs(shape):
    """The truncated sum over all other rows is the exact one."""
    X, target = make_data()
    A = np.random.default_rng(1).standard_normal(shape)
    exact = evaluate(A, X, target)
    truncated = evaluate(A, X, target, some_neighbors(30, 29))
    assert truncated[0] == pytest.approx(exact[0])
    np.testing.assert_allclose(truncated[1], exact[1], atol=1e-12)


@pytest.mark.parametrize("k", [None, 9])
def test_blocks_and_threads_do_not_matter(k):
    """Two threads give the same bits; other blocks the same digits."""
    X, target = make_data(200)
    near = None if k is None else some_neighbors(200, k)
    A = np.eye(4)
    whole = evaluate(A, X, target, near)
    one = evaluate(A, X, target, near, numbers_per_block=4000)
    with Workers(2) as two_threads:
        two = evaluate(A, X, target, near, two_threads, numbers_per_block=4000)
    np.testing.assert_array_equal(one[1], two[1])
    np.testing.assert_allclose(one[1], whole[1], atol=1e-14)
