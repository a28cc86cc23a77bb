"""Dual descent by a team: each member holds some of the rows, and all share the weights.

In a round every member starts from the common weights, runs a few epochs over its own rows, and
proposes a change of its dual variables. The members' changes are then weighed against each other:
each gets a step in [0, 1] per column such that the dual objective of the whole grows most (a small
quadratic problem, solved exactly). The duality gap of the whole certifies the result.

Three things make rounds few:

- rows that share anchors sit with the same member (:mod:`hyperlocal.dask.partitioning`);
- where members do share an anchor, each moves it with care: its curvature is multiplied by a
  stiffness of one over the member's part in that anchor (to the power ``care``);
- members look ahead: they start from where the weights are heading, ``W + μ (W − W_before)``, with
  their own variables carried on by the same momentum. The search for steps keeps it safe.

A member that is lost comes back with variables at zero: its part is taken out of the weights, it
starts from what the weights tell of its rows, and the descent goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from ..model.losses import conjugates_along, pulls
from ..model.problem import Problem, squared_norms_by_column
from ..runtime.threads import row_blocks
from .dual import Descent, Monitor
from .result import SolverResult

# Small parts are quick: more epochs between two exchanges. (Rows of a part, epochs.)
EPOCHS_PER_ROUND = ((20_000, 8.0), (50_000, 4.0), (200_000, 2.0))
FEWEST_EPOCHS = 1.0
# Momentum grows with the rounds (with the epochs, where a round is less than one), over these. Too
# early, it carries the variables past their bounds and optima, and rounds are lost on the way back.
DELAY = 5.0
# After a look that came too early, the gap must seem smaller by this before the next.
STRICTER = 0.7
# Powers of the stiffness. One is safe; rows grouped by neighbourhood meet at borders only, and a
# little less brings them there sooner.
CARE_AT_BORDERS = 0.8
CARE_EVERYWHERE = 1.0
ROUNDS_BETWEEN_LOOKS = 15
MOST_SWEEPS = 200
NUMBERS_PER_BLOCK = 1 << 21
STEPS_SETTLED = 1e-5


@dataclass(frozen=True)
class Order:
    """What a member is told in a round.

    Attributes
    ----------
    weights : ndarray of shape (n_anchors, n_columns, p + 1)
    steps : ndarray of shape (n_groups,)
        How far to go towards the member's last proposal.
    momentum : float
    n_epochs : float
        At most one may be broken.
    look : bool
        Whether to tell the losses at the weights: it takes a pass over all rows.
    restart : bool
        The member is new: its variables are at zero, and ``weights`` are from before it was lost.
    """

    weights: np.ndarray
    steps: np.ndarray
    momentum: float
    n_epochs: float
    look: bool
    restart: bool = False

    def with_weights(self, weights: np.ndarray) -> Order:
        """The order with weights that travelled by themselves."""
        return replace(self, weights=weights)


@dataclass(frozen=True)
class Proposal:
    """What a member answers.

    Attributes
    ----------
    anchors : ndarray of shape (n_touched,)
        Anchors that its rows know.
    change : ndarray of shape (n_touched, n_columns, p + 1)
        How the weights change if its proposal is taken whole.
    losses : ndarray of shape (n_groups,) or None
        Of its rows, at the weights of the order.
    estimates : ndarray of shape (n_groups,)
        Its rows' share of the duality gap, as seen at the visits of its last epoch.
    conjugates : ndarray of shape (3, n_groups)
        ``Σ_i C_i ℓ*(−α_i/C_i)`` now, half way, and at its proposal.
    restarted : bool
    """

    anchors: np.ndarray
    change: np.ndarray
    losses: np.ndarray | None
    estimates: np.ndarray
    conjugates: np.ndarray
    restarted: bool = False


class Team(Protocol):
    """Members, wherever they are."""

    n_members: int
    n_groups: int
    shape: tuple[int, int, int]
    dtype: np.dtype[Any]

    def respond(
        self, weights: np.ndarray, steps: np.ndarray, momentum: float, n_epochs: float, look: bool
    ) -> Sequence[Proposal]:
        """Send each member its order (``steps`` has a row for each), and gather the answers."""


class Member:
    """The rows of one member and their dual variables.

    Parameters
    ----------
    problem : Problem
        Over the member's rows.
    stiffness : ndarray of shape (n_anchors,)
        By which the curvature of each anchor is multiplied, at least one.
    rng : numpy Generator
    """

    def __init__(self, problem: Problem, stiffness: np.ndarray, rng: np.random.Generator):
        # A row stretched by √σ on weights shrunk by √σ has the same score and σ times the norm.
        self._stretch = np.sqrt(stiffness).astype(problem.lifted.dtype)
        self._problem = Problem(
            problem.lifted.stretched(self._stretch), problem.target, problem.costs,
            problem.n_columns, problem.loss, problem.crammer_singer,
        )  # fmt: skip
        self._labels = self._problem.labels
        self._descent = Descent(self._problem, 0.0, rng, None)
        self._anchors = np.unique(problem.lifted.anchors)
        self._settled = np.zeros_like(self._descent.alpha)
        self._before = self._settled
        self._proposed = self._settled
        self._change = np.zeros_like(self._descent.weights)
        self._weights_before = np.zeros_like(self._descent.weights)

    @property
    def alpha(self) -> np.ndarray:
        """The variables that the team has settled on."""
        return self._settled

    def respond(self, order: Order) -> Proposal:
        """Take the steps decided, look, run some epochs, and propose."""
        descent = self._descent
        weights = self._shrunk(order.weights)
        if order.restart:
            self._settled = np.zeros_like(self._settled)
        else:
            self._take(order.steps)
        descent.alpha = self._settled
        descent.weights = weights
        if order.look or order.restart:
            descent.check(0)
        start, own = self._told(weights) if order.restart else self._carried_on(order)
        ahead = weights
        if not order.restart:
            ahead = weights + weights.dtype.type(order.momentum) * (weights - self._weights_before)
        self._weights_before = weights
        descent.alpha, descent.weights = start.copy(), ahead.copy()
        whole, rest = divmod(order.n_epochs, 1)
        for share in [1.0] * int(whole) + [rest] * (rest > 0):
            descent.run_epoch(share)
        self._proposed = descent.alpha
        self._change = descent.weights - ahead + own
        return Proposal(
            self._anchors,
            self._change[self._anchors] / self._stretch[self._anchors, None, None],
            descent.losses if order.look else None,
            descent.estimates,
            self._conjugates(),
            order.restart,
        )

    def _shrunk(self, weights: np.ndarray) -> np.ndarray:
        return weights.astype(self._stretch.dtype) / self._stretch[:, None, None]

    def _take(self, steps: np.ndarray) -> None:
        self._before = self._settled
        step = steps.astype(self._settled.dtype)
        self._settled = self._settled + step * (self._proposed - self._settled)

    def _carried_on(self, order: Order) -> tuple[np.ndarray, np.ndarray]:
        """Where momentum carries the variables, and how their part in the weights changes."""
        momentum = self._settled.dtype.type(order.momentum)
        free = self._settled + momentum * (self._settled - self._before)
        start = self._descent.feasible(free)
        # The part changes as it did in the last round; only where bounds stop it rows are read.
        own = momentum * order.steps.astype(momentum.dtype)[:, None] * self._change
        self._add(start - free, own)
        return start, own

    def _told(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Variables as good weights tell them: at the optimum each is the pull of its loss."""
        problem, own = self._problem, np.zeros_like(weights)
        if problem.crammer_singer:
            return self._settled, own
        margins = self._labels * problem.lifted.scores(weights)
        told = self._descent.feasible(problem.costs[:, None] * pulls(problem.loss, margins))
        self._add(told, own)
        return told, own

    def _add(self, steps: np.ndarray, weights: np.ndarray) -> None:
        signed = steps if self._problem.crammer_singer else steps * self._labels
        self._problem.lifted.add(np.ascontiguousarray(signed), weights)

    def _conjugates(self) -> np.ndarray:
        problem = self._problem
        return conjugates_along(
            self._settled, self._proposed,
            problem.target, problem.costs, problem.loss, problem.crammer_singer,
        )  # fmt: skip


