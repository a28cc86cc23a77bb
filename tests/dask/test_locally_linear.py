"""DaskLocallyLinearSVC: the local optimum, from any collection, lazily used."""

import pickle

import dask.array as da
import dask.dataframe as dd
import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV

from hyperlocal import LocallyLinearSVC, NeighborhoodSVC
from hyperlocal.dask import DaskLocallyLinearSVC
from hyperlocal.data.checks import check_labelled_rows
from hyperlocal.runtime.threads import Workers
from hyperlocal.solvers import dual
from hyperlocal.solvers.training import Training


def rows(n_rows=1200, n_classes=2, dtype=np.float64):
    X, y = make_classification(
        n_rows, 6, n_informative=5, n_redundant=0, n_classes=n_classes, flip_y=0.05, random_state=3
    )
    return X.astype(dtype), y


def as_arrays(X, y, sizes=(500, 0, 200, 499, 1)):
    return da.from_array(X, chunks=(sizes, X.shape[1])), da.from_array(y, chunks=(sizes,))


def local_optimum(fitted, X, y, sample_weight=None, C=3.0):
    """The optimum over all rows in this process, for the gate that was fitted."""
    model = fitted.to_local()
    data = check_labelled_rows(clone(model), X, y, sample_weight, model.class_weight)
    training = Training(C, model.loss, model.multi_class)
    problem = training.problem(model.model_, data, Workers())
    return dual.solve(problem, tol=1e-5, max_iter=3000, rng=np.random.default_rng(0)).objective


CASES = [
    {},
    {"n_classes": 3},
    {"n_classes": 3, "multi_class": "crammer_singer"},
    {"loss": "log"},
    {"loss": "hinge", "class_weight": "balanced"},
    {"partitioning": "random"},
    {"global_intercept": False},
    {"global_intercept": False, "partitioning": "random", "loss": "log"},
    {"n_partitions": 5, "dtype": np.float32},
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_objective_is_the_local_one(client, case):
    """The cluster reaches the objective of one machine."""
    case = dict(case)
    X, y = rows(n_classes=case.pop("n_classes", 2), dtype=case.pop("dtype", np.float64))
    model = DaskLocallyLinearSVC(client, random_state=0, **case).fit(*as_arrays(X, y))
    assert model.duality_gap_ <= 1e-3 * model.objective_
    assert model.objective_ == pytest.approx(local_optimum(model, X, y), rel=1.1e-3)
    assert model.to_local().model_.dtype == X.dtype
    assert model.bytes_per_round_["sent"] > 0


def test_sample_weights_are_those_of_the_local_problem(client):
    """Weights count as on one machine."""
    X, y = rows()
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    dX, dy = as_arrays(X, y)
    dw = da.from_array(weights, chunks=dy.chunks)
    model = DaskLocallyLinearSVC(client, random_state=0).fit(dX, dy, dw)
    assert model.objective_ == pytest.approx(local_optimum(model, X, y, weights), rel=1.1e-3)
    assert model.score(dX, dy, dw) == pytest.approx(model.to_local().score(X, y, weights))


def test_rows_sorted_by_class_are_warned_of_where_they_stay(client):
    """Partitions of one class each are warned of where rows are not moved."""
    X, y = rows(400)
    order = np.argsort(y)
    dX, dy = as_arrays(X[order], y[order], (200, 200))
    with pytest.warns(UserWarning, match="seem sorted"):
        model = DaskLocallyLinearSVC(client, partitioning="given", random_state=0).fit(dX, dy)
    assert model.n_partitions_ == 2
    assert model.objective_ == pytest.approx(local_optimum(model, X, y), rel=1.1e-3)


def test_predictions_are_lazy_and_those_of_the_local_model(client):
    """Nothing is computed before it is needed; then it is what the local model computes."""
    X, y = rows(n_classes=3)
    dX, dy = as_arrays(X, y)
    model = DaskLocallyLinearSVC(client, random_state=0).fit(dX, dy)
    local = model.to_local()
    assert isinstance(local, LocallyLinearSVC)
    scores, labels = model.decision_function(dX), model.predict(dX)
    assert scores.shape == (1200, 3)
    assert labels.shape == (1200,)
    np.testing.assert_allclose(scores.compute(), local.decision_function(X))
    np.testing.assert_array_equal(labels.compute(), local.predict(X))
    np.testing.assert_array_equal(model.predict(X), local.predict(X))
    assert model.score(dX, dy) == local.score(X, y) == model.score(X, y)
    np.testing.assert_array_equal(model.anchors_, local.anchors_)
    np.testing.assert_array_equal(model.coef_, local.coef_)


def test_dataframes_keep_names_and_index(client):
    """Frames give the names of features, and predictions keep the index."""
    X, y = rows(600)
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(6)], index=np.arange(600) * 10)
    target = pd.Series(np.where(y == 1, "yes", "no"), index=frame.index, dtype=object)
    dX = dd.from_pandas(frame, npartitions=3)
    dy = dd.from_pandas(target, npartitions=3)
    model = DaskLocallyLinearSVC(client, random_state=0).fit(dX, dy)
    assert model.feature_names_in_.tolist() == list(frame.columns)
    assert model.classes_.tolist() == ["no", "yes"]
    predicted = model.predict(dX).compute()
    assert predicted.index.tolist() == frame.index.tolist()
    np.testing.assert_array_equal(predicted.to_numpy(), model.to_local().predict(frame))
    assert model.score(dX, dy) > 0.9
    assert model.to_local().explain(frame.iloc[0]).feature_names[0] == "f0"


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, pd.DataFrame])
def test_what_is_in_memory_is_sent(client, convert):
    """Arrays, CSR rows and frames are split and sent to the workers."""
    X, y = rows(300)
    model = DaskLocallyLinearSVC(client, random_state=0).fit(convert(X), y)
    assert model.score(convert(X), y) > 0.9


