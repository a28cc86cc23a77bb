"""Tests of hyperlocal.solvers.small_svrs: one SVR per query, against LIBSVM."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import SVR

from hyperlocal.neighbors.exact import ExactSearch
from hyperlocal.solvers.small_svms import SvmOptions
from hyperlocal.solvers.small_svrs import ValueSolver

KERNELS = {"rbf": {}, "linear": {}, "poly": {"degree": 2, "coef0": 0.5}}


def make(kernel="rbf", kind=np.asarray, dtype="float64", **changed):
    """A solver of two targets over weighted rows, queries and their neighbors."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)).astype(dtype)
    values = np.c_[np.sin(2 * X[:, 0]), X[:, 1] * X[:, 2]].astype(np.float64)
    costs = rng.uniform(0.5, 4, 200)
    arguments = {"kernel": kernel, "gamma": 0.7, "degree": 3, "coef0": 1.0} | KERNELS.get(
        kernel, {}
    )
    estimator = SimpleNamespace(**arguments | {"tol": 1e-8, "max_iter": 100_000} | changed)
    rows, queries = kind(X), rng.normal(size=(15, 3)).astype(dtype)
    solver = ValueSolver(rows, values, costs, 0.1, SvmOptions.of(estimator, rows))
    return solver, X, queries, kind(queries)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_values_are_those_of_libsvm(kernel, kind, dtype, workers):
    """Each query's value is that of an SVR on its neighbors, by models of centers too."""
    solver, X, queries, given = make(kernel, kind, dtype)
    found = ExactSearch(solver.X, workers).query(given, 20, workers)
    scores, n_unsolved = solver.scores(given, found, workers)
    assert n_unsolved == 0
    assert scores.dtype == X.dtype
    models, _ = solver.train(given, found, workers)
    by_centers = solver.center_scores(models, given, np.arange(15, dtype=np.int32), workers)
    options, rng_costs = solver.options.kernel, np.random.default_rng(0)
    rng_costs.normal(size=(200, 3))
    costs = rng_costs.uniform(0.5, 4, 200)
    for query, near, own in zip(queries, found.indices, scores, strict=True):
        for target, score in enumerate(own):
            svr = SVR(
                kernel="poly" if kernel == "linear" else kernel, gamma=0.7, C=1.0, epsilon=0.1,
                degree=1 if kernel == "linear" else options.degree,
                coef0=0.0 if kernel == "linear" else options.coef0, tol=1e-8,
            )  # fmt: skip
            rows = (X[near] - query).astype(np.float64)
            svr.fit(rows, solver.values[near, target], sample_weight=costs[near])
            expected = svr.predict(np.zeros((1, 3)))[0]
            assert score == pytest.approx(expected, abs=2e-4 if dtype == "float32" else 1e-5)
    if kind is np.asarray and kernel == "rbf":  # the neighbors' own order starts at the center
        np.testing.assert_allclose(by_centers, scores, atol=1e-4)


def test_functions_are_kernels(workers):
    """A function gives the same as the compiled kernel of its name."""
    solver, _, _, given = make("linear")
    found = ExactSearch(solver.X, workers).query(given, 20, workers)
    expected, _ = solver.scores(given, found, workers)
    by_function, *_ = make(lambda a, b: 0.7 * a @ b.T)
    scores, _ = by_function.scores(given, found, workers)
    np.testing.assert_allclose(scores, expected, atol=1e-5)  # a shift changes no linear SVR


def test_too_few_steps_are_counted(workers):
    """Problems that did not converge are reported, one for each target."""
    solver, _, _, given = make(max_iter=2)
    found = ExactSearch(solver.X, workers).query(given, 20, workers)
    assert solver.scores(given, found, workers)[1] == 30
