"""Tests of hyperlocal.estimators.neighborhood: NeighborhoodSVC from rows to labels."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from estimators.data import make_data, make_ring
from hyperlocal import NeighborhoodSVC
from hyperlocal.papers import AdaptiveNeighborhoodSVC
from reference import neighborhood as reference


def make_parts(n_classes=3, n_rows=240, **options):
    X, y = make_data(n_classes, n_rows=n_rows, **options)
    return X[::2], y[::2], X[1::2], y[1::2]


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_scores_are_those_of_libsvm_on_the_same_neighbors(n_classes, kernel):
    """Scores of fitted models are LIBSVM's, and labels follow from them."""
    X, y, X_test, _ = make_parts(n_classes)
    weights = np.random.default_rng(0).uniform(0.5, 2, len(X))
    fitted = NeighborhoodSVC(kernel=kernel, C=2.0, tol=1e-7).fit(X, y, weights)
    near, _ = reference.nearest_rows(X, X_test, fitted.n_neighbors_)
    expected = reference.scores(X, y, 2.0 * weights, n_classes, X_test, near, kernel, "local")
    scores = fitted.decision_function(X_test)
    np.testing.assert_allclose(scores, expected.squeeze(), atol=1e-4)
    chosen = scores > 0 if n_classes == 2 else scores.argmax(axis=1)
    np.testing.assert_array_equal(fitted.predict(X_test), chosen.astype(int))


