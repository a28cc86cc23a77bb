"""Tests of hyperlocal.model.explaining: what every model explains, and at what cost."""

from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from estimators.data import make_data
from hyperlocal import LocallyLinearSVC
from hyperlocal.gates.gate import Gate
from hyperlocal.model import Explanations
from hyperlocal.model.explaining import input_names, local_places
from hyperlocal.papers import LandmarkSVC, LocalCodingSVC
from model.models import every_model, fitted


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "options",
    [
        {"feature_map": None},
        {"feature_map": "quadratic"},
        {"feature_map": "additive_chi2"},
        {"feature_map": "nystroem", "normalize": False},
        {"feature_map": PCA(3), "multi_class": "crammer_singer"},
    ],
    ids=str,
)
def test_contributions_add_up(n_classes, options):
    """Contributions and intercept are the score, and the prediction is ``predict``'s."""
    X, y = make_data(n_classes)
    model = LocallyLinearSVC(random_state=0, **options).fit(X, y)
    for row in X[:10]:
        explanation = model.explain(row)
        sums = explanation.contributions.sum(axis=1) + explanation.intercepts
        np.testing.assert_allclose(sums, explanation.scores)
        np.testing.assert_allclose(
            explanation.scores, np.ravel(model.decision_function([row])), atol=1e-9
        )
        assert explanation.prediction == model.predict([row])[0]
        assert explanation.contributions.shape[1] == len(explanation.feature_names)
        assert explanation.anchor_weights.sum() == pytest.approx(1)
        assert str(explanation).startswith(f"predicted {explanation.prediction}; score of ")


def test_contributions_on_principal_axes_are_of_the_input():
    """With many features, each of them still has a contribution."""
    X, y = make_data(n_features=70)
    explanation = LocallyLinearSVC(random_state=0).fit(X, y).explain(X[0])
    assert explanation.contributions.shape == (1, 70)
    assert explanation.feature_names[69] == "x69"


@pytest.mark.parametrize(
    "form",
    [
        lambda X: X[0],
        lambda X: X[0].tolist(),
        lambda X: X[:1],
        lambda X: sp.csr_array(X[:1]),
        lambda X: sp.csr_matrix(X[:1]),
    ],
    ids=["1-D", "list", "2-D", "csr_array", "csr_matrix"],
)
def test_a_row_in_any_form(form):
    """A row may be given flat, as a table of one row, or sparse."""
    X, y = make_data(3)
    model = LocallyLinearSVC(feature_map="quadratic", random_state=0).fit(X, y)
    np.testing.assert_allclose(model.explain(form(X)).scores, model.decision_function(X[:1])[0])


def test_rows_of_a_frame():
    """A row of a DataFrame is explained by the names of its columns."""
    X, y = make_data()
    frame = pd.DataFrame(X, columns=["age", "height", "weight", "pulse", "iron"])
    model = LocallyLinearSVC(random_state=0).fit(frame, y)
    for row in (frame.iloc[3], frame.iloc[[3]]):
        explanation = model.explain(row)
        assert explanation.feature_names.tolist() == frame.columns.tolist()
        assert explanation.prediction == model.predict(frame.iloc[[3]])[0]
        assert "  pulse = " in str(explanation)


@pytest.mark.parametrize(
    ("feature_map", "names"),
    [
        (None, ["a", "b"]),
        ("quadratic", ["a", "b"]),
        ("bias_only", ["a", "b"]),
        ("additive_chi2", ["a", "b"]),
        (StandardScaler(), ["a", "b"]),
        (PolynomialFeatures(2, include_bias=False), ["a", "b", "a^2", "a b", "b^2"]),
        (PCA(1), ["a", "b"]),
    ],
)
def test_features_are_named(feature_map, names):
    """Names are those of the input, or what the map makes of them."""
    X, y = make_data(n_features=4)
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"])
    model = LocallyLinearSVC(feature_map=feature_map, random_state=0).fit(frame, y)
    assert model.explain(frame.iloc[0]).feature_names.tolist() == names


