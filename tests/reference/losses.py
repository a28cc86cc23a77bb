"""Losses of a margin, their slopes and their conjugates."""

import numpy as np


def value(loss, margin):
    """ℓ(u)."""
    if loss == "log":
        return np.log1p(np.exp(-margin)) if margin > 0 else -margin + np.log1p(np.exp(margin))
    slack = max(0.0, 1 - margin)
    return slack if loss == "hinge" else slack**2


def pull(loss, margin):
    """−ℓ'(u)."""
    if loss == "log":
        return 1 / (1 + np.exp(margin))
    if loss == "hinge":
        return float(margin < 1)
    return 2 * max(0.0, 1 - margin)


def conjugate(loss, alpha, cost):
    """``C ℓ*(−α/C)``."""
    if loss == "hinge":
        return -alpha
    if loss == "squared_hinge":
        return -alpha + alpha**2 / (4 * cost)
    shares = np.array([alpha, cost - alpha])
    shares = shares[shares > 0]
    return float(np.sum(shares * np.log(shares / cost)))


def gap_share(loss, alpha, margin, cost):
    """A row's share of the duality gap."""
    return cost * value(loss, margin) + alpha * margin + conjugate(loss, alpha, cost)


def root_of_increasing(function, low, high):
    """Where an increasing function crosses zero, by bisection; the nearer end if it does not."""
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if function(middle) > 0 else (middle, high)
    return 0.5 * (low + high)
