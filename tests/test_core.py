"""Tests of the compiled core's door: wrong arrays raise, and never crash or write elsewhere."""

import gc
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperlocal import _core
from reference.problems import TOLERANCE
from reference.snapshot import snapshot

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
    moving = _core.MovingGateFloat64(rows(), zeros(M, D), anchors, weights, norms, norms, 1.0, True)
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


CENTRES = {
    "neighbors": np.array([[0, 1, 2], [0, 3, 3]], np.int32),  # of three classes, and of one
    "starts": np.array([0, 3, 3]),
    "classes": np.arange(3, dtype=np.int32),
    "beta": zeros(3, 3),
    "bias": zeros(3),
    "scales": np.ones(2),
}


def local_svms():
    return _core.LocalSvmsFloat64(neighborhood(), **{k: v.copy() for k, v in CENTRES.items()})


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
        distances=np.ones((2, 4)), out=zeros(2, C), n_unsolved=longs(1),
    ),
    "gram scores": Call(
        lambda: neighborhood().gram_scores, neighbors=ints(2, 4), grams=zeros(2, 5, 5),
        out=zeros(2, C), n_unsolved=longs(1),
    ),
    "local svms": Call(lambda: _core.LocalSvmsFloat64, neighborhood=neighborhood, **CENTRES),
    "local svms train": Call(
        lambda: local_svms().train, centres=lambda: _core.RowsFloat64(zeros(2, D), False),
        begin=0, end=2, n_unsolved=longs(1),
    ),
    "local svms scores": Call(
        lambda: local_svms().scores, queries=rows, begin=1, end=4,
        centres=np.array([0, 1, 0], np.int32), out=zeros(3, C),
    ),
}  # fmt: skip
CALLS |= {
    "gate": Call(
        lambda: _core.MovingGateFloat64, places=rows, anchors=zeros(M, D), neighbours=codes()[0],
        codes=codes()[1], squared_norms=np.ones(N), row_norms=np.ones(N), beta=1.0, normalize=True,
    ),
    "anchor epoch": Call(
        lambda: run_anchor_epoch, **STATE, momentum=zeros(M, D), spread=zeros(M), rates=np.ones(3),
        n_moves=0, crammer_singer=False, own_share=0.5, order=np.arange(N), batch_size=2,
        bounds=zeros(C, 2), reports=zeros(C, 4), part=0, column_begin=0, column_end=C,
    ),
    "joint anchor epoch": Call(
        lambda: run_anchor_epoch, **STATE, momentum=zeros(M, D), spread=zeros(M), rates=np.ones(3),
        n_moves=0, crammer_singer=True, own_share=0.5, order=np.arange(N), batch_size=2,
        bounds=zeros(1, 2), reports=zeros(1, 4), part=0, column_begin=0, column_end=C,
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
    "nearest": _core.NearestFloat64,
    "neighborhood": _core.NeighborhoodFloat64,
    "local svms": _core.LocalSvmsFloat64,
    "tree epoch": tuple,
    "tree gradient": tuple,
    "latent epoch": float,
}

every_array = pytest.mark.parametrize(
    ("name", "key"),
    [
        pytest.param(name, key, id=f"{name}-{key}")
        for name, call in CALLS.items()
        for key, value in call.arguments.items()
        if isinstance(value, np.ndarray)
    ],
)


@pytest.mark.parametrize("name", CALLS)
def test_right_arguments_pass(name):
    """Each call that the other tests spoil works as it stands."""
    given = CALLS[name].arguments
    arrays = {key: fresh(value) for key, value in given.items() if isinstance(value, np.ndarray)}
    assert isinstance(CALLS[name](**arrays), MADE.get(name, type(None)))
    assert all(np.isfinite(array).all() for array in arrays.values())


@every_array
def test_other_dtypes_are_refused(name, key):
    """An array of another dtype is an error, not a silent copy."""
    given = CALLS[name].arguments[key]
    for other in (np.float32, np.float64, np.int32, np.int64, np.uint8, np.complex128, object):
        if other != given.dtype:
            with pytest.raises(TypeError):
                CALLS[name](**{key: given.astype(other)})


@every_array
def test_other_layouts_are_refused(name, key):
    """Strided and byte-swapped arrays, and arrays of other dimensions, are errors."""
    given = CALLS[name].arguments[key]
    strided = np.repeat(given, 2, axis=-1)[..., ::2]
    for other in (strided, given[None], given[..., 0], given.astype(given.dtype.newbyteorder())):
        if other.dtype.isnative and other.ndim == given.ndim and other.flags.c_contiguous:
            continue  # a single byte has no order, a single number no stride
        with pytest.raises(TypeError):
            CALLS[name](**{key: other})


# Rows, anchors, the order of visits and the list that places point into may have any length (as
# long as there is a rate for each batch of visits).
ANY_LENGTH = [
    *(("dense", "dense", 0), ("dense", "dense", 1), ("combine", "partial", 0)),
    *(("epoch", "order", 0), ("joint epoch", "order", 0), ("sgd", "order", 0)),
    *(("anchor epoch", "order", 0), ("joint anchor epoch", "order", 0)),
    *(("learned sgd", "order", 0), ("gate", "anchors", 0)),
    *(("pegasos", "order", 0), ("pegasos regression", "order", 0)),
    *(("tree epoch", "order", 0), ("latent epoch", "order", 0), ("tree paths", "nodes", 1)),
]


@every_array
def test_other_shapes_are_refused(name, key):
    """An array that is too short or too long along any axis is an error."""
    given = CALLS[name].arguments[key]
    for axis, size in enumerate(given.shape):
        for other in {0, size - 1, size + 1}:
            if (name, key, axis) in ANY_LENGTH:
                continue
            shape = [*given.shape[:axis], other, *given.shape[axis + 1 :]]
            with pytest.raises(ValueError):  # noqa: PT011
                CALLS[name](**{key: np.resize(given, shape)})


@pytest.mark.parametrize(
    ("name", "key", "limit"),
    [
        ("csr", "columns", 3),
        ("gather", "chosen", N),
        ("group sums", "groups", 2),
        ("lifted", "anchors", M),
        ("combine", "places", 5),
        ("dual", "target", C),
        ("neighborhood", "target", C),
        ("neighborhood scores", "neighbors", N),
        ("gram scores", "neighbors", N),
        ("local svms", "neighbors", N),
        ("local svms", "classes", C),
        ("local svms scores", "centres", 2),
        ("epoch", "order", N),
        ("joint epoch", "order", N),
        ("sgd", "order", N),
        ("sgd", "target", C),
        ("learned sgd", "order", N),
        ("learned sgd", "target", C),
        ("gate", "neighbours", M),
        ("anchor epoch", "order", N),
        ("pegasos", "order", N),
        ("pegasos", "target", C),
        ("kernel block", "target", C),
        ("tree epoch", "order", N),
        ("tree gradient", "order", N),
        ("latent epoch", "order", N),
        ("latent epoch", "target", C),
    ],
)
def test_indices_out_of_bounds_are_refused(name, key, limit):
    """An index below or beyond its range is an error wherever it stands."""
    given = CALLS[name].arguments[key]
    for bad in (limit, -2, np.iinfo(given.dtype).max, np.iinfo(given.dtype).min):
        for place in (0, -1):
            spoiled = given.copy()
            spoiled.flat[place] = bad
            with pytest.raises(ValueError, match=r"out of bounds|class"):
                CALLS[name](**{key: spoiled})


@pytest.mark.parametrize(
    ("begin", "end"), [(-1, 3), (4, 2), (0, N + 1), (N + 1, N + 1), (-(2**62), 2**62)]
)
@pytest.mark.parametrize(
    ("name", "keys"),
    [
        *((name, ("begin", "end")) for name, call in CALLS.items() if "end" in call.arguments),
        *((name, ("column_begin", "column_end")) for name in ("add", "epoch", "sgd", "pegasos")),
        *((name, ("column_begin", "column_end")) for name in ("anchor epoch", "learned sgd")),
    ],
)
def test_ranges_out_of_bounds_are_refused(name, keys, begin, end):
    """A range must lie within the rows or columns and not run backwards."""
    with pytest.raises(ValueError):  # noqa: PT011
        CALLS[name](**dict(zip(keys, (begin, end), strict=True)))


@pytest.mark.parametrize(
    "starts", [[0, 2, 2], [1, 2, 3], [0, 4, 3], [-1, 2, 3], [0, -5, 3], [3], []], ids=str
)
def test_csr_starts_must_span_the_values(starts):
    """Row starts begin at zero, never fall, and end with the last value."""
    with pytest.raises(ValueError, match="CSR"):
        CALLS["csr"](starts=np.array(starts, np.int64))


def test_csr_rows_have_no_negative_width():
    """A negative number of features is refused, also where there are no values to say so."""
    nothing = {"values": zeros(0), "columns": ints(0), "starts": longs(2)}
    with pytest.raises(ValueError):  # noqa: PT011
        CALLS["csr"](**nothing, n_features=-1, quadratic=False)


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("encode", {"chosen": ints(N, 0), "weights": zeros(N, 0)}),
        ("encode", {"chosen": ints(N, 5), "weights": zeros(N, 5)}),
        ("nearest", {"k": 0}),
        ("nearest", {"n_queries": -1}),
        ("nearest finish", {"begin": 5}),
        ("neighborhood", {"n_classes": 1}),
        ("neighborhood", {"costs": zeros(N)}),
        ("neighborhood", {"tol": 0.0}),
        ("neighborhood", {"sigma": float("nan")}),
        ("neighborhood", {"max_steps": 0}),
        ("local svms", {"starts": np.array([0, 4, 3])}),
        ("sgd", {"skip": 0}),
        ("sgd", {"t0": 0.0}),
        ("sgd", {"lambda_": float("nan")}),
        ("sgd", {"crammer_singer": True, "column_end": 2}),
        ("sgd", {"crammer_singer": True, "target": np.full(N, -1, np.int32)}),
        ("sgd", {"average": zeros(M, C + 1, D + 1)}),
        ("learned sgd", {"column_end": 2}),
        ("learned sgd", {"column_begin": 1}),
        ("learned sgd", {"weights": zeros(M, C, D), "average": None}),
        ("gate", {"neighbours": ints(N, 0), "codes": zeros(N, 0)}),
        ("gate", {"neighbours": ints(N, M + 1), "codes": zeros(N, M + 1)}),
        ("gate", {"anchors": zeros(2, D)}),
        ("anchor epoch", {"batch_size": 0}),
        ("anchor epoch", {"batch_size": -1}),
        ("anchor epoch", {"batch_size": 3}),
        ("anchor epoch", {"rates": np.ones(2)}),
        ("anchor epoch", {"n_threads": 0}),
        ("anchor epoch", {"part": 1}),
        ("anchor epoch", {"part": -1}),
        ("anchor epoch", {"crammer_singer": True}),
        ("joint anchor epoch", {"loss": "log"}),
        ("joint anchor epoch", {"crammer_singer": False}),
        ("pegasos", {"lambda_": 0.0}),
        ("pegasos", {"radius": float("nan")}),
        ("pegasos", {"batch_size": 0}),
        ("pegasos", {"steps": -1.0}),
        ("pegasos", {"target": None}),
        ("pegasos", {"coupling": _core.Coupling.regression}),
        ("pegasos", {"coupling": _core.Coupling.multinomial, "column_end": 2}),
        (
            "pegasos",
            {"coupling": _core.Coupling.crammer_singer, "target": np.full(N, -1, np.int32)},
        ),
        ("kernel block", {"lambda_": 0.0}),
        ("tree epoch", {"depth": -1}),
        ("tree scores", {"depth": 62}),
        ("tree gradient", {"nodes": zeros(7, 2, 8), "gradient": zeros(7, 2, 8)}),
        ("latent epoch", {"n_models": 0}),
        ("latent epoch", {"n_models": 9}),
        ("latent epoch", {"q": 0.5}),
        ("latent scores", {"q": float("nan")}),
    ],
)
def test_numbers_out_of_range_are_refused(name, changed):
    """Numbers that make no sense together are errors."""
    if "chosen" in changed:
        changed = changed | {"distances": changed["weights"].copy()}
    with pytest.raises(ValueError):  # noqa: PT011
        CALLS[name](**changed)


