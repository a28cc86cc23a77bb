"""Tests of hyperlocal.estimators.landmark: L3-SVM against explicit features and its own theory."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import linear_kernel
from sklearn.svm import SVC, LinearSVC

from estimators.data import make_data, make_ring
from hyperlocal.data.splits import deal_folds
from hyperlocal.datasets import make_xor
from hyperlocal.estimators.stages import N_FOLDS
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
    np.testing.assert_allclose(model.dual_coef_ @ features, coef, atol=1e-6)
    np.testing.assert_allclose(model.dual_coef_.sum(axis=1), model.intercept_, atol=1e-6)


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


# Stages -------------------------------------------------------------------------------------------


def test_scores_of_a_stage_join_the_projections_of_the_next():
    """The second stage sees the scores of the first, by all rows, from clusters of its own."""
    X, y = make_data(3)
    options = {"C": 0.01, "tol": 1e-7, "max_iter": 50_000, "random_state": 0}
    one = LandmarkSVC(4, **options).fit(X, y)
    two = LandmarkSVC(4, n_stages=2, keep_if_better=False, **options).fit(X, y)
    assert two.coef_.shape == (4, 3, 5 + 3)
    feature_map = two.model_.feature_map
    assert not np.allclose(feature_map.before.gate.anchors, two.anchors_)
    projections = np.hstack([X @ two.landmarks_.T, one.decision_function(X) * feature_map.scale])
    cluster = ((X[:, None] - two.anchors_) ** 2).sum(axis=2).argmin(axis=1)
    scores = np.einsum("ncl,nl->nc", two.coef_[cluster], projections) + two.intercept_
    np.testing.assert_allclose(two.decision_function(X), scores, atol=1e-3)


def test_no_label_leaks_into_the_next_stage(monkeypatch):
    """What a row adds to the projections comes from a model fitted without the row's fold."""
    fold, seen = np.arange(90) % N_FOLDS, []

    def keep(projections, scores, sample_weight):
        seen.append(scores)
        return projections.dtype.type(1)

    monkeypatch.setattr("hyperlocal.data.labelled.MOST_ROWS_TO_MERGE", 0)
    monkeypatch.setattr("hyperlocal.estimators.stages.deal_folds", lambda *arguments: fold)
    monkeypatch.setattr("hyperlocal.estimators.stages.comparable_scale", keep)
    X, y = make_data()
    options = {"anchors": X[:3], "landmarks": X[:4], "C": 0.01, "tol": 1e-6, "random_state": 0}
    LandmarkSVC(n_stages=2, **options).fit(X, y)
    for number in range(N_FOLDS):
        held = fold == number
        without = LandmarkSVC(**options).fit(X[~held], y[~held])
        np.testing.assert_allclose(seen[0][held, 0], without.decision_function(X[held]), atol=1e-3)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_stage_that_does_not_help_is_left_out(n_classes):
    """Labels without a rule end the stack after the first stage, which is that of a plain fit."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((800, 3)), rng.integers(n_classes, size=800)
    two, one = (LandmarkSVC(4, n_stages=n, tol=0.05, random_state=0).fit(X, y) for n in (2, 1))
    assert two.n_stages_ == 1
    np.testing.assert_array_equal(two.decision_function(X), one.decision_function(X))


def test_a_stage_that_helps_stays():
    """A disc in a ring: one cluster fails, scores seen from it again fail less."""
    X, y = make_ring(600)
    two = LandmarkSVC(3, n_stages=2, random_state=0).fit(X, y)
    assert two.n_stages_ == 2
    assert two.score(X, y) > LandmarkSVC(3, random_state=0).fit(X, y).score(X, y)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_folds_spread_classes_evenly(n_classes):
    """Every fold has its share of every class."""
    target = np.random.default_rng(0).integers(n_classes, size=200)
    fold = deal_folds(target, 5, np.random.default_rng(1))
    for label in range(n_classes):
        counts = np.bincount(fold[target == label], minlength=5)
        assert counts.max() - counts.min() <= 1
    assert deal_folds(np.array([0, 1]), 5, np.random.default_rng(0)).max() == 1


# Theory -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("projection", ["linear", "rbf"])
def test_the_bound_is_that_of_the_paper(projection):
    """Stability and bound follow the theorem and its corollary, with the empirical risk."""
    X, y = make_data()
    model = LandmarkSVC(4, projection=projection, C=0.02, random_state=0).fit(X, y)
    n, n_landmarks, cost = 90, 5, 0.02 * 90
    size = max(1, (X**2).sum(axis=1).max()) if projection == "linear" else 1
    margins = np.where(y == 1, 1, -1) * model.decision_function(X)
    risk = np.maximum(0, 1 - margins).mean()
    stability = cost * n_landmarks * size**2 / n
    assert model.stability_ == pytest.approx(stability)
    for delta in (0.05, 0.5):
        spread = 2 * stability + 1 + 2 * cost * np.sqrt(n_landmarks) * size
        bound = risk + stability + spread * np.sqrt(np.log(1 / delta) / (2 * n))
        assert model.generalization_bound(delta) == pytest.approx(bound)
    assert model.generalization_bound() == model.generalization_bound(0.05) > risk


def test_bounds_of_many_classes():
    """One bound for each class against the rest; a row of weight two counts as two rows."""
    X, y = make_data(3)
    model = LandmarkSVC(4, C=0.02, random_state=0).fit(X, y)
    assert model.generalization_bound().shape == (3,)
    twice = LandmarkSVC(4, C=0.01, random_state=0).fit(X, y, sample_weight=np.full(90, 2.0))
    assert twice.stability_ == pytest.approx(model.stability_ / 2)


def test_the_bound_shrinks_with_rows_and_landmarks():
    """For a fixed c, more rows tighten the bound and more landmarks loosen it."""
    X, y = make_data(n_rows=400)

    def bound(n_rows, n_landmarks):
        options = {"C": 1 / n_rows, "n_landmarks": n_landmarks, "projection": "rbf"}
        model = LandmarkSVC(2, random_state=0, **options).fit(X[:n_rows], y[:n_rows])
        return model.generalization_bound() - float(model.empirical_risk_[0])

    assert bound(100, 5) > bound(400, 5) > bound(400, 2)


@pytest.mark.parametrize(
    "options", [{"loss": "squared_hinge"}, {"n_stages": 2}, {"kernel": "rbf"}], ids=str
)
def test_where_there_is_no_bound(options):
    """The theorem is about the hinge loss, linear models and one stage; the error says so."""
    model = LandmarkSVC(3, random_state=0, **options)
    with pytest.raises(NotFittedError):
        model.generalization_bound()
    model.fit(*make_data())
    assert not hasattr(model, "stability_")
    with pytest.raises(AttributeError, match="loss='hinge', kernel='linear' and n_stages=1"):
        model.generalization_bound()


@pytest.mark.parametrize("delta", [0, 1, 1.5, "5 %"])
def test_a_bad_delta(delta):
    """A probability lies between 0 and 1."""
    model = LandmarkSVC(3, random_state=0).fit(*make_data())
    with pytest.raises((ValueError, TypeError), match="delta"):
        model.generalization_bound(delta)


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
