"""Calls of the compiled core with right arguments, for tests to spoil."""

import numpy as np

from hyperlocal import _core

N, D, M, K, C = 6, 3, 4, 2, 3  # rows, features, anchors, neighbours, columns


def zeros(*shape):
    return np.zeros(shape)


def ints(*shape):
    return np.zeros(shape, np.int32)


def longs(*shape):
    return np.zeros(shape, np.int64)


def flags(*shape):
    return np.zeros(shape, np.uint8)


def rows():
    return _core.RowsFloat64(np.random.default_rng(0).standard_normal((N, D)), False)


def codes(dtype=np.float64):
    return np.arange(N * K, dtype=np.int32).reshape(N, K) % M, np.full((N, K), 0.5, dtype)


def lifted():
    return _core.LiftedFloat64(rows(), *codes(), M, 1.0)


def squared_hinge():
    return _core.Loss.squared_hinge


def dual(loss="squared_hinge"):
    target, ones = np.arange(N, dtype=np.int32) % C, np.ones(N)
    return _core.DualFloat64(lifted(), target, ones, ones, C, getattr(_core.Loss, loss))


def shared_codes():
    """Lifted rows and the gate whose codes they read."""
    anchors, weights = codes()
    lifted = _core.LiftedFloat64(rows(), anchors, weights, M, 1.0)
    norms = np.ones(N)
    moving = _core.MovingGateFloat64(
        rows(), zeros(M, D), anchors, ints(N, 1), weights, norms, norms, 1.0, True
    )
    return lifted, moving, norms


def anchor_epoch(n_threads=1, lifted=None, norms=None, loss="squared_hinge", **arguments):
    """An epoch of recoding dual descent over rows and a gate of its own."""
    own, moving, shared = shared_codes()
    dual = _core.DualFloat64(
        own if lifted is None else lifted, np.arange(N, dtype=np.int32) % C, np.ones(N),
        shared if norms is None else norms, C, getattr(_core.Loss, loss),
    )  # fmt: skip
    return _core.AnchorEpochFloat64(dual, moving, n_threads=n_threads, **arguments)


def run_anchor_epoch(part, column_begin, column_end, **arguments):
    return anchor_epoch(**arguments).run(part, column_begin, column_end)


def learned_sgd(**arguments):
    """An epoch of stochastic gradient with a gate that learns."""
    lifted, moving, _ = shared_codes()
    return _core.sgd_epoch(lifted, learned_gate=moving, **arguments)


def nearest():
    search = _core.NearestFloat64(2, K)
    search.add(zeros(2, N), zeros(N), zeros(2))
    return search


def neighborhood():
    return _core.NeighborhoodFloat64(
        rows(), np.arange(N, dtype=np.int32) % C, np.ones(N), C, _core.Kernel.rbf, 0.0, 2, 1.0,
        1e-3, 100,
    )  # fmt: skip


CENTRES = {  # of three classes, and of one
    "neighbors": np.array([[0, 1, 2], [0, 3, 3]], np.int32),
    "scales": np.ones(2),
    "starts": np.array([0, 3, 3]),
    "classes": np.arange(3, dtype=np.int32),
    "beta": zeros(3, 3),
    "bias": zeros(3),
}
KEPT = {key: CENTRES[key] for key in ("scales", "starts", "classes", "bias")} | {
    "nearest": np.array([0, 3], np.int32),
    "support_starts": np.array([0, 2, 2]),
    "support": np.array([0, 2], np.int32),
    "beta": zeros(6),
}
POINTS = {
    "points": zeros(4, D),
    "cells": np.array([1, 0, 0, 1], np.int32),
    "middles": zeros(2, D),
}


def kept_svms():
    return _core.KeptSvmsFloat64(neighborhood(), **{k: v.copy() for k, v in KEPT.items()})


