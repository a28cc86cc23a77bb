"""Tests of hyperlocal.gates.gate: the sharpness of soft codes, and the gate as a whole."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperlocal.gates import gate as gates
from hyperlocal.gates.codes import CODINGS, encode
from hyperlocal.gates.gate import Gate, check_gate, fit_gate, weighted_median
from hyperlocal.runtime.threads import Workers
from reference.coding import squared_distances
from reference.problems import every_storage, make_rows
from reference.rows import written_out

ONE_THREAD = Workers(1)


def gate_of(X, anchors, n_neighbors=4, coding="soft", beta="auto", weights=None, seed=0):
    weights = np.ones(X.shape[0]) if weights is None else weights
    rng = np.random.default_rng(seed)
    return fit_gate(X, weights, anchors, n_neighbors, coding, beta, rng, ONE_THREAD)


def make_anchors(n_anchors, dtype="float64"):
    return make_rows(dtype, n_rows=n_anchors + 1, seed=9)[:-1]


# β ------------------------------------------------------------------------------------------------


@every_storage
@pytest.mark.parametrize(("n_neighbors", "place"), [(2, 2), (3, 2), (4, 2), (8, 4), (9, 4)])
def test_automatic_beta(dtype, storage, n_neighbors, place):
    """β is one over the median of d_(k/2) − d_(1), the second distance at least."""
    X, anchors = make_rows(dtype, storage, n_rows=41), make_anchors(12, dtype)
    distances = np.sort(squared_distances(written_out(X), anchors.astype(float)), axis=1)
    expected = 1 / np.median(distances[:, place - 1] - distances[:, 0])
    assert gate_of(X, anchors, n_neighbors).beta == pytest.approx(expected, rel=1e-5)


def test_automatic_beta_of_weighted_rows():
    """Integer weights and repeated rows give the same β."""
    X, anchors = make_rows(), make_anchors(8)
    weights = np.random.default_rng(0).integers(1, 5, 40)
    repeated = gate_of(np.repeat(X, weights, axis=0), anchors)
    assert gate_of(X, anchors, weights=weights.astype(float)).beta == repeated.beta


@pytest.mark.parametrize("scale", [1e-3, 1e4])
def test_automatic_beta_makes_codes_scale_free(scale):
    """Codes do not change when rows and anchors are scaled together."""
    X, anchors = make_rows(), make_anchors(8)
    gate, scaled = gate_of(X, anchors), gate_of(scale * X, scale * anchors)
    assert scaled.beta == pytest.approx(gate.beta / scale**2)
    np.testing.assert_allclose(
        scaled.encode(scale * X, ONE_THREAD).weights, gate.encode(X, ONE_THREAD).weights, atol=1e-9
    )


def test_automatic_beta_where_most_rows_lie_between_anchors():
    """Where the median gap is zero, the mean gap takes its place; where all are zero, one does."""
    anchors = np.array([[-1.0], [1.0]])
    X = np.array([[0.0], [0.0], [0.0], [0.5]])
    assert gate_of(X, anchors, 2).beta == pytest.approx(1 / (2.0 / 4))
    assert gate_of(X[:3], anchors, 2).beta == 1.0


def test_automatic_beta_of_one_neighbor():
    """One neighbour needs no sharpness."""
    assert gate_of(make_rows(), make_anchors(5), 1).beta == 1.0
    assert gate_of(make_rows(), make_anchors(1), 8).beta == 1.0


def test_automatic_beta_from_a_sample(monkeypatch):
    """Of many rows a random sample is enough."""
    X, anchors = make_rows(n_rows=3000), make_anchors(8)
    full = gate_of(X, anchors).beta
    monkeypatch.setattr(gates, "ROWS_FOR_BETA", 1000)
    assert gate_of(X, anchors).beta == pytest.approx(full, rel=0.15)


def test_given_beta_is_kept():
    """A number is taken as it is."""
    assert gate_of(make_rows(), make_anchors(5), beta=2.5).beta == 2.5


weighted_values = st.lists(
    st.tuples(st.integers(-5, 5).map(float), st.integers(1, 6)), min_size=1, max_size=12
)


@given(weighted_values)
def test_weighted_median(pairs):
    """The weighted median is the lower median of repeated values."""
    values, weights = (np.array(column) for column in zip(*pairs, strict=True))
    repeated = np.sort(np.repeat(values, weights))
    assert weighted_median(values, weights.astype(float)) == repeated[(len(repeated) - 1) // 2]


# Gate ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("coding", CODINGS)
def test_a_gate_encodes_with_what_it_holds(coding):
    """Gate.encode is encode with the gate's anchors, neighbours, coding and β."""
    X, anchors = make_rows(), make_anchors(8)
    gate = gate_of(X, anchors, 4, coding)
    codes = gate.encode(X, ONE_THREAD)
    expected = encode(X, anchors, gate.n_neighbors, coding, ONE_THREAD, beta=gate.beta)
    np.testing.assert_array_equal(codes.weights, expected.weights)
    np.testing.assert_array_equal(codes.anchors, expected.anchors)
    assert gate.n_anchors == 8


