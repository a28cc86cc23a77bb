"""Tests of hyperlocal.estimators.neighborhood_svr: NeighborhoodSVR from rows to values."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import skops.io
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVR

from hyperlocal import NeighborhoodSVR
from hyperlocal.export import TRUSTED_TYPES

every_kind = pytest.mark.parametrize("options", [{}, {"cache_neighborhoods": True}])


def make_parts(n_rows=500, n_targets=1):
    """Rows of a wave times a line, in units far from one."""
    X = np.random.default_rng(0).uniform(-2, 2, (n_rows, 2))
    y = 1e4 + 300 * np.sin(2 * X[:, 0]) * X[:, 1]
    if n_targets > 1:
        y = np.c_[y, X[:, 0]]
    return X[:400], y[:400], X[400:], y[400:]


def test_values_are_those_of_libsvm():
    """Each prediction is that of an SVR on the neighbors, of scaled values."""
    X, y, X_test, _ = make_parts()
    found = NeighborhoodSVR(25, gamma=0.7, C=2.0, tol=1e-8).fit(X, y).predict(X_test[:20])
    for query, value in zip(X_test, found, strict=False):
        near = np.argsort(((X - query) ** 2).sum(axis=1))[:25]
        svr = SVR(gamma=0.7, C=2.0, tol=1e-8).fit(X[near] - query, (y[near] - y.mean()) / y.std())
        expected = svr.predict(np.zeros((1, 2)))[0] * y.std() + y.mean()
        assert value == pytest.approx(expected, abs=1e-5 * y.std())


@every_kind
@pytest.mark.parametrize("unit", [0.01, 1e9])
def test_units_of_y_do_not_matter(options, unit):
    """Values in cents or in billions give the same model."""
    X, y, X_test, _ = make_parts()
    model = NeighborhoodSVR(**options, tol=1e-8)
    plain = model.fit(X, y).predict(X_test)
    other = model.fit(X, unit * y).predict(X_test)
    np.testing.assert_allclose(other / unit, plain, rtol=1e-6)


@every_kind
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_sparse_rows_threads_and_files_give_the_same(options, dtype, tmp_path):
    """Rows of zeros as CSR, several threads, pickles and skops files."""
    X, y, X_test, y_test = make_parts()
    X, X_test = X.astype(dtype), X_test.astype(dtype)
    model = NeighborhoodSVR(**options).fit(X, y)
    expected = model.predict(X_test)
    assert expected.dtype == dtype
    assert model.score(X_test, y_test) > 0.95
    threads = NeighborhoodSVR(**options, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(threads.predict(X_test), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X_test), expected)
    skops.io.dump(model, tmp_path / "model.skops")
    read = skops.io.load(tmp_path / "model.skops", trusted=TRUSTED_TYPES)
    np.testing.assert_array_equal(read.predict(X_test), expected)
    sparse = NeighborhoodSVR(**options).fit(sp.csr_array(X), y).predict(sp.csr_array(X_test))
    np.testing.assert_allclose(sparse, expected, rtol=1e-4)


@every_kind
def test_several_targets(options):
    """Each target is as if it were alone."""
    X, y, X_test, _ = make_parts(n_targets=2)
    model = NeighborhoodSVR(**options, tol=1e-8)
    found = model.fit(X, y).predict(X_test)
    for target in range(2):
        alone = model.fit(X, y[:, target]).predict(X_test)
        np.testing.assert_allclose(found[:, target], alone, rtol=1e-6)


@every_kind
def test_explanations_are_exact(options):
    """Local weights give the prediction, contributions and their references too."""
    X, y, X_test, _ = make_parts(n_targets=2)
    model = NeighborhoodSVR(**options).fit(X, y)
    expected = model.predict(X_test)
    coef, intercept = model.local_coef(X_test), model.local_intercept(X_test)
    assert coef.shape == (100, 2, 2)
    found = np.einsum("rcf,rf->rc", coef, X_test) + intercept
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    one = NeighborhoodSVR(**options).fit(pd.DataFrame(X, columns=["a", "b"]), y[:, 0])
    explained = one.explain(pd.DataFrame(X_test, columns=["a", "b"]).iloc[0])
    assert "predicted 1" in str(explained)
    assert "reference" in str(explained)


def test_weights_are_repeated_rows():
    """A row of weight two counts as the row twice, as long as neighborhoods hold all rows."""
    X, y, X_test, _ = make_parts()
    X, y = X[:40], y[:40]
    weights = np.random.default_rng(0).integers(1, 4, 40)
    weighted = NeighborhoodSVR(40, gamma=0.5, tol=1e-8).fit(X, y, sample_weight=weights)
    repeated = NeighborhoodSVR(40, gamma=0.5, tol=1e-8).fit(
        X.repeat(weights, axis=0), y.repeat(weights)
    )
    np.testing.assert_allclose(weighted.predict(X_test), repeated.predict(X_test), rtol=1e-6)


def test_sizes_are_chosen():
    """The size of the highest leave-one-out R² is taken."""
    X, y, _, _ = make_parts()
    model = NeighborhoodSVR([3, 20, 300]).fit(X, y)
    assert model.n_neighbors_ == max(model.leave_one_out_r2_, key=model.leave_one_out_r2_.get) == 20


def test_searches_and_constant_values():
    """It is searched like any regressor; constant values are predicted."""
    X, y, X_test, _ = make_parts()
    found = GridSearchCV(NeighborhoodSVR(), {"C": [0.01, 3.0]}, cv=3).fit(X, y)
    assert found.best_params_ == {"C": 3.0}
    np.testing.assert_array_equal(NeighborhoodSVR().fit(X, 0 * y + 7.0).predict(X_test), 7.0)


def test_equal_rows_of_different_values():
    """Where all neighbors lie on the query, the value is between theirs."""
    X, y = np.repeat([[0.0], [1.0]], 10, axis=0), np.arange(20.0)
    found = NeighborhoodSVR(10).fit(X, y).predict([[0.0], [1.0]])
    assert 0 < found[0] < 9
    assert 10 < found[1] < 19


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": -1.0}, "epsilon"),
        ({"C": 0.0}, "C must"),
        ({"kernel": "cosine"}, "kernel"),
        ({"n_neighbors": 0}, "n_neighbors"),
        ({"kernel": np.dot, "cache_neighborhoods": True}, "cache_neighborhoods=True needs"),
    ],
)
def test_clear_errors(options, message):
    """Arguments are named."""
    X, y, _, _ = make_parts()
    with pytest.raises(ValueError, match=message):
        NeighborhoodSVR(**options).fit(X, y)


def test_too_few_steps_warn():
    """A warning says how many SVRs did not converge."""
    X, y, X_test, _ = make_parts()
    model = NeighborhoodSVR(max_iter=2).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="local SVMs were stopped"):
        model.predict(X_test)
