"""Tests of hyperlocal.model.lifting: the virtual matrix against the matrix written out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperlocal.model import lifting
from hyperlocal.runtime.threads import MOST_ROWS_PER_BLOCK, Workers
from reference import lifting as reference
from reference.problems import (
    TOLERANCE,
    every_map,
    every_storage,
    full_matrix,
    make_lifted,
    make_rows,
    stored,
)
from reference.rows import written_out

every_gate = pytest.mark.parametrize("normalize", [False, True], ids=["papers", "unit"])


def random_weights(lifted, n_columns, seed=0):
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal((lifted.n_blocks, n_columns, lifted.width + 1))
    return weights.astype(lifted.dtype)


def flat(weights):
    """Weights as the columns that the written-out matrix is multiplied with."""
    return weights.transpose(0, 2, 1).reshape(-1, weights.shape[1]).astype(float)


def close(dtype, scale=10):
    return {"rtol": scale * TOLERANCE[dtype], "atol": scale * TOLERANCE[dtype]}


# The matrix ---------------------------------------------------------------------------------------


@every_storage
@every_map
@every_gate
@pytest.mark.parametrize("bias", [1.0, 0.0, 2.5])
def test_the_matrix_written_out(dtype, storage, quadratic, normalize, bias):
    """``to_csr`` is γ ⊗ [φ, B]."""
    X = make_rows(dtype, storage)
    lifted = make_lifted(X, quadratic=quadratic, normalize=normalize, bias=bias)
    Z = full_matrix(lifted, X, quadratic)
    matrix = lifted.to_csr()
    assert matrix.dtype == X.dtype
    np.testing.assert_allclose(matrix.toarray(), Z.reshape(40, -1), **close(dtype, 1))


@every_gate
def test_the_gate_written_out(normalize):
    """``gate_matrix`` has the weights of active anchors in their columns, zero elsewhere."""
    lifted = make_lifted(make_rows(np.float32, "dense"), normalize=normalize)
    expected = np.zeros((lifted.n_rows, lifted.n_anchors))
    for row, (anchors, weights) in enumerate(zip(lifted.anchors, lifted.gate, strict=True)):
        expected[row, anchors] = weights
    np.testing.assert_array_equal(lifted.gate_matrix(), expected)


@every_storage
@every_map
@pytest.mark.parametrize("bias", [1.0, 0.0])
def test_normalized_rows_have_norm_one(dtype, storage, quadratic, bias):
    """With ``normalize`` every lifted row has norm one; a row of zeros stays zero."""
    X = make_rows(dtype, storage)
    lifted = make_lifted(X, quadratic=quadratic, normalize=True, bias=bias)
    expected = np.ones(40)
    expected[-1] = 1 if bias else 0
    np.testing.assert_allclose(lifted.squared_norms(), expected, rtol=1e-5)
    plain = make_lifted(X, quadratic=quadratic)
    gate = reference.unit_gate(written_out(X, quadratic), plain.gate.astype(float), bias)
    np.testing.assert_allclose(lifted.gate, gate, **close(dtype))


# Every operation ----------------------------------------------------------------------------------


def direct_scores(lifted, weights):
    out = np.full((lifted.n_rows, weights.shape[1]), np.nan, lifted.dtype)
    lifted.core.scores(0, lifted.n_rows, weights, out)
    return out


def gemm_scores(lifted, weights):
    out = np.full((lifted.n_rows, weights.shape[1]), np.nan, lifted.dtype)
    lifted._scores_by_anchor(weights, 0, lifted.n_rows, out)
    return out


def chosen_scores(lifted, weights):
    return lifted.scores(weights)


every_path = pytest.mark.parametrize("path", [direct_scores, gemm_scores, chosen_scores])


@every_storage
@every_map
@every_gate
@every_path
@pytest.mark.parametrize("n_columns", [1, 3, 40])
def test_scores(dtype, storage, quadratic, normalize, path, n_columns):
    """Scores are the matrix times the weights, by GEMM, directly, and as the class chooses."""
    X = make_rows(dtype, storage)
    lifted = make_lifted(X, quadratic=quadratic, normalize=normalize, bias=1.5)
    weights = random_weights(lifted, n_columns)
    expected = reference.scores(full_matrix(lifted, X, quadratic), weights)
    np.testing.assert_allclose(path(lifted, weights), expected, **close(dtype))
    np.testing.assert_allclose(lifted.to_csr() @ flat(weights), expected, **close(dtype))


@every_storage
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 17])
@pytest.mark.parametrize("n_features", [1, 3, 4, 8, 15, 16, 31, 33, 65])
def test_scores_of_every_width(dtype, storage, k, n_features):
    """No number of anchors, features or columns falls between the unrolled loops."""
    X = make_rows(dtype, storage, n_rows=20, n_features=n_features)
    lifted = make_lifted(X, n_anchors=18, n_neighbors=k, offset=0.5)
    lifted.core.scores(0, 0, random_weights(lifted, 3), np.empty((0, 3), dtype))
    for n_columns in (2, 3, 8, 13, 26, 40):
        weights = random_weights(lifted, n_columns)
        expected = lifted.to_csr() @ flat(weights)
        np.testing.assert_allclose(direct_scores(lifted, weights), expected, **close(dtype, 5))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_row_has_the_same_scores_alone(dtype):
    """Few rows are scored by another kernel than many, to the same scores."""
    lifted = make_lifted(dtype=dtype, n_anchors=18, n_neighbors=4, offset=0.5)
    weights = random_weights(lifted, 11)
    alone = np.empty((1, 11), dtype)
    lifted.core.scores(7, 8, weights, alone)
    np.testing.assert_allclose(alone[0], lifted.scores(weights)[7], **close(dtype))


@every_storage
@every_map
@every_gate
@pytest.mark.parametrize("n_columns", [1, 3])
def test_add(dtype, storage, quadratic, normalize, n_columns):
    """Adding steps is the transposed matrix times the steps; steps of zero change nothing."""
    X = make_rows(dtype, storage)
    lifted = make_lifted(X, quadratic=quadratic, normalize=normalize, bias=0.5)
    rng = np.random.default_rng(0)
    steps = rng.standard_normal((40, n_columns)) * (rng.random((40, n_columns)) < 0.6)
    steps = steps.astype(dtype)
    weights = random_weights(lifted, n_columns)
    Z = full_matrix(lifted, X, quadratic)
    expected = reference.added(Z, steps, weights.astype(float))
    by_matrix = flat(weights) + lifted.to_csr().T @ steps.astype(float)
    lifted.add(steps, weights)
    np.testing.assert_allclose(weights, expected, **close(dtype))
    np.testing.assert_allclose(flat(weights), by_matrix, **close(dtype))


@every_storage
@every_map
@every_gate
def test_squared_norms(dtype, storage, quadratic, normalize):
    """Squared norms are the sums of squares of the matrix's rows."""
    X = make_rows(dtype, storage)
    lifted = make_lifted(X, quadratic=quadratic, normalize=normalize, bias=0.5)
    expected = reference.squared_norms(full_matrix(lifted, X, quadratic))
    np.testing.assert_allclose(lifted.squared_norms(), expected, **close(dtype))
    squares = lifted.to_csr().astype(float).power(2).sum(axis=1)
    np.testing.assert_allclose(lifted.squared_norms(), squares, **close(dtype))


