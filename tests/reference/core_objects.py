"""Objects of the compiled core for tests: rows, problems, states, and what is made of them."""

import numpy as np

from hyperlocal import _core

N, D, M, K, C = 6, 3, 4, 2, 3  # rows, features, anchors, neighbors, columns


def zeros(*shape):
    return np.zeros(shape)


def ints(*shape):
    return np.zeros(shape, np.int32)


def longs(*shape):
    return np.zeros(shape, np.int64)


def flags(*shape):
    return np.zeros(shape, np.uint8)


def rows():
    return _core.rows(np.random.default_rng(0).standard_normal((N, D)))


def codes(dtype=np.float64):
    return np.arange(N * K, dtype=np.int32).reshape(N, K) % M, np.full((N, K), 0.5, dtype)


def lifted():
    return _core.lifted(rows(), *codes(), M, 1.0)


def dual_problem(crammer_singer=False, loss="squared_hinge"):
    target, ones = np.arange(N, dtype=np.int32) % C, np.ones(N)
    return _core.dual_problem(
        lifted(), target, ones, ones, C, getattr(_core.Loss, loss), crammer_singer
    )


def dual(crammer_singer=False):
    """The state of a problem, its own arrays apart."""
    n_groups = 1 if crammer_singer else C
    return _core.dual_state(
        dual_problem(crammer_singer), zeros(M, C, D + 1), zeros(N, C), flags(N, C),
        zeros(n_groups, 2),
    )  # fmt: skip


def shared_codes():
    """Lifted rows and the gate whose codes they read."""
    anchors, weights = codes()
    norms = np.ones(N)
    moving = _core.moving_gate(rows(), zeros(M, D), anchors, weights, norms, norms, 1.0, True)
    return _core.lifted(rows(), anchors, weights, M, 1.0), moving, norms


def anchor_epoch(
    weights, alpha, active, bounds, momentum, spread, rates, n_moves, order, reports, right,
    *, crammer_singer=False, loss="squared_hinge", lifted=None, norms=None, **options,
):  # fmt: skip
    """An epoch of recoding dual descent over rows and a gate of its own."""
    own, moving, shared = shared_codes()
    problem = _core.dual_problem(
        own if lifted is None else lifted, np.arange(N, dtype=np.int32) % C, np.ones(N),
        shared if norms is None else norms, C, getattr(_core.Loss, loss), crammer_singer,
    )  # fmt: skip
    return _core.anchor_epoch(
        _core.dual_state(problem, weights, alpha, active, bounds), moving,
        _core.anchor_motion(momentum, spread, rates, n_moves),
        _core.AnchorEpochOptions(**options), order, reports, right,
    )  # fmt: skip


def run_anchor_epoch(part, column_begin, column_end, **arguments):
    return anchor_epoch(**arguments).run(part, column_begin, column_end)


def parts_memory(weights=None, alpha=None, active=None, stretches=None, users=None):
    """Memory of two parts, with a block to spare between their weights."""
    return _core.parts_memory(
        zeros(2, M + 1, C, D + 1) if weights is None else weights,
        zeros(2, N, C) if alpha is None else alpha,
        flags(2, N, C) if active is None else active,
        np.ones((2, M)) if stretches is None else stretches,
        flags(2, M) + 1 if users is None else users,
    )


def run_parts_epoch(thread, **arguments):
    """An epoch of two parts."""
    return _core.parts_epoch(dual(True), parts_memory(), **arguments).run(thread)


def score_row(weights, x, scores):
    """The scores of one row."""
    row = zeros(1, D)
    rows, chosen, gate = _core.rows(row), ints(1, K), zeros(1, K)
    options = _core.CodingOptions(coding=_core.Coding.soft, beta=1.0, ridge=0.1, locality=0.1)
    coder = _core.coder(rows, zeros(M, D), zeros(M), options)
    lifted = _core.lifted(rows, chosen, gate, M, 1.0)
    return _core.row_scorer(row, coder, lifted, chosen, gate, weights, True).score(x, scores)


def encode(anchors, half_norms, coding, beta, ridge, locality, **arguments):
    """Rows coded by anchors."""
    options = _core.CodingOptions(coding=coding, beta=beta, ridge=ridge, locality=locality)
    return _core.coder(rows(), anchors, half_norms, options).encode(**arguments)


def sgd(lifted, target, costs, loss, crammer_singer, lambda_, t0, skip, decay_bias, **arguments):
    """An epoch of stochastic gradient."""
    problem = _core.sgd_problem(lifted, target, costs, C, loss, crammer_singer)
    schedule = _core.SgdSchedule(lambda_=lambda_, t0=t0, skip=skip, decay_bias=decay_bias)
    return problem.epoch(schedule=schedule, **arguments)


def learned_sgd(**arguments):
    """An epoch of stochastic gradient with a gate that learns."""
    lifted, moving, _ = shared_codes()
    return sgd(lifted, learned_gate=moving, **arguments)