class LocalTeam:
    """Members in this process, one after the other."""

    def __init__(self, members: Sequence[Member]):
        self.members = members
        descent = members[0]._descent
        self.n_members = len(members)
        self.n_groups = descent.n_groups
        self.shape = descent.weights.shape
        self.dtype = descent.weights.dtype

    def respond(
        self, weights: np.ndarray, steps: np.ndarray, momentum: float, n_epochs: float, look: bool
    ) -> list[Proposal]:
        """Ask each member in turn."""
        return [
            member.respond(Order(weights, own, momentum, n_epochs, look))
            for member, own in zip(self.members, steps, strict=True)
        ]


def solve(
    team: Team,
    *,
    tol: float,
    max_iter: int,
    n_epochs: float,
    rounds_between_looks: int = ROUNDS_BETWEEN_LOOKS,
    monitor: Monitor | None = None,
) -> SolverResult:
    """Minimise until the duality gap is at most ``tol`` times the objective.

    Parameters
    ----------
    team : Team
    tol : float
    max_iter : int
        The most rounds.
    n_epochs : float
        Epochs of each member in a round; a half is half of the rows, by lot.
    rounds_between_looks : int
        The losses of all rows are summed at least that often, and whenever the gap seems small
        enough.
    monitor : callable, optional
        Called after each round as ``monitor(number, objective=…, gap=…, step=…)``.

    Returns
    -------
    SolverResult
        With the weights of the lowest objective met; ``history`` has a row per look.
    """
    council = Council(team)
    delay = DELAY / min(1.0, n_epochs)
    history: list[tuple[int, float, float]] = []
    number, last_look, stop, converged = 0, 0, False, False
    while True:
        momentum = number / (number + delay) if number > 1 else 0.0
        weights = council.weights.astype(team.dtype)
        ends = stop or number == max_iter
        seems_close = council.seems_close(tol)
        look = ends or seems_close or number - last_look >= rounds_between_looks
        proposals = team.respond(weights, council.steps, momentum, 0 if ends else n_epochs, look)
        council.judge(weights, proposals)
        if look:
            last_look = number
            history.append((number, council.objective, council.gap))
            converged = council.gap <= tol * council.objective
        if converged or ends:
            break
        if look and seems_close:
            council.was_mistaken()
        council.decide(proposals)
        number += 1
        if monitor is not None:
            stop = monitor(number, **council.facts())
    return SolverResult(
        weights=council.best_weights,
        n_iter=number,
        objective=council.objective,
        duality_gap=council.gap,
        converged=converged,
        stopped=stop,
        history=history,
    )


