"""Losses of residuals by their plain formulas, and an epoch of their dual, one variable at a time.

A loss is ``(name, parameter)``: ε of the tubes and of Huber's loss, or the level of a quantile.
"""

import numpy as np

from .losses import root_of_increasing


def value(loss, parameter, residual):
    """``L(r)``."""
    size = abs(residual)
    if loss == "squared":
        return residual**2
    if loss == "huber":
        return residual**2 if size <= parameter else 2 * parameter * size - parameter**2
    if loss == "quantile":
        return parameter * residual if residual > 0 else (parameter - 1) * residual
    slack = max(0.0, size - parameter)
    return slack if loss == "epsilon_insensitive" else slack**2


def bounds(loss, parameter, cost):
    """Between which a dual variable lies."""
    if loss == "epsilon_insensitive":
        return -cost, cost
    if loss == "huber":
        return -2 * parameter * cost, 2 * parameter * cost
    if loss == "quantile":
        return cost * (parameter - 1), cost * parameter
    return -np.inf, np.inf


def conjugate(loss, parameter, alpha, cost):
    """``C L*(α/C)`` between the bounds."""
    total = parameter * abs(alpha) if "insensitive" in loss else 0.0
    is_squared = loss in ("squared", "squared_epsilon_insensitive", "huber")
    return total + (alpha**2 / (4 * cost) if is_squared else 0.0)


def gap_share(loss, parameter, alpha, residual, cost):
    """A row's share of the duality gap."""
    conjugated = conjugate(loss, parameter, alpha, cost)
    return cost * value(loss, parameter, residual) - alpha * residual + conjugated


def best_alpha(loss, parameter, alpha, residual, q, cost):
    """Maximize D along one coordinate: bisection on the slope of −D, which increases."""

    def slope(candidate):
        rest = q * (candidate - alpha) - residual
        if "insensitive" in loss:
            rest += parameter * np.sign(candidate)
        if loss in ("squared", "squared_epsilon_insensitive", "huber"):
            rest += candidate / (2 * cost)
        return rest

    low, high = bounds(loss, parameter, cost)
    largest = abs(alpha) + 2 * cost * (abs(residual) + q * abs(alpha) + 1)
    best = root_of_increasing(slope, max(low, -largest), min(high, largest))
    return 0.0 if abs(best) < 1e-12 * cost else best


def epoch(Z, values, costs, losses, alpha, order):
    """One epoch without shrinking: the variables, and the gap as seen at the visits."""
    alpha, gaps = alpha.astype(float), np.zeros(alpha.shape[1])
    W = np.einsum("ic,ijv->jcv", alpha, Z)
    for i in order:
        q = np.sum(Z[i] ** 2)
        for c, loss in enumerate(losses):
            residual = values[i, c] - np.sum(Z[i] * W[:, c])
            gaps[c] += gap_share(*loss, alpha[i, c], residual, costs[i])
            step = best_alpha(*loss, alpha[i, c], residual, q, costs[i]) - alpha[i, c]
            alpha[i, c] += step
            W[:, c] += step * Z[i]
    return alpha, gaps