def test_centres_are_trained_on_as_many_columns_as_they_have_classes():
    """Columns that do not fit are found before anything is written."""
    models = CALLS["local svms"](starts=np.array([0, 2, 3]))
    with pytest.raises(ValueError, match="as many as it has classes"):
        models.train(_core.RowsFloat64(zeros(2, D), False), 0, 2, longs(1))


def test_crammer_singer_needs_classes():
    """Joint training needs two columns, a class for every row, and a hinge loss."""
    arrays = {**CALLS["joint epoch"].arguments}
    with pytest.raises(ValueError, match="hinge"):
        dual("log").crammer_singer_epoch(**arrays)
    free = CALLS["dual"](target=np.full(N, -1, np.int32))
    with pytest.raises(ValueError, match="class"):
        free.crammer_singer_epoch(**arrays)
    single = CALLS["dual"](n_columns=1)
    one_column = {**arrays, "weights": zeros(M, 1, D + 1), "alpha": zeros(N, 1)}
    with pytest.raises(ValueError, match="two columns"):
        single.crammer_singer_epoch(**one_column | {"active": flags(N, 1)})


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("row norms", "out"),
        ("gather", "out"),
        ("encode", "chosen"),
        ("encode", "weights"),
        ("encode", "distances"),
        ("scores", "out"),
        ("add", "weights"),
        ("nearest finish", "chosen"),
        ("neighborhood scores", "out"),
        ("local svms", "beta"),
        ("epoch", "alpha"),
        ("epoch", "reports"),
        ("check", "active"),
        ("sgd", "average"),
        ("gate", "anchors"),
        ("gate", "neighbours"),
        ("gate", "codes"),
        ("gate", "squared_norms"),
        ("anchor epoch", "weights"),
        ("anchor epoch", "momentum"),
        ("anchor epoch", "spread"),
        ("anchor epoch", "reports"),
        ("pegasos", "scaled"),
        ("pegasos", "past"),
        ("kernel block", "added"),
        ("tree epoch", "nodes"),
        ("tree gradient", "gradient"),
        ("tree paths", "path"),
        ("latent epoch", "weights"),
        ("latent scores", "products"),
    ],
)
def test_read_only_outputs_are_refused(name, key):
    """What is written to must be writable."""
    protected = CALLS[name].arguments[key].copy()
    protected.flags.writeable = False
    with pytest.raises(TypeError):
        CALLS[name](**{key: protected})


