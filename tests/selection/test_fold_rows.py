"""Tests of hyperlocal.selection.fold_rows: how rows of folds are stored and solved."""

import numpy as np
import pytest

from hyperlocal.data.labelled import LabelledRows
from hyperlocal.model.chain_settings import ChainSettings
from hyperlocal.model.residuals import RegressionLoss
from hyperlocal.selection import fold_rows
from hyperlocal.selection.fold_rows import PathSolver, ProductsFold
from hyperlocal.selection.trials import (
    held_out_rows,
    paths_of,
)
from hyperlocal.solvers import coordinates, dual
from hyperlocal.solvers.training import Training


def labelled(n_rows=120, n_features=12, n_classes=3, dtype=np.float64):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features)).astype(dtype)
    target = (X[:, :n_classes].argmax(axis=1)).astype(np.int32)
    return LabelledRows(X, target, np.arange(n_classes), np.ones(n_rows))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("feature_map", ["auto", "quadratic", None])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_path_scores_as_its_model_does(n_classes, feature_map, dtype, workers, monkeypatch):
    """Held-out scores, as coordinates of wide rows give them or not, are those of its model."""
    monkeypatch.setattr(coordinates, "MISSED", 1e-7)
    data = labelled(n_classes=n_classes, dtype=dtype)
    settings = ChainSettings(8, feature_map=feature_map, global_intercept=True)
    folds = held_out_rows(data, np.random.default_rng(0))
    solver = PathSolver(Training(1.0, "squared_hinge"), by_newton=True)
    for path, held in zip(paths_of(settings, solver, data, folds, 0, workers), folds, strict=True):
        path.advance(1.0)
        scores = path.model(workers).scores(data.X[held], workers)
        own = path.scores[:, -scores.shape[1] :]
        np.testing.assert_allclose(own, scores, atol=2e-3)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_coordinates_of_many_rows_come_from_a_part(n_classes, workers, monkeypatch):
    """A basis of some rows nearly gives the scores; where it misses too much, rows stay lifted."""
    data = labelled(400, n_classes=n_classes)
    settings = ChainSettings(8, feature_map="quadratic")
    solver = PathSolver(Training(1.0, "squared_hinge"), by_newton=True)
    held = np.arange(400) < 80
    monkeypatch.setattr(coordinates, "MOST_NUMBERS", 300**2)
    monkeypatch.setattr(fold_rows, "MOST_NUMBERS", 300**2)
    for n_pivots, is_lifted in ((300, False), (5, True)):
        monkeypatch.setattr(coordinates, "MOST_PIVOTS", n_pivots)
        monkeypatch.setattr(fold_rows, "MOST_PIVOTS", n_pivots)
        (path,) = paths_of(settings, solver, data, [held], 0, workers)
        path.advance(1.0)
        assert (path.stored.train.n_anchors == 8) == is_lifted
        scores = path.model(workers).scores(data.X[held], workers)
        apart = path.scores[:, -scores.shape[1] :] - scores
        assert apart.std() < 0.1 * scores.std()


@pytest.mark.parametrize("C", [1.0, 1e4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_squares_of_few_wide_rows_are_solved_at_once(C, dtype, workers):
    """The system of their products has the solution that dual descent tends to."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 12)).astype(dtype)
    weights = rng.integers(3, size=120).astype(float)
    data = LabelledRows(X, np.arange(120), X[:, 0] * X[:, 1], weights, is_numeric=True)
    settings = ChainSettings(8, feature_map="quadratic", global_intercept=True)
    solver = PathSolver(Training(C, RegressionLoss("squared")), by_newton=True)
    held = np.arange(120) < 30
    (path,) = paths_of(settings, solver, data, [held], 0, workers)
    assert isinstance(path.stored, ProductsFold)
    path.advance(C)
    atol = 2e-3 if dtype == np.float32 else 1e-4
    scores = path.model(workers).scores(data.X[held], workers)
    np.testing.assert_allclose(path.scores, scores, atol=atol)
    lifted = path.chain.lift(path.rows.X, workers)
    exact = dual.solve(path.problem(C, lifted), tol=1e-7, max_iter=5000, rng=rng)
    np.testing.assert_allclose(
        path.chain.trained(exact.weights).scores(data.X[held], workers), scores, atol=10 * atol
    )
