"""Tests of hyperlocal.estimators.landmark: L3-SVM against explicit features."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.cluster import KMeans
from sklearn.metrics.pairwise import linear_kernel
from sklearn.svm import SVC, LinearSVC

from estimators.data import make_data
from hyperlocal.datasets import make_xor
from hyperlocal.papers import LandmarkSVC

PRECISE = {"tol": 1e-8, "max_iter": 200_000, "random_state": 0}


def block_features(model, X):
    """``μ(x)`` in the columns of the row's cluster, zeros elsewhere."""
    projections = X @ model.landmarks_.T
    distances = ((X[:, None] - model.anchors_) ** 2).sum(axis=2)
    one_hot = np.eye(len(model.anchors_))[distances.argmin(axis=1)]
    return np.einsum("nk,nl->nkl", one_hot, projections).reshape(len(X), -1)


# Known equals -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("bias", [1.0, 2.0])
def test_a_linear_svm_on_block_features(n_classes, loss, bias):
    """LIBLINEAR on the explicit block features, one bias column: the same weights."""
    X, y = make_data(n_classes)
    options = {"C": 0.1, "loss": loss, "intercept_scaling": bias}
    model = LandmarkSVC(4, **options, **PRECISE).fit(X, y)
    linear = LinearSVC(**options, dual=True, tol=1e-9, max_iter=1_000_000, random_state=0)
    features = block_features(model, X)
    linear.fit(features, y)
    coef = model.coef_.transpose(1, 0, 2).reshape(len(linear.coef_), -1)
    np.testing.assert_allclose(coef, linear.coef_, atol=2e-4)
    np.testing.assert_allclose(model.intercept_, linear.intercept_, atol=2e-4)
    np.testing.assert_allclose(
        model.decision_function(X), linear.decision_function(features), atol=1e-3
    )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_one_cluster_and_orthonormal_landmarks_are_a_linear_svm(n_classes):
    """The paper's special case: K = 1 and an orthonormal basis."""
    X, y = make_data(n_classes)
    basis = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))[0]
    linear = LinearSVC(loss="hinge", C=0.5, tol=1e-9, max_iter=1_000_000).fit(X, y)
    for landmarks in (basis, "pca"):
        model = LandmarkSVC(1, landmarks=landmarks, C=0.5, **PRECISE).fit(X, y)
        np.testing.assert_allclose(
            model.decision_function(X), linear.decision_function(X), atol=1e-3
        )
        np.testing.assert_allclose(model.local_coef(X[:1])[0], linear.coef_, atol=1e-3)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("more", [{}, {"coding": "soft"}, {"smoothing": 0.5}], ids=str)
def test_the_kernel_dual_with_a_linear_kernel_is_the_primal(n_classes, more):
    """LIBSVM's bias is free; with a large constant that of the primal nearly is."""
    X, y = make_data(n_classes)
    options = {"landmarks": X[:3] / 3, "C": 0.1, "random_state": 0, **more}
    dual = LandmarkSVC(4, kernel=linear_kernel, tol=1e-8, **options).fit(X, y)
    options |= {"intercept_scaling": 10.0, "tol": 1e-4, "max_iter": 100_000}
    primal = LandmarkSVC(4, **options).fit(X, y)
    np.testing.assert_allclose(dual.decision_function(X), primal.decision_function(X), atol=0.03)
    assert dual.objective_ == pytest.approx(primal.objective_, rel=3e-3)
    assert dual.duality_gap_ < 1e-3 * dual.objective_


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_kernel_dual_is_libsvm_on_block_features(n_classes):
    """A kernel that is zero across clusters is a linear kernel of block features."""
    X, y = make_data(n_classes)
    model = LandmarkSVC(4, kernel=linear_kernel, C=0.1, tol=1e-8, random_state=0).fit(X, y)
    features, scores = block_features(model, X), model.decision_function(X).reshape(len(y), -1)
    for column, label in enumerate([1] if n_classes == 2 else range(n_classes)):
        own = SVC(kernel="linear", C=0.1, tol=1e-8).fit(features, y == label)
        np.testing.assert_allclose(scores[:, column], own.decision_function(features), atol=1e-5)


def test_weights_are_sums_over_support_vectors():
    """``θ_k = Σ α_i y_i μ(x_i)`` over the cluster's support vectors."""
    X, y = make_data(3)
    model = LandmarkSVC(4, **PRECISE).fit(X, y)
    features = block_features(model, X)[model.support_]
    coef = model.coef_.transpose(1, 0, 2).reshape(3, -1)
    # ½‖W − Σ_i α_i y_i z_i‖² is a part of the gap.
    atol = np.sqrt(2 * model.duality_gap_) + 1e-6
    np.testing.assert_allclose(model.dual_coef_ @ features, coef, atol=atol)
    np.testing.assert_allclose(model.dual_coef_.sum(axis=1), model.intercept_, atol=atol)


# Smoothing ----------------------------------------------------------------------------------------