@pytest.mark.parametrize("gamma", [0.2, "scale", "auto"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_all_rows_as_neighbors_are_one_svm(kernel, gamma):
    """With every training row a neighbor and one gamma, it is the SVM of scikit-learn."""
    X, y, X_test, _ = make_parts(2)
    local = NeighborhoodSVC(len(X), kernel=kernel, gamma=gamma, C=3.0, tol=1e-8).fit(X, y)
    factor = 1.0  # the linear kernel has a gamma here, which SVC has as a factor of C
    if kernel == "linear":
        factor = {"scale": 1 / (5 * X.var()), "auto": 0.2}.get(gamma, 0.2)
    one = SVC(C=3.0 * factor, kernel=kernel, gamma=gamma, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(
        local.decision_function(X_test), one.decision_function(X_test), atol=1e-5
    )


def test_one_neighbor_is_the_nearest_neighbor_rule():
    """K = 1 is 1-NN."""
    X, y, X_test, _ = make_parts(4)
    expected = KNeighborsClassifier(1).fit(X, y).predict(X_test)
    np.testing.assert_array_equal(NeighborhoodSVC(1).fit(X, y).predict(X_test), expected)


@pytest.mark.parametrize(("k", "expected"), [(1, 7), (3, 21), (10, 69), (1000, 120)])
def test_the_size_grows_with_the_logarithm(k, expected):
    """The paper's K = k log2 N, as a function of N, at most N; "auto" is k = 3."""
    X, y, _, _ = make_parts()
    fitted = NeighborhoodSVC(lambda n_rows: k * math.log2(n_rows)).fit(X, y)
    assert fitted.n_neighbors_ == expected
    if k == 3:
        assert NeighborhoodSVC().fit(X, y).n_neighbors_ == expected


def test_a_curved_boundary_is_learned():
    """A disc within a ring, with every way to search and with cached models."""
    X, y = make_ring(600)
    for options in ({}, {"algorithm": "tree"}, {"cache_neighborhoods": True}, {"kernel": "linear"}):
        fitted = NeighborhoodSVC(**options).fit(X[:400], y[:400])
        assert fitted.score(X[400:], y[400:]) > 0.94


def test_a_size_is_chosen_by_leaving_rows_out():
    """Of several sizes, that with the best leave-one-out accuracy is used."""
    X, y, _, _ = make_parts(3, n_rows=160)
    fitted = NeighborhoodSVC([40, 2, 10, 1000]).fit(X, y)
    sizes = fitted.leave_one_out_accuracy_
    assert list(sizes) == [2, 10, 40, 79]
    assert sizes[fitted.n_neighbors_] == max(sizes.values())
    by_hand = [
        NeighborhoodSVC(10).fit(np.delete(X, i, 0), np.delete(y, i)).predict(X[[i]])[0] == y[i]
        for i in range(len(X))
    ]
    assert sizes[10] == pytest.approx(np.mean(by_hand))


# Storage, weights, threads ------------------------------------------------------------------------


@pytest.mark.parametrize("cache", [False, True])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_sparse_rows_score_like_dense_ones(kernel, cache):
    """CSR training rows and queries, in any combination with dense ones."""
    X, y, X_test, _ = make_parts()
    options = {"kernel": kernel, "cache_neighborhoods": cache, "tol": 1e-8}
    dense = NeighborhoodSVC(**options).fit(X, y)
    expected = dense.decision_function(X_test)
    sparse = NeighborhoodSVC(**options).fit(sp.csr_array(X), y)
    if cache:  # equal up to the order in which equal distances are found
        np.testing.assert_array_equal(np.sort(sparse.centers_), np.sort(dense.centers_))
    for fitted in (dense, sparse):
        for kind in (np.asarray, sp.csr_array):
            np.testing.assert_allclose(fitted.decision_function(kind(X_test)), expected, atol=1e-4)


@pytest.mark.parametrize("cache", [False, True])
def test_single_precision(cache):
    """float32 in, float32 out, and nearly the same labels."""
    X, y, X_test, _ = make_parts()
    options = {"cache_neighborhoods": cache}
    double = NeighborhoodSVC(**options).fit(X, y)
    single = NeighborhoodSVC(**options).fit(X.astype(np.float32), y)
    scores = single.decision_function(X_test.astype(np.float32))
    assert scores.dtype == np.float32
    assert np.mean(single.predict(X_test) == double.predict(X_test)) > 0.95


@pytest.mark.parametrize("cache", [False, True])
def test_weights_are_repetitions(cache):
    """A row of weight two is the row twice, and one of weight zero no row, to the last bit."""
    X, y, X_test, _ = make_parts(3, n_rows=120)
    weights = np.random.default_rng(0).integers(0, 3, len(X))
    options = {"cache_neighborhoods": cache}
    weighted = NeighborhoodSVC(**options).fit(X, y, weights)
    repeated = NeighborhoodSVC(**options).fit(X.repeat(weights, axis=0), y.repeat(weights))
    np.testing.assert_array_equal(
        weighted.decision_function(X_test), repeated.decision_function(X_test)
    )


def test_weights_multiply_the_cost():
    """Heavy rows pull the boundary."""
    X, y, X_test, _ = make_parts(2)
    plain = NeighborhoodSVC(C=0.1).fit(X, y).predict(X_test).mean()
    heavy = NeighborhoodSVC(C=0.1, class_weight={0: 1.0, 1: 20.0}).fit(X, y)
    assert heavy.predict(X_test).mean() > plain
    by_rows = NeighborhoodSVC(C=0.1).fit(X, y, sample_weight=np.where(y == 1, 20.0, 1.0))
    np.testing.assert_array_equal(by_rows.predict(X_test), heavy.predict(X_test))


@pytest.mark.parametrize(
    "options", [{}, {"cache_neighborhoods": True}, {"algorithm": "tree"}, {"kernel": np.dot}]
)
def test_results_do_not_depend_on_n_jobs(options):
    """The same bits for one thread and two."""
    X, y, X_test, _ = make_parts(3, n_rows=600)
    if callable(options.get("kernel")):
        options = {"kernel": lambda A, B: A @ B.T}
    one, two = (
        NeighborhoodSVC(n_jobs=n, **options).fit(X, y).decision_function(X_test) for n in (1, 2)
    )
    np.testing.assert_array_equal(one, two)


# Cached models ------------------------------------------------------------------------------------


def test_cached_models_agree_with_those_of_queries():
    """Most labels are the same; there are fewer centers than rows."""
    X, y = make_ring(1000)
    own = NeighborhoodSVC().fit(X[:600], y[:600])
    cached = NeighborhoodSVC(cache_neighborhoods=True).fit(X[:600], y[:600])
    assert len(cached.centers_) < 500
    assert np.mean(cached.predict(X[600:]) == own.predict(X[600:])) > 0.97


# The scikit-learn side ----------------------------------------------------------------------------


@pytest.mark.parametrize("cache", [False, True])
def test_copies_predict_alike(cache):
    """Pickles, and clones fitted again."""
    X, y, X_test, _ = make_parts()
    fitted = NeighborhoodSVC(cache_neighborhoods=cache).fit(X, y)
    expected = fitted.decision_function(X_test)
    for copy in (pickle.loads(pickle.dumps(fitted)), clone(fitted).fit(X, y)):
        np.testing.assert_array_equal(copy.decision_function(X_test), expected)


def test_frames_and_names():
    """Column names are kept and checked; labels may be strings."""
    X, y, X_test, _ = make_parts()
    frame = pd.DataFrame(X, columns=list("abcde"))
    fitted = NeighborhoodSVC().fit(frame, np.array(["x", "y", "z"])[y])
    assert list(fitted.feature_names_in_) == list("abcde")
    assert set(fitted.predict(pd.DataFrame(X_test, columns=list("abcde")))) <= set("xyz")
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(pd.DataFrame(X_test, columns=list("edcba")))


def test_a_grid_can_be_searched():
    """It lives in scikit-learn's tools."""
    X, y, _, _ = make_parts()
    search = GridSearchCV(NeighborhoodSVC(), {"n_neighbors": [5, "auto"]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.5


def test_verbose_writes_the_sizes(capsys):
    """Each size tried is written to stderr."""
    X, y, _, _ = make_parts()
    NeighborhoodSVC([3, 9], verbose=2).fit(X, y)
    assert capsys.readouterr().err.count("n_neighbors") == 2


# Errors -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("Classifier", [NeighborhoodSVC, AdaptiveNeighborhoodSVC])
@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("n_neighbors", 0, ValueError),
        ("n_neighbors", "sqrt", ValueError),
        ("n_neighbors", [], ValueError),
        ("n_neighbors", [3, 0], ValueError),
        ("n_neighbors", [[3]], ValueError),
        ("n_neighbors", 2.5, TypeError),
        ("n_neighbors", None, TypeError),
        ("n_neighbors", lambda n_rows: 0, ValueError),
        ("n_neighbors", lambda n_rows: None, TypeError),
        ("kernel", "sigmoid", ValueError),
        ("gamma", 0, ValueError),
        ("gamma", "global", ValueError),
        ("gamma", None, TypeError),
        ("degree", 0, ValueError),
        ("coef0", -1.0, ValueError),
        ("C", 0, ValueError),
        ("algorithm", "brute", ValueError),
        ("cache_neighborhoods", "yes", TypeError),
        ("low_margin", -1, ValueError),
        ("low_margin", "auto", TypeError),
        ("tol", 0, ValueError),
        ("max_iter", 0, ValueError),
        ("n_jobs", 0, ValueError),
        ("verbose", -1, ValueError),
        ("class_weight", "heavy", ValueError),
    ],
)
def test_bad_arguments_are_named(Classifier, name, value, error):
    """The error names the argument."""
    X, y, _, _ = make_parts()
    with pytest.raises(error, match=name):
        Classifier(**{name: value}).fit(X, y)


def test_arguments_that_exclude_each_other():
    """Models of a function as kernel cannot be cached."""
    X, y, _, _ = make_parts()
    with pytest.raises(ValueError, match="cache_neighborhoods"):
        NeighborhoodSVC(kernel=lambda A, B: A @ B.T, cache_neighborhoods=True).fit(X, y)


def test_too_many_neighbors_are_warned_of():
    """More neighbors than rows are as many as there are rows."""
    X, y, _, _ = make_parts()
    with pytest.warns(UserWarning, match="n_neighbors=500"):
        fitted = NeighborhoodSVC(500).fit(X, y)
    assert fitted.n_neighbors_ == 120


def test_too_few_steps_are_warned_of():
    """The warning says what to raise, at prediction and where models are cached."""
    X, y, X_test, _ = make_parts()
    fitted = NeighborhoodSVC(max_iter=1).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        fitted.predict(X_test)
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        NeighborhoodSVC(max_iter=1, cache_neighborhoods=True).fit(X, y)


def test_an_unfitted_model_says_so():
    """Prediction before fit is an error."""
    with pytest.raises(NotFittedError):
        NeighborhoodSVC().predict(np.zeros((1, 2)))


def test_two_rows():
    """One row per class is enough."""
    fitted = NeighborhoodSVC().fit([[0.0], [1.0]], ["a", "b"])
    assert fitted.predict([[0.1], [0.9]]).tolist() == ["a", "b"]
