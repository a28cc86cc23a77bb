"""Plain Pegasos, in doubles: every step written as in the paper, nothing scaled lazily."""

import numpy as np

from . import losses
from .sgd import pulls as margin_pulls

FADE = 3


def pulls(scores, target, value, loss, coupling, epsilon):
    """``−∂ℓ/∂f_c`` of one row."""
    if coupling == "regression":
        residual = value - scores[0]
        return np.array([np.sign(residual) * (abs(residual) > epsilon)])
    if coupling == "multinomial":
        shares = np.exp(scores - scores.max())
        return np.eye(len(scores))[target] - shares / shares.sum()
    return margin_pulls(scores, target, loss, coupling == "crammer_singer")


def epoch(
    Z, costs, weights, average, steps, order, *, lambda_, batch_size, coupling, loss="hinge",
    target=None, values=None, epsilon=0.0, radius=np.inf,
):  # fmt: skip
    """Weights, their average and the number of steps after visiting ``order``.

    ``Z`` holds the rows with their constant feature, ``(n, p + 1)``; weights are ``(c, p + 1)``.
    """
    W, mean = weights.astype(float), average.astype(float)
    for begin in range(0, len(order), batch_size):
        batch = order[begin : begin + batch_size]
        steps += 1
        gradient = np.zeros_like(W)
        for i in batch:
            truth = None if target is None else target[i]
            value = None if values is None else values[i]
            pull = pulls(W @ Z[i], truth, value, loss, coupling, epsilon)
            if loss == "squared_hinge" and coupling != "regression":
                moves = 2 if coupling == "crammer_singer" else 1
                pull = pull / (1 + 2 * moves * costs[i] * (Z[i] @ Z[i]) / (lambda_ * steps))
            gradient += costs[i] * np.outer(pull, Z[i])
        W = (1 - 1 / steps) * W + gradient / (lambda_ * steps * len(batch))
        axis = 1 if coupling == "one_vs_rest" else None
        norm = np.sqrt((W**2).sum(axis=axis, keepdims=True))
        W = W * np.minimum(1, radius / np.maximum(norm, 1e-300))
        # Σ τ³ = (t(t+1)/2)²: the share of iterate t in the average of all up to it.
        mean = mean + (W - mean) * steps**FADE / (0.5 * steps * (steps + 1)) ** 2
    return W, mean, steps


def objective(Z, costs, W, *, lambda_, coupling, loss="hinge", target=None, values=None, epsilon=0):
    """``λ/2‖W‖² + (1/N) Σ c ℓ``."""
    total = 0.0
    for i, z in enumerate(Z):
        scores = W @ z
        if coupling == "regression":
            cost = max(0.0, abs(values[i] - scores[0]) - epsilon)
        elif coupling == "multinomial":
            cost = np.log(np.exp(scores - scores[target[i]]).sum())
        elif coupling == "crammer_singer":
            cost = losses.value(loss, scores[target[i]] - np.delete(scores, target[i]).max())
        else:
            labels = np.where(np.arange(len(scores)) == target[i], 1.0, -1.0)
            cost = sum(losses.value(loss, y * s) for y, s in zip(labels, scores, strict=True))
        total += costs[i] * cost
    return 0.5 * lambda_ * float((W**2).sum()) + total / len(Z)


def kernel_epoch(K, target, costs, n_columns, counts, steps, order, lambda_):
    """Counts after visiting ``order`` one row at a time, and the losses met on the way."""
    counts, met = counts.astype(float), 0.0
    for i in order:
        scores = K[i] @ counts / (lambda_ * steps) if steps else np.zeros(n_columns)
        for c in range(n_columns):
            label = 1.0 if target[i] == c else -1.0
            met += costs[i] * losses.value("hinge", label * scores[c])
            if label * scores[c] < 1:
                counts[i, c] += label * costs[i]
        steps += 1
    return counts, steps, met