def test_neighbors_are_at_most_the_anchors():
    """A gate has no more active anchors than anchors, and one for the hard coding."""
    X, anchors = make_rows(), make_anchors(3)
    assert gate_of(X, anchors, 8).n_neighbors == 3
    assert gate_of(X, anchors, 8, "hard").n_neighbors == 1


GOOD = {"n_neighbors": 3, "coding": "soft", "n_anchors": 5, "anchors": "kmeans", "beta": "auto"}


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"n_neighbors": 0}, ValueError, "n_neighbors must be an integer at least 1"),
        ({"n_neighbors": 2.0}, TypeError, "n_neighbors must be an integer"),
        ({"coding": "sparse"}, ValueError, "coding must be one of"),
        ({"beta": "automatic"}, ValueError, "beta must be one of"),
        ({"beta": 0.0}, ValueError, "beta must be a number greater than 0"),
        ({"beta": np.inf}, ValueError, "beta must be a number greater than 0"),
        ({"beta": None}, TypeError, "beta must be a number"),
    ],
)
def test_wrong_arguments_are_named(changed, error, message):
    """Arguments that make no sense raise an error that names them."""
    with pytest.raises(error, match=message):
        check_gate(**{**GOOD, **changed})


@pytest.mark.parametrize(
    "changed", [{}, {"beta": 3}, {"coding": "hard", "n_neighbors": 50}, {"n_anchors": "auto"}]
)
def test_right_arguments_pass(changed):
    """Sensible arguments pass; the hard coding does not mind the number of neighbours."""
    check_gate(**{**GOOD, **changed})


@pytest.mark.parametrize("coding", ["soft", "inverse_distance"])
def test_slopes_are_derivatives_of_the_weights(coding, workers):
    """``∂γ_j/∂x = γ_j (u_j − Σ_l γ_l u_l)`` with ``u_j = t_j (v_j − x)``."""
    rng = np.random.default_rng(0)
    X, anchors = rng.normal(size=(20, 3)), rng.normal(size=(4, 3))
    gate = Gate(anchors, 4, coding, 0.7)

    def weights(rows):
        codes = gate.encode(rows, workers)
        return np.take_along_axis(codes.weights, codes.anchors.argsort(axis=1), axis=1)

    codes = gate.encode(X, workers)
    toward = gate.slopes(codes)[:, :, None] * (anchors[codes.anchors] - X[:, None, :])
    change = toward - np.einsum("nk,nkd->nd", codes.weights, toward)[:, None, :]
    found = codes.weights[:, :, None] * change
    found = np.take_along_axis(found, codes.anchors.argsort(axis=1)[:, :, None], axis=1)
    for i, step in enumerate(1e-6 * np.eye(3)):
        difference = (weights(X + step) - weights(X - step)) / 2e-6
        np.testing.assert_allclose(found[:, :, i], difference, atol=1e-7)


@pytest.mark.parametrize("coding", ["hard", "lle", "llc", "lcc"])
def test_codings_without_slopes(coding, workers):
    """Weights that are constant, or solved for, state none."""
    X = np.random.default_rng(0).normal(size=(20, 3))
    gate = Gate(X[:4], 1 if coding == "hard" else 3, coding)
    assert gate.slopes(gate.encode(X, workers)) is None
