"""Tests of hyperlocal.inspection: explanations add up, name their features and read well."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from estimators.data import make_data
from hyperlocal import LocalCodingSVC, LocallyLinearSVC
from hyperlocal.inspection import FEATURES_SHOWN, Explanation


def make_explanation(n_features=3, **changes):
    """An explanation of two scores, made by hand."""
    contributions = np.array([np.arange(n_features) * 0.5, -np.arange(n_features) * 1.0])
    intercepts = np.array([0.25, -0.25])
    facts = {
        "prediction": "cat",
        "classes": np.array(["cat", "dog"]),
        "contributions": contributions,
        "intercepts": intercepts,
        "scores": contributions.sum(axis=1) + intercepts,
        "feature_names": np.array([f"x{i}" for i in range(n_features)], dtype=object),
        "anchors": np.array([4, 1]),
        "anchor_weights": np.array([0.75, 0.25]),
    }
    return Explanation(**{**facts, **changes})


# The text -----------------------------------------------------------------------------------------


def test_it_reads_well():
    """The predicted class's score, largest contributions first, signs shown, columns aligned."""
    assert str(make_explanation()).splitlines() == [
        "predicted cat; score of cat:",
        "  x2        +1.0000",
        "  x1        +0.5000",
        "  x0        +0.0000",
        "  intercept +0.2500",
        "  score     +1.7500",
        "  anchors: 4 (0.75), 1 (0.25)",
    ]


def test_one_score_for_two_classes():
    """Two classes have one score, of the second; it explains either prediction."""
    explanation = make_explanation(
        prediction="cat",
        classes=np.array(["dog"]),
        contributions=np.array([[-2.0, 0.5]]),
        intercepts=np.array([0.5]),
        scores=np.array([-1.0]),
        feature_names=np.array(["weight", "height"], dtype=object),
    )
    lines = str(explanation).splitlines()
    assert lines[0] == "predicted cat; score of dog:"
    assert lines[1] == "  weight    -2.0000"


def test_many_features_are_summed_up():
    """Beyond the largest few, contributions are told in one line that keeps the sum."""
    n_features = FEATURES_SHOWN + 3
    lines = str(make_explanation(n_features)).splitlines()
    assert len(lines) == 1 + FEATURES_SHOWN + 1 + 3
    assert lines[FEATURES_SHOWN + 1] == "  3 others  +1.5000"
    told = sum(float(line.split()[-1]) for line in lines[1:-2])
    assert told == pytest.approx(float(lines[-2].split()[-1]))


def test_long_names_stay_aligned():
    """Long names widen their column."""
    names = np.array(["a", "a rather long name", "b"], dtype=object)
    lines = str(make_explanation(feature_names=names)).splitlines()
    assert {len(line) for line in lines[1:-1]} == {len("  a rather long name +0.5000")}


def test_contributions_by_class():
    """Contributions are looked up by label; labels without a score are named."""
    explanation = make_explanation()
    np.testing.assert_array_equal(explanation.of_class("dog"), [0, -1, -2])
    with pytest.raises(ValueError, match=r"no score for 'cow'; .* \['cat', 'dog'\]"):
        explanation.of_class("cow")


# What estimators explain --------------------------------------------------------------------------


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
    """With many features, contributions still speak of each of them."""
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
        assert "  pulse     " in str(explanation)


@pytest.mark.parametrize(
    ("feature_map", "names"),
    [
        (None, ["a", "b"]),
        ("quadratic", ["a", "b"]),
        ("bias_only", ["a", "b"]),
        ("additive_chi2", ["a_0", "b_0", "a_cos1", "b_cos1", "a_sin1", "b_sin1"]),
        (StandardScaler(), ["a", "b"]),
        (PolynomialFeatures(2, include_bias=False), ["a", "b", "a^2", "a b", "b^2"]),
        (PCA(1), ["pca0"]),
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
    """LocalCodingSVC has nothing but anchors to tell: the intercept is the score."""
    X, y = make_data()
    explanation = LocalCodingSVC(9, n_neighbors=8, random_state=0).fit(X, y).explain(X[0])
    assert not explanation.contributions.any()
    np.testing.assert_allclose(explanation.intercepts, explanation.scores)
    assert len(explanation.anchors) == 8


def test_one_row_at_a_time():
    """Several rows are refused; so are rows of another width."""
    X, y = make_data()
    model = LocallyLinearSVC(random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="explain takes one row, not 2"):
        model.explain(X[:2])
    with pytest.raises(ValueError, match="expecting 5 features"):
        model.explain(X[0, :3])
