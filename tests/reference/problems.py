"""Builders of small rows, codes, lifted rows and problems."""

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp

from hyperlocal import _core
from hyperlocal.data.rows import core_rows
from hyperlocal.gates.codes import Codes
from hyperlocal.model.lifting import LiftedRows
from hyperlocal.model.problem import RegressionProblem
from hyperlocal.model.residuals import REGRESSION_LOSSES, RegressionLoss
from hyperlocal.runtime.threads import Workers
from hyperlocal.solvers import Problem

from .lifting import lifted_matrix
from .rows import written_out

DTYPES = ("float32", "float64")
STORAGES = ("dense", "csr")
# What a sum of a few hundred products may lose.
TOLERANCE = {"float32": 2e-5, "float64": 1e-12}

every_storage = pytest.mark.parametrize(
    ("dtype", "storage"),
    [pytest.param(*kind, id="-".join(kind)) for kind in product(DTYPES, STORAGES)],
)
every_map = pytest.mark.parametrize("quadratic", [False, True], ids=["plain", "quadratic"])
every_hinge = pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
every_loss = pytest.mark.parametrize(
    ("loss", "crammer_singer"),
    [
        ("hinge", False),
        ("squared_hinge", False),
        ("log", False),
        ("hinge", True),
        ("squared_hinge", True),
    ],
    ids=["hinge", "squared_hinge", "log", "hinge-joint", "squared_hinge-joint"],
)
every_regression = pytest.mark.parametrize("loss", REGRESSION_LOSSES)
every_problem = pytest.mark.parametrize(
    ("loss", "crammer_singer", "n_columns"),
    [
        ("hinge", False, 1),
        ("hinge", False, 3),
        ("squared_hinge", False, 1),
        ("squared_hinge", False, 3),
        ("log", False, 1),
        ("log", False, 3),
        ("hinge", True, 3),
        ("squared_hinge", True, 3),
        ("hinge", True, 2),
    ],
    ids=lambda value: ("joint" if value else "ovr") if isinstance(value, bool) else None,
)


def make_rows(dtype="float64", storage="dense", n_rows=40, n_features=5, seed=0):
    """Rows with many zeros; the last row is all zeros, the first is not."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features)) * (rng.random((n_rows, n_features)) < 0.7)
    X[-1:] = 0
    X[:1, 0] = 1.5
    return stored(X, dtype, storage)


def stored(X, dtype, storage):
    """An array in the dtype and storage of the tests' names."""
    X = np.ascontiguousarray(X, dtype=dtype)
    return sp.csr_array(X) if storage == "csr" else X


def make_codes(n_rows, n_anchors, n_neighbors, dtype="float64", seed=0):
    """Distinct random anchors per row; weights sum to one, some are zero, some negative."""
    rng = np.random.default_rng([seed, 1])
    anchors = np.argsort(rng.random((n_rows, n_anchors)), axis=1)[:, :n_neighbors]
    weights = rng.random((n_rows, n_neighbors)) + 0.1
    if n_neighbors > 1:
        weights[rng.random(weights.shape) < 0.15] = 0
        weights[rng.random(weights.shape) < 0.1] *= -0.3
        weights[:, 0] = 1.5
    weights /= weights.sum(axis=1, keepdims=True)
    return Codes(
        np.ascontiguousarray(anchors, dtype=np.int32),
        weights.astype(dtype),
        np.zeros(weights.shape, dtype),
    )


def make_lifted(
    X=None, *, dtype="float64", storage="dense", quadratic=False, n_rows=40, n_features=5,
    n_anchors=6, n_neighbors=3, bias=1.0, normalize=False, workers=None, seed=0,
    offset=0.0,
):  # fmt: skip
    """Lifted rows over random codes."""
    if X is None:
        X = make_rows(dtype, storage, n_rows, n_features, seed)
    codes = make_codes(X.shape[0], n_anchors, n_neighbors, X.dtype, seed)
    rows = core_rows(X, quadratic=quadratic)
    workers = Workers(1) if workers is None else workers
    return LiftedRows(
        rows, codes, n_anchors, bias, normalize, workers,
        is_dense=not sp.issparse(X), offset=offset,
    )  # fmt: skip


def one_anchor(X, bias=1.0):
    """Lifted rows that are ``[x, B]``: one anchor, not normalised."""
    shape = (X.shape[0], 1)
    codes = Codes(np.zeros(shape, np.int32), np.ones(shape, X.dtype), np.zeros(shape, X.dtype))
    return LiftedRows(core_rows(X), codes, 1, bias, False, Workers(1), is_dense=True)


def make_target(scores, n_columns):
    """Labels that follow scores: the largest, or the sign where one column serves two classes."""
    if n_columns == 1:
        return np.where(scores[:, 0] > 0, 0, -1).astype(np.int32)
    return scores.argmax(axis=1).astype(np.int32)


