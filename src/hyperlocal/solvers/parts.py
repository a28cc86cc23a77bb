"""An epoch of dual descent that threads share: rows in parts, each on weights of its own.

Columns of one-vs-rest are shared between threads; two classes have one column, and Crammer–Singer's
columns belong together. There, rows are divided into parts by neighborhood
(:mod:`hyperlocal.solvers.partitioning`). In each of an epoch's rounds, every part visits some of
its rows, and the changes of the weights are added up (``cpp/parts.hpp``). As for a team of members
on other machines (:mod:`hyperlocal.solvers.team`), parts are stiffer where they share an anchor;
but rounds take microseconds, not seconds, and the growth of the dual objective is known exactly.
Where it falls short of what the parts expect, they become stiffer, until nothing can be lost.

Which parts there are depends on the rows alone, so the result has the same bits for any number of
threads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .. import _core
from ..gates.codes import Codes
from ..model.lifting import LiftedRows
from ..model.problem import Problem
from ..runtime.threads import row_blocks
from .partitioning import assign_rows, group_anchors, shared_rows
from .team import stiffness_of
from .visits import visit_order

N_PARTS = 2
# From how many numbers that a full epoch reads on: its visits take ten milliseconds by then.
FEWEST_NUMBERS = 1 << 26
# Of one epoch: below, threads would take longer to start than the visits, and parts more epochs.
FEWEST_NUMBERS_AT_ONCE = 1 << 22
FEWEST_ROWS = 20_000
# Power of the stiffness: at first, and by how much more where the dual objective grew by less than
# this share of what was expected. (On three sets of training rows 0.1 took 11, 21 and 10 visits per
# row, 0 took 12, 22 and 15, 0.3 took 12, 21 and 13.)
FIRST_CARE, MORE_CARE, MOST_CARE = 0.1, 0.3, 1.0
EXPECTED_SHARE = 0.5
# A round has so many visits per anchor and part, if an epoch has so many rounds then: more visits
# save time between rounds, more rounds save epochs. (IJCNN1 took 77 epochs with 4 rounds each, 60
# with 16, 57 with 64; the exchange took 1 % of the time with 8 rounds, 3 % with 32, 26 % with 128.)
VISITS_PER_ANCHOR = 64
ROUNDS_PER_EPOCH = 16
FEWEST_VISITS = 32
# Groups of anchors are of nearly equal size: threads wait for the largest. They are formed again
# where the largest has more of the visited rows than this, beyond its share, after twice as many
# epochs each time.
SLACK = 0.02
UNEVEN = 0.15
SAMPLE = 4096
# Between the weights of two parts: the offset's is written at every visit.
BYTES_APART = 256
ROWS_PER_COPY = 1 << 15


@dataclass(frozen=True)
class Grouping:
    """The part of each row, and how much codes are stretched for it.

    Attributes
    ----------
    part_of : ndarray of uint8, shape (n_rows,)
    rows : list of ndarray
        The rows of each part.
    masses : ndarray of shape (n_parts, n_anchors)
        ``Σ_i γ_ij²`` over a sample of each part's rows.
    users : ndarray of uint8, shape (n_parts, n_blocks)
        Whether a row of the part has the anchor; the offset is used by all.
    """

    part_of: np.ndarray
    rows: list[np.ndarray]
    masses: np.ndarray
    users: np.ndarray


def worth_parts(problem: Problem) -> bool:
    """Whether the epochs of a problem are long enough to be shared, and its columns cannot be."""
    lifted = problem.lifted
    numbers = lifted.n_rows * lifted.n_neighbors * (lifted.width + 1) * problem.n_columns
    has_one_group = problem.n_columns == 1 or problem.crammer_singer
    has_groups = lifted.n_anchors >= 2 * N_PARTS and lifted.n_neighbors < lifted.n_anchors
    is_long = lifted.n_rows >= FEWEST_ROWS and numbers >= FEWEST_NUMBERS
    return has_one_group and has_groups and is_long


class Parts:
    """The parts of a problem's rows, and epochs over them.

    Parameters
    ----------
    problem : Problem
        With one group of columns.
    squared_norms : ndarray of shape (n_rows,)
        Of the lifted rows.
    rng : numpy Generator
        Orders the visits.
    """

    def __init__(self, problem: Problem, squared_norms: np.ndarray, rng: np.random.Generator):
        lifted = problem.lifted
        self._problem, self._squared_norms = problem, squared_norms
        self._rngs = rng.spawn(N_PARTS)
        self._gate = np.empty_like(lifted.gate)
        self._norms = np.empty_like(squared_norms)
        zero = lifted.zero_weights(problem.n_columns)
        padding = -(-BYTES_APART // zero[0].nbytes)
        own_blocks = (N_PARTS, len(zero) + padding, *zero.shape[1:])
        self._own_weights = np.zeros(own_blocks, lifted.dtype)
        own = (N_PARTS, lifted.n_rows, problem.n_columns)
        self._own_alpha, self._own_active = np.zeros(own, lifted.dtype), np.ones(own, np.uint8)
        self.n_active = lifted.n_rows
        self._sample = np.arange(0, lifted.n_rows, max(1, lifted.n_rows // SAMPLE))
        gate = lifted.gate[self._sample]
        self._sampled = Codes(lifted.anchors[self._sample], gate, gate)
        self._shared = shared_rows(self._sampled, lifted.n_anchors)
        self._care = FIRST_CARE
        self._n_epochs, self._next_grouping = 0, 1
        self._grouping = self._grouped(np.arange(lifted.n_rows))
        self._rows_left = self._grouping.rows
        self._stretch()

    def load(self, alpha: np.ndarray, active: np.ndarray) -> None:
        """Take over variables, and which of them are active."""
        self._own_alpha[:], self._own_active[:] = alpha, active
        self._rows_left = self._grouping.rows

    def store(self, alpha: np.ndarray, active: np.ndarray) -> None:
        """Write the parts' variables, and which of them are active, to where others read them."""

        def gather(block: tuple[int, int]) -> None:
            rows = slice(*block)
            for part in range(N_PARTS):
                own = self._grouping.part_of[rows, None] == part
                np.copyto(alpha[rows], self._own_alpha[part, rows], where=own)
                np.copyto(active[rows], self._own_active[part, rows], where=own)

        lifted = self._problem.lifted
        lifted.workers.map(gather, row_blocks(lifted.n_rows, ROWS_PER_COPY))

    def run_epoch(
        self, weights: np.ndarray, bounds: np.ndarray, share: float, turns: int
    ) -> tuple[np.ndarray, float]:
        """Visit active rows, or a share of them; returns a report, and the share visited."""
        rows = self._active_rows()
        self._n_epochs += 1
        if self._n_epochs > self._next_grouping and self._is_uneven(rows):
            self._next_grouping = 2 * self._n_epochs
            self._group_again(np.concatenate(rows))
            rows = self._active_rows()
        self.n_active = sum(map(len, rows))
        orders = self._problem.lifted.workers.map(
            lambda own: visit_order(own[0], own[1], share, turns),
            zip(rows, self._rngs, strict=True),
        )
        report = self._visit(weights, bounds, orders)
        return report, sum(map(len, orders)) / max(1, self.n_active)

    def _active_rows(self) -> list[np.ndarray]:
        """Of each part, among those that were active before: until they are loaded, none return."""
        flags = self._own_active[:, :, 0].view(np.bool_)
        self._rows_left = self._problem.lifted.workers.map(
            lambda part: part[0][part[1][part[0]]], zip(self._rows_left, flags, strict=True)
        )
        return self._rows_left

    def _group_again(self, rows: np.ndarray) -> None:
        alpha, active = np.empty_like(self._own_alpha[0]), np.empty_like(self._own_active[0])
        self.store(alpha, active)
        self._grouping = self._grouped(rows)
        self.load(alpha, active)
        self._stretch()

    def _visit(
        self, weights: np.ndarray, bounds: np.ndarray, orders: list[np.ndarray]
    ) -> np.ndarray:
        state = _core.dual_state(
            self._core, weights, self._own_alpha[0], self._own_active[0], bounds
        )
        starts = np.cumsum([0, *map(len, orders)])
        reports = np.tile([0.0, 0.0, -np.inf, np.inf], (N_PARTS, 1))
        workers = self._problem.lifted.workers
        n_threads = min(N_PARTS, workers.n_threads)
        epoch = _core.parts_epoch(
            state, self._memory, np.concatenate(orders), starts, self._n_rounds(int(starts[-1])),
            n_threads, reports,
        )  # fmt: skip
        workers.map(epoch.run, range(n_threads))
        gap, gain = reports[:, :2].sum(axis=0)
        growth = gain + epoch.excess()
        if growth < EXPECTED_SHARE * gain and self._care < MOST_CARE:
            self._care = min(MOST_CARE, self._care + MORE_CARE)
            self._stretch()
        return np.array([[gap, growth, reports[:, 2].max(), reports[:, 3].min()]])

    def is_long(self, n_visits: float) -> bool:
        """Whether an epoch of so many visits is worth sharing."""
        lifted = self._problem.lifted
        return n_visits * lifted.n_neighbors * (lifted.width + 1) >= FEWEST_NUMBERS_AT_ONCE

    def _n_rounds(self, n_visits: int) -> int:
        lifted, per_part = self._problem.lifted, n_visits / N_PARTS
        longest = VISITS_PER_ANCHOR * lifted.n_anchors / lifted.n_neighbors
        rounds = max(per_part / longest, min(ROUNDS_PER_EPOCH, per_part / FEWEST_VISITS))
        return max(1, int(rounds))

    def _is_uneven(self, rows: list[np.ndarray]) -> bool:
        sizes = np.array([len(own) for own in rows])
        return bool(sizes.max() > (1 + UNEVEN) * max(FEWEST_ROWS // 10, sizes.mean()))

    def _grouped(self, rows: np.ndarray) -> Grouping:
        """Groups that have about as many of the given rows each."""
        lifted = self._problem.lifted
        nearest = lifted.anchors[:, 0]
        mass = np.bincount(nearest[rows], minlength=lifted.n_anchors).astype(float)
        shares = group_anchors(self._shared, mass, N_PARTS, slacks=(SLACK,))
        part_of = assign_rows(nearest, shares, np.random.default_rng(0)).astype(np.uint8)
        groups = part_of[self._sample]
        masses = np.stack(
            [self._mass_of(self._sampled.anchors[groups == part], groups == part)
             for part in range(N_PARTS)]
        )  # fmt: skip
        users = np.ones((N_PARTS, lifted.n_blocks), np.uint8)

        def rows_of(part: int) -> np.ndarray:
            own = np.flatnonzero(part_of == part)
            has_rows = np.zeros(lifted.n_anchors, np.uint8)
            for begin, end in row_blocks(len(own), ROWS_PER_COPY):
                has_rows[lifted.anchors[own[begin:end]]] = 1
            users[part, : lifted.n_anchors] = has_rows
            return own

        return Grouping(part_of, lifted.workers.map(rows_of, range(N_PARTS)), masses, users)

    def _mass_of(self, anchors: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        squares = self._sampled.weights[chosen].astype(np.float64) ** 2
        n_anchors = self._problem.lifted.n_anchors
        return np.bincount(anchors.ravel(), squares.ravel(), n_anchors)

    def _stretch(self) -> None:
        """Stretch codes and norms by the stiffness of each part's anchors and of the offset."""
        problem, lifted = self._problem, self._problem.lifted
        stiffness = stiffness_of(self._grouping.masses, self._care)
        offset = np.full(
            (N_PARTS, lifted.n_blocks - lifted.n_anchors), float(N_PARTS) ** self._care
        )
        stretches = np.sqrt(np.hstack([stiffness, offset]))
        self._stretches = np.ascontiguousarray(stretches, dtype=lifted.dtype)
        self._memory = _core.parts_memory(
            self._own_weights, self._own_alpha, self._own_active, self._stretches,
            self._grouping.users,
        )  # fmt: skip

        def stretch(block: tuple[int, int]) -> None:
            _core.stretch_codes(
                lifted.core, self._squared_norms, self._grouping.part_of, self._stretches, *block,
                self._gate, self._norms,
            )  # fmt: skip

        lifted.workers.map(stretch, row_blocks(lifted.n_rows, ROWS_PER_COPY))
        codes = Codes(lifted.anchors, self._gate, self._gate)
        root = float(self._stretches[0, -1]) if lifted.offset else 1.0
        self._lifted = LiftedRows(
            lifted.rows, codes, lifted.n_anchors, lifted.bias, False, lifted.workers,
            is_dense=lifted.is_dense, offset=lifted.offset * root,
        )  # fmt: skip
        self._core = replace(problem, lifted=self._lifted).core_dual(self._norms)
