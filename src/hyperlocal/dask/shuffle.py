"""From the partitions of a collection to the rows of each member: read, described, shuffled."""

from __future__ import annotations

from operator import getitem
from typing import Any

import dask
import numpy as np
from distributed import Client, Future

from ..data.labelled import LabelledRows
from . import tasks
from .connection import gathered
from .targets import SharedTarget


class Shuffle:
    """Partitions, and how their rows reach the members.

    Parameters
    ----------
    client : Client
    parts : list of (rows, labels, weights)
        Lazy, from :func:`hyperlocal.dask.collections.row_parts`.
    seed : int
    is_numeric : bool
        Whether labels are values.
    """

    def __init__(
        self,
        client: Client,
        parts: list[tuple[Any, Any, Any]],
        seed: int,
        is_numeric: bool = False,
    ):
        self._client = client
        self._is_numeric = is_numeric
        read = dask.delayed(tasks.read_part, pure=False)
        self._recipes = [read(index, *part, is_numeric) for index, part in enumerate(parts)]
        self._seed = seed
        self._parts: list[Future] = []
        self._route: tuple[Any, ...] = ()

    @property
    def n_parts(self) -> int:
        """Number of partitions."""
        return len(self._recipes)

    def read(self) -> list[tasks.PartFacts]:
        """Read and describe all partitions. They stay on the workers until :meth:`release`."""
        self._parts = self._client.compute(self._recipes)
        described = self._client.map(
            tasks.describe, self._parts, is_numeric=self._is_numeric, pure=False
        )
        return gathered(self._client, described)

    def draw(self, sizes: np.ndarray) -> list[tasks.Part]:
        """So many rows of each partition, at random."""
        drawn = [
            self._client.submit(tasks.draw, part, int(size), [self._seed, index], pure=False)
            for index, (part, size) in enumerate(zip(self._parts, sizes, strict=True))
            if size
        ]
        return gathered(self._client, drawn)

    def send_by(
        self,
        plan: tasks.Plan,
        target: SharedTarget,
        shares: np.ndarray | None,
        n_members: int | None,
    ) -> None:
        """Fix which member gets which rows; without ``n_members`` every partition is a member."""
        self._route = (plan, target, shares, n_members)

    def __call__(self, members: set[int]) -> dict[int, list[Future]]:
        """The pieces of the members' rows; partitions that were released are read again."""
        plan, target, shares, n_members = self._route
        parts = self._parts or self._client.compute(self._recipes)
        sent = send(self._client, plan)
        if n_members is None:
            return {
                member: [self._client.submit(tasks.whole, parts[member], sent, target, pure=False)]
                for member in members
            }
        splits = [
            self._client.submit(
                tasks.split, part, sent, target, shares, n_members, [self._seed, index], pure=False
            )
            for index, part in enumerate(parts)
        ]
        return {
            member: [self._client.submit(getitem, split, member, pure=False) for split in splits]
            for member in members
        }

    def release(self) -> None:
        """Remove the partitions from the workers: the members have their rows now."""
        self._parts = []


def send(client: Client, what: Any) -> Future:
    """Make an object available to all workers.

    The result of a task can be computed again after its worker is lost. What ``scatter`` sent would
    be lost, and a broadcast to a worker that is shutting down never ends.
    """
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 PiB"}):
        return client.submit(tasks.carry, what, pure=False)


def pooled(
    samples: list[tasks.Part], dtype: Any, target: SharedTarget, population: int
) -> LabelledRows:
    """Samples of partitions as one sample of all rows."""
    pieces = [tasks.as_labelled(sample, dtype, target, population) for sample in samples]
    return tasks.joined(pieces)
