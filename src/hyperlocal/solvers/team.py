"""Dual descent by a team: each member holds some of the rows, and all share the weights.

In a round every member starts from the common weights, runs a few epochs over its own rows, and
proposes a change of its dual variables (:mod:`hyperlocal.solvers.member`). Each proposal then gets
a step in [0, 1] per column such that the dual objective of the whole grows most (a small quadratic
problem, solved exactly). Training stops by the duality gap of the whole.

Three things make rounds few:

- rows that share anchors belong to the same member (:mod:`hyperlocal.solvers.partitioning`);
- where members do share an anchor (or the global intercept), each moves it less: its curvature is
  multiplied by a stiffness of one over the member's part in that anchor (to the power ``care``);
- members extrapolate: they start from ``W + μ (W − W_before)``, with their own variables moved by
  the same momentum. The search for steps keeps it safe.

A member that is lost comes back with variables at zero: its part is taken out of the weights, it
starts from the variables that follow from the scores of its rows, and the descent continues.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from ..model.problem import squared_norms_by_column
from ..runtime.progress import Monitor
from ..runtime.threads import row_blocks
from .loop import Epochs
from .result import SolverResult

# Small parts are quick: more epochs between two exchanges. (Rows of a part, epochs.)
EPOCHS_PER_ROUND = ((20_000, 8.0), (50_000, 4.0), (200_000, 2.0))
FEWEST_EPOCHS = 1.0
# Momentum grows with the rounds (with the epochs, where a round is less than one), over these. Too
# early, it moves the variables past their bounds and optima, and rounds are lost on the way back.
DELAY = 5.0
# After a check that was too early, the estimated gap must be smaller by this before the next.
STRICTER = 0.7
# Powers of the stiffness. One is always safe; if rows are grouped by neighborhood, members share
# few anchors, and a little less converges sooner.
POWER_FOR_GROUPED_ROWS = 0.8
POWER_FOR_ANY_ROWS = 1.0
ROUNDS_BETWEEN_CHECKS = 15
MOST_SWEEPS = 200
NUMBERS_PER_BLOCK = 1 << 21
STEPS_SETTLED = 1e-5


@dataclass(frozen=True)
class Order:
    """What a member gets in a round.

    Attributes
    ----------
    weights : ndarray of shape (n_blocks, n_columns, p + 1)
    steps : ndarray of shape (n_groups,)
        How far to go towards the member's last proposal.
    momentum : float
    n_epochs : float
        At most one may be broken.
    with_losses : bool
        Whether to compute the losses at the weights: it takes a pass over all rows.
    restart : bool
        The member is new: its variables are at zero, and ``weights`` are from before it was lost.
    """

    weights: np.ndarray
    steps: np.ndarray
    momentum: float
    n_epochs: float
    with_losses: bool
    restart: bool = False

    def with_weights(self, weights: np.ndarray) -> Order:
        """The order with weights that travelled by themselves."""
        return replace(self, weights=weights)


@dataclass(frozen=True)
class Proposal:
    """What a member answers.

    Attributes
    ----------
    blocks : ndarray of shape (n_touched,)
        Blocks of weights that its rows have a part in: active anchors, and the global intercept.
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

    blocks: np.ndarray
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
        self,
        weights: np.ndarray,
        steps: np.ndarray,
        momentum: float,
        n_epochs: float,
        with_losses: bool,
    ) -> Sequence[Proposal]:
        """Send each member its order (``steps`` has a row for each), and gather the answers."""


def solve(
    team: Team,
    *,
    tol: float,
    max_iter: int,
    n_epochs: float,
    rounds_between_checks: int = ROUNDS_BETWEEN_CHECKS,
    monitor: Monitor | None = None,
) -> SolverResult:
    """Minimize until the duality gap is at most ``tol`` times the objective.

    Parameters
    ----------
    team : Team
    tol : float
    max_iter : int
        The most rounds.
    n_epochs : float
        Epochs of each member in a round; a half is half of the rows, drawn at random.
    rounds_between_checks : int
        The losses of all rows are summed at least that often, and whenever the estimated gap is
        small enough.
    monitor : Monitor, optional
        Called after each round with ``objective``, ``gap`` and ``step``.

    Returns
    -------
    SolverResult
        With the weights of the lowest objective; ``history`` has a row per check of the gap.
    """
    coordinator = Coordinator(team, tol, n_epochs, rounds_between_checks)
    rounds = Epochs(max_iter, monitor)
    coordinator.ask(0, rounds.ended)
    for number in rounds.until_converged(coordinator):
        coordinator.decide()
        rounds.report(**coordinator.facts())
        coordinator.ask(number, rounds.ended)
    return SolverResult(
        weights=coordinator.best_weights,
        n_iter=rounds.number,
        objective=coordinator.objective,
        duality_gap=coordinator.gap,
        converged=coordinator.converged,
        stopped=rounds.stopped,
        history=coordinator.history,
    )


