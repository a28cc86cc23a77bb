"""One epoch of stochastic gradient, in doubles."""

import numpy as np

from . import losses
from .lifting import scores as lifted_scores

FADE = 3


def pulls(scores, truth, loss, crammer_singer):
    """``−∂ℓ/∂f_c`` of one row."""
    if not crammer_singer:
        labels = np.where(np.arange(len(scores)) == truth, 1.0, -1.0)
        return np.array([y * losses.pull(loss, y * s) for y, s in zip(labels, scores, strict=True)])
    rivals = scores.copy()
    rivals[truth] = -np.inf
    pull = losses.pull(loss, scores[truth] - rivals.max())
    out = np.zeros(len(scores))
    out[truth], out[rivals.argmax()] = pull, -pull
    return out


def epoch(
    Z, target, costs, loss, crammer_singer, weights, average, visits, lambda_, t0, skip, decay_bias,
    order, learned_gate=None,
):  # fmt: skip
    """Weights and their average after visiting the rows in ``order``.

    A gate that learns (``reference.anchor_descent.LearnedGate``) codes each row anew at its visit.
    """
    W, mean = weights.astype(float), average.astype(float)
    since_decay = 0
    for number, i in enumerate(order, start=1):
        if learned_gate is not None:
            Z = learned_gate.recoded(Z, i)
        scores = lifted_scores(Z[i : i + 1], W)[0]
        step = costs[i] / (lambda_ * (visits + t0))
        pull = pulls(scores, target[i], loss, crammer_singer)
        if learned_gate is not None:
            learned_gate.learn(i, W, pull, step)
        W += step * np.einsum("c,jv->jcv", pull, Z[i])
        since_decay += 1
        if since_decay == skip or number == len(order):
            keep = max(0.0, 1 - since_decay / (visits + t0))
            W[..., : None if decay_bias else -1] *= keep
            share = (FADE + 1) * since_decay / (visits + 1 + FADE * since_decay)
            mean += share * (W - mean)
            since_decay = 0
        visits += 1
    return W, mean
