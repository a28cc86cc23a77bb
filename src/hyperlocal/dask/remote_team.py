"""A team whose members are on Dask workers: where they are, what is sent, and lost workers.

A member is some of the rows with their dual variables. Its home is the worker that holds them; its
tasks run only there. If the home is lost, the member is created again on the worker with the fewest
members, within the same round. The fit fails if no worker is left for half a minute.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from concurrent import futures as fetches
from typing import Any

import numpy as np
from distributed import CancelledError, Client, Future, wait

from ..solvers.team import Order, Proposal, stiffness_of
from . import tasks
from .connection import SECONDS_BETWEEN_CHECKS, threads_of_workers, wait_for_workers
from .shuffle import send

SECONDS_TO_REMOVE = 10.0
# Up to so many bytes, to all members together, weights are sent with the tasks, through the
# scheduler. More are sent to one worker, and from there to the others: one more message.
FEW_BYTES = 1 << 23

# Returns the pieces of members' rows, as futures.
RowsOf = Callable[[set[int]], dict[int, list[Future]]]


class RemoteTeam:
    """Members on workers; a :class:`hyperlocal.solvers.team.Team`.

    Parameters
    ----------
    client : Client
    n_groups : int
    shape : tuple of int
        Of the weights.
    dtype : dtype
    seed : int
    """

    def __init__(
        self, client: Client, n_groups: int, shape: tuple[int, int, int], dtype: Any, seed: int
    ):
        self.client = client
        self.n_groups = n_groups
        self.shape = shape
        self.dtype = np.dtype(dtype)
        self.n_members = 0
        self.n_restarts = 0
        self.bytes_sent = 0
        self.bytes_received = 0
        self._token = uuid.uuid4().hex
        self._seed = seed
        self._homes: dict[int, str] = {}
        self._stiffness = np.empty((0, shape[0]))
        self._numbers: list[int] = []
        self._rows_of: RowsOf
        self._plan: tasks.Plan

    # ---- members -------------------------------------------------------------------------------

    def create_members(
        self, plan: tasks.Plan, n_members: int, rows_of: RowsOf, care: float
    ) -> np.ndarray:
        """Place members on workers, except empty ones; returns the mass of classes of each."""
        self._plan, self._rows_of = plan, rows_of
        facts = self._make(set(range(n_members)))
        present = [member for member in range(n_members) if facts[member][0]]
        # Members get new numbers; their rows are found by the first ones.
        self._numbers = present
        self._homes = {new: self._homes[old] for new, old in enumerate(present)}
        self.n_members = len(present)
        self._stiffness = stiffness_of(np.array([facts[old][1] for old in present]), care)
        return np.array([facts[old][2] for old in present])

    def lift_again(self, plan: tasks.Plan, care: float) -> None:
        """Lift the rows of all members by another gate."""
        self._plan = plan
        sent = self._send(plan)
        masses = self._run(tasks.lift_again, lambda member: (sent,))
        self._stiffness = stiffness_of(np.array(masses), care)

    def learn(
        self, plan: tasks.Plan, n_epochs: int, shorter: float
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Move the anchors, by the rows of each member."""
        sent = self._send(plan)
        return self._run(
            tasks.learn, lambda member: (sent, n_epochs, shorter, [self._seed, member])
        )

    def respond(
        self,
        weights: np.ndarray,
        steps: np.ndarray,
        momentum: float,
        n_epochs: float,
        with_losses: bool,
    ) -> Sequence[Proposal]:
        """Send orders to all members, and gather their proposals."""
        blank = np.empty((0, 0, 0), self.dtype)
        few = weights.nbytes * self.n_members <= FEW_BYTES
        sent = weights if few else self._send(weights)

        def arguments(member: int, sent: Any = sent, restart: bool = False) -> tuple[Any, ...]:
            order = Order(blank, steps[member], momentum, n_epochs, with_losses, restart)
            seed = [self._seed, self._numbers[member], self.n_restarts]
            return order, sent, self._stiffness[member], seed

        def after_loss(member: int) -> tuple[Any, ...]:  # the weights may be lost with a worker
            return arguments(member, weights if few else self._send(weights), restart=True)

        proposals = self._run(tasks.respond, arguments, after_loss)
        self.bytes_sent += weights.nbytes * (
            self.n_members if few else len(set(self._homes.values()))
        )
        self.bytes_received += sum(proposal.change.nbytes for proposal in proposals)
        return proposals

    def close(self) -> None:
        """Remove the members from the workers; never raises."""
        try:
            homes = set(self._homes.values()) & set(threads_of_workers(self.client))
            done = [
                self.client.submit(tasks.remove_members, self._token, workers=[home], pure=False)
                for home in homes
            ]
            if done:
                wait(done, timeout=SECONDS_TO_REMOVE)
        except Exception:  # the cluster, and the members with it, is gone
            pass

    # ---- tasks of members ------------------------------------------------------------------------

    def _run(
        self,
        task: Callable[..., Any],
        arguments: Callable[[int], tuple[Any, ...]],
        after_loss: Callable[[int], tuple[Any, ...]] | None = None,
    ) -> list[Any]:
        """Run a task for every member at its home; lost members are created and run again."""
        answers: dict[int, Any] = {}
        asked = dict.fromkeys(range(self.n_members), arguments)
        while asked:
            futures = {
                member: self.client.submit(
                    task, self._key(member), *arguments_of(member),
                    workers=[self._homes[member]], pure=False,
                )
                for member, arguments_of in asked.items()
            }  # fmt: skip
            found, lost = self._gather(futures, self._homes)
            lost |= {member for member, answer in found.items() if answer is None}
            answers |= {member: answer for member, answer in found.items() if answer is not None}
            if lost:
                self.n_restarts += 1
                self._make({self._numbers[member] for member in lost})
            asked = dict.fromkeys(lost, after_loss or arguments)
        return [answers[member] for member in range(self.n_members)]

    def _make(self, missing: set[int]) -> dict[int, Any]:
        """Create members from the rows, by their first numbers."""
        made: dict[int, Any] = {}
        numbers = {old: new for new, old in enumerate(self._numbers)}
        while missing:
            homes = self._choose_homes(missing)
            pieces, plan = self._rows_of(missing), self._send(self._plan)
            futures = {
                member: self.client.submit(
                    tasks.create_member, (self._token, member), plan, pieces[member],
                    workers=[homes[member]], pure=False,
                )
                for member in missing
            }  # fmt: skip
            found, missing = self._gather(futures, homes)
            made |= found
            for member in found:
                self._homes[numbers.get(member, member)] = homes[member]
        return made

    def _key(self, member: int) -> tuple[str, int]:
        return self._token, self._numbers[member]

    def _choose_homes(self, members: set[int]) -> dict[int, str]:
        """A worker for each member: those with the fewest members per thread."""
        threads = wait_for_workers(self.client)
        loads = dict.fromkeys(threads, 0)
        for home in self._homes.values():
            if home in loads:
                loads[home] += 1
        homes = {}
        for member in sorted(members):
            home = min(loads, key=lambda worker: ((loads[worker] + 1) / threads[worker], worker))
            loads[home] += 1
            homes[member] = home
        return homes

    # ---- waiting -------------------------------------------------------------------------------

    def _gather(
        self, futures: dict[int, Future], homes: dict[int, str]
    ) -> tuple[dict[int, Any], set[int]]:
        """Results by member, and the members whose home is lost."""
        pending, lost = dict(futures), set()
        try:
            while pending:
                try:
                    wait(list(pending.values()), timeout=SECONDS_BETWEEN_CHECKS)
                except TimeoutError:
                    alive = threads_of_workers(self.client)
                    gone = {member for member in pending if homes[member] not in alive}
                    lost |= gone
                    if gone:
                        self.client.cancel([pending.pop(member) for member in gone])
                    continue
                except CancelledError:  # handled below, by their status
                    pass
                pending = {}
        except BaseException:
            self.client.cancel(list(futures.values()), force=True)
            raise
        found = {}
        for member, future in futures.items():
            if member in lost:
                continue
            if future.status == "error":
                raise future.exception()
            if future.status != "finished":
                lost.add(member)
                continue
            found[member] = future
        return self._results(found, homes, lost), lost

    def _results(
        self, found: dict[int, Future], homes: dict[int, str], lost: set[int]
    ) -> dict[int, Any]:
        """Fetch results; those of a lost worker are lost."""
        results = self._fetched(found, homes)
        if len(results) == len(found):
            return dict(zip(found, results, strict=True))
        results = {}
        for member, future in found.items():
            fetched = self._fetched({member: future}, homes)
            if fetched:
                results[member] = fetched[0]
            else:
                lost.add(member)
        return results

    def _fetched(self, found: dict[int, Future], homes: dict[int, str]) -> Any:
        """Results, without those that went with a worker while they were fetched.

        Dask would wait for such a worker forever: its task may run nowhere else. Cancelling the
        task ends the wait.
        """
        with fetches.ThreadPoolExecutor(1) as executor:
            fetch = executor.submit(self.client.gather, list(found.values()), errors="skip")
            while not fetches.wait([fetch], timeout=SECONDS_BETWEEN_CHECKS).done:
                alive = threads_of_workers(self.client)
                gone = [one for member, one in found.items() if homes[member] not in alive]
                self.client.cancel(gone, force=True)
            return fetch.result()

    def _send(self, what: Any) -> Future:
        """Make weights or a model available to all workers, once there are any."""
        wait_for_workers(self.client)
        return send(self.client, what)