class Council:
    """The weights that all share, each member's part in them, and what is known of the optimum."""

    def __init__(self, team: Team):
        self.weights = np.zeros(team.shape)
        self.steps = np.zeros((team.n_members, team.n_groups))
        self.best_weights = np.zeros(team.shape, team.dtype)
        self._joint = team.n_groups != team.shape[1]
        self._parts: list[np.ndarray | None] = [None] * team.n_members
        self._lowest = np.full(team.n_groups, np.inf)
        self._highest = np.full(team.n_groups, -np.inf)
        self._dual_value = -np.inf
        self._estimate = np.inf
        self._trust = 1.0

    @property
    def objective(self) -> float:
        """The lowest objective met."""
        return float(self._lowest.sum())

    @property
    def gap(self) -> float:
        """How far above the optimum it can be at most."""
        return float((self._lowest - self._highest).sum())

    def seems_close(self, tol: float) -> bool:
        """Whether the gap may be small enough, as far as members have seen."""
        return self._estimate <= self._trust * tol * abs(self._dual_value + self._estimate)

    def was_mistaken(self) -> None:
        """A look found that the gap was not small enough."""
        self._trust *= STRICTER

    def facts(self) -> dict[str, float]:
        """What to tell about the last round."""
        gap = self._estimate
        step = float(self.steps.mean())
        return {"objective": self._dual_value + gap, "gap": gap, "step": step}

    def judge(self, weights: np.ndarray, proposals: Sequence[Proposal]) -> None:
        """The objectives at the weights, column by column; the best of each is kept."""
        losses = [proposal.losses for proposal in proposals if proposal.losses is not None]
        if losses:
            values = 0.5 * self._squared_norms(weights) + np.sum(losses, axis=0)
            better = values < self._lowest
            self._lowest = np.where(better, values, self._lowest)
            columns = np.broadcast_to(better, weights.shape[1])
            self.best_weights[:, columns] = weights[:, columns]
        for member, proposal in enumerate(proposals):
            if proposal.restarted:
                self._take_out(member, proposal.anchors)
        conjugates = np.sum([proposal.conjugates[0] for proposal in proposals], axis=0)
        dual_values = -0.5 * self._squared_norms(self.weights) - conjugates
        self._highest = np.maximum(self._highest, dual_values)
        self._dual_value = float(dual_values.sum())
        self._estimate = float(np.sum([proposal.estimates.sum() for proposal in proposals]))

    def decide(self, proposals: Sequence[Proposal]) -> None:
        """Find the steps under which the dual objective grows most, and take them."""
        linear, quadratic = self._expansion(proposals)
        self.steps = best_steps(linear, quadratic)
        for member, (proposal, steps) in enumerate(zip(proposals, self.steps, strict=True)):
            change = steps[:, None] * proposal.change.astype(np.float64)
            self.weights[proposal.anchors] += change
            part = self._parts[member]
            self._parts[member] = change if part is None else part + change

    def _take_out(self, member: int, anchors: np.ndarray) -> None:
        part = self._parts[member]
        if part is not None:
            self.weights[anchors] -= part
        self._parts[member] = None

    def _squared_norms(self, weights: np.ndarray) -> np.ndarray:
        norms = squared_norms_by_column(weights)
        return norms.sum(keepdims=True) if self._joint else norms

    def _expansion(self, proposals: Sequence[Proposal]) -> tuple[np.ndarray, np.ndarray]:
        """The dual objective over steps t is ``linear·t − ½ t·quadratic·t``, for each group."""
        n_members, n_columns = len(proposals), self.weights.shape[1]
        linear = np.zeros((n_columns, n_members))
        quadratic = np.zeros((n_columns, n_members, n_members))
        size = max(1, NUMBERS_PER_BLOCK // (n_members * self.weights[0].size))
        for begin, end in row_blocks(len(self.weights), size):
            weights = self.weights[begin:end]
            changes = np.zeros((n_members, *weights.shape))
            for member, proposal in enumerate(proposals):
                first, last = np.searchsorted(proposal.anchors, (begin, end))
                changes[member, proposal.anchors[first:last] - begin] = proposal.change[first:last]
            by_column = changes.transpose(2, 0, 1, 3).reshape(n_columns, n_members, -1)
            along = weights.transpose(1, 0, 2).reshape(n_columns, -1, 1)
            linear -= (by_column @ along)[..., 0]
            quadratic += by_column @ by_column.transpose(0, 2, 1)
        if self._joint:
            linear, quadratic = linear.sum(0, keepdims=True), quadratic.sum(0, keepdims=True)
        for member, proposal in enumerate(proposals):
            now, half, end = proposal.conjugates
            slope, curvature = 4 * half - 3 * now - end, 4 * (now + end - 2 * half)
            linear[:, member] -= slope
            quadratic[:, member, member] += np.maximum(curvature, 0)
        return linear, quadratic


def default_epochs(n_rows: int) -> float:
    """Epochs per round for parts of so many rows.

    Examples
    --------
    >>> from hyperlocal.solvers.team import default_epochs
    >>> [default_epochs(n) for n in (1_000, 100_000, 1_000_000)]
    [8.0, 2.0, 1.0]
    """
    return next((epochs for most, epochs in EPOCHS_PER_ROUND if n_rows < most), FEWEST_EPOCHS)


def best_steps(linear: np.ndarray, quadratic: np.ndarray) -> np.ndarray:
    """Maximise ``b·t − ½ t·A·t`` over steps in [0, 1], for each group; ``(n_members, n_groups)``.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.solvers.team import best_steps
    >>> best_steps(np.array([[1.0, 3.0]]), np.array([[[2.0, 0.0], [0.0, 2.0]]])).tolist()
    [[0.5], [1.0]]
    """
    diagonal = np.einsum("gmm->gm", quadratic)
    steps = np.ones_like(linear)
    for _ in range(MOST_SWEEPS):
        before = steps.copy()
        for member in range(linear.shape[1]):
            pull = linear[:, member] - np.einsum("gm,gm->g", quadratic[:, member], steps)
            curvature = diagonal[:, member]
            moved = np.divide(pull, curvature, out=np.zeros_like(pull), where=curvature > 0)
            steps[:, member] = np.clip(steps[:, member] + moved, 0, 1)
        if np.abs(steps - before).max() < STEPS_SETTLED:
            break
    return np.ascontiguousarray(steps.T)


def stiffness_of(masses: np.ndarray, care: float) -> np.ndarray:
    """How stiff each anchor is to each member: one over its part in it, to the power ``care``.

    Parameters
    ----------
    masses : ndarray of shape (n_members, n_anchors)
        ``Σ_i γ_ij²`` over each member's rows.
    care : float
        With 1, taking all proposals whole can never lower the dual objective.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.solvers.team import stiffness_of
    >>> stiffness_of(np.array([[4.0, 1.0], [0.0, 1.0]]), 1.0).tolist()
    [[1.0, 2.0], [1.0, 2.0]]
    """
    roots = np.sqrt(masses)
    total = roots.sum(axis=0)
    parts = np.divide(roots, total, out=np.ones_like(roots), where=roots > 0)
    return np.maximum(parts, 1e-6) ** -care
