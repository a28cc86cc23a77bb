"""Tests of hyperlocal.gates.codes: nearest anchors, distances, weights of each coding."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hyperlocal import _core
from hyperlocal.data.rows import core_rows
from hyperlocal.gates import codes as coding
from hyperlocal.gates.codes import CODINGS, LOCALITY, RIDGE, encode
from hyperlocal.runtime.threads import Workers
from reference import coding as reference
from reference.problems import TOLERANCE, every_map, every_storage, make_rows, stored
from reference.rows import written_out

ONE_THREAD = Workers(1)
every_coding = pytest.mark.parametrize("name", CODINGS)


def make_anchors(n_anchors, n_features, dtype="float64", seed=1):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n_anchors, n_features)).astype(dtype)


def assert_codes(codes, expected, tolerance):
    np.testing.assert_array_equal(codes.anchors, expected.anchors)
    np.testing.assert_allclose(codes.distances, expected.distances, rtol=tolerance)
    # Weights solve small systems that are as ill-conditioned as their ridge allows.
    np.testing.assert_allclose(codes.weights, expected.weights, atol=max(100 * tolerance, 1e-7))


@every_storage
@every_coding
@pytest.mark.parametrize("k", [1, 2, 5])
def test_codes_equal_the_reference(dtype, storage, name, k):
    """Anchors, distances and weights are those of the plain computation."""
    X = make_rows(dtype, storage, n_rows=30)
    anchors = make_anchors(9, 5, dtype)
    codes = encode(X, anchors, k, name, ONE_THREAD, beta=0.7)
    assert codes.weights.dtype == codes.distances.dtype == X.dtype
    expected = reference.encode(written_out(X), anchors, k, name, beta=0.7)
    assert_codes(codes, expected, TOLERANCE[dtype])


@every_storage
@every_map
@every_coding
def test_the_kernel_codes_rows_of_every_map(dtype, storage, quadratic, name):
    """The compiled pass codes expanded rows too, given their products with the anchors."""
    X = make_rows(dtype, storage, n_rows=20, n_features=3)
    rows = core_rows(X, quadratic=quadratic)
    phi = written_out(X, quadratic)
    anchors = make_anchors(6, rows.width, dtype)
    out = [np.empty((10, 3), kind) for kind in (np.int32, dtype, dtype)]
    options = _core.CodingOptions(
        coding=getattr(_core.Coding, name), beta=0.4, ridge=RIDGE, locality=LOCALITY
    )
    half_norms = (0.5 * (anchors**2).sum(axis=1)).astype(dtype)
    coder = _core.coder(rows, anchors, half_norms, options)
    coder.encode(5, 15, (phi[5:15] @ anchors.T).astype(dtype), *out)
    expected = reference.encode(phi[5:15], anchors, 3, name, beta=0.4)
    assert_codes(coding.Codes(*out), expected, TOLERANCE[dtype])


# Properties of all codings ------------------------------------------------------------------------

rows_and_anchors = st.tuples(st.integers(1, 4), st.integers(1, 6), st.integers(1, 6)).flatmap(
    lambda shape: st.tuples(
        arrays(np.float64, (shape[1], shape[0]), elements=st.integers(-3, 3).map(float)),
        arrays(np.float64, (shape[2], shape[0]), elements=st.integers(-3, 3).map(float)),
        st.integers(1, shape[2]),
    )
)


@every_coding
@given(rows_and_anchors)
def test_codes_sum_to_one(name, drawn):
    """Weights sum to one and are finite, also where anchors coincide with rows or one another."""
    X, anchors, k = drawn
    codes = encode(X, anchors, k, name, ONE_THREAD)
    assert np.isfinite(codes.weights).all()
    np.testing.assert_allclose(codes.weights.sum(axis=1), 1, atol=1e-9)


@given(rows_and_anchors)
def test_the_nearest_anchors_are_chosen_nearest_first(drawn):
    """Distances are the k smallest, ascending, each that of its own anchor; no anchor repeats."""
    X, anchors, k = drawn
    codes = encode(X, anchors, k, "hard", ONE_THREAD)
    distances = reference.squared_distances(X, anchors)
    np.testing.assert_allclose(codes.distances, np.sort(distances, axis=1)[:, :k], atol=1e-12)
    own = np.take_along_axis(distances, codes.anchors.astype(int), axis=1)
    np.testing.assert_allclose(codes.distances, own, atol=1e-12)
    assert all(len(set(row)) == k for row in codes.anchors.tolist())


@given(rows_and_anchors)
def test_of_equally_near_anchors_the_first_is_chosen(drawn):
    """Ties go to the smaller index, where products are exact (sparse rows: about the origin)."""
    X, anchors, k = drawn
    codes = encode(sp.csr_array(X), anchors, k, "hard", ONE_THREAD)
    np.testing.assert_array_equal(codes.anchors, reference.encode(X, anchors, k, "hard").anchors)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("k", [2, 7, 8, 9, 16, 17, 32, 33, 70])
@pytest.mark.parametrize("n_anchors", [16, 31, 32, 40, 64, 100, 128, 300])
def test_the_nearest_of_any_number_of_anchors(dtype, n_anchors, k):
    """Whatever way the nearest are selected, they are in order, with ties by index."""
    if k > n_anchors:
        return
    rng = np.random.default_rng(n_anchors)
    X, anchors = (rng.integers(-2, 3, (n, 3)).astype(dtype) for n in (40, n_anchors))
    codes = encode(sp.csr_array(X), anchors, k, "hard", ONE_THREAD)
    np.testing.assert_array_equal(codes.anchors, reference.encode(X, anchors, k, "hard").anchors)
    X, anchors = (rng.standard_normal((n, 6)).astype(dtype) for n in (40, n_anchors))
    codes = encode(X, anchors, k, "hard", ONE_THREAD)
    np.testing.assert_array_equal(codes.anchors, reference.encode(X, anchors, k, "hard").anchors)


@every_coding
@pytest.mark.parametrize("shift", [1e3, 1e7])
def test_codes_do_not_depend_on_the_origin(name, shift):
    """Rows and anchors moved far from the origin together keep their codes."""
    # Multiples of 2⁻¹⁰ stay exact under the shift: only the computation of distances can differ.
    X = np.round(make_rows(n_rows=20) * 1024) / 1024
    anchors = np.round(make_anchors(8, 5) * 1024) / 1024
    moved = encode(X + shift, anchors + shift, 4, name, ONE_THREAD)
    expected = reference.encode(X, anchors, 4, name)
    np.testing.assert_array_equal(moved.anchors, expected.anchors)
    np.testing.assert_allclose(moved.distances, expected.distances, rtol=1e-6)
    np.testing.assert_allclose(moved.weights, expected.weights, atol=1e-5)


def test_distances_to_a_close_anchor_keep_their_digits_in_single_precision():
    """A tiny distance between float32 points is exact to float32, not lost to cancellation."""
    anchors = make_anchors(5, 4, "float32") + np.float32(100)
    X = (anchors * (1 + np.float32(3e-6))).astype(np.float32)
    codes = encode(X, anchors, 1, "hard", ONE_THREAD)
    expected = reference.squared_distances(X.astype(float), anchors.astype(float)).min(axis=1)
    np.testing.assert_allclose(codes.distances[:, 0], expected, rtol=1e-5)


@every_storage
@every_coding
def test_codes_do_not_depend_on_blocks_or_threads(dtype, storage, name, monkeypatch):
    """Codes are the same to the last bit however rows are cut and however many threads run."""
    X = make_rows(dtype, storage, n_rows=700)
    anchors = make_anchors(9, 5, dtype)
    whole = encode(X, anchors, 4, name, ONE_THREAD)
    monkeypatch.setattr(coding, "PRODUCTS_PER_BLOCK", 1)  # blocks of 256 rows
    with Workers(2) as two_threads:
        for workers in (ONE_THREAD, two_threads):
            cut = encode(X, anchors, 4, name, workers)
            np.testing.assert_array_equal(cut.anchors, whole.anchors)
            np.testing.assert_array_equal(cut.weights, whole.weights)
            np.testing.assert_array_equal(cut.distances, whole.distances)


# One coding each ----------------------------------------------------------------------------------


@every_storage
@pytest.mark.parametrize("name", ["inverse_distance", "hard", "lcc"])
def test_a_row_on_an_anchor_belongs_to_it_alone(dtype, storage, name):
    """γ = 1 at the anchor on which a row lies."""
    anchors = make_anchors(7, 5, dtype)
    codes = encode(stored(anchors, dtype, storage), anchors, 4, name, ONE_THREAD)
    np.testing.assert_array_equal(codes.anchors[:, 0], np.arange(7))
    np.testing.assert_array_equal(codes.distances[:, 0], 0)
    np.testing.assert_allclose(codes.weights, np.eye(4)[:1].repeat(7, axis=0), atol=1e-7)


def test_inverse_distance_is_shared_by_equal_anchors():
    """A row on two equal anchors gives half to each."""
    anchors = np.array([[1.0, 2.0], [0.0, 0.0], [1.0, 2.0]])
    codes = encode(anchors[:1], anchors, 3, "inverse_distance", ONE_THREAD)
    np.testing.assert_array_equal(codes.weights, [[0.5, 0.5, 0.0]])


def test_soft_codes_lie_between_uniform_and_hard():
    """β = 0 shares a row equally, a large β gives it to the nearest anchor, without overflow."""
    X, anchors = make_rows(), make_anchors(6, 5)
    uniform = encode(X, anchors, 4, "soft", ONE_THREAD, beta=0.0)
    sharp = encode(X, anchors, 4, "soft", ONE_THREAD, beta=1e12)
    np.testing.assert_array_equal(uniform.weights, 0.25)
    np.testing.assert_array_equal(sharp.weights, np.eye(4)[:1].repeat(len(X), axis=0))


def local_problem(X, anchors, codes):
    """Per row: the row, its anchors, their distances and weights."""
    for i, x in enumerate(X):
        yield x, anchors[codes.anchors[i]], codes.distances[i], codes.weights[i]


@pytest.mark.parametrize("name", ["lle", "llc"])
@given(seed=st.integers(0, 10**6), k=st.integers(1, 8), n_features=st.integers(1, 6))
def test_reconstruction_codes_are_optimal(name, seed, k, n_features):
    """At the minimum under Σγ = 1 the gradient is the same for all of a row's anchors."""
    X = make_rows(n_rows=4, n_features=n_features, seed=seed)
    anchors = make_anchors(8, n_features, seed=seed + 1)
    codes = encode(X, anchors, k, name, ONE_THREAD, beta=0.5)
    for x, V, distances, gamma in local_problem(X, anchors, codes):
        penalty = reference.reconstruction_penalty(x, V, distances, 0.5, name)
        gradient = reference.gram_matrix(x, V) @ gamma + penalty * gamma
        scale = np.abs(reference.gram_matrix(x, V)) @ np.abs(gamma) + penalty * np.abs(gamma)
        assert np.ptp(gradient) <= 1e-9 * (scale.max() + 1)