def test_gates_and_rows_share_their_codes():
    """A gate that learns changes what lifted rows read: others than theirs are refused."""
    with pytest.raises(ValueError, match="share their codes"):
        CALLS["anchor epoch"](lifted=lifted())
    with pytest.raises(ValueError, match="share their norms"):
        CALLS["anchor epoch"](norms=np.ones(N))
    with pytest.raises(ValueError, match="share their codes"):
        CALLS["sgd"](learned_gate=CALLS["gate"]())


def test_read_only_inputs_pass():
    """What is only read may be read-only, as memory-mapped rows are."""
    X = zeros(N, D)
    X.flags.writeable = False
    assert CALLS["dense"](dense=X).n_rows == N


def test_precisions_do_not_mix():
    """Rows of one precision are not lifted in the other."""
    with pytest.raises(TypeError):
        _core.LiftedFloat32(rows(), *codes(np.float32), M, 1.0)


def test_arrays_outlive_their_names():
    """The core keeps what it reads alive."""
    core = dual()
    gc.collect()
    _ = [np.full((N, D), np.nan) for _ in range(200)]
    arrays = {
        **CALLS["epoch"].arguments,
        "active": np.ones((N, C), np.uint8),
        "weights": zeros(M, C, D + 1),
    }
    core.epoch(**arrays | {"bounds": np.tile([np.inf, -np.inf], (C, 1))})
    assert np.isfinite(arrays["weights"]).all()
    assert arrays["weights"].any()