def pegasos(rows, bias, target, values, costs, loss, coupling, epsilon, **arguments):
    """An epoch of Pegasos."""
    schedule = {key: arguments.pop(key) for key in ("lambda_", "radius", "batch_size")}
    problem = _core.pegasos_problem(rows, bias, target, values, costs, loss, coupling, epsilon)
    return problem.epoch(schedule=_core.PegasosSchedule(**schedule), **arguments)


def kernel_block(products, kernel, target, costs, **arguments):
    """A block of kernel Pegasos."""
    return _core.kernel_block(products, kernel, target, costs).visit(**arguments)


def tree(method, rows, target, costs, depth, alpha, sharpness, hard, **arguments):
    """A method of the problem of trees."""
    problem = _core.tree_problem(rows, target, costs, depth, alpha)
    routing = _core.Routing(sharpness=sharpness, hard=hard)
    return getattr(problem, method)(routing=routing, **arguments)


def latent_epoch(rows, target, costs, n_models, q, alpha, **arguments):
    """An epoch of latent locally linear models."""
    return _core.latent_problem(rows, target, costs, n_models, q, alpha).epoch(**arguments)


def nearest():
    search = _core.nearest_rows(rows(), rows(), 1, 3, K)
    search.add(zeros(2, N), zeros(N), zeros(2))
    return search


def make_neighborhood(rows, target, costs, n_classes, **options):
    return _core.neighborhood(rows, target, costs, n_classes, _core.NeighborhoodOptions(**options))


OPTIONS = {"sigma": 0.5, "degree": 2, "coef0": 1.0, "tol": 1e-3, "max_steps": 100}


def neighborhood():
    options = OPTIONS | {"kernel": _core.Kernel.rbf, "sigma": 0.0}
    return make_neighborhood(rows(), np.arange(N, dtype=np.int32) % C, np.ones(N), C, **options)


def make_valued(rows, values, costs, epsilon, **options):
    options = _core.NeighborhoodOptions(**options)
    return _core.valued_neighborhood(rows, values, costs, epsilon, options)


def valued():
    """Neighborhoods of rows with two targets."""
    options = OPTIONS | {"kernel": _core.Kernel.rbf, "sigma": 0.0}
    return make_valued(rows(), np.arange(2.0 * N).reshape(N, 2), np.ones(N), 0.1, **options)


def train_valued(centers, begin, end, neighbors, **arrays):
    """Trained models of centers, of values."""
    models = _core.trained_svms(**arrays)
    return valued().train(centers, begin, end, neighbors, models)


def train(centers, begin, end, neighbors, **arrays):
    """Trained models of centers."""
    models = _core.trained_svms(**arrays)
    return neighborhood().train(centers, begin, end, neighbors, models)


def cached_svms(neighborhood, support_starts, support, beta, **arrays):
    vectors = _core.support_vectors(support_starts, support, beta)
    return _core.cached_svms(neighborhood, support=vectors, **arrays)


CENTERS = {  # of three classes, and of one
    "neighbors": np.array([[0, 1, 2], [0, 3, 3]], np.int32),
    "scales": np.ones(2),
    "starts": np.array([0, 3, 3]),
    "classes": np.arange(3, dtype=np.int32),
    "beta": zeros(3, 3),
    "bias": zeros(3),
}
VALUED_CENTERS = CENTERS | {  # of two targets
    "starts": np.array([0, 2, 4]),
    "classes": np.arange(4, dtype=np.int32),
    "beta": zeros(4, 3),
    "bias": zeros(4),
}
CACHED = {key: CENTERS[key] for key in ("scales", "starts", "classes", "bias")} | {
    "nearest": np.array([0, 3], np.int32),
    "support_starts": np.array([0, 2, 2]),
    "support": np.array([0, 2], np.int32),
    "beta": zeros(6),
}
POINTS = {
    "points": zeros(4, D),
    "cells": np.array([1, 0, 0, 1], np.int32),
    "centers": zeros(2, D),
}


def some_cached_svms():
    return cached_svms(neighborhood(), **{key: value.copy() for key, value in CACHED.items()})


def path_moments(n_active, is_unit, factor, bias, coarse, fine, out, **arrays):
    """Averages along lines, from arguments that may be spoiled."""
    options = _core.PathOptions(
        n_active=n_active, is_unit=is_unit, factor=factor, alpha=2.0, beta=1.0, bias=bias,
        tolerance=0.01,
    )  # fmt: skip
    return _core.gate_paths(**arrays, gates=zeros(0, 0, 0, 0)).moments(options, coarse, fine, out)


def path_contributions(paths, coarse, fine, out, **features):
    """Contributions, from arguments that may be spoiled."""
    options = _core.PathOptions(
        n_active=2, is_unit=True, factor=1.0, alpha=2.0, beta=1.0, bias=1.0, tolerance=0.01
    )
    made = _core.path_features(**features)
    return _core.gate_paths(**paths, gates=zeros(0, 0, 0, 0)).contributions(
        options, coarse, fine, made, out
    )


def tree_averages(rows, out, **parts):
    """Averages along lines through a tree."""
    return _core.tree_lines(**parts).averages(rows, out)


def tree_contributions(rows, shares, out, **parts):
    """Contributions along lines through a tree."""
    return _core.tree_lines(**parts).contributions(rows, shares, out)