class Call:
    """A call with right arguments; the tests spoil one at a time.

    ``find`` gives the function, and arguments that are functions give compiled objects: none of
    these lives longer than a call.
    """

    def __init__(self, find, **arguments):
        self.find, self.arguments = find, arguments

    def __call__(self, **changed):
        arguments = {key: fresh(value) for key, value in self.arguments.items()}
        return self.find()(**(arguments | changed))


def fresh(value):
    if isinstance(value, np.ndarray):
        return value.copy()
    return value() if callable(value) else value


STATE = {"weights": zeros(M, C, D + 1), "alpha": zeros(N, C), "active": flags(N, C)}
TREE = {"target": ints(N), "costs": np.ones(N), "first_column": 0, "nodes": zeros(7, 3, 8)}
CALLS = {
    "dense": Call(lambda: _core.RowsFloat64, dense=zeros(N, D), quadratic=True),
    "csr": Call(
        lambda: _core.RowsFloat64, values=np.ones(3), columns=np.array([0, 2, 1], np.int32),
        starts=np.array([0, 2, 3]), n_features=3, quadratic=True,
    ),
    "row norms": Call(lambda: rows().squared_norms, begin=0, end=N, out=zeros(N)),
    "gather": Call(lambda: rows().gather, chosen=np.array([5, 0]), out=zeros(2, D)),
    "encode": Call(
        lambda: rows().encode, begin=0, end=N, anchors=zeros(M, D), products=zeros(N, M),
        half_norms=zeros(M), coding=lambda: _core.Coding.lcc, beta=1.0, ridge=1e-3, locality=0.1,
        chosen=ints(N, K), weights=zeros(N, K), distances=zeros(N, K),
    ),
    "group sums": Call(
        lambda: rows().group_sums, groups=ints(N), row_weights=np.ones(N), sums=zeros(2, D),
        masses=zeros(2),
    ),
    "lifted": Call(
        lambda: _core.LiftedFloat64, rows=rows, anchors=codes()[0], weights=codes()[1], n_anchors=M,
        bias=1.0,
    ),
    "scores": Call(
        lambda: lifted().scores, begin=1, end=4, weights=zeros(M, C, D + 1), out=zeros(3, C)
    ),
    "add": Call(
        lambda: lifted().add, steps=zeros(N, C), weights=zeros(M, C, D + 1), column_begin=0,
        column_end=C,
    ),
    "norms": Call(lambda: lifted().squared_norms, begin=0, end=N, out=zeros(N)),
    "group by anchor": Call(
        lambda: lifted().group_by_anchor, begin=0, end=N, starts=longs(M + 1), rows=longs(N * K),
        places=longs(N * K),
    ),
    "combine": Call(
        lambda: lifted().combine, begin=0, end=N, places=longs(N * K), partial=zeros(5, C),
        out=zeros(N, C),
    ),
    "dual": Call(
        lambda: _core.DualFloat64, lifted=lifted, target=ints(N), costs=np.ones(N),
        squared_norms=np.ones(N), n_columns=C, loss=squared_hinge,
    ),
    "epoch": Call(
        lambda: dual().epoch, **STATE, order=np.arange(N), column_begin=0, column_end=C,
        bounds=zeros(C, 2), reports=zeros(C, 4),
    ),
    "check": Call(
        lambda: dual().check, **STATE, begin=0, end=N, scores=zeros(N, C), bounds=zeros(C, 2),
        losses=zeros(C), gaps=zeros(C),
    ),
    "joint epoch": Call(
        lambda: dual().crammer_singer_epoch, **STATE, order=np.arange(N), bounds=zeros(1, 2),
        reports=zeros(1, 4),
    ),
    "joint check": Call(
        lambda: dual().crammer_singer_check, **STATE, begin=0, end=N, scores=zeros(N, C),
        bounds=zeros(1, 2), losses=zeros(1), gaps=zeros(1),
    ),
    "sgd": Call(
        lambda: _core.sgd_epoch, lifted=lifted, target=ints(N), costs=np.ones(N),
        loss=squared_hinge, crammer_singer=False, weights=zeros(M, C, D + 1),
        average=zeros(M, C, D + 1), visits=0.0,
        lambda_=0.1, t0=1.0, skip=2, decay_bias=False, order=np.arange(N), column_begin=0,
        column_end=C,
    ),
    "nearest": Call(lambda: _core.NearestFloat64, n_queries=2, k=K),
    "nearest add": Call(
        lambda: _core.NearestFloat64(2, K).add, products=zeros(2, N), half_norms=zeros(N),
        slack=zeros(2),
    ),
    "nearest finish": Call(
        lambda: nearest().finish, rows=rows, queries=rows, begin=1, chosen=ints(2, K),
        distances=zeros(2, K), bounds=zeros(2),
    ),
    "neighborhood": Call(
        lambda: _core.NeighborhoodFloat64, rows=rows, target=ints(N), costs=np.ones(N), n_classes=C,
        kernel=lambda: _core.Kernel.poly, sigma=0.5, degree=2, coef0=1.0, tol=1e-3, max_steps=100,
    ),
    "neighborhood scores": Call(
        lambda: neighborhood().scores, queries=rows, begin=1, end=3, neighbors=ints(2, 4) + 1,
        distances=np.ones((2, 4)), in_question=flags(2, C), out=zeros(2, C), n_unsolved=longs(1),
    ),
    "gram scores": Call(
        lambda: neighborhood().gram_scores, neighbors=ints(2, 4), grams=zeros(2, 5, 5),
        out=zeros(2, C), n_unsolved=longs(1),
    ),
    "neighborhood train": Call(
        lambda: neighborhood().train, centres=lambda: _core.RowsFloat64(zeros(2, D), False),
        begin=0, end=2, **CENTRES, n_unsolved=longs(1),
    ),
    "kept svms": Call(lambda: _core.KeptSvmsFloat64, neighborhood=neighborhood, **KEPT),
    "kept svms scores": Call(
        lambda: kept_svms().scores, queries=rows, begin=1, end=4,
        centres=np.array([0, 1, 0], np.int32), out=zeros(3, C),
    ),
    "nearest of lists": Call(
        lambda: _core.nearest_of_lists, rows=rows, queries=rows, begin=1, end=3,
        lists=np.array([[0, 1, 2], [3, 3, 1]], np.int32), chosen=ints(2, 2), distances=zeros(2, 2),
    ),
    "cells": Call(lambda: _core.CellsFloat64, **POINTS),
    "cells nearest": Call(
        lambda: _core.CellsFloat64(*POINTS.values()).nearest, queries=rows, begin=1, end=3,
        n_probes=1, chosen=ints(2, 3), distances=zeros(2, 3),
    ),
}  # fmt: skip
CALLS |= {
    "gate": Call(
        lambda: _core.MovingGateFloat64, places=rows, anchors=zeros(M, D), neighbours=codes()[0],
        reserves=ints(N, 1), codes=codes()[1], squared_norms=np.ones(N), row_norms=np.ones(N),
        beta=1.0, normalize=True,
    ),
    "recode": Call(lambda: shared_codes()[1].recode, rows=np.arange(N)),
    "anchor epoch": Call(
        lambda: run_anchor_epoch, **STATE, momentum=zeros(M, D), spread=zeros(M), rates=np.ones(3),
        n_moves=0, crammer_singer=False, own_share=0.5, order=np.arange(N), batch_size=2,
        bounds=zeros(C, 2), reports=zeros(C, 4), right=flags(N), part=0, column_begin=0,
        column_end=C,
    ),
    "joint anchor epoch": Call(
        lambda: run_anchor_epoch, **STATE, momentum=zeros(M, D), spread=zeros(M), rates=np.ones(3),
        n_moves=0, crammer_singer=True, own_share=0.5, order=np.arange(N), batch_size=2,
        bounds=zeros(1, 2), reports=zeros(1, 4), right=flags(N), part=0, column_begin=0,
        column_end=C,
    ),
    "learned sgd": Call(
        lambda: learned_sgd,
        **{key: given for key, given in CALLS["sgd"].arguments.items() if key != "lifted"},
    ),
    "pegasos": Call(
        lambda: _core.pegasos_epoch, rows=rows, bias=1.0, target=ints(N), values=None,
        costs=np.ones(N), loss=lambda: _core.Loss.hinge,
        coupling=lambda: _core.Coupling.one_vs_rest, epsilon=0.0, scaled=zeros(C, D + 1),
        past=zeros(C, D + 1), columns=np.tile([1.0, 0.0, 0.0], (C, 1)), steps=0.0, lambda_=0.1,
        radius=2.0, batch_size=2, order=np.arange(N), column_begin=0, column_end=C,
    ),
    "pegasos regression": Call(
        lambda: _core.pegasos_epoch, rows=rows, bias=1.0, target=None, values=np.ones(N),
        costs=np.ones(N), loss=lambda: _core.Loss.hinge,
        coupling=lambda: _core.Coupling.regression, epsilon=0.1, scaled=zeros(1, D + 1), past=None,
        columns=np.tile([1.0, 0.0, 0.0], (1, 1)), steps=3.0, lambda_=0.1, radius=np.inf,
        batch_size=1, order=np.arange(N), column_begin=0, column_end=1,
    ),
    "kernel block": Call(
        lambda: _core.kernel_pegasos_block, products=zeros(N, C), kernel=zeros(N, N),
        target=ints(N), costs=np.ones(N), lambda_=0.1, steps=0.0, squared_norms=zeros(C),
        losses=zeros(C), added=zeros(N, C),
    ),
    "tree epoch": Call(
        lambda: _core.tree_epoch, rows=rows, **TREE, mean=zeros(7, 3, 8), square=zeros(7, 3, 8),
        depth=2, alpha=0.1, sharpness=1.0, hard=False, rates=np.ones(1), order=np.arange(N),
    ),
    "tree gradient": Call(
        lambda: _core.tree_gradient, rows=rows, **TREE, depth=2, alpha=0.1, sharpness=1.0,
        hard=False, order=np.arange(N), gradient=zeros(7, 3, 8), scores=zeros(N, 1),
    ),
    "tree scores": Call(
        lambda: _core.tree_scores, rows=rows, begin=0, end=N, nodes=zeros(2, 7, 3, 8), depth=2,
        out=zeros(N, 2),
    ),
    "tree paths": Call(
        lambda: _core.tree_paths, rows=rows, begin=0, end=N, nodes=zeros(7, 3, 8), depth=2,
        path=ints(N, 3), gates=zeros(N, 3),
    ),
    "latent epoch": Call(
        lambda: _core.latent_epoch, rows=rows, target=ints(N), costs=np.ones(N),
        weights=zeros(D + 1, C, 8), n_models=5, q=3.0, alpha=0.1, step=0.1, first_visit=0.0,
        n_visits=10.0, order=np.arange(N), seed=1, held=zeros(D + 1, C, 8),
    ),
    "latent scores": Call(
        lambda: _core.latent_scores, products=zeros(N, C, 8), n_models=5, q=3.0, make_gates=True,
        scores=zeros(N, C),
    ),
}  # fmt: skip
# What calls return; all others fill the arrays they are given, and return nothing.
MADE = {
    "dense": _core.RowsFloat64,
    "csr": _core.RowsFloat64,
    "lifted": _core.LiftedFloat64,
    "dual": _core.DualFloat64,
    "tree scores": bool,
    "gate": _core.MovingGateFloat64,
    "anchor epoch": bool,
    "joint anchor epoch": bool,
    "nearest": _core.NearestFloat64,
    "neighborhood": _core.NeighborhoodFloat64,
    "kept svms": _core.KeptSvmsFloat64,
    "cells": _core.CellsFloat64,
    "tree epoch": tuple,
    "tree gradient": tuple,
    "latent epoch": float,
}