@given(seed=st.integers(0, 10**6), k=st.integers(1, 6), n_features=st.integers(0, 9))
def test_scores_and_add_are_adjoint(seed, k, n_features):
    """⟨scores(W), A⟩ = ⟨W, add(A)⟩."""
    X = np.random.default_rng(seed).standard_normal((9, n_features))
    lifted = make_lifted(X, n_anchors=6, n_neighbors=k, seed=seed)
    weights = random_weights(lifted, 2, seed)
    steps = np.random.default_rng([seed, 9]).standard_normal((9, 2))
    added = lifted.zero_weights(2)
    lifted.add(steps, added)
    assert np.sum(lifted.scores(weights) * steps) == pytest.approx(np.sum(weights * added))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_of_no_features(dtype):
    """With no features but the bias the lifted row is the code."""
    lifted = make_lifted(np.empty((40, 0), dtype), bias=2.0)
    weights = random_weights(lifted, 3)
    expected = reference.scores(full_matrix(lifted), weights)
    np.testing.assert_allclose(lifted.scores(weights), expected, **close(dtype))


def test_zero_weights():
    """Fresh weights have one block per anchor and column, the bias last."""
    weights = make_lifted(dtype="float32").zero_weights(4)
    assert weights.shape == (6, 4, 6)
    assert weights.dtype == np.float32
    assert not weights.any()


