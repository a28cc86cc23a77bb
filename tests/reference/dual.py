"""Epochs and checks of dual coordinate descent, in doubles, one variable after the other."""

from dataclasses import dataclass

import numpy as np

from . import losses
from .lifting import scores as lifted_scores


@dataclass
class Epoch:
    """State after an epoch, and its report: gap seen, growth of D, range of gradients."""

    weights: np.ndarray
    alpha: np.ndarray
    active: np.ndarray
    reports: np.ndarray


def labels_of(target, n_columns):
    """±1 per row and column."""
    return np.where(target[:, None] == np.arange(n_columns), 1.0, -1.0)


def weights_of(Z, alpha, signs):
    """``W_c = Σ_i α_ic y_ic z_i`` (``signs`` is 1 for Crammer–Singer)."""
    return np.einsum("ic,ijv->jcv", alpha * signs, Z)


def dual_values(Z, target, costs, loss, alpha):
    """``D`` of each column of one-vs-rest."""
    n_columns = alpha.shape[1]
    W = weights_of(Z, alpha, labels_of(target, n_columns))
    values = -0.5 * np.einsum("jcv,jcv->c", W, W)
    for column in range(n_columns):
        for a, cost in zip(alpha[:, column], costs, strict=True):
            values[column] -= losses.conjugate(loss, a, cost)
    return values


def best_alpha(loss, alpha, margin, q, cost):
    """Maximise D along one coordinate: bisection on the slope of −D."""

    def slope(candidate):
        rest = margin + q * (candidate - alpha)
        if loss == "hinge":
            return rest - 1
        if loss == "squared_hinge":
            return rest - 1 + candidate / (2 * cost)
        return rest + np.log(candidate / (cost - candidate))

    if loss == "log":
        # By the logit, where α close to a bound keeps its digits.
        def at(z):
            return q * (cost / (1 + np.exp(-z)) - alpha) + margin + z

        return cost / (1 + np.exp(-losses.root_of_increasing(at, -700.0, 700.0)))
    largest = cost if loss == "hinge" else alpha + 2 * cost * (1 + abs(margin) + q * alpha)
    return losses.root_of_increasing(slope, 0.0, largest)


def epoch(Z, target, costs, loss, weights, alpha, active, order, bounds):
    """One epoch of one-vs-rest; ``bounds`` holds (above, below) per column."""
    W, alpha, active = weights.astype(float), alpha.astype(float), active.copy()
    n_columns = alpha.shape[1]
    labels = labels_of(target, n_columns)
    before = dual_values(Z, target, costs, loss, alpha)
    reports = np.tile([0.0, 0.0, -np.inf, np.inf], (n_columns, 1))
    for i in order:
        q = np.sum(Z[i] ** 2)
        for c in np.flatnonzero(active[i]):
            margin = labels[i, c] * np.sum(Z[i] * W[:, c])
            reports[c, 0] += losses.gap_share(loss, alpha[i, c], margin, costs[i])
            if loss != "log":
                gradient = slope_at(loss, alpha[i, c], margin, costs[i])
                if excluded(loss, alpha[i, c], costs[i], gradient, bounds[c]):
                    active[i, c] = 0
                    continue
                projected = projection(loss, alpha[i, c], costs[i], gradient)
                reports[c, 2] = max(reports[c, 2], projected)
                reports[c, 3] = min(reports[c, 3], projected)
            step = best_alpha(loss, alpha[i, c], margin, q, costs[i]) - alpha[i, c]
            alpha[i, c] = snapped(loss, alpha[i, c] + step, costs[i])
            W[:, c] += labels[i, c] * step * Z[i]
    reports[:, 1] = dual_values(Z, target, costs, loss, alpha) - before
    return Epoch(W, alpha, active, reports)


def snapped(loss, alpha, cost):
    """Bisection ends a hair from a bound that the exact step reaches."""
    if loss == "log":
        return alpha
    if alpha < 1e-12 * cost:
        return 0.0
    return cost if loss == "hinge" and alpha > cost * (1 - 1e-12) else alpha


def slope_at(loss, alpha, margin, cost):
    """The slope of −D in α for the hinge losses."""
    return margin - 1 + (alpha / (2 * cost) if loss == "squared_hinge" else 0)


def excluded(loss, alpha, cost, gradient, bounds):
    """Whether a variable rests at a bound and its gradient points outwards beyond ``bounds``."""
    above, below = bounds
    if loss == "log":
        return False
    if alpha <= 0:
        return gradient > above
    return loss == "hinge" and alpha >= cost and gradient < below


def projection(loss, alpha, cost, gradient):
    """The gradient as far as a step along it is feasible."""
    if alpha <= 0:
        return min(gradient, 0.0)
    if loss == "hinge" and alpha >= cost:
        return max(gradient, 0.0)
    return gradient


