"""Tests of hyperlocal.model.inspection: explanations add up, name their features and read well."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from estimators.data import make_data
from hyperlocal import (
    SDCASVC,
    ClusteredSVC,
    LandmarkSVC,
    LatentLocallyLinearSVC,
    LocalCodingSVC,
    LocalDeepSVC,
    LocallyLinearSVC,
    PegasosSVC,
    ProfileSVC,
    SupervisedAnchorSVC,
)
from hyperlocal.model.explanation import FEATURES_SHOWN, Explanation, Explanations
from hyperlocal.model.inspection import anchor_weights, explain, mean_contributions
from hyperlocal.plots import ExplanationDisplay, MeanContributionsDisplay


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


def test_rows_of_another_width():
    """Rows of another width are refused."""
    X, y = make_data()
    with pytest.raises(ValueError, match="expecting 5 features"):
        LocallyLinearSVC(random_state=0).fit(X, y).explain(X[0, :3])


# Every model, several rows, the way out -----------------------------------------------------------

MODELS = {
    "linear": LocallyLinearSVC(6, n_neighbors=3, feature_map=None, random_state=0),
    "quadratic": LocallyLinearSVC(6, n_neighbors=3, feature_map="quadratic", random_state=0),
    "supervised": SupervisedAnchorSVC(6, n_neighbors=3, anchor_epochs=1, random_state=0),
    "codes": LocalCodingSVC(12, random_state=0),
    "landmarks": LandmarkSVC(3, random_state=0),
    "stages": LandmarkSVC(
        3, n_stages=2, keep_if_better=False, soft_clusters=True, n_neighbors=2, random_state=0
    ),
    "rbf": LandmarkSVC(3, projection="rbf", random_state=0),
    "clustered": ClusteredSVC(3, random_state=0),
    "profile": ProfileSVC(3, random_state=0),
    "tree": LocalDeepSVC(2, alpha=1e-3, random_state=0),
    "shared tree": LocalDeepSVC(2, alpha=1e-3, share_tree=True, random_state=0),
    "latent": LatentLocallyLinearSVC(6, alpha=1e-3, random_state=0),
    "pegasos": PegasosSVC(max_iter=50, tol=None, random_state=0),
    "sdca": SDCASVC(random_state=0),
}
every_model = pytest.mark.parametrize("name", MODELS)


def fitted(name, n_classes=3, **options):
    X, y = make_data(n_classes, **options)
    return clone(MODELS[name]).fit(X, y), X


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
        np.testing.assert_array_equal(sums, explanation.scores)
        np.testing.assert_allclose(explanation.scores, scores, atol=1e-9)
        ordered = np.sort(scores)
        margin = abs(scores[0]) if n_classes == 2 else ordered[-1] - ordered[-2]
        assert explanation.margin == pytest.approx(margin, abs=1e-9)
        assert explanation.rival != explanation.prediction
        assert explanation.rival in model.classes_
        alone = model.explain(row)
        np.testing.assert_allclose(alone.scores, explanation.scores, atol=1e-12)


@every_model
def test_what_anchors_say_adds_up(name):
    """Local models' contributions sum to the deciding score, but for a bias that all share."""
    model, X = fitted(name)
    shared = model.intercept_ if isinstance(model, LandmarkSVC) else np.zeros(3)
    for explanation in model.explain(X[:5]):
        column = explanation.column
        assert explanation.anchor_contributions.shape == explanation.anchors.shape
        said = explanation.anchor_contributions.sum() + shared[column]
        assert said == pytest.approx(explanation.scores[column], abs=1e-9)


@every_model
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_boundary_point_is_on_the_other_side(name, n_classes):
    """The model decides otherwise at the point found, and not yet a little before it."""
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