def test_smoothing_minimises_the_penalised_objective():
    """A general minimiser of the objective with its penalty written out finds no better weights."""
    X, y = make_data()
    model = LandmarkSVC(3, smoothing=2.0, loss="squared_hinge", C=0.1, **PRECISE).fit(X, y)
    features, labels = block_features(model, X), np.where(y == 1, 1, -1)
    n_weights = features.shape[1]

    def objective(values):
        theta, bias = values[:-1].reshape(3, -1), values[-1]
        slack = np.maximum(0, 1 - labels * (features @ values[:-1] + bias))
        differences = sum(((theta[k] - theta[j]) ** 2).sum() for k, j in ((0, 1), (0, 2), (1, 2)))
        return 0.5 * (values @ values + 2.0 * differences) + 0.1 * (slack**2).sum()

    best = minimize(objective, np.zeros(n_weights + 1), method="L-BFGS-B", options={"ftol": 1e-15})
    found = np.append(model.coef_.ravel(), model.intercept_)
    assert objective(found) == pytest.approx(model.objective_, rel=1e-6)
    assert model.objective_ == pytest.approx(best.fun, rel=1e-4)
    np.testing.assert_allclose(found, best.x, atol=5e-3)


def test_much_smoothing_makes_one_model():
    """The clusters' weights approach each other as the penalty grows."""
    X, y = make_data()
    spreads = [
        LandmarkSVC(4, smoothing=s, random_state=0).fit(X, y).coef_.std(axis=0).max()
        for s in (0.0, 1.0, 1e4)
    ]
    assert spreads[0] > spreads[1] > 100 * spreads[2]


# Toys ---------------------------------------------------------------------------------------------


def test_xor():
    """Four clusters solve XOR, two nearly do, one cannot: means over draws, as k-means varies."""
    accuracies = []
    for seed in range(10):
        X, y = make_xor(400, random_state=seed)
        test = make_xor(2000, random_state=100 + seed)
        options = {"n_landmarks": 10, "tol": 1e-2, "random_state": seed}
        models = [LandmarkSVC(n, C=C, **options).fit(X, y) for n, C in ((1, 1), (2, 10), (4, 50))]
        accuracies.append([model.score(*test) for model in models])
    one, two, four = np.mean(accuracies, axis=0)
    assert one < 0.7
    assert two >= 0.92
    assert four >= 0.97


# Arguments ----------------------------------------------------------------------------------------


def test_fitted_attributes():
    """Landmarks, γ and weights have the documented shapes; γ is there with the RBF only."""
    X, y = make_data(3)
    model = LandmarkSVC(4, n_landmarks=7, projection="rbf", random_state=0).fit(X, y)
    assert model.landmarks_.shape == (7, 5)
    assert model.gamma_ > 0
    assert LandmarkSVC(4, gamma=0.3, projection="rbf").fit(X, y).gamma_ == 0.3
    assert not hasattr(LandmarkSVC(4).fit(X, y), "gamma_")
    assert model.coef_.shape == (4, 3, 7)
    assert model.intercept_.shape == (3,)
    assert model.empirical_risk_.shape == (3,)


def test_soft_clusters_of_a_clusterer():
    """Soft clusters sit at the means of the clusterer's clusters."""
    X, y = make_data()
    clusterer = KMeans(5, init=X[:5], n_init=1)
    model = LandmarkSVC(anchors=clusterer, coding="soft", n_neighbors=3, random_state=0)
    assert model.fit(X, y).explain(X[0]).anchor_weights.shape == (3,)
    np.testing.assert_allclose(
        np.sort(model.anchors_, axis=0),
        np.sort(clusterer.fit(X).cluster_centers_, axis=0), atol=1e-6,
    )  # fmt: skip


def test_too_many_rows_for_a_kernel(monkeypatch):
    """Above the stated number of rows a kernel is refused before work starts."""
    monkeypatch.setattr("hyperlocal.solvers.libsvm.MOST_ROWS", 80)
    with pytest.raises(ValueError, match="X has 90 rows, more than 80; use kernel='linear'"):
        LandmarkSVC(kernel="rbf").fit(*make_data())


def test_projections_that_overflow():
    """Rows whose own squares are finite may overflow in products with far landmarks."""
    X, y = make_data(dtype=np.float32)
    with pytest.raises(ValueError, match="projections on landmarks overflow in float32"):
        LandmarkSVC(3, landmarks=X[:3] * np.float32(1e20), random_state=0).fit(X, y)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_landmarks": 0}, ValueError, "n_landmarks"),
        ({"landmarks": "best"}, ValueError, "landmarks"),
        ({"projection": "poly"}, ValueError, "projection"),
        ({"gamma": -1.0}, ValueError, "gamma"),
        ({"anchors": "dbscan"}, ValueError, "anchors"),
        ({"coding": "yes"}, ValueError, "coding"),
        ({"beta": 0}, ValueError, "beta"),
        ({"n_neighbors": 0}, ValueError, "n_neighbors"),
        ({"smoothing": -0.1}, ValueError, "smoothing"),
        ({"smoothing": None}, TypeError, "smoothing"),
        ({"n_stages": 0}, ValueError, "n_stages"),
        ({"n_stages": 1.5}, TypeError, "n_stages"),
        ({"keep_if_better": 1}, TypeError, "keep_if_better"),
        ({"kernel": "cosine"}, ValueError, "kernel"),
        ({"kernel_gamma": "wide"}, ValueError, "kernel_gamma"),
        ({"kernel": "rbf", "n_stages": 2}, ValueError, "kernel='rbf' needs n_stages=1"),
        ({"kernel": "rbf", "loss": "squared_hinge"}, ValueError, "needs loss='hinge'"),
    ],
    ids=str,
)
def test_bad_arguments_are_named(options, error, message):
    """An argument that makes no sense raises at ``fit``, by its name."""
    with pytest.raises(error, match=message):
        LandmarkSVC(3, **options).fit(*make_data())