def test_gates_outlive_their_names():
    """An epoch keeps the gate, the rows and all arrays alive."""
    given = {key: fresh(value) for key, value in CALLS["anchor epoch"].arguments.items()}
    run = {key: given.pop(key) for key in ("part", "column_begin", "column_end")}
    given |= {"active": np.ones((N, C), np.uint8), "bounds": np.tile([np.inf, -np.inf], (C, 1))}
    epoch = anchor_epoch(**given)
    gc.collect()
    _ = [np.full((N, D), np.nan) for _ in range(200)]
    epoch.run(**run)
    assert given["weights"].any()
    for key in ("weights", "alpha", "momentum", "spread"):
        assert np.isfinite(given[key]).all()


# Fuzzing ------------------------------------------------------------------------------------------

sizes = st.integers(0, 5)
odd_numbers = st.sampled_from([0.0, 1.0, -1.0, 1e-300, 1e300, np.inf, -np.inf, np.nan])
UNWRITTEN = -7.25  # a number that none of these give


@st.composite
def odd_arrays(draw, dtype, ndim):
    shape = tuple(draw(sizes) for _ in range(ndim))
    size = int(np.prod(shape))
    if np.dtype(dtype).kind == "f":
        values = draw(st.lists(odd_numbers, min_size=size, max_size=size))
    else:
        low = 0 if np.dtype(dtype).kind == "u" else -2
        values = draw(st.lists(st.integers(low, 5), min_size=size, max_size=size))
    return np.array(values, dtype).reshape(shape)


