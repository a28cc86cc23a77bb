"""Anchors that learn, in doubles: the gate's derivative by full Jacobians, and the two descents.

The weights of recoding dual descent are never carried along here: wherever they are needed they are
summed up from the dual variables and the codes, ``W_jc = Σ_i a_ic γ_ij [φ_i; B]``.
"""

from dataclasses import dataclass

import numpy as np

from . import coding, dual, losses

KEEP_MOMENTUM, KEEP_SPREAD = 0.9, 0.99


@dataclass
class MovingGate:
    """The gate as a function of its anchors; ``places`` are rows as the gate sees them."""

    places: np.ndarray  # N × d
    blocks: np.ndarray  # N × (p + 1), the rows [φ; B]
    anchors: np.ndarray  # m × d
    neighbours: np.ndarray  # N × k
    beta: float
    normalize: bool
    reserves: np.ndarray | None = None  # N × r, anchors that may become neighbours

    def copy(self):
        """A gate whose anchors and neighbours are its own."""
        given = (self.places, self.blocks, self.anchors.copy(), self.neighbours.copy())
        return MovingGate(*given, self.beta, self.normalize)

    def choose_neighbours(self, i):
        """The nearest of row i's neighbours and reserves become its neighbours."""
        known = np.concatenate([self.neighbours[i], self.reserves[i]])
        distances = coding.squared_distances(self.places[i : i + 1], self.anchors[known])[0]
        order = np.argsort(distances, kind="stable")
        k = self.neighbours.shape[1]
        self.neighbours[i], self.reserves[i] = known[order[:k]], known[order[k:]]

    def soft(self, i):
        """γ of row i over its neighbours."""
        V = self.anchors[self.neighbours[i]]
        distances = coding.squared_distances(self.places[i : i + 1], V)[0]
        return coding.soft(self.places[i], V, distances, self.beta)

    def mix(self, i):
        """What multiplies ``[φ; B]`` of row i: γ, or γ scaled to lifted rows of norm one."""
        gamma = self.soft(i)
        if not self.normalize:
            return gamma
        length = np.linalg.norm(gamma) * np.linalg.norm(self.blocks[i])
        return gamma / length if length > 0 else np.zeros_like(gamma)

    def lifted_row(self, i):
        """``z_i``, shape (m, p + 1)."""
        z = np.zeros((len(self.anchors), self.blocks.shape[1]))
        z[self.neighbours[i]] = np.outer(self.mix(i), self.blocks[i])
        return z

    def lifted(self):
        """All lifted rows, shape (N, m, p + 1)."""
        return np.array([self.lifted_row(i) for i in range(len(self.places))])

    def pull_back(self, i, p):
        """From ``∂L/∂mix`` of row i to ``∂L/∂v``, shape (m, d), one Jacobian after the other."""
        gamma = self.soft(i)
        if self.normalize:
            norm, length = np.linalg.norm(gamma), np.linalg.norm(self.blocks[i])
            jacobian = np.eye(len(gamma)) / norm - np.outer(gamma, gamma) / norm**3
            p = p @ (jacobian / length) if length > 0 else np.zeros_like(p)
        by_distance = p @ (-self.beta * (np.diag(gamma) - np.outer(gamma, gamma)))
        gradient = np.zeros_like(self.anchors)
        for j, anchor in enumerate(self.neighbours[i]):
            gradient[anchor] = by_distance[j] * -2 * (self.places[i] - self.anchors[anchor])
        return gradient


# Recoding dual descent ----------------------------------------------------------------------------


@dataclass
class State:
    """What an epoch changes, besides the gate's anchors; Z holds the rows as last coded."""

    Z: np.ndarray
    alpha: np.ndarray
    active: np.ndarray
    momentum: np.ndarray
    spread: np.ndarray
    right: np.ndarray  # whether a row's largest score was its own, when it was visited last
    n_moves: int = 0

    def copy(self):
        """A state of its own."""
        arrays = (self.Z, self.alpha, self.active, self.momentum, self.spread, self.right)
        return State(*(array.copy() for array in arrays), self.n_moves)


def recoding_epoch(
    gate, state, target, costs, loss, crammer_singer, rates, own_share, order, batch_size, bounds
):
    """One epoch; the gate and the state are changed in place. Returns reports and weights."""
    signs = 1.0 if crammer_singer else dual.labels_of(target, state.alpha.shape[1])
    step = _step_jointly if crammer_singer else _step_alone
    n_groups = 1 if crammer_singer else state.alpha.shape[1]
    reports = np.tile([0.0, 0.0, -np.inf, np.inf], (n_groups, 1))
    for batch, first in enumerate(range(0, len(order), batch_size)):
        rows = order[first : first + batch_size]
        gradient = np.zeros_like(gate.anchors)
        for i in rows:  # anchors stand still, so that each row may be coded at its visit
            state.Z[i] = gate.lifted_row(i)
            W = dual.weights_of(state.Z, state.alpha, signs)
            state.right[i] = _is_right(state, W, i, target[i], crammer_singer)
            step(state, W, i, target[i], costs[i], loss, bounds, reports)
            W = dual.weights_of(state.Z, state.alpha, signs)
            a = state.alpha[i] * (signs if crammer_singer else signs[i])
            gradient += gate.pull_back(i, pulls(gate, i, W, a, own_share))
        _move(gate, state, gradient, rates[batch])
    return reports, dual.weights_of(state.Z, state.alpha, signs)


