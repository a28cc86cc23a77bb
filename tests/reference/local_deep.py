"""Trees of gates, node by node and row by row, in doubles. Vectors of a node: θ, θ', w_1 …"""

import numpy as np

LEAST_REACH = 1e-4


def with_constant(X, stride):
    """Rows with their constant 1, padded with zeros."""
    out = np.zeros((len(X), stride))
    out[:, : X.shape[1]] = X
    out[:, X.shape[1]] = 1
    return out


def routing(node, x, sharpness, hard):
    """``t`` of one inner node at one row."""
    projection = node[0] @ x
    if hard:
        return 1.0 if projection > 0 else -1.0
    return np.tanh(sharpness * projection)


def reach(nodes, x, sharpness, hard, least=LEAST_REACH):
    """``P_n`` of all nodes at one row; what hardly arrives is cut off."""
    shares = np.zeros(len(nodes))
    shares[0] = 1
    for n in range(len(nodes) // 2):
        t = routing(nodes[n], x, sharpness, hard)
        for child, share in ((2 * n + 1, (1 + t) / 2), (2 * n + 2, (1 - t) / 2)):
            product = shares[n] * share
            shares[child] = product if product > least else 0
    return shares


def node_values(nodes, x):
    """``tanh(θ'_n·x)(w_nc·x)`` of all nodes and columns at one row."""
    return np.tanh(nodes[:, 1] @ x)[:, None] * (nodes[:, 2:] @ x)


def scores(nodes, x, sharpness=0.0, hard=True, least=LEAST_REACH):
    """``f_c`` of all columns at one row."""
    return reach(nodes, x, sharpness, hard, least) @ node_values(nodes, x)


def labels(target, columns):
    """±1 of one row."""
    return np.where(np.asarray(columns) == target, 1.0, -1.0)


def objective(nodes, Z, target, costs, columns, alpha, sharpness, hard, least=LEAST_REACH):
    """Penalty and mean loss of a batch; the routes of leaves do not count."""
    loss = 0.0
    for x, label, cost in zip(Z, target, costs, strict=True):
        margins = labels(label, columns) * scores(nodes, x, sharpness, hard, least)
        loss += cost * np.maximum(0, 1 - margins).sum()
    n_inner = len(nodes) // 2
    penalty = np.sum(nodes[:, 1:] ** 2) + (0 if hard else np.sum(nodes[:n_inner, 0] ** 2))
    return alpha / 2 * penalty + loss / len(Z)


def gradient(nodes, Z, target, costs, columns, alpha, sharpness, hard):
    """The objective's gradient: every path's product, differentiated factor by factor."""
    n_inner = len(nodes) // 2
    out = alpha * nodes
    out[n_inner:, 0] = 0
    if hard:
        out[:, 0] = 0
    for x, label, cost in zip(Z, target, costs, strict=True):
        shares, values = reach(nodes, x, sharpness, hard), node_values(nodes, x)
        y = labels(label, columns)
        pull = np.where(y * (shares @ values) < 1, -y, 0) * cost / len(Z)
        for n in range(len(nodes)):
            gate, linear = np.tanh(nodes[n, 1] @ x), nodes[n, 2:] @ x
            out[n, 2:] += shares[n] * gate * pull[:, None] * x
            out[n, 1] += shares[n] * (1 - gate**2) * (pull @ linear) * x
            for ancestor, side in ancestors(n):
                if hard:
                    continue
                t = routing(nodes[ancestor], x, sharpness, hard)
                slope = shares[n] / (1 + side * t) * side * sharpness * (1 - t**2)
                out[ancestor, 0] += slope * (pull @ values[n]) * x
    return out


def ancestors(n):
    """Inner nodes above a node, and the side that leads to it: +1 left, -1 right."""
    while n > 0:
        parent, side = (n - 1) // 2, 1 if n % 2 else -1
        yield parent, side
        n = parent


def epoch(
    nodes, mean, square, Z, target, costs, columns, alpha, sharpness, hard, rates, order, batch=32
):
    """Nodes after Adam's steps over the batches of ``order``."""
    nodes, mean, square = (array.astype(float).copy() for array in (nodes, mean, square))
    moves = np.ones_like(nodes, dtype=bool)
    moves[len(nodes) // 2 :, 0] = False
    if hard:
        moves[:, 0] = False
    for number, rate in enumerate(rates):
        rows = order[number * batch : (number + 1) * batch]
        g = gradient(nodes, Z[rows], target[rows], costs[rows], columns, alpha, sharpness, hard)
        mean = np.where(moves, 0.9 * mean + 0.1 * g, mean)
        square = np.where(moves, 0.999 * square + 0.001 * g**2, square)
        nodes = nodes - np.where(moves, rate * mean / (np.sqrt(square) + 1e-8), 0)
    return nodes