class Coordinator:
    """The weights that all share, each member's part in them, and what is known of the optimum."""

    def __init__(
        self,
        team: Team,
        tol: float,
        n_epochs: float,
        rounds_between_checks: int = ROUNDS_BETWEEN_CHECKS,
    ):
        self.weights = np.zeros(team.shape)
        self.steps = np.zeros((team.n_members, team.n_groups))
        self.best_weights = np.zeros(team.shape, team.dtype)
        self.dual_value = -np.inf
        self.converged = False
        self.history: list[tuple[int, float, float]] = []
        self._team, self._tol, self._n_epochs = team, tol, n_epochs
        self._rounds_between_checks = rounds_between_checks
        self._proposals: Sequence[Proposal] = ()
        self._joint = team.n_groups != team.shape[1]
        self._parts: list[np.ndarray | None] = [None] * team.n_members
        self._lowest = np.full(team.n_groups, np.inf)
        self._highest = np.full(team.n_groups, -np.inf)
        self._estimate = np.inf
        self._settled_share = 1.0
        self._last_check = 0

    @property
    def objective(self) -> float:
        """The lowest objective so far."""
        return float(self._lowest.sum())

    @property
    def gap(self) -> float:
        """An upper bound of its distance from the optimum."""
        return float((self._lowest - self._highest).sum())

    def ask(self, number: int, is_last: bool) -> None:
        """Have all members propose, after ``number`` rounds; at last, only losses are computed.

        The losses are also computed when the estimated gap is small enough, or after some rounds
        without.
        """
        weights = self.weights.astype(self._team.dtype)
        seems_settled = self._seems_settled()
        overdue = number - self._last_check >= self._rounds_between_checks
        with_losses = is_last or seems_settled or overdue
        n_epochs = 0 if is_last else self._n_epochs
        momentum = self._momentum(number)
        self._proposals = self._team.respond(weights, self.steps, momentum, n_epochs, with_losses)
        self._evaluate(weights)
        if with_losses:
            self._last_check = number
            self.history.append((number, self.objective, self.gap))
            self.converged = self.gap <= self._tol * self.objective
        if seems_settled and not self.converged:
            self._settled_share *= STRICTER

    def decide(self) -> None:
        """Find the steps under which the dual objective grows most, and take them."""
        linear, quadratic = self._expansion()
        self.steps = best_steps(linear, quadratic)
        for member, (proposal, steps) in enumerate(zip(self._proposals, self.steps, strict=True)):
            change = steps[:, None] * proposal.change.astype(np.float64)
            self.weights[proposal.blocks] += change
            part = self._parts[member]
            self._parts[member] = change if part is None else part + change

    def facts(self) -> dict[str, float]:
        """Facts of the last round, for the monitor."""
        gap, step = self._estimate, float(self.steps.mean())
        return {"objective": self.dual_value + gap, "gap": gap, "step": step}

    def _momentum(self, number: int) -> float:
        delay = DELAY / min(1.0, self._n_epochs)
        return number / (number + delay) if number > 1 else 0.0

    def _seems_settled(self) -> bool:
        tolerated = self._settled_share * self._tol * abs(self.dual_value + self._estimate)
        return self._estimate <= tolerated

    def _evaluate(self, weights: np.ndarray) -> None:
        """Bound the optimum from the proposals; columns with the lowest objective are kept."""
        proposals = self._proposals
        losses = [proposal.losses for proposal in proposals if proposal.losses is not None]
        if losses:
            values = 0.5 * self._squared_norms(weights) + np.sum(losses, axis=0)
            better = values < self._lowest
            self._lowest = np.where(better, values, self._lowest)
            columns = np.broadcast_to(better, weights.shape[1])
            self.best_weights[:, columns] = weights[:, columns]
        for member, proposal in enumerate(proposals):
            if proposal.restarted:
                self._take_out(member, proposal.blocks)
        conjugates = np.sum([proposal.conjugates[0] for proposal in proposals], axis=0)
        dual_values = -0.5 * self._squared_norms(self.weights) - conjugates
        self._highest = np.maximum(self._highest, dual_values)
        self.dual_value = float(dual_values.sum())
        self._estimate = float(np.sum([proposal.estimates.sum() for proposal in proposals]))

    def _take_out(self, member: int, anchors: np.ndarray) -> None:
        part = self._parts[member]
        if part is not None:
            self.weights[anchors] -= part
        self._parts[member] = None

    def _squared_norms(self, weights: np.ndarray) -> np.ndarray:
        norms = squared_norms_by_column(weights)
        return norms.sum(keepdims=True) if self._joint else norms

    def _expansion(self) -> tuple[np.ndarray, np.ndarray]:
        """The dual objective over steps t is ``linear·t − ½ t·quadratic·t``, for each group."""
        proposals = self._proposals
        n_members, n_columns = len(proposals), self.weights.shape[1]
        linear = np.zeros((n_columns, n_members))
        quadratic = np.zeros((n_columns, n_members, n_members))
        size = max(1, NUMBERS_PER_BLOCK // (n_members * self.weights[0].size))
        for begin, end in row_blocks(len(self.weights), size):
            weights = self.weights[begin:end]
            changes = np.zeros((n_members, *weights.shape))
            for member, proposal in enumerate(proposals):
                first, last = np.searchsorted(proposal.blocks, (begin, end))
                changes[member, proposal.blocks[first:last] - begin] = proposal.change[first:last]
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
    """Maximize ``b·t − ½ t·A·t`` over steps in [0, 1], for each group; ``(n_members, n_groups)``.

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
    """How stiff each block of weights is to each member.

    It is one over the member's part in it, to the power ``care``.

    Parameters
    ----------
    masses : ndarray of shape (n_members, n_blocks)
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
