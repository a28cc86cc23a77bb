"""Tests of hyperlocal.model.local_model: the fitted chain as an object."""

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
import scipy.sparse as sp

from estimators.data import make_data
from hyperlocal.data.labelled import LabelledRows
from hyperlocal.gates.code_on import CodeOn
from hyperlocal.gates.gate import Gate
from hyperlocal.maps.base import FeatureMap
from hyperlocal.model import LocalModel
from hyperlocal.model.local_model import Bias, linear_model

N_ANCHORS, N_COLUMNS, N_FEATURES = 6, 3, 5


def make_model(**changes):
    """A model with random anchors and weights."""
    rng = np.random.default_rng(0)
    model = LocalModel(
        FeatureMap(N_FEATURES),
        CodeOn(),
        Gate(rng.normal(size=(N_ANCHORS, N_FEATURES)), 3, "soft", 0.7),
        Bias(1.5),
        weights=rng.normal(size=(N_ANCHORS, N_COLUMNS, N_FEATURES + 1)),
    )
    return replace(model, **changes)


def with_global_intercept():
    """The same with a block of weights for a global intercept."""
    weights = np.random.default_rng(0).normal(size=(N_ANCHORS + 1, N_COLUMNS, N_FEATURES + 1))
    return make_model(bias=Bias(1.5, offset=2.0), weights=weights)


def rows(n_rows=40):
    return np.random.default_rng(1).normal(size=(n_rows, N_FEATURES))


def labelled_rows(n_classes=3):
    X, y = make_data(n_classes)
    return LabelledRows(X, y.astype(np.int32), np.arange(n_classes), np.ones(len(y)))


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("make", [make_model, with_global_intercept])
def test_scores_are_the_formula(convert, make, workers):
    """``f_c(x) = Σ_j γ_j (w_jc · x + B b_jc) + O b_c``."""
    model, X = make(), rows()
    codes = model.encode(convert(X), workers)
    gamma = np.zeros((len(X), N_ANCHORS))
    np.put_along_axis(gamma, codes.anchors.astype(int), codes.weights, axis=1)
    expected = np.einsum("nj,jcv,nv->nc", gamma, model.coef, X)
    expected += gamma @ model.intercept + model.global_intercept
    np.testing.assert_allclose(model.scores(convert(X), workers), expected, atol=1e-12)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("numbers_per_block", [1, 200, 1 << 22])
def test_local_rows_add_up(normalize, numbers_per_block, workers):
    """Weights times values and the intercept are the scores, in blocks of any size."""
    model, X = make_model(normalize=normalize), rows()
    blocks = list(model.local_rows(X, workers, numbers_per_block=numbers_per_block))
    sums = [block.scores for block in blocks]
    np.testing.assert_allclose(np.concatenate(sums), model.scores(X, workers), atol=1e-12)
    assert (len(blocks) == 1) == (numbers_per_block == 1 << 22)


def test_active_anchors_add_up(workers):
    """What the active local models contribute to a class is its score."""
    model, X = make_model(), rows()
    [block] = model.local_rows(X, workers)
    scores, best = model.scores(X, workers), np.arange(len(X)) % N_COLUMNS
    for i, (anchors, weights, parts) in enumerate(block.active(best)):
        assert len(anchors) == 3
        assert weights.sum() == pytest.approx(1)
        assert parts.sum() == pytest.approx(scores[i, best[i]])


def test_models_are_values():
    """A model cannot be changed; ``trained`` returns another one with the same parts."""
    model = make_model()
    with pytest.raises(FrozenInstanceError):
        model.normalize = True
    other = model.trained(np.zeros_like(model.weights))
    assert other.gate is model.gate
    assert model.weights.any()
    assert not other.weights.any()


def test_shapes():
    """Sizes follow from the parts."""
    model = make_model()
    assert (model.n_anchors, model.n_columns, model.n_features_in) == (6, 3, 5)
    assert model.coef.shape == (6, 3, 5)
    assert model.intercept.shape == (6, 3)
    np.testing.assert_array_equal(model.intercept, 1.5 * model.weights[..., -1])
    assert not model.global_intercept.any()
    model = with_global_intercept()
    assert model.coef.shape == (6, 3, 5)
    np.testing.assert_array_equal(model.global_intercept, 2.0 * model.weights[-1, :, -1])
    assert make_model(weights=model.weights.astype(np.float32)).dtype == np.float32


def test_known_codes_are_not_found_again(workers):
    """Lifting with given codes is lifting."""
    model, X = make_model(), rows()
    codes = model.encode(X, workers)
    lifted = model.lift(X, workers, codes)
    assert lifted.anchors is codes.anchors
    np.testing.assert_array_equal(lifted.scores(model.weights), model.scores(X, workers))


def test_a_linear_model(workers):
    """One local model that is always active is ``w · x + b``."""
    model, X = linear_model(N_FEATURES, bias=2.0), rows()
    model = model.trained(np.random.default_rng(0).normal(size=(1, 2, N_FEATURES + 1)))
    expected = X @ model.coef[0].T + model.intercept[0]
    np.testing.assert_allclose(model.scores(X, workers), expected, atol=1e-12)


@pytest.mark.parametrize(
    ("n_classes", "joint", "n_columns"), [(2, False, 1), (2, True, 2), (3, False, 3)]
)
def test_the_problem_of_labelled_rows(n_classes, joint, n_columns, workers):
    """Costs are C times sample weights; columns follow from the classes."""
    data = labelled_rows(n_classes)
    problem = make_model().problem(data, 0.5, "hinge", joint=joint, workers=workers)
    assert problem.n_columns == n_columns
    np.testing.assert_array_equal(problem.costs, np.full(len(data.target), 0.5))


def test_the_plain_form_has_all_parts():
    """A step from rows to scores."""
    model = with_global_intercept()
    step = model.plain()
    assert step.kind == "local"
    for name in ("coef", "intercept", "global_intercept"):
        np.testing.assert_array_equal(step.parts[name], getattr(model, name))
    assert step.parts["gate"].parts["anchors"] is model.gate.anchors
    assert step.parts["map_steps"] == step.parts["code_steps"] == []
