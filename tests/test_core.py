"""Tests of the compiled core's door: wrong arrays raise, and never crash or write elsewhere."""

import gc

import numpy as np
import pytest

from hyperlocal import _core
from reference.core_calls import CALLS, MADE, fresh
from reference.core_objects import (
    C,
    D,
    M,
    N,
    anchor_epoch,
    codes,
    dual_problem,
    ints,
    lifted,
    longs,
    rows,
    zeros,
)

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
    either = (np.float32, np.float64) if key in ("dense", "values") else (given.dtype,)
    for other in (np.float32, np.float64, np.int32, np.int64, np.uint8, np.complex128, object):
        if other not in either:  # rows may have either precision
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
    *(("learned sgd", "order", 0), ("gate", "anchors", 0), ("recode", "reserves", 1)),
    *(("recode", "rows", 0), ("encode", "chosen", 1), ("valued", "values", 1)),
    *(("pegasos", "order", 0), ("pegasos regression", "order", 0)),
    *(("tree epoch", "order", 0), ("latent epoch", "order", 0), ("tree paths", "nodes", 1)),
    *(("parts memory", "weights", 1), ("parts memory", "weights", 3), ("parts epoch", "order", 0)),
    *(("path moments", "coarse", 1), ("path moments", "fine", 1)),
    *(("path contributions", "coarse", 1), ("path contributions", "fine", 1)),
    *(("path moments", "squares", axis) for axis in range(3)),  # those of no rows: none are given
    *(("stretch", "stretches", 0), ("cells", "centers", 0), ("nearest of lists", "lists", 1)),
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
            with pytest.raises(ValueError, match="|".join(CALLS[name].arguments)):
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
        ("neighborhood train", "neighbors", N),
        ("valued scores", "neighbors", N),
        ("valued gram scores", "neighbors", N),
        ("valued train", "neighbors", N),
        ("cached svms", "nearest", N),
        ("cached svms", "support", N),
        ("cached svms", "classes", C),
        ("cached svms scores", "centers", 2),
        ("nearest of lists", "lists", N),
        ("cells", "cells", 2),
        ("epoch", "order", N),
        ("joint epoch", "order", N),
        ("sgd", "order", N),
        ("sgd", "target", C),
        ("learned sgd", "order", N),
        ("learned sgd", "target", C),
        ("gate", "neighbors", M),
        ("recode", "reserves", M),
        ("recode", "rows", N),
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
            with pytest.raises(
                ValueError,
                match=f"{key}.* out of bounds",
            ):
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
    with pytest.raises(ValueError, match="starts"):
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
        ("encode", {"chosen": ints(N, 1)}),
        ("encode", {"chosen": ints(N, M + 1)}),
        ("nearest", {"k": 0}),
        ("nearest", {"k": N + 1}),
        ("neighborhood", {"n_classes": 1}),
        ("neighborhood", {"costs": zeros(N)}),
        ("neighborhood", {"tol": 0.0}),
        ("neighborhood", {"sigma": float("nan")}),
        ("neighborhood", {"max_steps": 0}),
        ("valued", {"epsilon": -0.1}),
        ("valued", {"costs": zeros(N)}),
        ("valued", {"values": zeros(N, 0)}),
        ("valued train", {"starts": np.array([0, 3, 4])}),
        ("cached svms", {"starts": np.array([0, 4, 3])}),
        ("cached svms", {"support_starts": np.array([0, 3, 2])}),
        ("cells nearest", {"n_probes": 0}),
        ("sgd", {"skip": 0}),
        ("sgd", {"t0": 0.0}),
        ("sgd", {"lambda_": float("nan")}),
        ("sgd", {"crammer_singer": True, "column_end": 2}),
        ("sgd", {"crammer_singer": True, "target": np.full(N, -1, np.int32)}),
        ("sgd", {"average": zeros(M, C + 1, D + 1)}),
        ("learned sgd", {"column_end": 2}),
        ("learned sgd", {"column_begin": 1}),
        ("learned sgd", {"weights": zeros(M, C, D), "average": None}),
        ("gate", {"neighbors": ints(N, 0), "codes": zeros(N, 0)}),
        ("gate", {"neighbors": ints(N, M + 1), "codes": zeros(N, M + 1)}),
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
        ("joint epoch", {"column_end": 2}),
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
    if name == "encode" and "weights" in changed:
        changed = changed | {"distances": changed["weights"].copy()}
    with pytest.raises(ValueError):  # noqa: PT011
        CALLS[name](**changed)


def test_centers_are_trained_on_as_many_columns_as_they_have_classes():
    """Columns that do not fit are found before anything is written."""
    with pytest.raises(ValueError, match="as many as it has classes"):
        CALLS["neighborhood train"](starts=np.array([0, 2, 3]))


def test_crammer_singer_needs_classes():
    """Joint training needs two columns, a class for every row, and a hinge loss."""
    joint = {"crammer_singer": True}
    with pytest.raises(ValueError, match="hinge"):
        CALLS["dual"](**joint, loss=_core.Loss.log)
    with pytest.raises(ValueError, match="target"):
        CALLS["dual"](**joint, target=np.full(N, -1, np.int32))
    with pytest.raises(ValueError, match="n_columns"):
        CALLS["dual"](**joint, n_columns=1)


@pytest.mark.parametrize("name", ["epoch", "joint epoch"])
def test_no_columns_are_no_visit(name):
    """An epoch over no columns leaves the reports as they are."""
    reports = CALLS[name].arguments["reports"] + 7.0
    CALLS[name](column_begin=1, column_end=1, reports=reports)
    assert (reports == 7.0).all()


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
        ("neighborhood train", "beta"),
        ("cells nearest", "chosen"),
        ("state", "alpha"),
        ("epoch", "reports"),
        ("state", "active"),
        ("sgd", "average"),
        ("gate", "anchors"),
        ("gate", "neighbors"),
        ("recode", "reserves"),
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
    with pytest.raises(ValueError, match="share its codes"):
        CALLS["anchor epoch"](lifted=lifted())
    with pytest.raises(ValueError, match="share its squared_norms"):
        CALLS["anchor epoch"](norms=np.ones(N))
    with pytest.raises(ValueError, match="share its codes"):
        CALLS["sgd"](learned_gate=CALLS["gate"]())


def test_read_only_inputs_pass():
    """What is only read may be read-only, as memory-mapped rows are."""
    X = zeros(N, D)
    X.flags.writeable = False
    assert CALLS["dense"](dense=X).n_rows == N


def test_precisions_do_not_mix():
    """Rows of one precision are not lifted in the other."""
    with pytest.raises(TypeError):
        _core.lifted(rows(), *codes(np.float32), M, 1.0)


def test_arrays_outlive_their_names():
    """The core keeps what it reads alive."""
    weights = zeros(M, C, D + 1)
    state = _core.dual_state(
        dual_problem(), weights, zeros(N, C), np.ones((N, C), np.uint8),
        np.tile([np.inf, -np.inf], (C, 1)),
    )  # fmt: skip
    gc.collect()
    _ = [np.full((N, D), np.nan) for _ in range(200)]
    state.epoch(np.arange(N), 0, C, zeros(C, 4))
    assert np.isfinite(weights).all()
    assert weights.any()


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