def make_problem(
    lifted=None, *, n_columns=3, loss="squared_hinge", crammer_singer=False, C=1.0, weighted=False,
    noise=1.0, seed=0, **lifted_options,
):  # fmt: skip
    """A problem whose labels mostly follow a random lifted model."""
    if lifted is None:
        lifted = make_lifted(seed=seed, **lifted_options)
    rng = np.random.default_rng([seed, 2])
    weights = rng.standard_normal((lifted.n_blocks, n_columns, lifted.width + 1))
    scores = lifted.scores(weights.astype(lifted.dtype))
    scores = scores + noise * scores.std() * rng.standard_normal(scores.shape)
    sample_weight = rng.uniform(0.2, 3, lifted.n_rows) if weighted else np.ones(lifted.n_rows)
    return Problem(
        lifted, make_target(scores, n_columns), (C * sample_weight).astype(lifted.dtype),
        n_columns, loss, crammer_singer,
    )  # fmt: skip


def make_regression(
    lifted=None, *, loss="squared", epsilon=0.1, quantiles=0.5, n_targets=2, C=1.0, weighted=False,
    noise=0.3, seed=0, **lifted_options,
):  # fmt: skip
    """A problem whose values follow a random lifted model, with noise."""
    if lifted is None:
        lifted = make_lifted(seed=seed, **lifted_options)
    rng = np.random.default_rng([seed, 2])
    losses = RegressionLoss(loss, epsilon, quantiles).columns(n_targets)
    weights = rng.standard_normal((lifted.n_blocks, n_targets, lifted.width + 1))
    values = lifted.scores(weights.astype(lifted.dtype))
    values = values / (values.std() or 1) + noise * rng.standard_normal(values.shape)
    values = np.repeat(values, len(losses) // n_targets, axis=1).astype(lifted.dtype)
    sample_weight = rng.uniform(0.2, 3, lifted.n_rows) if weighted else np.ones(lifted.n_rows)
    costs = (C * sample_weight).astype(lifted.dtype)
    return RegressionProblem(lifted, values, costs, len(losses), loss, residual_losses=losses)


def full_matrix(lifted, X=None, quadratic=False):
    """The lifted matrix of the reference, ``(n_rows, n_blocks, p + 1)``, in doubles."""
    if X is None:
        phi = np.empty((lifted.n_rows, lifted.width), lifted.dtype)
        lifted.rows.gather(np.arange(lifted.n_rows), phi)
    else:
        phi = written_out(X, quadratic)
    return lifted_matrix(
        np.asarray(phi, np.float64), lifted.anchors, lifted.gate, lifted.n_anchors, lifted.bias,
        lifted.offset,
    )  # fmt: skip


def make_written_out(dtype, storage, quadratic, *, normalize, n_rows=40, n_features=5, **options):
    """A problem, and its lifted matrix as the reference writes it out."""
    X = make_rows(dtype, storage, n_rows, n_features)
    lifted = make_lifted(X, quadratic=quadratic, normalize=normalize)
    return make_problem(lifted, **options), full_matrix(lifted, X, quadratic)


@dataclass
class DualArrays:
    """What the compiled epochs read and change."""

    weights: np.ndarray
    alpha: np.ndarray
    active: np.ndarray
    bounds: np.ndarray
    reports: np.ndarray


def dual_arrays(problem):
    """The state of a dual solver before its first epoch."""
    shape = (problem.lifted.n_rows, problem.n_columns)
    n_groups = 1 if problem.crammer_singer else problem.n_columns
    return DualArrays(
        problem.lifted.zero_weights(problem.n_columns),
        np.zeros(shape, problem.lifted.dtype),
        np.ones(shape, np.uint8),
        np.tile([np.inf, -np.inf], (n_groups, 1)),
        np.tile([0.0, 0.0, -np.inf, np.inf], (n_groups, 1)),
    )


def compiled_dual(problem, arrays):
    """The compiled epochs and checks of a problem, which change the arrays in place."""
    core = problem.core_dual(problem.lifted.squared_norms())
    return _core.dual_state(core, arrays.weights, arrays.alpha, arrays.active, arrays.bounds)


def sgd_core(problem):
    """The compiled epochs of stochastic gradient."""
    return problem.core_sgd(problem.costs)


def sgd_schedule(lambda_, t0, skip, decay_bias):
    """The compiled schedule of stochastic gradient."""
    return _core.SgdSchedule(lambda_=lambda_, t0=t0, skip=skip, decay_bias=decay_bias)


def assert_feasible(a, target, costs, loss):
    """Joint dual variables sum to zero per row; only the class's is positive, up to its cost."""
    truth = a[np.arange(len(a)), target]
    np.testing.assert_allclose(a.sum(axis=1), 0, atol=1e-9 * (1 + np.abs(a).max()))
    assert truth.min() >= 0
    rivals = a.copy()
    rivals[np.arange(len(a)), target] = 0
    assert rivals.max() <= 0
    if loss == "hinge":
        assert (truth <= costs * (1 + 1e-9)).all()