def check(scores, target, costs, loss, alpha, bounds):
    """Sums of losses, exact gaps and the variables that stay active."""
    n_rows, n_columns = alpha.shape
    labels = labels_of(target, n_columns)
    sums, gaps = np.zeros(n_columns), np.zeros(n_columns)
    active = np.ones(alpha.shape, np.uint8)
    for i in range(n_rows):
        for c in range(n_columns):
            margin = labels[i, c] * scores[i, c]
            sums[c] += costs[i] * losses.value(loss, margin)
            gaps[c] += losses.gap_share(loss, alpha[i, c], margin, costs[i])
            gradient = slope_at(loss, alpha[i, c], margin, costs[i])
            active[i, c] = not excluded(loss, alpha[i, c], costs[i], gradient, bounds[c])
    return sums, gaps, active


# Crammer–Singer -----------------------------------------------------------------------------------


def lead(scores, truth):
    """How far the true class leads the best rival."""
    return scores[truth] - np.delete(scores, truth).max()


def crammer_singer_gap(loss, a, scores, truth, cost):
    """A row's share of the duality gap."""
    return (
        cost * losses.value(loss, lead(scores, truth))
        + a @ scores
        + losses.conjugate(loss, a[truth], cost)
    )


def crammer_singer_dual(Z, target, costs, loss, a):
    """D of all rows and columns together."""
    W = weights_of(Z, a, 1.0)
    total = -0.5 * np.sum(W * W)
    for row, truth, cost in zip(a, target, costs, strict=True):
        total -= losses.conjugate(loss, row[truth], cost)
    return total


def best_row(loss, scores, a, truth, q, cost):
    """A row's variables at their joint optimum: bisection on the multiplier of ``Σa = 0``."""
    g = scores + 1 - q * a
    g[truth] -= 1
    q_truth = q + (1 / (2 * cost) if loss == "squared_hinge" else 0)
    bound = cost if loss == "hinge" else np.inf

    def row_at(beta):
        row = np.minimum(0, (beta - g) / q)
        row[truth] = min(bound, (beta - g[truth]) / q_truth)
        return row

    largest = np.abs(g).max() + 1
    beta = losses.root_of_increasing(lambda b: row_at(b).sum(), -largest, largest)
    row = row_at(beta)
    row[truth] = snapped(loss, -np.delete(row, truth).sum(), cost)
    return row


def violation(loss, a, scores, truth, cost):
    """The largest gradient minus the smallest one whose variable may still grow."""
    gradient = scores + 1
    gradient[truth] -= 1
    if loss == "squared_hinge":
        gradient[truth] += a[truth] / (2 * cost)
    may_grow = a < 0
    may_grow[truth] = loss != "hinge" or a[truth] < cost
    return gradient.max() - gradient[may_grow].min(initial=np.inf)


def crammer_singer_epoch(Z, target, costs, loss, weights, alpha, active, order, bounds):
    """One epoch; ``bounds`` holds (above, below), and a row's first flag stands for the row."""
    W, a, active = weights.astype(float), alpha.astype(float), active.copy()
    before = crammer_singer_dual(Z, target, costs, loss, a)
    gap, largest = 0.0, -np.inf
    for i in order:
        if not active[i, 0]:
            continue
        row_scores = lifted_scores(Z[i : i + 1], W)[0]
        gap += crammer_singer_gap(loss, a[i], row_scores, target[i], costs[i])
        if a[i, target[i]] == 0 and lead(row_scores, target[i]) - 1 > bounds[0]:
            active[i, 0] = 0
            continue
        largest = max(largest, violation(loss, a[i], row_scores.copy(), target[i], costs[i]))
        q = np.sum(Z[i] ** 2)
        row = best_row(loss, row_scores, a[i], target[i], q, costs[i])
        W += np.einsum("c,jv->jcv", row - a[i], Z[i])
        a[i] = row
    gain = crammer_singer_dual(Z, target, costs, loss, a) - before
    return Epoch(W, a, active, np.array([[gap, gain, largest, np.inf]]))


def crammer_singer_check(scores, target, costs, loss, alpha, bounds):
    """Sum of losses, exact gap and the rows that stay active."""
    loss_sum, gap, active = 0.0, 0.0, np.ones(len(alpha), np.uint8)
    for i, (row, truth, cost) in enumerate(zip(alpha, target, costs, strict=True)):
        loss_sum += cost * losses.value(loss, lead(scores[i], truth))
        gap += crammer_singer_gap(loss, row, scores[i], truth, cost)
        active[i] = not (row[truth] == 0 and lead(scores[i], truth) - 1 > bounds[0])
    return loss_sum, gap, active
