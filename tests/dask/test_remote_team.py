"""Workers that die, clusters that shrink or vanish, users who press Ctrl-C."""

import os
import signal
import threading
import time

import dask.array as da
import numpy as np
import pytest
from sklearn.datasets import make_classification

from hyperlocal.dask import DaskLocallyLinearSVC, connection
from hyperlocal.dask.connection import WorkersLostError
from hyperlocal.solvers import team


@pytest.fixture(scope="module")
def rows():
    X, y = make_classification(3000, 8, n_informative=6, n_redundant=0, flip_y=0.1, random_state=0)
    return da.from_array(X, chunks=(500, 8)), da.from_array(y, chunks=500)


@pytest.fixture
def at_round(monkeypatch):
    """Have something done when a fit has decided on its n-th round."""

    def arrange(number, action):
        rounds = iter(range(10_000))
        decide = team.Coordinator.decide

        def decide_and_act(coordinator):
            decide(coordinator)
            if next(rounds) == number:
                action()

        monkeypatch.setattr(team.Coordinator, "decide", decide_and_act)

    return arrange


def pids(client):
    return [info["pid"] for info in client.run(_worker_facts).values()]


def _worker_facts():
    return {"pid": os.getpid()}


def undisturbed(client, rows):
    return DaskLocallyLinearSVC(client, random_state=0, tol=1e-3).fit(*rows)


def test_a_killed_worker_costs_a_retry(processes, rows, at_round):
    """The fit goes on with the others, and counts the restart."""
    expected = undisturbed(processes, rows).objective_
    at_round(4, lambda: os.kill(pids(processes)[0], signal.SIGKILL))
    model = undisturbed(processes, rows)
    assert model.n_restarts_ >= 1
    assert model.objective_ == pytest.approx(expected, rel=1e-3)
    assert model.duality_gap_ <= 1e-3 * model.objective_


def test_a_cluster_may_shrink_to_one_worker(processes, rows, at_round):
    """The last worker takes all members."""
    expected = undisturbed(processes, rows).objective_
    at_round(3, lambda: processes.cluster.scale(1))
    model = undisturbed(processes, rows)
    assert model.objective_ == pytest.approx(expected, rel=1e-3)


def test_losing_all_workers_is_an_error_and_no_hang(processes, rows, at_round, monkeypatch):
    """Without workers there is an error within the time limit."""
    monkeypatch.setattr(connection, "SECONDS_WITHOUT_WORKERS", 3.0)
    at_round(3, lambda: processes.cluster.scale(0))
    begin = time.monotonic()
    with pytest.raises(WorkersLostError, match="all Dask workers are lost"):
        undisturbed(processes, rows)
    assert time.monotonic() - begin < 60


@pytest.fixture
def heeds_ctrl_c():
    """SIGINT raises KeyboardInterrupt, also where the shell that started the tests ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeds_ctrl_c")
def test_ctrl_c_leaves_no_tasks(processes, rows, at_round):
    """An interrupted fit cancels what runs on the workers."""
    training = threading.Event()
    at_round(1, training.set)

    def press_ctrl_c():
        training.wait()
        while not any(processes.processing().values()):  # the fit waits while workers compute
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    presser = threading.Thread(target=press_ctrl_c, daemon=True)
    presser.start()
    model = DaskLocallyLinearSVC(
        processes, random_state=0, tol=0.0, max_iter=10_000, epochs_per_round=100
    )
    with pytest.raises(KeyboardInterrupt):
        model.fit(*rows)
    presser.join()
    deadline = time.monotonic() + 20
    while any(processes.processing().values()) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(processes.processing().values())
    assert sum(processes.run(_n_held).values()) == 0
    assert not hasattr(model, "classes_")


def _n_held():
    from hyperlocal.dask import tasks

    return tasks.n_held()


def test_a_nan_that_only_workers_see_names_its_partition(processes, rows):
    """The error of a worker names the partition."""
    X, y = rows
    spoiled = da.concatenate([X[:1000], X[1000:1500] * np.nan, X[1500:]])
    with pytest.raises(ValueError, match=r"partition 2: .*NaN"):
        undisturbed(processes, (spoiled, y))
