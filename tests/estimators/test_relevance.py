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
    X, y = labelled_rows()
    forest = RandomForestClassifier(20, random_state=0).fit(X, y, np.ones(len(y)))
    scaler = RelevanceScaler(0.5, estimator=RandomForestClassifier(20, random_state=0)).fit(X, y)
    importance = forest.feature_importances_
    assert np.allclose(scaler.scale_, np.sqrt(importance / importance.mean()))
    assert np.allclose(scaler.transform(X), X * scaler.scale_)


def test_a_power_of_zero_changes_nothing():
    X, y = labelled_rows()
    assert np.array_equal(RelevanceScaler(0).fit(X, y).transform(X), X)


def test_sparse_rows_stay_sparse():
    X, y = labelled_rows()
    scaler = RelevanceScaler(n_estimators=10, random_state=0).fit(X, y)
    scaled = scaler.transform(sp.csr_array(X.astype(np.float32)))
    assert sp.issparse(scaled)
    assert scaled.dtype == np.float32
    assert np.allclose(scaled.toarray(), scaler.transform(X), atol=1e-6)


def test_names_pass_through():
    pandas = pytest.importorskip("pandas")
    X, y = labelled_rows()
    frame = pandas.DataFrame(X, columns=list("abcd"))
    scaler = RelevanceScaler(n_estimators=5).set_output(transform="pandas").fit(frame, y)
    assert list(scaler.transform(frame).columns) == list("abcd")


@pytest.mark.parametrize("power", [-1.0, "large"])
def test_errors_name_the_argument(power):
    with pytest.raises((ValueError, TypeError), match="power"):
        RelevanceScaler(power).fit(*labelled_rows())
