"""Tests of hyperlocal.gates.levels: a gate made of several gates."""

import numpy as np
import pytest

from hyperlocal import LocallyLinearSVC
from hyperlocal.gates.codes import CODINGS
from hyperlocal.gates.gate import Gate
from hyperlocal.gates.levels import LevelsGate, finest_n_anchors, level_sizes
from hyperlocal.runtime.threads import Workers
from reference.problems import every_storage, make_rows

ONE_THREAD = Workers(1)


def make_levels(dtype="float64", coding="soft"):
    """Three levels of 9, 4 and 1 anchors."""
    points = make_rows(dtype, n_rows=15, seed=9)
    parts = points[:9], points[9:13], points[13:14]
    sizes = zip(parts, (3, 2, 1), (2.0, 1.0, 1.0), strict=True)
    return [Gate(part, k, coding if k > 1 else "hard", beta) for part, k, beta in sizes]


def checkerboard(n_rows, seed=0):
    X = np.random.default_rng(seed).uniform(0, 4, size=(n_rows, 2))
    return X, np.floor(X).sum(axis=1).astype(int) % 2


@every_storage
@pytest.mark.parametrize("coding", CODINGS)
def test_codes_are_those_of_the_levels(dtype, storage, coding):
    """Each level's codes, scaled to equal lengths, the length of all of them one."""
    X, levels = make_rows(dtype, storage), make_levels(dtype, coding)
    codes = LevelsGate.of(levels).encode(X, ONE_THREAD)
    first = column = 0
    for level in levels:
        own, part = level.encode(X, ONE_THREAD), slice(column, column + level.n_neighbors)
        np.testing.assert_array_equal(codes.anchors[:, part], own.anchors + first)
        unit = own.weights / np.linalg.norm(own.weights, axis=1, keepdims=True)
        np.testing.assert_allclose(codes.weights[:, part], unit / np.sqrt(3), rtol=1e-5)
        first, column = first + level.n_anchors, column + level.n_neighbors
    np.testing.assert_allclose(np.linalg.norm(codes.weights, axis=1), 1, rtol=1e-5)
    assert codes.weights.dtype == dtype


def test_the_levels_of_a_gate_are_given_back():
    """A gate of levels stores their anchors once, and names their gates."""
    levels = make_levels()
    for level, given in zip(LevelsGate.of(levels).levels, levels, strict=True):
        np.testing.assert_array_equal(level.anchors, given.anchors)
        assert (level.n_neighbors, level.coding, level.beta) == (
            given.n_neighbors, given.coding, given.beta,
        )  # fmt: skip


def test_no_reserves():
    """Anchors are not learned on levels."""
    with pytest.raises(ValueError, match="n_reserves must be 0"):
        LevelsGate.of(make_levels()).encode(make_rows(), ONE_THREAD, n_reserves=1)


@pytest.mark.parametrize("n_rows", [1, 10, 100, 1_000, 100_000])
def test_the_finest_level_has_rows_for_its_anchors(n_rows):
    """At least eight rows per anchor, as far as there are as many."""
    assert 1 <= finest_n_anchors(n_rows) <= max(1, n_rows // 8)


def test_fine_levels_come_first():
    """The first active anchor of a row is then its nearest of the finest level."""
    assert [size for size, _ in level_sizes((1, 5, 20))] == [20, 5, 1]
    assert [size for size, _ in level_sizes(7)] == [7]


def test_levels_describe_what_one_resolution_does_not():
    """On a checkerboard, levels err less than eight local models."""
    X, y = checkerboard(1_200)
    errors = {
        n_anchors: np.mean(
            LocallyLinearSVC(n_anchors, feature_map=None, C=10.0, random_state=0)
            .fit(X[:800], y[:800])
            .predict(X[800:])
            != y[800:]
        )
        for n_anchors in ("auto", "levels")
    }
    assert errors["levels"] < 0.75 * errors["auto"]


@pytest.mark.parametrize("n_anchors", ["levels", (1, 5, 20), [3, 9]])
def test_local_weights_give_the_scores(n_anchors):
    """The linear model at a row is that of all its levels."""
    X, y = checkerboard(300)
    model = LocallyLinearSVC(n_anchors, C=3.0, random_state=0).fit(X, y)
    coef, intercept = model.local_coef(X)[:, 0], model.local_intercept(X)[:, 0]
    np.testing.assert_allclose((coef * X).sum(axis=1) + intercept, model.decision_function(X))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_anchors": ()}, "at least one level"),
        ({"n_anchors": (0, 5)}, "n_anchors"),
        ({"n_anchors": "many"}, "n_anchors"),
        ({"n_anchors": (1, 5), "anchors": np.zeros((9, 2))}, "cannot be given"),
    ],
)
def test_wrong_levels(options, message):
    """What are no levels raises an error that names the argument."""
    with pytest.raises((ValueError, TypeError), match=message):
        LocallyLinearSVC(C=1.0, **options).fit(*checkerboard(50))


def test_streams_and_threads():
    """Levels can be fitted to streams; threads do not change a bit."""
    X, y = checkerboard(400)
    make = lambda **options: LocallyLinearSVC((1, 4, 16), C=3.0, random_state=0, **options)  # noqa: E731
    one, two = (make(n_jobs=n).fit(X, y).decision_function(X) for n in (1, 2))
    np.testing.assert_array_equal(one, two)
    streamed = make().fit_stream([(X[:200], y[:200]), (X[200:], y[200:])])
    np.testing.assert_allclose(streamed.decision_function(X), one, atol=0.1)
