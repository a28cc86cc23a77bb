"""Tests of hyperlocal.model.inspection: pipelines, many rows, anchors and support vectors."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC

from estimators.data import make_data
from hyperlocal import LocallyLinearSVC
from hyperlocal.linear import SDCASVC
from hyperlocal.model import (
    anchor_weights,
    explain,
    mean_contributions,
    mean_interactions,
    support_fraction_bound,
)
from hyperlocal.model.inspection import split_pipeline
from hyperlocal.papers import LandmarkSVC
from model.models import every_model, fitted


def test_pipelines_are_split():
    """Steps that do nothing count as none."""
    model = SDCASVC()
    assert split_pipeline(model) == (None, model)
    assert split_pipeline(make_pipeline("passthrough", model)) == (None, model)
    steps, last = split_pipeline(make_pipeline(StandardScaler(), model))
    assert [type(step).__name__ for _, step in steps.steps] == ["StandardScaler"]
    assert last is model


def test_pipelines_are_explained_by_their_last_step():
    """Names go through the steps; contributions are of the features that the model sees."""
    X, y = make_data()
    frame = pd.DataFrame(7 + 3 * X, columns=list("abcde"))
    model = make_pipeline(StandardScaler(), LocallyLinearSVC(random_state=0)).fit(frame, y)
    one, some = explain(model, frame.iloc[5]), explain(model, frame.iloc[5:8])
    assert one.feature_names.tolist() == some[0].feature_names.tolist() == list("abcde")
    np.testing.assert_allclose(one.scores, model.decision_function(frame.iloc[[5]]))
    assert some.to_frame().index.tolist() == [5, 6, 7]


@every_model
def test_mean_contributions(name):
    """They are the means over explanations of single rows."""
    model, X = fitted(name)
    means = mean_contributions(model, X[:8])
    single = model.explain(X[:8])
    np.testing.assert_allclose(
        means.overall, np.mean([np.abs(e.contributions[e.column]) for e in single], axis=0)
    )
    np.testing.assert_allclose(
        means.by_class, np.mean([np.abs(e.contributions) for e in single], axis=0)
    )
    assert len(means.to_frame()) == len(means.feature_names)


def test_mean_contributions_through_a_pipeline():
    """The feature that was made to matter comes first, by its name."""
    X = np.random.default_rng(0).normal(size=(200, 3))
    frame = pd.DataFrame(X, columns=["noise", "signal", "more noise"])
    model = make_pipeline(StandardScaler(), LocallyLinearSVC(4, n_neighbors=2, random_state=0))
    model.fit(frame, X[:, 1] > 0)
    assert mean_contributions(model, frame).to_frame().index[0] == "signal"


def test_steps_that_name_no_features():
    """Features are numbered where a step does not name its output."""
    X, y = make_data()
    model = make_pipeline(FunctionTransformer(), LocallyLinearSVC(random_state=0)).fit(X, y)
    assert explain(model, X[0]).feature_names.tolist() == ["x0", "x1", "x2", "x3", "x4"]
    assert mean_contributions(model, X).feature_names.tolist() == ["x0", "x1", "x2", "x3", "x4"]


# Weights of anchors -------------------------------------------------------------------------------


def test_weights_of_anchors():
    """They are ``coef_`` for linear maps; maps of other features are refused."""
    X, y = make_data(3)
    options = {"feature_map": None, "relevance": None, "random_state": 0}
    model = LocallyLinearSVC(6, n_neighbors=3, **options).fit(X, y)
    np.testing.assert_array_equal(anchor_weights(model), model.coef_)
    quadratic, _ = fitted("quadratic")
    assert anchor_weights(quadratic).shape == (6, 3, 5)
    landmarks, _ = fitted("landmarks")
    np.testing.assert_allclose(anchor_weights(landmarks), landmarks.coef_ @ landmarks.landmarks_)
    with pytest.raises(ValueError, match="no weights on the input's features"):
        anchor_weights(fitted("rbf")[0])


@pytest.mark.parametrize(
    "model",
    [
        LocallyLinearSVC(
            4, n_neighbors=1, feature_map="quadratic", normalize=False, random_state=0
        ),
        LandmarkSVC(3, n_stages=2, keep_if_better=False, random_state=0),
    ],
    ids=["quadratic", "stages"],
)
def test_weights_of_anchors_hold_at_the_anchors(model):
    """Where weights depend on the row, they are those at the anchor itself."""
    X, y = make_data(3)
    model = clone(model).fit(X, y)
    expected = model.local_coef(model.anchors_)
    np.testing.assert_allclose(anchor_weights(model), expected, atol=1e-9)


def test_weights_of_anchors_that_are_elsewhere():
    """A quadratic map has weights at places of the input, not at those of another space."""
    X, y = make_data()
    model = LocallyLinearSVC(feature_map="quadratic", code_on=PCA(5), random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="code_on='input'"):
        anchor_weights(model)


# Support vectors ----------------------------------------------------------------------------------


def test_the_bound_is_the_share_of_support_vectors():
    """By the model's own support vectors, or by margins of at most one."""
    X, y = make_data(n_rows=200)
    model = SDCASVC(tol=1e-8, max_iter=10_000, random_state=0).fit(X, y)
    bound = support_fraction_bound(model)
    assert bound == len(model.support_) / 200
    assert 1 - model.score(X, y) <= bound < 1
    assert support_fraction_bound(model, X, y) == pytest.approx(bound, abs=2 / 200)


def test_the_bound_of_others():
    """scikit-learn's SVC has support vectors too; others need rows and labels, both."""
    X, y = make_data(3)
    model = SVC().fit(X, y)
    assert support_fraction_bound(model) == len(model.support_) / len(X)
    local = LocallyLinearSVC(random_state=0).fit(X, y)
    assert 0 < support_fraction_bound(local, X, y) <= 1
    with pytest.raises(TypeError, match="LocallyLinearSVC does not list its support vectors"):
        support_fraction_bound(local)
    with pytest.raises(ValueError, match="both X and y"):
        support_fraction_bound(local, X)


@pytest.mark.parametrize("n_features", [5, 90])
def test_interactions_are_second_derivatives(n_features):
    """One quadratic model that is not normalized: second differences of its score."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, n_features))
    y = X[:, 0] * X[:, 1] + X[:, 2] > 0
    options = {"feature_map": "auto", "normalize": False, "C": 1.0, "random_state": 0}
    model = LocallyLinearSVC(1, n_neighbors=1, **options).fit(X, y)
    found = mean_interactions(model, X)
    score, step = model.decision_function, np.eye(n_features)
    mixed = score([step[0] + step[1], step[0], step[1], 0 * step[0]]) @ [1, -1, -1, 1]
    sizes = X.std(axis=0)
    np.testing.assert_allclose(found.values[0, 1], abs(mixed) * sizes[0] * sizes[1])
    square = score([step[0], -step[0], 0 * step[0]]) @ [1, 1, -2]
    np.testing.assert_allclose(found.values[0, 0], 0.5 * abs(square) * sizes[0] ** 2)


def test_interactions_need_products():
    """Linear local models have none, and say so."""
    X = np.random.default_rng(0).normal(size=(50, 3))
    model = LocallyLinearSVC(1, n_neighbors=1, feature_map=None, C=1.0).fit(X, X[:, 0] > 0)
    with pytest.raises(ValueError, match="quadratic"):
        mean_interactions(model, X)