# A global intercept -------------------------------------------------------------------------------


@every_storage
@every_map
@every_path
@pytest.mark.parametrize("n_columns", [1, 3, 40])
@pytest.mark.parametrize("normalize", [False, True])
def test_scores_with_a_global_intercept(dtype, storage, quadratic, path, n_columns, normalize):
    """The offset is added once, whatever the gate and the normalization."""
    X = make_rows(dtype, storage)
    lifted = make_lifted(X, quadratic=quadratic, bias=1.5, offset=2.0, normalize=normalize)
    weights = random_weights(lifted, n_columns)
    expected = reference.scores(full_matrix(lifted, X, quadratic), weights)
    np.testing.assert_allclose(path(lifted, weights), expected, **close(dtype))
    assert lifted.to_csr().dtype == X.dtype
    np.testing.assert_allclose(lifted.to_csr() @ flat(weights), expected, **close(dtype))


@every_storage
@every_map
def test_steps_and_norms_with_a_global_intercept(dtype, storage, quadratic):
    """Rows are added to one weight of the offset, and their squared norms hold it once."""
    X = make_rows(dtype, storage)
    lifted = make_lifted(X, quadratic=quadratic, bias=1.5, offset=2.0)
    Z = full_matrix(lifted, X, quadratic)
    steps = np.random.default_rng(0).standard_normal((40, 3)).astype(dtype)
    weights = lifted.zero_weights(3)
    lifted.add(steps, weights)
    np.testing.assert_allclose(weights, reference.added(Z, steps, 0.0), **close(dtype))
    assert not weights[-1, :, :-1].any()
    np.testing.assert_allclose(lifted.squared_norms(), reference.squared_norms(Z), **close(dtype))


@every_storage
@pytest.mark.parametrize("offset", [0.0, 2.0])
def test_local_models(dtype, storage, offset):
    """The weights and intercept at a row give its score."""
    X = make_rows(dtype, storage)
    lifted = make_lifted(X, bias=1.5, offset=offset)
    weights = random_weights(lifted, 3)
    coef, intercept = lifted.local_models(weights)
    scores = np.einsum("ncv,nv->nc", coef, written_out(X, False)) + intercept
    np.testing.assert_allclose(scores, lifted.scores(weights), **close(dtype))


# Grouping -----------------------------------------------------------------------------------------


@every_storage
def test_rows_are_grouped_by_anchor(dtype, storage):
    """Each anchor lists the rows in which it has weight; places point back to them."""
    lifted = make_lifted(dtype=dtype, storage=storage)
    begin, end = 7, 31
    n_pairs = (end - begin) * lifted.n_neighbors
    starts, rows, places = (np.empty(n, np.int64) for n in (7, n_pairs, n_pairs))
    lifted.core.group_by_anchor(begin, end, starts, rows, places)
    anchors, gate = lifted.anchors[begin:end], lifted.gate[begin:end]
    expected = reference.rows_of_anchors(anchors, gate, 6)
    for anchor in range(6):
        listed = rows[starts[anchor] : starts[anchor + 1]]
        np.testing.assert_array_equal(listed, begin + expected[anchor])
    np.testing.assert_array_equal(places == -1, gate.ravel() == 0)
    kept = places >= 0
    row_of_pair = begin + np.arange(n_pairs) // lifted.n_neighbors
    np.testing.assert_array_equal(rows[places[kept]], row_of_pair[kept])
    anchor_of_place = np.searchsorted(starts, places[kept], side="right") - 1
    np.testing.assert_array_equal(anchor_of_place, anchors.ravel()[kept])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_partial_scores_are_combined(dtype):
    """Combined scores are the partial ones, weighted by the gate; place −1 counts for nothing."""
    lifted = make_lifted(dtype=dtype)
    rng = np.random.default_rng(0)
    places = rng.integers(-1, 50, 10 * 3)
    partial = rng.standard_normal((50, 4)).astype(dtype)
    out = np.full((10, 4), np.nan, dtype)
    lifted.core.combine(5, 15, places, partial, out)
    padded = np.vstack([partial, np.zeros((1, 4))])  # place −1 is the last row
    expected = np.einsum("ik,ikc->ic", lifted.gate[5:15], padded[places.reshape(10, 3)])
    np.testing.assert_allclose(out, expected, **close(dtype))


