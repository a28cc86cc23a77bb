"""Tests of hyperlocal.estimators.profile: independent SVMs on balanced clusters."""

import numpy as np
import pytest
from sklearn.svm import SVC, LinearSVC

from estimators.data import make_data
from hyperlocal.papers import ProfileSVC

PRECISE = {"tol": 1e-8, "max_iter": 200_000, "random_state": 0}


def own_cluster(model, X):
    return ((X[:, None] - model.anchors_) ** 2).sum(axis=2).argmin(axis=1)


def members_of_mixed_clusters(model, X, y):
    """Rows of each cluster that has all classes (k-means clusters: balance is 0)."""
    cluster = own_cluster(model, X)
    for number in range(len(model.anchors_)):
        members = np.flatnonzero(cluster == number)
        if len(np.unique(y[members])) == len(np.unique(y)):
            yield members


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_every_cluster_has_its_own_linear_svm(n_classes, loss):
    """LIBLINEAR fitted to a cluster's rows alone: the same scores."""
    X, y = make_data(n_classes, n_rows=200)
    model = ProfileSVC(3, balance=0.0, loss=loss, C=0.5, **PRECISE).fit(X, y)
    checked = 0
    for members in members_of_mixed_clusters(model, X, y):
        own = LinearSVC(loss=loss, C=0.5, dual=True, tol=1e-9, max_iter=1_000_000)
        own.fit(X[members], y[members])
        np.testing.assert_allclose(
            model.decision_function(X[members]), own.decision_function(X[members]), atol=1e-3
        )
        checked += 1
    assert checked


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_every_cluster_has_its_own_kernel_svm(kernel):
    """LIBSVM fitted to a cluster's rows alone: the same scores."""
    X, y = make_data(n_rows=200)
    options = {"kernel": kernel, "gamma": 0.2, "degree": 2, "C": 2.0}
    model = ProfileSVC(3, balance=0.0, random_state=0, tol=1e-8, **options).fit(X, y)
    checked = 0
    for members in members_of_mixed_clusters(model, X, y):
        own = SVC(**options, coef0=1, tol=1e-8).fit(X[members], y[members])
        np.testing.assert_allclose(
            model.decision_function(X[members]), own.decision_function(X[members]), atol=1e-5
        )
        checked += 1
    assert checked
    assert model.intercept_.shape == (3, 1)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_cluster_predicts_what_it_has_seen(kernel):
    """The only class of a cluster scores 1 there, whatever the row; unseen ones score −1."""
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0], [10, 0], [0, 10]])
    which = np.arange(90) % 3
    X = centres[which] + rng.normal(size=(90, 2))
    y = np.where(which == 0, 2, (X[:, 1] > centres[which, 1]).astype(int))
    model = ProfileSVC(3, balance=0.0, kernel=kernel, random_state=0).fit(X, y)
    scores = model.decision_function([[-3.0, -3.0], [1.0, 1.0]])
    np.testing.assert_allclose(scores, [[-1, -1, 1]] * 2)
    np.testing.assert_allclose(model.decision_function(X[which > 0])[:, 2], -1)


def test_balance_moves_rows_to_mixed_clusters():
    """With a penalty on one-sided clusters, more clusters have both classes."""
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    X = np.column_stack([2.5 * y + rng.normal(size=300), 2 * rng.normal(size=300)])
    support = [
        len(ProfileSVC(6, balance=b, C=1.0, random_state=0).fit(X, y).support_) for b in (0.0, 3.0)
    ]
    assert support[1] != support[0]


def test_too_many_rows_in_a_cluster(monkeypatch):
    """A kernel is refused where a cluster is too large for it, before work starts."""
    monkeypatch.setattr("hyperlocal.solvers.libsvm.MOST_ROWS", 40)
    with pytest.raises(ValueError, match=r"the largest cluster has .* rows, more than 40"):
        ProfileSVC(2, kernel="rbf", random_state=0).fit(*make_data())


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"balance": -1.0}, ValueError, "balance"),
        ({"balance": "even"}, TypeError, "balance"),
        ({"kernel": "cosine"}, ValueError, "kernel"),
        ({"kernel": "rbf", "loss": "log"}, ValueError, "needs loss='hinge'"),
        ({"intercept_scaling": 0}, ValueError, "intercept_scaling must be positive"),
    ],
    ids=str,
)
def test_bad_arguments_are_named(options, error, message):
    """An argument that makes no sense raises at ``fit``, by its name."""
    with pytest.raises(error, match=message):
        ProfileSVC(3, **options).fit(*make_data())
