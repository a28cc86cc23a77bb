"""Fits and predictions in several threads, and in forked processes, do not disturb each other."""

import multiprocessing
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from hyperlocal import LocallyLinearSVC
from hyperlocal.runtime import threads

from .estimators import CLASSIFIERS, REGRESSORS, make

PATIENCE = 60.0  # seconds
SLOW = ("LocallyLinearSVCCV", "LocallyLinearSVRCV", "AdaptiveNeighborhoodSVC")


def make_data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 2] > 1)


def fitted(name, X, y):
    """An estimator with two threads, if it takes them."""
    model = make(name)
    if "n_jobs" in model.get_params():
        model.set_params(n_jobs=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


@pytest.mark.parametrize("name", [one for one in [*CLASSIFIERS, *REGRESSORS] if one not in SLOW])
@pytest.mark.filterwarnings("ignore")
def test_threads_do_not_disturb_each_other(name):
    """Four threads that fit at once get what one gets, and predict the same with one model."""
    X, y = make_data()
    expected = fitted(name, X, y).predict(X)
    with ThreadPoolExecutor(4) as pool:
        models = list(pool.map(lambda _: fitted(name, X, y), range(4)))
        shared = list(pool.map(lambda _: models[0].predict(X), range(8)))
    for predicted in [*(model.predict(X) for model in models), *shared]:
        np.testing.assert_array_equal(predicted, expected)


def predict_in_child(model, X, y, connection):
    """A fit and predictions in a process of its own, and the state of the limit of BLAS there."""
    again = LocallyLinearSVC(8, C=1.0, n_jobs=2, random_state=0).fit(X, y)
    limits = {one.num_threads for one in threads._libraries("blas").lib_controllers}
    connection.send((model.predict(X), again.predict(X), limits))


@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="there are no forks here"
)
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("during_fit", [False, True])
def test_forked_processes_fit_and_predict(during_fit):
    """Also where a thread is in a fit at that moment: the child does not wait for it, and has BLAS
    as it was before."""
    X, y = make_data()
    before = {one.num_threads for one in threads._libraries("blas").lib_controllers}
    model = LocallyLinearSVC(8, C=1.0, n_jobs=2, random_state=0).fit(X, y)
    context, inside, go_on = (
        multiprocessing.get_context("fork"),
        threading.Event(),
        threading.Event(),
    )

    def fit_slowly():
        with threads.Workers(2) as workers:
            workers.map(lambda _: (inside.set(), go_on.wait(PATIENCE)), range(2))

    other = threading.Thread(target=fit_slowly, daemon=True)
    if during_fit:
        other.start()
        assert inside.wait(PATIENCE)
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=predict_in_child, args=(model, X, y, sender))
    child.start()
    go_on.set()
    try:
        assert receiver.poll(PATIENCE)
        predicted, again, limits = receiver.recv()
    finally:
        child.kill()
        child.join()
    expected = model.predict(X)
    np.testing.assert_array_equal(predicted, expected)
    np.testing.assert_array_equal(again, expected)
    assert limits == before