def spoil(data, value):
    """Another value of the same kind, most likely a wrong one."""
    if isinstance(value, np.ndarray):
        return data.draw(odd_arrays(value.dtype, value.ndim))
    if isinstance(value, bool):
        return data.draw(st.booleans())
    if isinstance(value, int):
        return data.draw(st.integers(-3, 7))
    if isinstance(value, float):
        return data.draw(odd_numbers)
    return value


@pytest.mark.parametrize("name", CALLS)
@settings(max_examples=60)
@given(data=st.data())
def test_fuzzed_arguments_work_or_raise(name, data):
    """Any arguments of the right types either work or raise an error."""
    arguments = CALLS[name].arguments
    # An empty first CSR row has a test of its own, in a process of its own.
    keys = [key for key in arguments if (name, key) not in {("csr", "starts")}]
    spoiled = data.draw(st.sets(st.sampled_from(keys), max_size=4))
    try:
        made = CALLS[name](**{key: spoil(data, arguments[key]) for key in sorted(spoiled)})
    except (ValueError, TypeError) as error:
        assert str(error)  # noqa: PT017
        return
    assert isinstance(made, MADE.get(name, type(None)))
    if name in ("dense", "csr"):
        out = np.full((made.n_rows, made.width), UNWRITTEN)
        made.gather(np.arange(made.n_rows), out)
        assert (out != UNWRITTEN).all()
    if name == "lifted":
        norms = np.full(N, UNWRITTEN)
        made.squared_norms(0, N, norms)
        assert (norms != UNWRITTEN).all()


# Two builds ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def baseline(tmp_path_factory):
    """What the portable build computes, in a process of its own."""
    path = tmp_path_factory.mktemp("snapshot") / "baseline.npz"
    subprocess.run(
        [sys.executable, "-m", "reference.snapshot", str(path)],
        env={**os.environ, "HYPERLOCAL_CORE": "baseline"},
        cwd=Path(__file__).parent,
        check=True,
    )
    with np.load(path) as file:
        return dict(file)


def test_the_portable_build_can_be_chosen(baseline):
    """HYPERLOCAL_CORE=baseline picks the build that runs everywhere."""
    assert baseline["instruction_set"] == "baseline"


def test_the_builds_agree(baseline):
    """The build for this machine and the portable one compute the same."""
    for name, array in snapshot().items():
        if name == "instruction_set":
            continue
        tolerance = TOLERANCE[str(array.dtype)] * 100
        scale = np.abs(array).max(initial=1.0)
        if ": dual" in name:  # stopped at a gap of 1e-4: rounding may cost or save an epoch
            tolerance = max(tolerance, 2e-2)
        np.testing.assert_allclose(baseline[name], array, atol=tolerance * scale, err_msg=name)
