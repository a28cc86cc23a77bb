"""Tests of hyperlocal.solvers.newton_rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperlocal.solvers import newton_rows
from reference.problems import every_map, every_storage, full_matrix, make_lifted, make_rows

CLOSE = {"float32": {"rtol": 1e-3, "atol": 1e-4}, "float64": {"rtol": 1e-9, "atol": 1e-9}}


@every_storage
@every_map
@pytest.mark.parametrize("n_rows", [10, 90])
def test_rows_are_written_out(dtype, storage, quadratic, n_rows):
    """As the reference writes them; of few rows, only their products are the same."""
    X = make_rows(dtype, storage, n_rows, 4)
    lifted = make_lifted(X, quadratic=quadratic)
    expected = full_matrix(lifted, X, quadratic).reshape(n_rows, -1)
    rows = newton_rows.written_out(lifted)
    assert rows.dtype == np.float64
    if n_rows == 10:
        assert rows.shape == (10, 10)
        rows, expected = rows @ rows.T, expected @ expected.T
    np.testing.assert_allclose(rows, expected, rtol=1e-4, atol=1e-5)


@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 3), st.integers(0, 100))
def test_rows_of_products(n_rows, width, times, seed):
    """Products, all that the objective sees of rows, stay, even where rows are equal."""
    rows = np.random.default_rng(seed).standard_normal((n_rows, width)).repeat(times, axis=0)
    found = newton_rows.rows_of_products(rows @ rows.T)
    np.testing.assert_allclose(found @ found.T, rows @ rows.T, atol=1e-6 * (rows**2).sum())


@given(st.integers(0, 12), st.integers(1, 12), st.floats(0.1, 1e3), st.integers(0, 99))
def test_systems_of_either_side(n_rows, width, scale, seed):
    """A matrix of the rows or one of the features: the same solution."""
    rng = np.random.default_rng(seed)
    rows, right = scale * rng.normal(size=(n_rows, width)), rng.normal(size=width)
    expected = np.linalg.solve(np.eye(width) + rows.T @ rows, right)
    np.testing.assert_allclose(newton_rows.solved(rows, right), expected, rtol=1e-6, atol=1e-8)


@every_storage
@every_map
def test_products_equal_the_matrix(dtype, storage, quadratic):
    """Scores and sums of rows that are not written out, and weights of a vector."""
    X = make_rows(dtype, storage, 60, 4)
    lifted = make_lifted(X, quadratic=quadratic)
    Z = full_matrix(lifted, X, quadratic).reshape(60, -1)
    rng, rows = np.random.default_rng(0), newton_rows.LiftedProducts(lifted)
    vector, steps = rng.normal(size=Z.shape[1]), rng.normal(size=60)
    np.testing.assert_allclose(rows.scores(vector), Z @ vector, **CLOSE[dtype])
    np.testing.assert_allclose(rows.total(steps), steps @ Z, **CLOSE[dtype])
    weights = rows.weights(vector, steps)
    np.testing.assert_allclose(weights.ravel(), vector, **CLOSE[dtype])


@every_storage
@pytest.mark.parametrize("room", [newton_rows.MOST_NUMBERS, 0], ids=["blocks", "diagonal"])
@pytest.mark.parametrize("at_once", [newton_rows.NUMBERS_AT_ONCE, 30])
def test_systems_are_solved_by_products(dtype, storage, room, at_once, monkeypatch):
    """To the residual that is asked for, with a matrix per anchor or its diagonal, in parts."""
    monkeypatch.setattr(newton_rows, "MOST_NUMBERS", room)
    monkeypatch.setattr(newton_rows, "NUMBERS_AT_ONCE", at_once)
    X = make_rows(dtype, storage, 60, 4)
    lifted = make_lifted(X)
    Z = full_matrix(lifted, X, False).reshape(60, -1)
    rng = np.random.default_rng(0)
    curved, right = rng.choice([0.0, 30.0], 60), rng.normal(size=Z.shape[1])
    found = newton_rows.LiftedProducts(lifted).solved(curved, right)
    residual = right - found - (curved * (Z @ found)) @ Z
    assert np.linalg.norm(residual) <= 1.001 * newton_rows.RESIDUAL * np.linalg.norm(right)


@given(st.integers(0, 12), st.integers(1, 12), st.floats(0.1, 1e3), st.integers(0, 99))
def test_factors_of_either_side(n_rows, width, scale, seed):
    """A factor solves what :func:`solved` solves at once."""
    rng = np.random.default_rng(seed)
    rows, right = scale * rng.normal(size=(n_rows, width)), rng.normal(size=width)
    expected = newton_rows.solved(rows, right)
    np.testing.assert_allclose(newton_rows.factored(rows)(right), expected, rtol=1e-6, atol=1e-8)


def test_products_are_bounded():
    """A system that products do not solve ends after so many: the cost of a step is known."""
    n_products = []

    def rotate(vector):
        n_products.append(1)
        return vector * np.logspace(0, 12, len(vector))

    newton_rows.conjugate_gradients(rotate, np.ones(500), lambda right: right)
    assert len(n_products) == newton_rows.MOST_PRODUCTS


@every_storage
@every_map
@pytest.mark.parametrize("offset", [0.0, 0.7])
def test_systems_of_block_products(dtype, storage, quadratic, offset):
    """The system of summed products, at several scales of its costs, is that of the matrix."""
    X = make_rows(dtype, storage, 60, 4)
    lifted = make_lifted(X, quadratic=quadratic, offset=offset)
    Z = lifted.to_csr().toarray().astype(np.float64)
    rng, rows = np.random.default_rng(0), newton_rows.BlockProducts(lifted)
    curved = rng.uniform(0.5, 2, 60)
    used = Z.any(axis=0)
    right = np.where(used, rng.normal(size=Z.shape[1]), 0)
    for scale in (1.0, 30.0):
        expected = np.linalg.solve(np.eye(Z.shape[1]) + scale * (Z.T * curved) @ Z, right)
        found = rows.solved(scale * curved, right)
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)
    assert lifted.has_products


@pytest.mark.parametrize("n_rows", [0, 3, 40])
def test_blocks_in_parts_are_those_of_all_rows(n_rows, monkeypatch):
    """What solves the system of one anchor does not depend on how many rows are written at once."""
    X = make_rows(np.float64, "dense", 60, 4)
    products = newton_rows.LiftedProducts(make_lifted(X))
    curved = np.zeros(60)
    curved[:n_rows] = 30.0
    right = np.random.default_rng(0).normal(size=products.shape[0] * products.shape[2])
    found = []
    for at_once in (1 << 20, 20):
        monkeypatch.setattr(newton_rows, "NUMBERS_AT_ONCE", at_once)
        found.append(products.solved(curved, right))
    np.testing.assert_allclose(*found, rtol=1e-6, atol=1e-9)
