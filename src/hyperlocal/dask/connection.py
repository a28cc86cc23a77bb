"""The client of a fit, and waiting for workers: what cannot finish is an error, never a hang."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import dask
from distributed import Client, Future, LocalCluster, get_client, get_worker, wait, worker_client

#: By default, Dask's workers return freed memory to the system at once; allocating it again takes
#: as long as the arithmetic of a round. Workers started under ``dask.config.set(KEEP_MEMORY)``
#: reuse their memory.
KEEP_MEMORY = {
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 1 << 30,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 1 << 25,  # the most there can be
}
SECONDS_BETWEEN_CHECKS = 1.0
SECONDS_WITHOUT_WORKERS = 30.0


class WorkersLostError(RuntimeError):
    """No Dask worker is left."""


@contextmanager
def connected(client: Client | None) -> Iterator[Client]:
    """The client given, or the one in use, or a cluster on this machine while the context lasts.

    Inside a task, the thread of the task is given back to its worker meanwhile: the fit's own tasks
    may need it.
    """
    _check_client(client)
    if _is_in_task():
        with worker_client() as found, (client or found).as_current():
            yield client or found
        return
    client = client or _client_in_use()
    if client is not None:
        _check_client(client)
        with client.as_current():
            yield client
        return
    with (
        dask.config.set(KEEP_MEMORY),
        LocalCluster(dashboard_address=":0") as cluster,
        Client(cluster) as own,
    ):
        yield own


def _check_client(client: Any) -> None:
    if client is None:
        return
    if not isinstance(client, Client):
        raise TypeError(f"client must be a distributed.Client or None, not {client!r}.")
    if client.asynchronous:
        raise TypeError(
            "client is asynchronous, but fit waits for results; give a Client without "
            "asynchronous=True, and call fit in a thread of its own (asyncio.to_thread)."
        )


def _is_in_task() -> bool:
    try:
        get_worker()
    except ValueError:
        return False
    return True


def _client_in_use() -> Client | None:
    try:
        return get_client()
    except ValueError:
        return None


def threads_of_workers(client: Client) -> dict[str, int]:
    """The threads of each worker, by its address."""
    if client.status != "running":
        raise WorkersLostError(
            f"the Dask client is {client.status}: the connection to the scheduler is lost, and the "
            "fit cannot continue."
        )
    return client.nthreads()


def wait_for_workers(client: Client) -> dict[str, int]:
    """The threads of each worker, once there is one; raises if there is none for long."""
    begin = time.monotonic()
    while not (workers := threads_of_workers(client)):
        if time.monotonic() - begin > SECONDS_WITHOUT_WORKERS:
            raise WorkersLostError(
                "all Dask workers are lost, and none came back within "
                f"{SECONDS_WITHOUT_WORKERS:.0f} s; start workers and fit again."
            )
        time.sleep(0.2)
    return workers


def gathered(client: Client, futures: Sequence[Future]) -> list[Any]:
    """Results of tasks that any worker can run; raises if there is no worker for long."""
    while True:
        try:
            wait(futures, timeout=SECONDS_BETWEEN_CHECKS)
        except TimeoutError:
            wait_for_workers(client)
        else:
            return client.gather(list(futures))
