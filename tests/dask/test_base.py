"""Tests of hyperlocal.dask.base: what scikit-learn expects of an estimator."""

from itertools import pairwise

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hyperlocal.dask import DaskLocallyLinearSVC, DaskSupervisedAnchorSVC

X, y = make_classification(200, 4, n_informative=3, n_redundant=0, random_state=0)
FRAME = pd.DataFrame(X, columns=list("abcd"))


def lazy_frames(frame, labels, sizes):
    """A frame and its labels in partitions of the sizes."""
    bounds = np.cumsum([0, *sizes])
    pieces = list(pairwise(bounds))
    return tuple(
        dd.from_delayed(
            [dask.delayed(values.iloc[begin:end]) for begin, end in pieces], meta=values.iloc[:0]
        )
        for values in (frame, pd.Series(labels))
    )


@pytest.mark.parametrize("kind", [DaskLocallyLinearSVC, DaskSupervisedAnchorSVC])
def test_a_clone_has_the_same_client(client, kind):
    """A client cannot be copied; all other parameters are."""
    with config_context(enable_metadata_routing=True):
        model = kind(client, C=2.0, anchors=X[:8]).set_fit_request(sample_weight=True)
    made = clone(model)
    assert made.client is client
    assert made.C == 2.0
    assert made.anchors is not model.anchors
    assert made.get_metadata_routing().fit.requests == {"sample_weight": True}
    assert model.client is client


def test_searches_clone_it(client):
    """GridSearchCV over a pipeline with an estimator that has a client."""
    model = make_pipeline(StandardScaler(), DaskLocallyLinearSVC(client, n_anchors=8))
    grid = {"dasklocallylinearsvc__C": [0.3, 3.0]}
    assert GridSearchCV(model, grid, cv=2).fit(X, y).best_score_ > 0.8


def test_probabilities_need_the_log_loss(client):
    """They are those of the local model, lazily."""
    model = DaskLocallyLinearSVC(client, n_anchors=8, loss="log", random_state=0).fit(X, y)
    lazy = da.from_array(X, chunks=(70, 4))
    for method in ("predict_proba", "predict_log_proba"):
        expected = getattr(model.to_local(), method)(X)
        np.testing.assert_allclose(getattr(model, method)(lazy).compute(), expected)
        np.testing.assert_allclose(getattr(model, method)(X), expected)
        assert not hasattr(DaskLocallyLinearSVC(client), method)


def test_before_fit_every_method_says_so(client):
    """NotFittedError, for data in memory and for collections."""
    model, lazy = DaskLocallyLinearSVC(client, loss="log"), da.from_array(X, chunks=(50, 4))
    for rows in (X, lazy):
        for method in ("predict", "decision_function", "predict_proba"):
            with pytest.raises(NotFittedError):
                getattr(model, method)(rows)
        with pytest.raises(NotFittedError):
            model.score(rows, y)
    with pytest.raises(NotFittedError):
        model.to_local()
    assert not hasattr(model, "coef_")


def test_names_of_features_are_those_of_the_last_fit(client):
    """Rows without names remove those of a fit before."""
    model = DaskLocallyLinearSVC(client, n_anchors=8, random_state=0)
    assert model.fit(FRAME, y).feature_names_in_.tolist() == list("abcd")
    assert not hasattr(model.fit(X, y), "feature_names_in_")


def test_a_fit_that_fails_leaves_no_model(client):
    """Not even that of the fit before."""
    model = DaskLocallyLinearSVC(client, n_anchors=8, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="one class only"):
        model.fit(X, np.zeros(len(y)))
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize(
    "dtype", ["Float32", "Float64", "double[pyarrow]", pd.SparseDtype(float, 0)]
)
def test_partitions_of_extension_types_may_be_empty(client, dtype):
    """In any place; the model is that of the same rows in numpy's types."""
    frames = lazy_frames(FRAME.astype(dtype), y, (0, 120, 0, 80))
    model = DaskLocallyLinearSVC(client, n_anchors=8, random_state=0).fit(*frames)
    assert model.score(*frames) > 0.8
    assert model.predict(frames[0]).compute().tolist() == model.to_local().predict(FRAME).tolist()