# Blocks and threads -------------------------------------------------------------------------------


@every_storage
@every_map
@pytest.mark.parametrize("n_columns", [3, 40])
def test_threads_do_not_change_a_bit(dtype, storage, quadratic, n_columns, monkeypatch):
    """Scores, sums and norms have the same bits for one and two threads."""
    monkeypatch.setattr(lifting, "NUMBERS_PER_BLOCK", 1)  # blocks of 256 rows
    X = make_rows(dtype, storage, n_rows=700)
    results = []
    for n_jobs in (1, 2):
        with Workers(n_jobs) as workers:
            lifted = make_lifted(X, quadratic=quadratic, normalize=True, workers=workers)
            weights = random_weights(lifted, n_columns)
            scores = lifted.scores(weights)
            lifted.add(scores, weights)
            results.append((scores, weights, lifted.squared_norms()))
    for one, two in zip(*results, strict=True):
        np.testing.assert_array_equal(one, two)


def test_blocks_stay_small():
    """A block has fewer rows where rows are wide or columns many, and never too few."""
    narrow, wide = (make_lifted(n_features=n) for n in (2, 5000))
    assert narrow.block_size(1) == MOST_ROWS_PER_BLOCK
    assert 256 <= wide.block_size(1) < MOST_ROWS_PER_BLOCK
    assert narrow.block_size(10**7) == 256


def test_many_blocks_give_the_same_scores(monkeypatch):
    """Cutting rows into blocks loses none of them."""
    X = stored(np.random.default_rng(0).standard_normal((600, 4)), "float64", "dense")
    lifted = make_lifted(X)
    weights = random_weights(lifted, 3)
    whole = lifted.scores(weights)
    monkeypatch.setattr(lifting, "NUMBERS_PER_BLOCK", 1)
    np.testing.assert_allclose(lifted.scores(weights), whole, rtol=1e-12)


@every_storage
@every_map
def test_products(dtype, storage, quadratic):
    """Sums of products of rows are those of the matrix, for costs that change in any way."""
    X = make_rows(dtype, storage, 50, 4)
    lifted = make_lifted(X, quadratic=quadratic, offset=0.5)
    Z = lifted.to_csr().toarray().astype(np.float64)
    Z = Z[:, np.r_[: lifted.n_numbers - 1, Z.shape[1] - 1]]
    rng = np.random.default_rng(0)
    costs = rng.uniform(0, 2, 50)
    for one in (costs, 3 * costs, rng.uniform(0, 2, 50), np.zeros(50)):
        expected = np.triu((Z.T * one) @ Z)
        np.testing.assert_allclose(np.triu(lifted.products(one)), expected, rtol=1e-3, atol=1e-4)


def test_products_do_not_depend_on_threads():
    """Blocks of anchors are summed by any thread, with the same bits."""
    X, costs = make_rows("float64", "dense", 300, 5), np.ones(300)
    found = []
    for n_threads in (1, 3):
        with Workers(n_threads) as workers:
            found.append(make_lifted(X, workers=workers).products(costs))
    np.testing.assert_array_equal(*found)