def _is_right(state, W, i, truth, crammer_singer):
    """Columns that rest count as beyond the margin."""
    scores = np.einsum("jv,jcv->c", state.Z[i], W)
    labels = np.where(np.arange(len(scores)) == truth, 1.0, -1.0)
    rests = (state.alpha[i] == 0) & (state.active[i] == 0)
    scores = np.where(rests.all() if crammer_singer else rests, labels, scores)
    return (scores[0] > 0) == (truth == 0) if len(scores) == 1 else scores.argmax() == truth


def pulls(gate, i, W, a, own_share):
    """``−Σ_c a_c s_jc`` with a part of the row's own share of the answers ``s``."""
    answers = W[gate.neighbours[i]] @ gate.blocks[i]
    own = np.outer(gate.mix(i), a) * np.sum(gate.blocks[i] ** 2)
    return -(answers - (1 - own_share) * own) @ a


def _step_alone(state, W, i, truth, cost, loss, bounds, reports):
    q = np.sum(state.Z[i] ** 2)
    for c in range(W.shape[1]):
        alpha = state.alpha[i, c]
        if alpha == 0 and not state.active[i, c]:
            continue
        label = 1.0 if c == truth else -1.0
        margin = label * np.sum(state.Z[i] * W[:, c])
        reports[c, 0] += losses.gap_share(loss, alpha, margin, cost)
        if loss != "log":
            gradient = dual.slope_at(loss, alpha, margin, cost)
            if dual.excluded(loss, alpha, cost, gradient, bounds[c]):
                state.active[i, c] = 0
                continue
            projected = dual.projection(loss, alpha, cost, gradient)
            reports[c, 2] = max(reports[c, 2], projected)
            reports[c, 3] = min(reports[c, 3], projected)
        best = dual.snapped(loss, dual.best_alpha(loss, alpha, margin, q, cost), cost)
        moved = W[:, c] + label * (best - alpha) * state.Z[i]
        reports[c, 1] += 0.5 * np.sum(W[:, c] ** 2) - 0.5 * np.sum(moved**2)
        reports[c, 1] += losses.conjugate(loss, alpha, cost) - losses.conjugate(loss, best, cost)
        state.alpha[i, c] = best


def _step_jointly(state, W, i, truth, cost, loss, bounds, reports):
    a = state.alpha[i].copy()
    if not state.active[i, 0] and not a.any():
        return
    scores = np.einsum("jv,jcv->c", state.Z[i], W)
    reports[0, 0] += dual.crammer_singer_gap(loss, a, scores, truth, cost)
    if a[truth] == 0 and dual.lead(scores, truth) - 1 > bounds[0, 0]:
        state.active[i] = 0
        return
    reports[0, 2] = max(reports[0, 2], dual.violation(loss, a, scores.copy(), truth, cost))
    best = dual.best_row(loss, scores, a, truth, np.sum(state.Z[i] ** 2), cost)
    moved = W + np.einsum("c,jv->jcv", best - a, state.Z[i])
    reports[0, 1] += 0.5 * np.sum(W**2) - 0.5 * np.sum(moved**2)
    reports[0, 1] += losses.conjugate(loss, a[truth], cost)
    reports[0, 1] -= losses.conjugate(loss, best[truth], cost)
    state.alpha[i] = best


def _move(gate, state, gradient, rate):
    """Averages of the gradients and of their squared lengths, without their start at zero."""
    state.n_moves += 1
    state.momentum *= KEEP_MOMENTUM
    state.momentum += (1 - KEEP_MOMENTUM) * gradient
    state.spread *= KEEP_SPREAD
    state.spread += (1 - KEEP_SPREAD) * np.sum(gradient**2, axis=1)
    for anchor, spread in enumerate(state.spread):
        if spread > 0:
            average = state.momentum[anchor] / (1 - KEEP_MOMENTUM**state.n_moves)
            length = np.sqrt(spread / (1 - KEEP_SPREAD**state.n_moves))
            gate.anchors[anchor] -= rate * average / length


# Stochastic gradient ------------------------------------------------------------------------------


@dataclass
class LearnedGate:
    """A gate for ``reference.sgd.epoch``: nearest anchors are searched at every visit."""

    gate: MovingGate

    def recoded(self, Z, i):
        """The lifted rows with row i coded by the present anchors."""
        gate = self.gate
        distances = coding.squared_distances(gate.places[i : i + 1], gate.anchors)[0]
        k = gate.neighbours.shape[1]
        gate.neighbours[i] = np.argsort(distances, kind="stable")[:k]
        Z = Z.copy()
        Z[i] = gate.lifted_row(i)
        return Z

    def learn(self, i, W, pull, step):
        """Move the row's anchors by ``step`` down the gradient of its loss."""
        answers = W[self.gate.neighbours[i]] @ self.gate.blocks[i]
        self.gate.anchors -= step * self.gate.pull_back(i, -answers @ pull)
