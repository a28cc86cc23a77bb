"""Tests of hyperlocal.dask.connection: which client is used, and waiting that ends."""

import asyncio
import threading
import time

import numpy as np
import pytest
from distributed import Client, LocalCluster, get_client
from sklearn.datasets import make_classification

from hyperlocal.dask import DaskLocallyLinearSVC, connection
from hyperlocal.dask.connection import WorkersLostError, connected, gathered, wait_for_workers

X, y = make_classification(200, 4, random_state=0)


def fitted_score():
    return DaskLocallyLinearSVC(n_anchors=8, random_state=0).fit(X, y).score(X, y)


def test_fits_inside_tasks_that_keep_all_threads_busy_end(client):
    """The thread of a task is given back to its worker while a fit inside the task waits."""
    n_threads = sum(client.nthreads().values())
    futures = [client.submit(fitted_score, pure=False) for _ in range(2 * n_threads)]
    scores = [future.result(timeout=60) for future in futures]
    assert min(scores) > 0.8


def test_a_client_that_is_given_is_used():
    """It is the current one, also where another is in use."""
    with (
        LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as given,
        connected(given) as used,
    ):
        assert used is given
        assert get_client() is given


def test_an_asynchronous_client_is_refused(client):
    """It returns coroutines where ``fit`` needs results."""

    async def fit():
        async with Client(
            client.scheduler.address, asynchronous=True, set_as_default=False
        ) as other:
            DaskLocallyLinearSVC(other).fit(X, y)

    with pytest.raises(TypeError, match="client is asynchronous"):
        asyncio.run(fit())


@pytest.mark.parametrize("wrong", ["tcp://127.0.0.1:8786", 3])
def test_other_objects_are_refused(wrong):
    """An address is not a client."""
    with pytest.raises(TypeError, match=r"client must be a distributed\.Client"):
        DaskLocallyLinearSVC(wrong).fit(X, y)


@pytest.fixture
def no_workers(monkeypatch):
    monkeypatch.setattr(connection, "SECONDS_WITHOUT_WORKERS", 0.5)
    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def test_a_cluster_without_workers_is_an_error(no_workers):
    """Also where none ever came."""
    begin = time.monotonic()
    with pytest.raises(WorkersLostError, match="start workers"):
        DaskLocallyLinearSVC(no_workers).fit(X, y)
    with pytest.raises(WorkersLostError, match="start workers"):
        gathered(no_workers, [no_workers.submit(np.sum, X)])
    assert time.monotonic() - begin < 20


def test_workers_that_come_late_are_waited_for(no_workers, monkeypatch):
    """Within the time that a fit may be without workers."""
    monkeypatch.setattr(connection, "SECONDS_WITHOUT_WORKERS", 30.0)
    threading.Timer(0.3, no_workers.cluster.scale, [1]).start()
    assert len(wait_for_workers(no_workers)) == 1
    assert gathered(no_workers, [no_workers.submit(np.sum, [1, 2])]) == [3]


def test_a_closed_client_is_an_error(client):
    """It names what is gone."""
    closed = Client(client.scheduler.address, set_as_default=False)
    closed.close()
    with pytest.raises(WorkersLostError, match="the Dask client is closed"):
        DaskLocallyLinearSVC(closed).fit(X, y)