class Doubled(TransformerMixin, BaseEstimator):
    """A transformer that does not name its output."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return 2 * X[:, :2]


def test_features_without_names_are_numbered():
    """A map that has no names gives φ0, φ1, …"""
    X, y = make_data()
    model = LocallyLinearSVC(feature_map=Doubled(), random_state=0).fit(X, y)
    assert model.explain(X[0]).feature_names.tolist() == ["φ0", "φ1"]


def test_codes_are_explained_by_their_anchors():
    """Local models of LocalCodingSVC have no weights on features; features move the gate alone."""
    X, y = make_data()
    model = LocalCodingSVC(9, n_neighbors=8, random_state=0).fit(X, y)
    assert not model.local_coef(X[:3]).any()
    assert len(model.explain(X[0]).anchors) == 8


def test_rows_of_another_width():
    """Rows of another width are refused."""
    X, y = make_data()
    with pytest.raises(ValueError, match="expecting 5 features"):
        LocallyLinearSVC(random_state=0).fit(X, y).explain(X[0, :3])


def test_polars_in():
    """Names of polars columns reach the explanation."""
    polars = pytest.importorskip("polars")
    X, y = make_data()
    frame = polars.DataFrame(X, schema=list("abcde"))
    model = LocallyLinearSVC(random_state=0).fit(frame, polars.Series(y))
    explanation = model.explain(frame[3])
    assert explanation.feature_names.tolist() == list("abcde")
    assert explanation.prediction == model.predict(frame[3])[0]


# Every model --------------------------------------------------------------------------------------


@every_model
@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_model_explains_rows(name, n_classes):
    """Contributions and intercept are the score; the margin is that of the decision function."""
    model, X = fitted(name, n_classes)
    explanations = model.explain(X[:6])
    assert isinstance(explanations, Explanations)
    assert len(explanations) == 6
    for row, explanation in zip(X, explanations, strict=False):
        scores = np.ravel(model.decision_function([row]))
        sums = explanation.contributions.sum(axis=1) + explanation.intercepts
        np.testing.assert_allclose(sums, explanation.scores, rtol=0, atol=1e-10)
        np.testing.assert_allclose(explanation.scores, scores, atol=1e-9)
        ordered = np.sort(scores)
        margin = abs(scores[0]) if n_classes == 2 else ordered[-1] - ordered[-2]
        assert explanation.margin == pytest.approx(margin, abs=1e-9)
        assert explanation.rival != explanation.prediction
        assert explanation.rival in model.classes_
        alone = model.explain(row)
        np.testing.assert_allclose(alone.scores, explanation.scores, atol=1e-12)


@every_model
def test_contributions_of_anchors_add_up(name):
    """Local models' contributions sum to the deciding score, but for a bias that all share."""
    model, X = fitted(name)
    shared = model.intercept_ if isinstance(model, LandmarkSVC) else np.zeros(3)
    if isinstance(model, LocallyLinearSVC):
        shared = model.global_intercept_
    for explanation in model.explain(X[:5]):
        column = explanation.column
        assert explanation.anchor_contributions.shape == explanation.anchors.shape
        total = explanation.anchor_contributions.sum() + shared[column]
        assert total == pytest.approx(explanation.scores[column], abs=1e-9)


@every_model
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_boundary_point_is_on_the_other_side(name, n_classes):
    """The prediction has changed at the point found, and not yet a little before it."""
    model, X = fitted(name, n_classes)
    explanations = model.explain(X[:20])
    points = [explanation.boundary for explanation in explanations]
    if name in ("codes", "rbf"):
        assert points == [None] * 20
        return
    n_found = 0
    for row, explanation, point in zip(X, explanations, points, strict=False):
        np.testing.assert_allclose(row + point.changes, point.row)
        assert np.linalg.norm(point.changes) == pytest.approx(point.distance)
        assert model.predict([point.row])[0] == point.prediction
        assert (point.prediction != explanation.prediction) or not point.found
        before = row + point.changes * (1 - 1e-3)
        assert model.predict([before])[0] == explanation.prediction or not point.found
        n_found += point.found
    assert n_found > 10


def test_the_boundary_of_a_linear_model():
    """With one linear model, the local normal is the normal: both distances agree."""
    model, X = fitted("sdca", 2)
    for explanation in model.explain(X[:10]):
        point = explanation.boundary
        assert point.found
        assert point.distance == pytest.approx(point.linear_distance, rel=1e-4)


# Cost ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CountingGate(Gate):
    """A gate that records the rows it codes."""

    coded: list = field(default_factory=list)

    def encode(self, X, workers, n_reserves=0):
        self.coded.append(X.copy())
        return super().encode(X, workers, n_reserves)


@pytest.mark.parametrize("feature_map", [None, "quadratic", "additive_chi2"])
def test_a_row_is_coded_once(feature_map, workers):
    """Scores, weights, active anchors and the search for the boundary share one coding of a row."""
    X, y = make_data(3)
    options = {"feature_map": feature_map, "relevance": None, "random_state": 0}
    model = LocallyLinearSVC(6, n_neighbors=3, **options).fit(X, y)
    gate = model.model_.gate
    counting = CountingGate(gate.anchors, gate.n_neighbors, gate.coding, gate.beta)
    chain = replace(model.model_, gate=counting)
    local_places(chain, X[:20], model.classes_)
    np.testing.assert_array_equal(counting.coded[0], X[:20])
    coded = np.concatenate(counting.coded)
    assert [int((coded == row).all(axis=1).sum()) for row in X[:20]] == [1] * 20


def test_names_of_the_input():
    """They are those of the training rows, or numbered."""
    X, y = make_data()
    assert input_names(LocallyLinearSVC().fit(X, y)).tolist() == ["x0", "x1", "x2", "x3", "x4"]
    frame = pd.DataFrame(X, columns=list("abcde"))
    assert input_names(LocallyLinearSVC().fit(frame, y)).tolist() == list("abcde")