def test_a_linear_model_has_its_boundary_where_it_says():
    """With one linear model, the local normal is the normal: both distances agree."""
    model, X = fitted("sdca", 2)
    for explanation in model.explain(X[:10]):
        point = explanation.boundary
        assert point.found
        assert point.distance == pytest.approx(point.linear_distance, rel=1e-4)


def test_tables():
    """Columns of the table add up to the scores; several rows keep their index."""
    X, y = make_data(3)
    frame = pd.DataFrame(X, columns=list("abcde"), index=[f"r{i}" for i in range(len(X))])
    model = LocallyLinearSVC(random_state=0).fit(frame, np.array(["x", "y", "z"])[y])
    explanation = model.explain(frame.iloc[4])
    table = explanation.to_frame()
    assert table.index.tolist() == [*"abcde", "(intercept)"]
    np.testing.assert_allclose(table["value"].iloc[:5], X[4])
    sums = [table[f"contribution to {label}"].sum() for label in "xyz"]
    np.testing.assert_allclose(sums, explanation.scores)
    several = model.explain(frame.iloc[2:7]).to_frame()
    assert several.index.tolist() == ["r2", "r3", "r4", "r5", "r6"]
    np.testing.assert_allclose(
        several[list("abcde")].sum(axis=1) + several["intercept"], several["score"]
    )
    np.testing.assert_array_equal(several["prediction"], model.predict(frame.iloc[2:7]))


def test_explanations_are_a_sequence():
    """Slices keep rows and names together; the text tells one after the other."""
    model, X = fitted("linear")
    explanations = model.explain(pd.DataFrame(X, index=range(100, 190)).to_numpy()[:4])
    part = explanations[1:3]
    assert len(part) == 2
    assert part[0] is explanations[1]
    assert str(part).count("predicted") == 2


def test_polars_in():
    """Names of polars columns reach the explanation."""
    polars = pytest.importorskip("polars")
    X, y = make_data()
    frame = polars.DataFrame(X, schema=list("abcde"))
    model = LocallyLinearSVC(random_state=0).fit(frame, polars.Series(y))
    explanation = model.explain(frame[3])
    assert explanation.feature_names.tolist() == list("abcde")
    assert explanation.prediction == model.predict(frame[3])[0]


def test_the_way_out_is_told():
    """The text ends with the margin, and the changes that lead to the other side."""
    X, y = make_data(2)
    lines = str(SDCASVC(random_state=0).fit(X, y).explain(X[0])).splitlines()
    assert lines[-2].startswith("  margin: ")
    assert " at distance " in lines[-1]


# Pipelines and many rows --------------------------------------------------------------------------


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


def test_weights_of_anchors():
    """They are ``coef_`` for linear maps; maps that hide the input are refused."""
    model, _ = fitted("linear")
    np.testing.assert_array_equal(anchor_weights(model), model.coef_)
    quadratic, _ = fitted("quadratic")
    assert anchor_weights(quadratic).shape == (6, 3, 5)
    landmarks, _ = fitted("landmarks")
    np.testing.assert_allclose(anchor_weights(landmarks), landmarks.coef_ @ landmarks.landmarks_)
    for name in ("rbf", "stages"):
        with pytest.raises(ValueError, match="no weights on the input's features"):
            anchor_weights(fitted(name)[0])


def test_bars():
    """A bar per feature shown, one for the others, one for the intercept."""
    pytest.importorskip("matplotlib").use("Agg")
    plt = pytest.importorskip("matplotlib.pyplot")
    model, X = fitted("linear")
    ax = ExplanationDisplay.from_estimator(model, X[0], n_features=3).ax_
    assert [label.get_text() for label in ax.get_yticklabels()][3:] == ["2 others", "intercept"]
    total = sum(bar.get_width() for bar in ax.patches)
    explanation = model.explain(X[0])
    assert total == pytest.approx(explanation.scores[explanation.column])
    assert len(MeanContributionsDisplay.from_estimator(model, X, n_features=2).ax_.patches) == 2
    plt.close("all")
