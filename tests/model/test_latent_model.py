"""Tests of hyperlocal.model.latent_model: scores, gates and linear models at rows."""

import numpy as np
import pytest

from hyperlocal.model.latent_model import LatentModel
from hyperlocal.runtime.threads import Workers
from reference import latent as reference
from reference.problems import every_storage, make_rows
from reference.rows import written_out

CLOSE = {"float32": {"rtol": 2e-3, "atol": 2e-4}, "float64": {"rtol": 1e-9, "atol": 1e-11}}
every_exponent = pytest.mark.parametrize("q", [1.0, 4 / 3, 2.0, 3.0, 6.0])


def make_model(dtype="float64", q=3.0, n_classes=3):
    """Five random models per class of five features."""
    stored = np.zeros((6, n_classes, 8), dtype)
    stored[..., :5] = np.random.default_rng(1).standard_normal((6, n_classes, 5))
    return LatentModel(stored, 5, q)


def products(model, X):
    """``W_c x`` of dense rows, ``(n_rows, n_classes, n_anchors)``."""
    rows = np.column_stack([written_out(X), np.ones(X.shape[0])])
    return np.einsum("iv,mcv->icm", rows, model.weights.astype(float))


@every_storage
@every_exponent
def test_scores_and_gates_equal_the_reference(dtype, storage, q):
    """Scores of rows, and gates, are those of the reference."""
    X, model = make_rows(dtype, storage, n_rows=23), make_model(dtype, q)
    z = products(model, X)
    expected = [[reference.score(of_class, q) for of_class in row] for row in z]
    scores = model.class_scores(X)
    assert scores.dtype == dtype
    np.testing.assert_allclose(scores, expected, **CLOSE[dtype])
    gates = model.best_gates(X)
    for i, c in np.argwhere(np.array(expected) > 0):
        np.testing.assert_allclose(gates[i, c, :5], reference.gate(z[i, c], q), **CLOSE[dtype])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_two_classes_have_one_column(n_classes):
    """The difference of their scores; the linear model at a row gives the same."""
    X, model = make_rows(n_rows=23), make_model(n_classes=n_classes)
    of_class = model.class_scores(X)
    expected = of_class[:, 1:] - of_class[:, :1] if n_classes == 2 else of_class
    with Workers(2) as workers:
        scores = model.scores(X, workers, rows_per_block=4)
        (block,) = model.local_rows(X, workers)
    np.testing.assert_allclose(scores, expected, atol=1e-12)
    sums = block.scores
    np.testing.assert_allclose(sums, expected, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_active_models_add_up_to_the_score_of_their_class(n_classes):
    """Active models have a positive product, and their parts sum to ``‖[W_c x]_+‖_q``."""
    X, model = make_rows(n_rows=23), make_model(n_classes=n_classes)
    classes = np.arange(23) % n_classes
    with Workers(1) as workers:
        (block,) = model.local_rows(X, workers)
    z, scores = products(model, X), model.class_scores(X)
    for i, (models, weights, parts) in enumerate(block.active(classes)):
        np.testing.assert_array_equal(models, np.flatnonzero(z[i, classes[i]] > 0))
        np.testing.assert_allclose(weights * z[i, classes[i], models], parts)
        assert parts.sum() == pytest.approx(scores[i, classes[i]])


def test_values_are_checked_while_scoring():
    """A value that is not finite raises, in whatever block it stands."""
    X = make_rows(n_rows=23)
    X[20, 1] = np.nan
    with Workers(1) as workers, pytest.raises(ValueError, match="NaN"):
        make_model().scores(X, workers, rows_per_block=4)
