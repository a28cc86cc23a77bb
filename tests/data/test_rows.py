"""Tests of hyperlocal.data.rows: every storage against rows written out."""

import json
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hyperlocal.data.rows import as_csr, core_rows, quadratic_width, stored_as, take_rows
from reference.problems import TOLERANCE, every_map, every_storage, make_rows
from reference.rows import group_sums, quadratic_map, written_out


def gathered(X, quadratic=False, chosen=None):
    rows = core_rows(X, quadratic=quadratic)
    chosen = np.arange(X.shape[0]) if chosen is None else np.asarray(chosen, np.int64)
    out = np.full((len(chosen), rows.width), np.nan, X.dtype)
    rows.gather(chosen, out)
    return out


@every_storage
@every_map
@pytest.mark.parametrize("n_features", [1, 2, 7, 40])
def test_fetched_rows_are_the_rows_written_out(dtype, storage, quadratic, n_features):
    """A fetched row is φ(x), whatever the storage."""
    X = make_rows(dtype, storage, n_rows=12, n_features=n_features)
    expected = written_out(X, quadratic)
    np.testing.assert_allclose(gathered(X, quadratic), expected, rtol=TOLERANCE[dtype])


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (20_000, 3)])
def test_dense_rows_as_csr(shape):
    """They are those of scipy, whatever the number of blocks."""
    X = np.random.default_rng(0).integers(-1, 2, shape).astype(np.float32)
    own, expected = as_csr(X), sp.csr_array(X)
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(own, name), getattr(expected, name))
    assert own.indices.dtype == np.int32


FIRST_ROW_EMPTY = """
import json, numpy as np, scipy.sparse as sp
from hyperlocal.data.rows import core_rows
X = sp.csr_array(np.array([[0.0, 0.0], [1.0, 2.0]]))
out = np.full((2, 5), np.nan)
core_rows(X, quadratic=True).gather(np.arange(2), out)
print(json.dumps(out.tolist()))
"""


def test_a_sparse_row_without_entries_is_a_row_of_zeros():
    """An empty CSR row is expanded to zeros, also where no row came before it."""
    # In a process of its own, because it may not crash.
    command = [sys.executable, "-c", FIRST_ROW_EMPTY]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    first, second = json.loads(finished.stdout)
    assert first == [0.0] * 5
    assert 0.0 not in second


@every_storage
@every_map
def test_rows_are_gathered_in_the_order_asked_for(dtype, storage, quadratic):
    """Chosen rows come in the order of the choice and may repeat."""
    X = make_rows(dtype, storage)
    chosen = [7, 0, 7, 39]
    np.testing.assert_array_equal(gathered(X, quadratic, chosen), gathered(X, quadratic)[chosen])


@every_storage
@every_map
def test_squared_norms(dtype, storage, quadratic):
    """Norms of any range of rows are those of the rows written out."""
    X = make_rows(dtype, storage)
    out = np.empty(20, dtype)
    core_rows(X, quadratic=quadratic).squared_norms(5, 25, out)
    expected = (written_out(X, quadratic)[5:25] ** 2).sum(axis=1)
    np.testing.assert_allclose(out, expected, rtol=TOLERANCE[dtype])


@every_storage
@every_map
def test_group_sums(dtype, storage, quadratic):
    """Weighted sums over groups are those of the rows written out; empty groups stay zero."""
    X = make_rows(dtype, storage)
    rng = np.random.default_rng(0)
    groups = rng.choice([0, 1, 3], X.shape[0]).astype(np.int32)
    weights = rng.random(X.shape[0])
    rows = core_rows(X, quadratic=quadratic)
    sums, masses = np.zeros((4, rows.width)), np.zeros(4)
    rows.group_sums(groups, weights, sums, masses)
    expected_sums, expected_masses = group_sums(written_out(X, quadratic), groups, weights, 4)
    np.testing.assert_allclose(sums, expected_sums, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])
    np.testing.assert_allclose(masses, expected_masses)


