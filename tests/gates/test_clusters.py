"""Tests of hyperlocal.gates.clusters: one-hot gates, and the codes that couple clusters."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture

from hyperlocal.gates.clusters import (
    ClustererGate,
    check_clusters,
    fit_clusters,
    smoothed,
    smoothing_matrix,
    with_global_model,
)
from hyperlocal.runtime.threads import Workers
from reference.problems import every_storage, make_codes, make_rows


def clusters_of(X, clusters="kmeans", n_clusters="auto", weights=None, seed=0):
    weights = np.ones(X.shape[0]) if weights is None else weights
    with Workers(1) as workers:
        gate = fit_clusters(X, weights, clusters, n_clusters, np.random.default_rng(seed), workers)
        return gate, gate.encode(X, workers)


# Clusters -----------------------------------------------------------------------------------------


@every_storage
def test_a_row_is_in_the_cluster_of_its_nearest_centre(dtype, storage):
    """The gate is one at the nearest centre, and every centre has rows."""
    X = make_rows(dtype, storage)
    gate, codes = clusters_of(X, n_clusters=6)
    dense = X.toarray() if sp.issparse(X) else X
    distances = ((dense[:, None] - gate.anchors) ** 2).sum(axis=2)
    np.testing.assert_array_equal(codes.anchors[:, 0], distances.argmin(axis=1))
    assert (codes.weights == 1).all()
    assert gate.anchors.dtype == X.dtype
    assert len(np.unique(codes.anchors)) == gate.n_anchors


@every_storage
def test_given_centres_without_rows_are_left_out(dtype, storage):
    """A query goes to the nearest centre that had rows."""
    X = make_rows(dtype, storage)
    centres = np.vstack([np.zeros(5), np.full(5, 1e3), np.ones(5)])
    gate, codes = clusters_of(X, centres)
    np.testing.assert_array_equal(gate.anchors, centres[[0, 2]])
    assert codes.anchors.max() == 1
    with Workers(1) as workers:
        far = gate.encode(np.full((1, 5), 1e3, dtype), workers)
    assert far.anchors[0, 0] == 1


@every_storage
def test_a_clusterer_decides(dtype, storage):
    """Rows go where the clusterer's ``predict`` says."""
    X = make_rows(dtype, storage)
    clusterer = KMeans(4, n_init=1, random_state=0)
    gate, codes = clusters_of(X, clusterer)
    assert not hasattr(clusterer, "cluster_centers_")  # a clone was fitted
    np.testing.assert_array_equal(codes.anchors[:, 0], gate.clusterer.predict(X))
    np.testing.assert_allclose(gate.anchors, gate.clusterer.cluster_centers_, atol=1e-5)


def test_clusterers_that_leave_labels_out():
    """Labels need not be 0, 1, …; one that no training row had goes to the nearest mean."""

    class Rounding(KMeans):
        def fit(self, X, y=None):
            return self

        def predict(self, X):
            return 10 * np.round(np.asarray(X)[:, 0]).astype(int)

    X = np.array([[0.1], [0.2], [3.1], [3.0]])
    gate, codes = clusters_of(X, Rounding())
    np.testing.assert_array_equal(gate.labels, [0, 30])
    np.testing.assert_array_equal(codes.anchors[:, 0], [0, 0, 1, 1])
    with Workers(1) as workers:
        np.testing.assert_array_equal(
            gate.encode(np.array([[1.0], [2.0], [9.0]]), workers).anchors[:, 0], [0, 1, 1]
        )


def test_clusterers_without_weights():
    """A clusterer whose ``fit`` takes no weights is fitted without."""
    gate, _ = clusters_of(
        make_rows(), GaussianMixture(3, random_state=0), weights=np.arange(1.0, 41)
    )
    assert isinstance(gate, ClustererGate)


@pytest.mark.parametrize(
    ("n_clusters", "clusters", "error", "message"),
    [
        (0, "kmeans", ValueError, "n_clusters must be an integer at least 1"),
        (2.5, "kmeans", TypeError, "n_clusters"),
        ("many", "kmeans", ValueError, "n_clusters"),
        (3, "spectral", ValueError, "clusters must be one of"),
        (3, None, ValueError, "clusters"),
        (3, KMeans, TypeError, "clusters must be 'kmeans', a 2-D array"),
        (3, np.zeros(3), TypeError, "clusters"),
        (3, sp.csr_array(np.eye(3)), TypeError, "clusters"),
        (3, KMeans(3), ValueError, "leave n_clusters at 'auto'"),
    ],
    ids=str,
)
def test_bad_arguments(n_clusters, clusters, error, message):
    """Arguments that make no sense are named."""
    with pytest.raises(error, match=message):
        check_clusters(n_clusters, clusters)


def test_bad_centres():
    """Centres must have the rows' features, and be as many as is said."""
    X = make_rows()
    with pytest.raises(ValueError, match="clusters have 3 columns, but X has 5"):
        clusters_of(X, np.zeros((2, 3)))
    with pytest.raises(ValueError, match="n_clusters=4 but 2 centres are given"):
        clusters_of(X, X[:2], n_clusters=4)
    with pytest.warns(UserWarning, match="n_clusters=50 is larger .* distinct rows, 40; 40 clus"):
        clusters_of(X, n_clusters=50)


# Coupled clusters ---------------------------------------------------------------------------------


@given(seed=st.integers(0, 10**6), n_clusters=st.integers(1, 12), smoothing=st.floats(0, 100))
def test_the_penalty_of_smoothing(seed, n_clusters, smoothing):
    """``‖U‖²`` of ``Θ = A U`` is ``‖Θ‖²`` plus s times the squared differences of neighbours."""
    rng = np.random.default_rng(seed)
    centres, theta = rng.normal(size=(n_clusters, 2)), rng.normal(size=(n_clusters, 3))
    mixing = smoothing_matrix(centres, smoothing)
    distances = ((centres[:, None] - centres) ** 2).sum(axis=2)
    nearest = np.argsort(distances, axis=1, kind="stable")[:, 1:5]
    pairs = {tuple(sorted((k, int(j)))) for k in range(n_clusters) for j in nearest[k]}
    penalty = (theta**2).sum() + smoothing * sum(
        ((theta[k] - theta[j]) ** 2).sum() for k, j in pairs
    )
    unmixed = np.linalg.solve(mixing, theta)
    assert (unmixed**2).sum() == pytest.approx(penalty, rel=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_smoothed_codes(dtype):
    """Codes are multiplied by the matrix, and every cluster speaks."""
    codes = make_codes(20, 6, 3, dtype)
    mixing = np.random.default_rng(0).normal(size=(6, 6))
    full = np.zeros((20, 6))
    np.put_along_axis(full, codes.anchors.astype(int), codes.weights.astype(float), axis=1)
    mixed = smoothed(codes, mixing)
    assert mixed.weights.dtype == dtype
    np.testing.assert_allclose(mixed.weights, full @ mixing, atol=1e-5)
    np.testing.assert_array_equal(mixed.anchors, np.tile(np.arange(6), (20, 1)))


def test_codes_with_a_global_model():
    """One anchor more, always on."""
    codes = make_codes(20, 6, 3)
    more = with_global_model(codes, 6, 0.5)
    np.testing.assert_array_equal(more.anchors[:, :3], codes.anchors)
    np.testing.assert_array_equal(more.weights[:, :3], codes.weights)
    assert (more.anchors[:, 3] == 6).all()
    assert (more.weights[:, 3] == 0.5).all()
