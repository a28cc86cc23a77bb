"""Calls of the compiled core with right arguments, for tests to spoil."""

import numpy as np

from hyperlocal import _core
from reference.core_objects import (
    CACHED,
    CENTERS,
    OPTIONS,
    POINTS,
    VALUED_CENTERS,
    C,
    D,
    K,
    M,
    N,
    cached_svms,
    codes,
    dual,
    dual_problem,
    encode,
    flags,
    ints,
    kernel_block,
    latent_epoch,
    learned_sgd,
    lifted,
    longs,
    make_neighborhood,
    make_valued,
    nearest,
    neighborhood,
    parts_memory,
    path_contributions,
    path_moments,
    pegasos,
    rows,
    run_anchor_epoch,
    run_parts_epoch,
    score_row,
    sgd,
    shared_codes,
    some_cached_svms,
    train,
    train_valued,
    tree,
    tree_averages,
    tree_contributions,
    valued,
    zeros,
)

# The lines from five references, of curved scores and normalized rows.
TREE_LINES = {  # of depth 2, and lines from five references
    "nodes": zeros(7, 2 + C, 8),
    "depth": 2,
    "references": zeros(5, 8),
    "products": zeros(5, 7, 2 + C),
}
PATHS = {
    "row_logits": zeros(N, M), "start_logits": zeros(M, 5), "row_scores": zeros(N, M, C),
    "start_scores": zeros(M, C, 5), "linear": zeros(N, M, C, 5), "squares": zeros(N, 6, 5),
}  # fmt: skip


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
SOFT = {"depth": 2, "alpha": 0.1, "sharpness": 1.0, "hard": False}
CALLS = {
    "dense": Call(lambda: _core.rows, dense=zeros(N, D), quadratic=True),
    "csr": Call(
        lambda: _core.rows, values=np.ones(3), columns=np.array([0, 2, 1], np.int32),
        starts=np.array([0, 2, 3]), n_features=3, quadratic=True,
    ),
    "row norms": Call(lambda: rows().squared_norms, begin=0, end=N, out=zeros(N)),
    "gather": Call(lambda: rows().gather, chosen=np.array([5, 0]), out=zeros(2, D)),
    "encode": Call(
        lambda: encode, begin=0, end=N, anchors=zeros(M, D), products=zeros(N, M),
        half_norms=zeros(M), coding=lambda: _core.Coding.lcc, beta=1.0, ridge=1e-3, locality=0.1,
        chosen=ints(N, K), weights=zeros(N, K), distances=zeros(N, K),
    ),
    "group sums": Call(
        lambda: rows().group_sums, groups=ints(N), row_weights=np.ones(N), sums=zeros(2, D),
        masses=zeros(2),
    ),
    "lifted": Call(
        lambda: _core.lifted, rows=rows, anchors=codes()[0], weights=codes()[1], n_anchors=M,
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
        lambda: _core.dual_problem, lifted=lifted, target=ints(N), costs=np.ones(N),
        squared_norms=np.ones(N), n_columns=C, loss=lambda: _core.Loss.squared_hinge,
    ),
    "regression": Call(
        lambda: _core.dual_regression, lifted=lifted, values=zeros(N, C),
        losses=np.tile([0.1, 0.0, -1.0, 1.0], (C, 1)), costs=np.ones(N), squared_norms=np.ones(N),
    ),
    "stochastic regression": Call(
        lambda: _core.sgd_regression, lifted=lifted, values=zeros(N, C),
        losses=np.tile([0.1, 0.0, -1.0, 1.0], (C, 1)), costs=np.ones(N),
    ),
    "state": Call(lambda: _core.dual_state, problem=dual_problem, **STATE, bounds=zeros(C, 2)),
    "joint state": Call(
        lambda: _core.dual_state, problem=lambda: dual_problem(True), **STATE, bounds=zeros(1, 2)
    ),
    "epoch": Call(
        lambda: dual().epoch, order=np.arange(N), column_begin=0, column_end=C,
        reports=zeros(C, 4),
    ),
    "equal rows": Call(
        lambda: dual().equal_rows, rows=np.arange(2), starts=np.array([0, 2]), column_begin=0,
        column_end=C, reports=zeros(C, 4),
    ),
    "check": Call(
        lambda: dual().check, begin=0, end=N, scores=zeros(N, C), losses=zeros(C), gaps=zeros(C)
    ),
    "joint epoch": Call(
        lambda: dual(True).epoch, order=np.arange(N), column_begin=0, column_end=C,
        reports=zeros(1, 4),
    ),
    "joint check": Call(
        lambda: dual(True).check, begin=0, end=N, scores=zeros(N, C), losses=zeros(1),
        gaps=zeros(1),
    ),
    "score row": Call(
        lambda: score_row, weights=zeros(M, C, D + 1), x=zeros(D), scores=zeros(C)
    ),
    "parts memory": Call(
        lambda: parts_memory, weights=zeros(2, M + 1, C, D + 1), alpha=zeros(2, N, C),
        active=flags(2, N, C), stretches=np.ones((2, M)), users=flags(2, M),
    ),
    "parts epoch": Call(
        lambda: run_parts_epoch, order=np.arange(N), starts=np.array([0, 2, N]), n_rounds=2,
        n_threads=1, reports=zeros(2, 4), thread=0,
    ),
    "stretch": Call(
        lambda: _core.stretch_codes, lifted=lifted, squared_norms=np.ones(N), part_of=flags(N),
        stretches=np.ones((2, M)), begin=1, end=3, gate=zeros(N, K), norms=zeros(N),
    ),
    "sgd": Call(
        lambda: sgd, lifted=lifted, target=ints(N), costs=np.ones(N),
        loss=lambda: _core.Loss.squared_hinge, crammer_singer=False, weights=zeros(M, C, D + 1),
        average=zeros(M, C, D + 1), n_visits=0.0,
        lambda_=0.1, t0=1.0, skip=2, decay_bias=False, order=np.arange(N), column_begin=0,
        column_end=C,
    ),
    "nearest": Call(lambda: _core.nearest_rows, rows=rows, queries=rows, begin=1, end=3, k=K),
    "nearest add": Call(
        lambda: _core.nearest_rows(rows(), rows(), 1, 3, K).add, products=zeros(2, N),
        half_norms=zeros(N),
        slack=zeros(2),
    ),
    "nearest finish": Call(
        lambda: nearest().finish, chosen=ints(2, K), distances=zeros(2, K), bounds=zeros(2)
    ),
    "neighborhood": Call(
        lambda: make_neighborhood, rows=rows, target=ints(N), costs=np.ones(N), n_classes=C,
        kernel=lambda: _core.Kernel.poly, **OPTIONS,
    ),
    "neighborhood scores": Call(
        lambda: neighborhood().scores, queries=rows, begin=1, end=3, neighbors=ints(2, 4) + 1,
        distances=np.ones((2, 4)), in_question=flags(2, C), out=zeros(2, C),
    ),
    "gram scores": Call(
        lambda: neighborhood().gram_scores, neighbors=ints(2, 4), grams=zeros(2, 5, 5),
        out=zeros(2, C),
    ),
    "neighborhood train": Call(
        lambda: train, centers=lambda: _core.rows(zeros(2, D)), begin=0, end=2, **CENTERS
    ),
    "valued": Call(
        lambda: make_valued, rows=rows, values=zeros(N, 2), costs=np.ones(N), epsilon=0.1,
        kernel=lambda: _core.Kernel.rbf, **OPTIONS,
    ),
    "valued scores": Call(
        lambda: valued().scores, queries=rows, begin=1, end=3, neighbors=ints(2, 4) + 1,
        distances=np.ones((2, 4)), in_question=None, out=zeros(2, 2),
    ),
    "valued gram scores": Call(
        lambda: valued().gram_scores, neighbors=ints(2, 4), grams=zeros(2, 5, 5), out=zeros(2, 2),
    ),
    "valued train": Call(
        lambda: train_valued, centers=lambda: _core.rows(zeros(2, D)), begin=0, end=2,
        **VALUED_CENTERS,
    ),
    "cached svms": Call(lambda: cached_svms, neighborhood=neighborhood, **CACHED),
    "cached svms scores": Call(
        lambda: some_cached_svms().scores, queries=rows, begin=1, end=4,
        centers=np.array([0, 1, 0], np.int32), out=zeros(3, C),
    ),
    "nearest of lists": Call(
        lambda: _core.nearest_of_lists, rows=rows, queries=rows, begin=1, end=3,
        lists=np.array([[0, 1, 2], [3, 3, 1]], np.int32), chosen=ints(2, 2), distances=zeros(2, 2),
    ),
    "cells": Call(lambda: _core.cells, **POINTS),
    "cells nearest": Call(
        lambda: _core.cells(*POINTS.values()).nearest, queries=rows, begin=1, end=3,
        n_probes=1, chosen=ints(2, 3), distances=zeros(2, 3),
    ),
}  # fmt: skip
CALLS |= {
    "gate": Call(
        lambda: _core.moving_gate, places=rows, anchors=zeros(M, D), neighbors=codes()[0],
        codes=codes()[1], squared_norms=np.ones(N), row_norms=np.ones(N), beta=1.0,
        normalize=True,
    ),
    "recode": Call(lambda: shared_codes()[1].recode, rows=np.arange(N), reserves=ints(N, 1)),
    "anchor epoch": Call(
        lambda: run_anchor_epoch, **STATE, momentum=zeros(M, D), spread=zeros(M), rates=np.ones(3),
        n_moves=0, crammer_singer=False, own_share=0.5, order=np.arange(N), batch_size=2,
        bounds=zeros(C, 2), reports=zeros(C, 4), right=flags(N), part=0, column_begin=0,
        column_end=C, n_threads=1,
    ),
    "joint anchor epoch": Call(
        lambda: run_anchor_epoch, **STATE, momentum=zeros(M, D), spread=zeros(M), rates=np.ones(3),
        n_moves=0, crammer_singer=True, own_share=0.5, order=np.arange(N), batch_size=2,
        bounds=zeros(1, 2), reports=zeros(1, 4), right=flags(N), part=0, column_begin=0,
        column_end=C, n_threads=1,
    ),
    "learned sgd": Call(
        lambda: learned_sgd,
        **{key: given for key, given in CALLS["sgd"].arguments.items() if key != "lifted"},
    ),
    "pegasos": Call(
        lambda: pegasos, rows=rows, bias=1.0, target=ints(N), values=None,
        costs=np.ones(N), loss=lambda: _core.Loss.hinge,
        coupling=lambda: _core.Coupling.one_vs_rest, epsilon=0.0, scaled=zeros(C, D + 1),
        past=zeros(C, D + 1), columns=np.tile([1.0, 0.0, 0.0], (C, 1)), steps=0.0, lambda_=0.1,
        radius=2.0, batch_size=2, order=np.arange(N), column_begin=0, column_end=C,
    ),
    "pegasos regression": Call(
        lambda: pegasos, rows=rows, bias=1.0, target=None, values=np.ones(N),
        costs=np.ones(N), loss=lambda: _core.Loss.hinge,
        coupling=lambda: _core.Coupling.regression, epsilon=0.1, scaled=zeros(1, D + 1), past=None,
        columns=np.tile([1.0, 0.0, 0.0], (1, 1)), steps=3.0, lambda_=0.1, radius=np.inf,
        batch_size=1, order=np.arange(N), column_begin=0, column_end=1,
    ),
    "kernel block": Call(
        lambda: kernel_block, products=zeros(N, C), kernel=zeros(N, N),
        target=ints(N), costs=np.ones(N), lambda_=0.1, steps=0.0, squared_norms=zeros(C),
        losses=zeros(C), added=zeros(N, C),
    ),
    "tree epoch": Call(
        lambda: tree, method="epoch", rows=rows, **TREE, **SOFT, mean=zeros(7, 3, 8),
        square=zeros(7, 3, 8), rates=np.ones(1), order=np.arange(N),
    ),
    "tree gradient": Call(
        lambda: tree, method="gradient", rows=rows, **TREE, **SOFT, order=np.arange(N),
        gradient=zeros(7, 3, 8), scores=zeros(N, 1),
    ),
    "tree scores": Call(
        lambda: _core.tree_scores, rows=rows, begin=0, end=N, nodes=zeros(2, 7, 3, 8), depth=2,
        out=zeros(N, 2),
    ),
    "tree paths": Call(
        lambda: _core.tree_paths, rows=rows, begin=0, end=N, nodes=zeros(7, 3, 8), depth=2,
        path=ints(N, 3), gates=zeros(N, 3),
    ),
    "path moments": Call(
        lambda: path_moments, n_active=2, is_unit=True, factor=1.0, bias=1.0,
        coarse=np.ones((2, 4)), fine=np.ones((2, 5)),
        out=zeros(N, 5, (2 + C) * M + 4 * C), **PATHS,
    ),
    "path contributions": Call(
        lambda: path_contributions, paths=PATHS, coarse=np.ones((2, 4)), fine=np.ones((2, 5)),
        rows=zeros(2, N, D), starts=zeros(2, 5, D), row_slopes=zeros(N, M, C, D),
        start_slopes=zeros(5, M, C, D), anchors=zeros(M, D), factors=zeros(2, D), shares=np.ones(5),
        n_paired=1, out=zeros(N, C, D),
    ),
    "tree averages": Call(
        lambda: tree_averages, **TREE_LINES, rows=zeros(N, 8), out=zeros(5, N, C, 8),
    ),
    "tree contributions": Call(
        lambda: tree_contributions, **TREE_LINES, rows=zeros(N, 8), shares=np.ones(5),
        out=zeros(N, C, 8),
    ),
    "latent epoch": Call(
        lambda: latent_epoch, rows=rows, target=ints(N), costs=np.ones(N),
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
    "dual": _core.DualProblemFloat64,
    "regression": _core.DualProblemFloat64,
    "stochastic regression": _core.SgdProblemFloat64,
    "state": _core.DualStateFloat64,
    "joint state": _core.DualStateFloat64,
    "tree scores": bool,
    "parts memory": _core.PartsMemoryFloat64,
    "parts epoch": bool,
    "score row": int,
    "gate": _core.MovingGateFloat64,
    "anchor epoch": bool,
    "joint anchor epoch": bool,
    "nearest": _core.NearestRowsFloat64,
    "neighborhood": _core.NeighborhoodFloat64,
    "neighborhood scores": int,
    "gram scores": int,
    "neighborhood train": int,
    "valued": _core.NeighborhoodFloat64,
    "valued scores": int,
    "valued gram scores": int,
    "valued train": int,
    "cached svms": _core.CachedSvmsFloat64,
    "cells": _core.CellsFloat64,
    "tree epoch": tuple,
    "tree gradient": tuple,
    "latent epoch": float,
}