def test_unknown_chunk_sizes_need_a_lazy_target(client):
    """Labels in memory cannot be matched to chunks of unknown sizes."""
    X, y = rows(300)
    dX, dy = as_arrays(X, y, (100, 200))
    kept = dX[dX[:, 0] > -10]
    with pytest.raises(TypeError, match="y must be a Dask collection"):
        DaskLocallyLinearSVC(client).fit(kept, y)
    model = DaskLocallyLinearSVC(client, random_state=0).fit(kept, dy)
    assert len(model.predict(kept).compute()) == 300


def test_same_seed_same_model(client):
    """Equal seeds give equal weights."""
    X, y = rows(400)
    first, second = (
        DaskLocallyLinearSVC(client, random_state=0).fit(*as_arrays(X, y, (150, 250)))
        for _ in range(2)
    )
    np.testing.assert_array_equal(first.coef_, second.coef_)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"partitioning": "rows"}, "partitioning must be one of"),
        ({"n_partitions": 0}, "n_partitions must be an integer"),
        ({"partitioning": "given", "n_partitions": 2}, "n_partitions cannot be chosen"),
        ({"epochs_per_round": 0}, "epochs_per_round must be"),
        ({"C": -1.0}, "C must be"),
    ],
)
def test_arguments_are_checked(client, arguments, message):
    """A parameter that makes no sense is refused by its name."""
    with pytest.raises(ValueError, match=message):
        DaskLocallyLinearSVC(client, **arguments).fit(*as_arrays(*rows(100), (50, 50)))


def test_a_bad_partition_is_named(client):
    """The error names the partition."""
    X, y = rows(300)
    X[250, 2] = np.nan
    with pytest.raises(ValueError, match=r"partition 2: .*NaN"):
        DaskLocallyLinearSVC(client).fit(*as_arrays(X, y, (100, 100, 100)))


def test_shapes_and_classes_are_checked(client):
    """Rows and labels must go together, and have two classes."""
    X, y = rows(300)
    with pytest.raises(ValueError, match="one class only"):
        DaskLocallyLinearSVC(client).fit(*as_arrays(X, np.zeros(300), (100, 200)))
    with pytest.raises(ValueError, match="y has 200 rows"):
        DaskLocallyLinearSVC(client).fit(as_arrays(X, y, (100, 200))[0], y[:200])
    lazy = as_arrays(X, y, (100, 200))[0]
    with pytest.raises(ValueError, match="y has 3 partitions"):
        DaskLocallyLinearSVC(client).fit(lazy[lazy[:, 0] > -10], da.from_array(y, chunks=100))


def test_a_fitted_model_travels_without_its_client(client):
    """Pickles leave the connection out, clones keep it."""
    X, y = rows(300)
    model = DaskLocallyLinearSVC(client, random_state=0).fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    assert copy.client is None
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("estimator", "grid"),
    [
        (LocallyLinearSVC(8, random_state=0), {"C": [0.3, 3.0]}),
        (NeighborhoodSVC(), {"n_neighbors": [10, 20]}),
    ],
    ids=repr,
)
def test_searches_run_on_the_cluster(client, estimator, grid):
    """A search of scikit-learn clones and fits it."""
    X, y = rows(300)
    search = GridSearchCV(estimator, grid, cv=3)
    with joblib.parallel_backend("dask", client=client):
        search.fit(X, y)
    plain = GridSearchCV(estimator, grid, cv=3).fit(X, y)
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"]
    )


def test_nothing_is_left_on_the_workers(client):
    """After a fit no task and no data remain."""
    from hyperlocal.dask import tasks

    X, y = rows(300)
    DaskLocallyLinearSVC(client, random_state=0).fit(X, y)
    assert tasks.n_held() == 0
    assert not any(client.processing().values())
