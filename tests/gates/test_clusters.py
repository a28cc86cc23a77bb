"""Tests of hyperlocal.gates.clusters: clusters as gates."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture

from hyperlocal.gates.clusters import ClustererGate, ClusterSettings
from hyperlocal.runtime.threads import Workers
from reference.problems import every_storage, make_rows


def clusters_of(X, anchors="kmeans", n_anchors="auto", *, weights=None, seed=0, **options):
    weights = np.ones(X.shape[0]) if weights is None else weights
    settings = ClusterSettings(n_anchors, anchors, **options)
    settings.check()
    with Workers(1) as workers:
        gate = settings.fit(X, weights, np.random.default_rng(seed), workers)
        return gate, gate.encode(X, workers)


@every_storage
def test_a_row_is_in_the_cluster_of_its_nearest_center(dtype, storage):
    """The gate is one at the nearest center, and every center has rows."""
    X = make_rows(dtype, storage)
    gate, codes = clusters_of(X, n_anchors=6)
    dense = X.toarray() if sp.issparse(X) else X
    distances = ((dense[:, None] - gate.anchors) ** 2).sum(axis=2)
    np.testing.assert_array_equal(codes.anchors[:, 0], distances.argmin(axis=1))
    assert (codes.weights == 1).all()
    assert gate.anchors.dtype == X.dtype
    assert len(np.unique(codes.anchors)) == gate.n_anchors


@every_storage
def test_given_centers_without_rows_are_left_out(dtype, storage):
    """A query goes to the nearest center that had rows."""
    X = make_rows(dtype, storage)
    centers = np.vstack([np.zeros(5), np.full(5, 1e3), np.ones(5)])
    gate, codes = clusters_of(X, centers)
    np.testing.assert_array_equal(gate.anchors, centers[[0, 2]])
    assert codes.anchors.max() == 1
    with Workers(1) as workers:
        far = gate.encode(np.full((1, 5), 1e3, dtype), workers)
    assert far.anchors[0, 0] == 1


@every_storage
def test_a_clusterer_decides(dtype, storage):
    """A row is in the cluster that the clusterer's ``predict`` gives."""
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


def test_soft_clusters():
    """A soft gate sits at the centers and weighs the nearest; fewer clusters are all active."""
    X = make_rows()
    hard, _ = clusters_of(X, n_anchors=6)
    soft, codes = clusters_of(X, n_anchors=6, coding="soft", n_neighbors=3, beta=0.7)
    np.testing.assert_array_equal(soft.anchors, hard.anchors)
    weights = np.exp(-0.7 * codes.distances)
    np.testing.assert_allclose(codes.weights, weights / weights.sum(axis=1, keepdims=True))
    assert clusters_of(X, n_anchors=2, coding="soft")[1].weights.shape == (40, 2)


@pytest.mark.parametrize(
    ("n_anchors", "anchors", "error", "message"),
    [
        (0, "kmeans", ValueError, "n_anchors must be an integer at least 1"),
        (2.5, "kmeans", TypeError, "n_anchors"),
        ("many", "kmeans", ValueError, "n_anchors"),
        (3, "spectral", ValueError, "anchors must be one of"),
        (3, None, ValueError, "anchors"),
        (3, KMeans, TypeError, "anchors must be 'kmeans', 'random', a dense 2-D array"),
        (3, np.zeros(3), TypeError, "anchors"),
        (3, sp.csr_array(np.eye(3)), TypeError, "anchors"),
        (3, KMeans(3), ValueError, "leave n_anchors at 'auto'"),
    ],
    ids=str,
)
def test_bad_arguments(n_anchors, anchors, error, message):
    """Arguments that make no sense are named."""
    with pytest.raises(error, match=message):
        ClusterSettings(n_anchors, anchors).check()


@pytest.mark.parametrize(
    "options", [{"coding": "fuzzy"}, {"n_neighbors": 0}, {"beta": "sharp"}], ids=str
)
def test_bad_codings(options):
    """So are those of the gate."""
    with pytest.raises(ValueError, match=next(iter(options))):
        ClusterSettings(**options).check()


def test_bad_centers():
    """Centers must have the rows' features, and be as many as is said."""
    X = make_rows()
    with pytest.raises(ValueError, match="anchors have 3 columns, but rows are coded on 5"):
        clusters_of(X, np.zeros((2, 3)))
    with pytest.raises(ValueError, match="n_anchors=4 but 2 anchors are given"):
        clusters_of(X, X[:2], n_anchors=4)
    with pytest.warns(UserWarning, match="n_anchors=50 is larger .* distinct rows, 40; 40 anch"):
        clusters_of(X, n_anchors=50)
