"""Tests of RelevanceScaler."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.ensemble import RandomForestClassifier

from hyperlocal.preprocessing import RelevanceScaler


def labelled_rows():
    """Rows of which only the first feature matters."""
    X = np.random.default_rng(0).standard_normal((300, 4))
    return X, (X[:, 0] > 0).astype(int)


def test_scales_are_powers_of_relative_importance():
    """Relative to the largest, with the given exponent."""
    X, y = labelled_rows()
    forest = RandomForestClassifier(20, random_state=0).fit(X, y, np.ones(len(y)))
    scaler = RelevanceScaler(
        0.5, method="trees", estimator=RandomForestClassifier(20, random_state=0)
    ).fit(X, y)
    importance = forest.feature_importances_
    assert np.allclose(scaler.scale_, np.sqrt(importance / importance.mean()))
    assert np.allclose(scaler.transform(X), X * scaler.scale_)


@pytest.mark.parametrize("method", ["gradient", "trees"])
def test_a_power_of_zero_changes_nothing(method):
    """All scales are one."""
    X, y = labelled_rows()
    scaler = RelevanceScaler(0, method=method, kind="diagonal").fit(X, y)
    assert np.array_equal(scaler.transform(X), X)


def products(seed=0):
    """Classes by the sign of the product of two features of eight."""
    X = np.random.default_rng(seed).standard_normal((400, 8))
    return X, X[:, 0] * X[:, 1] > 0


@pytest.mark.parametrize("kind", ["diagonal", "full"])
def test_scales_by_gradients(kind):
    """Features that matter together only are found, in any number of threads."""
    X, y = products()
    scaler = RelevanceScaler(kind=kind, random_state=0).fit(X, y)
    weight = np.linalg.norm(np.atleast_2d(scaler.scale_), axis=0)
    assert set(weight.argsort()[-2:]) == {0, 1}
    assert scaler.n_rounds_ >= 1
    same = RelevanceScaler(kind=kind, n_jobs=2, random_state=0).fit(X, y)
    assert np.array_equal(scaler.scale_, same.scale_)
    mapped = X * scaler.scale_ if kind == "diagonal" else X @ scaler.scale_
    assert np.allclose(scaler.transform(X), mapped)


def test_weights_are_repeated_rows():
    """A weight of two gives the scales of the row twice."""
    X, y = products()
    weights = np.random.default_rng(0).integers(1, 3, len(y))
    repeated = np.repeat(np.arange(len(y)), weights)
    once, twice = (RelevanceScaler(kind="diagonal", random_state=0) for _ in range(2))
    once.fit(X, y, weights)
    assert np.array_equal(once.scale_, twice.fit(X[repeated], y[repeated]).scale_)


def test_sparse_rows_stay_sparse():
    """CSR rows come out as CSR rows."""
    X, y = labelled_rows()
    scaler = RelevanceScaler(method="trees", n_estimators=10, random_state=0).fit(X, y)
    scaled = scaler.transform(sp.csr_array(X.astype(np.float32)))
    assert sp.issparse(scaled)
    assert scaled.dtype == np.float32
    assert np.allclose(scaled.toarray(), scaler.transform(X), atol=1e-6)


def test_names_pass_through():
    """Features keep their names."""
    pandas = pytest.importorskip("pandas")
    X, y = labelled_rows()
    frame = pandas.DataFrame(X, columns=list("abcd"))
    scaler = (
        RelevanceScaler(method="trees", n_estimators=5).set_output(transform="pandas").fit(frame, y)
    )
    assert list(scaler.transform(frame).columns) == list("abcd")


@pytest.mark.parametrize(
    "given", [{"power": -1.0}, {"power": "large"}, {"method": "forest"}, {"kind": "both"}]
)
def test_errors_name_the_argument(given):
    """A parameter that makes no sense is refused by its name."""
    with pytest.raises((ValueError, TypeError), match=next(iter(given))):
        RelevanceScaler(**given).fit(*labelled_rows())
