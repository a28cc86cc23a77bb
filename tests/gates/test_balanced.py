"""Tests of hyperlocal.gates.balanced: clusters that contain rows of all classes."""

import numpy as np
import pytest
import scipy.sparse as sp

from hyperlocal.gates.balanced import balanced_clusters, cheapest_clusters
from hyperlocal.runtime.threads import Workers
from reference.problems import every_storage, stored


def two_sides(n_rows=400, n_classes=2, seed=0):
    """Classes side by side along the first feature; the second one is noise."""
    rng = np.random.default_rng(seed)
    target = rng.integers(n_classes, size=n_rows)
    X = np.column_stack([1.5 * target + rng.normal(size=n_rows), 2 * rng.normal(size=n_rows)])
    return X, target


def clusters_of(X, target, n_anchors=4, balance=1.0, weights=None, n_jobs=1, seed=0, **options):
    weights = np.ones(len(target)) if weights is None else weights
    with Workers(n_jobs) as workers:
        return balanced_clusters(
            X, target, int(target.max()) + 1, weights, n_anchors, balance,
            np.random.default_rng(seed), workers, **options,
        )  # fmt: skip


def imbalance(cluster, target):
    """``Σ_jc |Σ_i Z_ij (1[y_i = c] − 1/n_classes)|``."""
    counts = np.zeros((cluster.max() + 1, target.max() + 1))
    np.add.at(counts, (cluster, target), 1)
    return np.abs(counts - counts.mean(axis=1, keepdims=True)).sum()


@every_storage
@pytest.mark.parametrize("n_classes", [2, 3])
def test_clusters_keep_all_classes(dtype, storage, n_classes):
    """The more balance is worth, the more balanced the clusters are."""
    X, target = two_sides(n_classes=n_classes)
    X = stored(X, dtype, storage)
    found = [imbalance(clusters_of(X, target, 4, r)[1], target) for r in (0, 0.5, 10)]
    assert found[0] > found[1] > found[2]
    assert found[2] < (0.3 if n_classes == 2 else 0.7) * found[0]


@pytest.mark.parametrize("balance", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_never_worse_than_kmeans(balance, n_classes):
    """The penalised objective is at most that of k-means clusters."""
    X, target = two_sides(n_classes=n_classes)
    centers, cluster = clusters_of(X, target, balance=0.0)
    typical = ((X - centers[cluster]) ** 2).sum(axis=1).mean()

    def objective(cluster):
        means = np.array([X[cluster == j].mean(axis=0) for j in range(cluster.max() + 1)])
        spread = ((X - means[cluster]) ** 2).sum()
        return spread + balance * typical * imbalance(cluster, target)

    balanced = clusters_of(X, target, balance=balance)
    assert objective(balanced[1]) < objective(cluster)
    for j, centre in enumerate(balanced[0]):
        np.testing.assert_allclose(centre, X[balanced[1] == j].mean(axis=0))


def test_no_balance_is_kmeans():
    """At a price of nothing every row is in the cluster of its nearest centre."""
    X, target = two_sides()
    centers, cluster = clusters_of(X, target, balance=0.0)
    distances = ((X[:, None] - centers) ** 2).sum(axis=2)
    np.testing.assert_array_equal(cluster, distances.argmin(axis=1))


def test_rows_take_the_cheapest_cluster():
    """A row minimizes squared distance plus the price of its class, whatever the storage."""
    X, target = two_sides()
    rng = np.random.default_rng(0)
    centers, prices = rng.normal(size=(5, 2)) + 1, rng.normal(size=(2, 5))
    signs = np.where(target[:, None] == np.arange(2), 0.5, -0.5)
    costs = ((X[:, None] - centers) ** 2).sum(axis=2) + signs @ prices
    with Workers(1) as workers:
        for rows in (X, sp.csr_array(X)):
            cluster = cheapest_clusters(rows, target, centers, prices, workers)
            np.testing.assert_array_equal(cluster, costs.argmin(axis=1))


def test_every_cluster_has_rows():
    """Clusters that lost all their rows are left out, and numbers are without holes."""
    X, target = two_sides(60)
    centers, cluster = clusters_of(X, target, 20, balance=50.0)
    np.testing.assert_array_equal(np.unique(cluster), np.arange(len(centers)))


def test_large_data_are_clustered_on_a_sample():
    """Prices and centers come from a sample; all rows are assigned."""
    X, target = two_sides()
    _, cluster = clusters_of(X, target, balance=10.0, sample_rows=100)
    assert len(cluster) == 400
    assert imbalance(cluster, target) < imbalance(clusters_of(X, target, balance=0.0)[1], target)


def test_threads_do_not_change_a_bit():
    """The same clusters for any number of threads."""
    X, target = two_sides(1200)
    one, two = (clusters_of(X, target, 30, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one[0], two[0])
    np.testing.assert_array_equal(one[1], two[1])


def test_one_cluster():
    """One cluster holds all rows."""
    X, target = two_sides(50)
    centers, cluster = clusters_of(X, target, 1)
    assert len(centers) == 1
    assert not cluster.any()