pairs_of_rows = st.integers(1, 8).flatmap(
    lambda n: arrays(np.float64, (2, n), elements=st.floats(-10, 10, width=32))
)


@given(pairs_of_rows)
def test_products_of_quadratic_rows(X):
    """φ·φ' = (x·x' + 1)² − 1."""
    phi = gathered(X, quadratic=True)
    expected = (X @ X.T + 1) ** 2 - 1
    # Cancellation is measured against the norms, not against the product.
    scale = 1 + np.sqrt(np.outer((phi**2).sum(axis=1), (phi**2).sum(axis=1)))
    assert np.all(np.abs(phi @ phi.T - expected) <= 1e-13 * scale)


@given(st.integers(0, 30), st.integers(0, 30))
def test_products_of_some_features(n_features, n_paired):
    """All features, then squares and products of the first of them."""
    n_paired = min(n_features, n_paired)
    X = np.random.default_rng(n_features).normal(size=(2, n_features))
    rows = core_rows(X, quadratic=True, scale=0.5, n_paired=n_paired)
    phi = np.empty((2, quadratic_width(n_features, n_paired)))
    rows.gather(np.arange(2), phi)
    products = quadratic_map(0.5 * X[:, :n_paired])[:, n_paired:]
    np.testing.assert_allclose(phi, np.hstack([np.sqrt(0.5) * X, products]), atol=1e-12)


@given(st.integers(0, 60))
def test_quadratic_width(n_features):
    """The width counts the features, their squares and their products in pairs."""
    assert quadratic_width(n_features) == quadratic_map(np.ones((1, n_features))).shape[1]
    rows = core_rows(np.zeros((1, n_features)), quadratic=True)
    assert rows.width == quadratic_width(n_features)
    assert rows.n_rows == 1


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_too_many_products_are_refused(storage):
    """A quadratic map with more columns than an index can count names the argument."""
    X = storage(np.zeros((1, 70_000)))
    with pytest.raises(ValueError, match="feature_map='quadratic' would make 2450105000 features"):
        core_rows(X, quadratic=True)


@every_storage
def test_rows_are_not_copied(dtype, storage):
    """The core reads the caller's own memory."""
    X = make_rows(dtype, storage)
    rows = core_rows(X)
    (X.data if storage == "csr" else X)[...] *= 2
    out = np.empty(X.shape, dtype)
    rows.gather(np.arange(X.shape[0]), out)
    np.testing.assert_array_equal(out, written_out(X))


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
def test_csr_of_any_index_type(index, kind):
    """CSR arrays and matrices with 32 or 64 bit indices are read alike."""
    X = kind(make_rows())
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    np.testing.assert_array_equal(gathered(X), make_rows())


@every_storage
def test_no_rows(dtype, storage):
    """Zero rows and zero features are fine."""
    X = make_rows(dtype, storage)
    assert gathered(X[:0], quadratic=True).shape == (0, 20)
    assert gathered(np.empty((3, 0), dtype), quadratic=True).shape == (3, 0)


@every_storage
def test_take_rows_keeps_the_storage(dtype, storage):
    """Taken rows are a contiguous copy in the same storage and dtype."""
    X = make_rows(dtype, storage)
    taken = take_rows(X, np.array([3, 1]))
    assert sp.issparse(taken) == sp.issparse(X)
    assert taken.dtype == X.dtype
    np.testing.assert_array_equal(written_out(taken), written_out(X)[[3, 1]])
    assert storage == "csr" or (taken.flags.c_contiguous and not np.shares_memory(taken, X))


@every_storage
@pytest.mark.parametrize("is_sparse", [False, True])
def test_rows_change_their_storage(dtype, storage, is_sparse):
    """Numbers stay as they are; rows that are stored so already are not copied."""
    X = make_rows("float32", storage)
    found = stored_as(X, dtype, is_sparse)
    assert sp.issparse(found) == is_sparse
    assert found.dtype == dtype
    np.testing.assert_array_equal(written_out(found), written_out(X))
    assert stored_as(found, dtype, is_sparse) is found