def test_lle_reconstructs_a_row_among_its_anchors():
    """With more anchors than features a row is nearly the weighted mean of its anchors."""
    X = 0.1 * make_rows(n_rows=20, n_features=2)
    anchors = make_anchors(12, 2)
    codes = encode(X, anchors, 8, "lle", ONE_THREAD)
    rebuilt = np.einsum("ik,ikd->id", codes.weights, anchors[codes.anchors])
    assert np.abs(rebuilt - X).max() < 0.01


def test_llc_prefers_near_anchors():
    """A sharper penalty moves weight from the farthest anchors to the nearest."""
    X, anchors = make_rows(n_rows=200), make_anchors(12, 5)
    plain = encode(X, anchors, 8, "llc", ONE_THREAD, beta=0.0)
    sharp = encode(X, anchors, 8, "llc", ONE_THREAD, beta=5.0)
    near = slice(0, 2)
    assert np.abs(sharp.weights[:, near]).mean() > np.abs(plain.weights[:, near]).mean()


@given(seed=st.integers(0, 10**6), k=st.integers(1, 8), n_features=st.integers(1, 6))
def test_lcc_is_optimal(seed, k, n_features):
    """Transfers between pairs reach the optimum that an interior-point method finds."""
    X = make_rows(n_rows=4, n_features=n_features, seed=seed)
    anchors = make_anchors(8, n_features, seed=seed + 1)
    codes = encode(X, anchors, k, "lcc", ONE_THREAD)
    for x, V, distances, gamma in local_problem(X, anchors, codes):
        best = reference.lcc_objective(x, V, distances, reference.lcc(x, V, distances, 1.0))
        assert reference.lcc_objective(x, V, distances, gamma) <= best + 1e-7 * (1 + best)


def test_lcc_codes_are_sparse():
    """The penalty of LCC switches anchors off entirely."""
    codes = encode(make_rows(n_rows=100), make_anchors(12, 5), 8, "lcc", ONE_THREAD)
    assert 0.2 < np.mean(codes.weights == 0) < 0.95


@pytest.mark.parametrize("name", CODINGS)
@pytest.mark.parametrize("n_reserves", [1, 4, 50])
def test_reserves_are_the_anchors_that_come_next(name, n_reserves):
    """Asking for reserves changes no code; they are the next nearest, as many as there are."""
    X, anchors = make_rows(n_rows=60), make_anchors(12, 5)
    plain = encode(X, anchors, 4, name, ONE_THREAD)
    codes = encode(X, anchors, 4, name, ONE_THREAD, n_reserves=n_reserves)
    assert plain.reserves is None
    for field in ("anchors", "weights", "distances"):
        np.testing.assert_array_equal(getattr(codes, field), getattr(plain, field))
    expected = reference.encode(X, anchors, 12, "hard").anchors[:, 4 : 4 + n_reserves]
    np.testing.assert_array_equal(np.sort(codes.reserves), np.sort(expected))
