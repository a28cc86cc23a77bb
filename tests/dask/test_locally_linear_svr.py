"""DaskLocallyLinearSVR: the local optimum, from any collection, lazily used."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from hyperlocal import LocallyLinearSVR
from hyperlocal.dask import DaskLocallyLinearSVR

SIZES = (500, 0, 200, 499, 1)


def rows(dtype=np.float64):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1200, 5))
    y = 1e6 + 1e3 * (np.sin(2 * X[:, 0]) * X[:, 1] + 0.1 * rng.standard_normal(1200))
    return X.astype(dtype), y


def as_arrays(X, y):
    chunks = (SIZES, *((n,) for n in y.shape[1:]))
    return da.from_array(X, chunks=(SIZES, X.shape[1])), da.from_array(y, chunks=chunks)


def local_fit(model, X, y, **options):
    """The same problem in this process, for the gate that was fitted."""
    local = LocallyLinearSVR(
        anchors=model.anchors_, beta=model.beta_, n_anchors=len(model.anchors_), C=model.C,
        loss=model.loss, quantiles=model.quantiles, relevance=None, scale=None,
        tol=1e-6, max_iter=5000, **options,
    )  # fmt: skip
    return local.fit(X, y)


@pytest.mark.parametrize(
    "case",
    [
        {},
        {"loss": "epsilon_insensitive"},
        {"loss": "huber", "partitioning": "random"},
        {"loss": "quantile", "quantiles": (0.1, 0.9), "C": 1.0},
        {"n_partitions": 4, "dtype": np.float32},
    ],
    ids=str,
)
def test_objective_is_the_local_one(client, case):
    """The cluster reaches the objective of one machine, to the tolerance, and its predictions."""
    case = dict(case)
    X, y = rows(case.pop("dtype", np.float64))
    model = DaskLocallyLinearSVR(client, random_state=0, **case).fit(*as_arrays(X, y))
    local = local_fit(model, X, y)
    assert model.objective_ == pytest.approx(local.objective_, rel=2e-3)
    predicted = model.to_local().predict(X)
    assert predicted.shape == local.predict(X).shape
    assert np.abs(predicted - local.predict(X)).mean() < 0.1 * y.std()


def test_score_and_predictions_are_lazy(client):
    """R² over partitions equals that in memory; frames keep their index."""
    X, y = rows()
    dX, dy = as_arrays(X, y)
    model = DaskLocallyLinearSVR(client, random_state=0).fit(dX, dy)
    local = model.to_local()
    assert model.score(dX, dy) == pytest.approx(local.score(X, y))
    assert model.score(X, y) == pytest.approx(local.score(X, y))
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    lazy_weights = da.from_array(weights, chunks=(SIZES,))
    assert model.score(dX, dy, lazy_weights) == pytest.approx(local.score(X, y, weights))
    assert isinstance(model.predict(dX), da.Array)
    np.testing.assert_allclose(model.predict(dX).compute(), local.predict(X))


def test_frames_and_several_targets(client):
    """Names of features are kept, and targets are columns of the prediction."""
    X, y = rows()
    frame = pd.DataFrame(X, columns=list("abcde"))
    lazy = dd.from_pandas(frame, npartitions=3)
    both = np.column_stack([y, -y])
    model = DaskLocallyLinearSVR(client, random_state=0).fit(frame, both)
    assert model.feature_names_in_.tolist() == list("abcde")
    predicted = model.predict(lazy).compute()
    np.testing.assert_allclose(predicted.to_numpy(), model.to_local().predict(frame))
    np.testing.assert_allclose(predicted[0], -predicted[1])


def test_units_of_y_do_not_matter(client):
    """Values times a thousand give a thousand times the predictions."""
    X, y = rows()
    first, other = (
        DaskLocallyLinearSVR(client, random_state=0).fit(X, factor * y) for factor in (1, 1000)
    )
    np.testing.assert_allclose(other.predict(X), 1000 * first.predict(X), rtol=1e-6)


def test_errors_name_what_is_wrong(client):
    """Text is no value, and a clone is not fitted."""
    X, y = rows()
    with pytest.raises(ValueError, match="partition"):
        DaskLocallyLinearSVR(client).fit(X, np.full(len(y), "a"))
    with pytest.raises(ValueError, match="quantiles"):
        DaskLocallyLinearSVR(client, loss="quantile", quantiles=2.0).fit(X, y)
    model = DaskLocallyLinearSVR(client, random_state=0).fit(X, y)
    assert not hasattr(model, "classes_")
    assert not clone(model).__sklearn_is_fitted__()
