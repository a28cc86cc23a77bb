"""Latent locally linear models in doubles. Weights: (features + 1, classes, models)."""

import numpy as np

MASK = 2**64 - 1


def score(z, q):
    """``‖[z]_+‖_q``."""
    return float(np.sum(np.maximum(z, 0) ** q) ** (1 / q))


def gate(z, q):
    """The best ``β`` of a positive score."""
    if q == 1:
        return (z > 0).astype(float)
    return (np.maximum(z, 0) / score(z, q)) ** (q - 1)


def uniforms(seed):
    """The stream of numbers in (0, 1] that random gates are made of (splitmix64)."""
    state = seed
    while True:
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        yield (((z ^ (z >> 31)) >> 11) + 1) * 2.0**-53


def epoch(X, target, costs, weights, q, alpha, step, first_visit, n_visits, order, seed):
    """Weights after visiting the rows in ``order``, and the sum of losses.

    The true class's gate is that of the weights at the start, the rival's the present one.
    """
    W, loss, random = weights.astype(float), 0.0, uniforms(seed)
    held = W.copy()
    for number, i in enumerate(order):
        x = np.append(X[i], 1.0)
        z = np.einsum("v,vcm->cm", x, W)
        scores = np.array([score(row, q) for row in z])
        y = target[i]
        rivals = scores.copy()
        rivals[y] = -np.inf
        r = int(rivals.argmax())
        rate = step * (1 - (first_visit + number) / n_visits)
        W = W * (1 - rate * alpha)
        slack = 1 - scores[y] + scores[r]
        if slack <= 0:
            continue
        loss += costs[i] * slack
        own = x @ held[:, y]
        if not (own > 0).any():
            own = np.array([next(random) for _ in own])
        beta = gate(own, q)
        W[:, y] += rate * costs[i] * np.outer(x, beta)
        if scores[r] > 0:
            W[:, r] -= rate * costs[i] * np.outer(x, gate(z[r], q))
    return W, loss
