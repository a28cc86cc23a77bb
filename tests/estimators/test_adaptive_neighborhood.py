"""Tests of hyperlocal.estimators.adaptive_neighborhood: local SVMs in a learned metric."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from estimators.data import make_data
from hyperlocal import NeighborhoodSVC
from hyperlocal.papers import AdaptiveNeighborhoodSVC
from hyperlocal.preprocessing import MEGM


def make_noisy(n_rows=300, n_noise=8, seed=0):
    """Two features make a chessboard; the rest is noise."""
    X = np.random.default_rng(seed).standard_normal((n_rows, 2 + n_noise))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


METRICS = {
    "megm": "megm",
    "megm-diagonal": MEGM(transformation="diagonal", random_state=0),
    "nca": NeighborhoodComponentsAnalysis(max_iter=30, random_state=0),
    "pipeline": make_pipeline(StandardScaler(), MEGM(3, random_state=0)),
}


@pytest.mark.parametrize("metric", METRICS)
def test_a_learned_metric_finds_what_matters(metric):
    """Local SVMs in the learned space err less than in the given one."""
    X, y = make_noisy(700)
    plain = NeighborhoodSVC().fit(X[:400], y[:400]).score(X[400:], y[400:])
    learned = AdaptiveNeighborhoodSVC(metric=METRICS[metric], random_state=0).fit(X[:400], y[:400])
    assert learned.score(X[400:], y[400:]) > plain + 0.08


def test_it_is_local_svms_on_transformed_rows():
    """A transformer as metric is the same as transforming first."""
    X, y = make_data(3, n_rows=200)
    learned = AdaptiveNeighborhoodSVC(metric=PCA(2)).fit(X[:100], y[:100])
    Z = learned.metric_.transform(X)
    by_hand = NeighborhoodSVC().fit(Z[:100], y[:100])
    np.testing.assert_array_equal(
        learned.decision_function(X[100:]), by_hand.decision_function(Z[100:])
    )


def test_the_given_transformer_stays_unfitted():
    """A clone is fitted, as ``metric_``."""
    X, y = make_data(2)
    given = PCA(2)
    fitted = AdaptiveNeighborhoodSVC(metric=given).fit(X, y)
    assert not hasattr(given, "components_")
    assert fitted.metric_.components_.shape == (2, 5)


@pytest.mark.parametrize("metric", ["megm", "dann"])
def test_results_do_not_depend_on_n_jobs(metric):
    """The same bits for one thread and two."""
    X, y = make_data(3, n_rows=200)
    one, two = (
        AdaptiveNeighborhoodSVC(metric=metric, n_jobs=n, random_state=0)
        .fit(X[:100], y[:100])
        .decision_function(X[100:])
        for n in (1, 2)
    )
    np.testing.assert_array_equal(one, two)


def test_sparse_rows():
    """CSR rows are mapped and scored like dense ones."""
    X, y = make_data(3, n_rows=200)
    options = {"random_state": 0, "tol": 1e-8}
    dense = AdaptiveNeighborhoodSVC(**options).fit(X[:100], y[:100])
    sparse = AdaptiveNeighborhoodSVC(**options).fit(sp.csr_array(X[:100]), y[:100])
    agree = sparse.predict(sp.csr_array(X[100:])) == dense.predict(X[100:])
    assert agree.mean() > 0.97


def test_cached_models_and_sequences_work_in_the_learned_space():
    """Everything that local SVMs offer is there."""
    X, y = make_noisy(600)
    for options in ({"cache_neighborhoods": True}, {"n_neighbors": [5, 20]}):
        fitted = AdaptiveNeighborhoodSVC(random_state=0, **options).fit(X[:400], y[:400])
        assert fitted.score(X[400:], y[400:]) > 0.8


def test_added_rows_are_mapped_by_the_metric_at_hand():
    """``partial_fit`` keeps the metric of the first rows."""
    X, y = make_noisy(400)
    fitted = AdaptiveNeighborhoodSVC(random_state=0).fit(X[:200], y[:200])
    components = fitted.metric_.components_.copy()
    fitted.partial_fit(X[200:], y[200:])
    np.testing.assert_array_equal(fitted.metric_.components_, components)
    assert fitted.n_neighbors_ == round(3 * np.log2(400))


def test_copies_predict_alike():
    """A pickle scores to the same bits."""
    X, y = make_data(3)
    fitted = AdaptiveNeighborhoodSVC(random_state=0).fit(X, y)
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.decision_function(X), fitted.decision_function(X))


# DANN ---------------------------------------------------------------------------------------------


def test_a_metric_per_query_stretches_along_the_boundary():
    """Where one direction matters and many do not, DANN errs less than plain neighbors."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 6))
    y = (X[:, 0] > 0).astype(int)
    plain = NeighborhoodSVC(7).fit(X[:300], y[:300]).score(X[300:], y[300:])
    local = AdaptiveNeighborhoodSVC(7, metric="dann").fit(X[:300], y[:300])
    assert local.metric_ is None
    assert local.score(X[300:], y[300:]) > plain + 0.01


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", lambda A, B: A @ B.T])
def test_every_kernel_works_per_query(kernel):
    """All kernels and a sequence of sizes work with a metric per query."""
    X, y = make_data(3, n_rows=160)
    fitted = AdaptiveNeighborhoodSVC([5, 15], metric="dann", kernel=kernel).fit(X[:80], y[:80])
    assert fitted.score(X[80:], y[80:]) > 0.6


def test_rows_on_the_query_give_the_first_ones_class():
    """Where no row of the pool lies away from the query, the nearest by order decides."""
    X = np.zeros((4, 2))
    X[2:] = 5.0
    fitted = AdaptiveNeighborhoodSVC(2, metric="dann").fit(X, [1, 0, 0, 0])
    assert fitted.predict(np.zeros((1, 2)))[0] == 1


# Errors -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"metric": "lmnn"}, ValueError, "metric"),
        ({"metric": None}, ValueError, "metric"),
        ({"metric": PCA}, TypeError, "metric"),
        ({"metric": 3}, TypeError, "metric"),
        ({"metric": "dann", "cache_neighborhoods": True}, ValueError, "cache_neighborhoods"),
    ],
    ids=str,
)
def test_bad_arguments_are_named(options, error, message):
    """The error names the argument."""
    with pytest.raises(error, match=message):
        AdaptiveNeighborhoodSVC(**options).fit(*make_data(2))


def test_a_metric_per_query_needs_dense_rows():
    """The error says so."""
    X, y = make_data(2)
    with pytest.raises(ValueError, match="sparse"):
        AdaptiveNeighborhoodSVC(metric="dann").fit(sp.csr_array(X), y)
