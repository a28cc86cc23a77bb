"""Tests of hyperlocal.export.paths: exported contributions are those of Python."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from estimators.data import make_data
from hyperlocal import LocallyLinearSVC, LocallyLinearSVR, explain
from hyperlocal.export import numpy_predict, to_numpy
from hyperlocal.export.plain import NotPlain
from hyperlocal.model.inspection import mean_interactions
from hyperlocal.papers import ClusteredSVC, LocalDeepSVC

OPTIONS = [
    {"feature_map": None},
    {"feature_map": None, "normalize": False, "n_neighbors": 3},
    {"feature_map": "quadratic"},
    {"feature_map": "quadratic", "normalize": False},
    {"feature_map": "bias_only"},
    {"feature_map": None, "coding": "hard"},
    {"n_anchors": (1, 8)},
    {"code_on": [0, 2]},
    {"relevance": "gradient"},
    {"feature_map": "piecewise"},
    {"feature_map": "piecewise_quadratic", "normalize": False, "scale": "standard"},
]
STEPS = {"none": [], "scaler": [StandardScaler()], "pca": [StandardScaler(), PCA(3)]}


def fitted_pipeline(options, steps="none", n_classes=3):
    """A pipeline and its rows, far from zero and of several sizes."""
    X, y = make_data(n_classes)
    X = X * np.arange(1.0, X.shape[1] + 1) + 2
    settings = {"n_anchors": 8, "C": 1.0, "random_state": 0} | options
    if settings.get("code_on") and steps == "pca":
        settings["code_on"] = [0, 1]
    return make_pipeline(*STEPS[steps], LocallyLinearSVC(**settings)).fit(X, y), X


def mixes(options, steps):
    """Whether pieces are of mixed features."""
    return steps == "pca" and "piecewise" in str(options.get("feature_map"))


WAYS = [(options, steps) for options in OPTIONS for steps in STEPS if not mixes(options, steps)]


@pytest.mark.parametrize(("options", "steps"), WAYS, ids=str)
def test_numpy_explains_as_python_does(options, steps):
    """Contributions, references and remainders, and they add up to the scores."""
    model, X = fitted_pipeline(options, steps)
    expected = explain(model, X[:20])
    arrays = to_numpy(model, contributions=True)
    found, references, remainders = numpy_predict.explain(arrays, X[:20])
    size = np.abs(expected.contributions).max()
    np.testing.assert_allclose(found, expected.contributions, atol=2e-6 * size)
    np.testing.assert_allclose(remainders, expected.remainders, atol=2e-6 * size)
    total = references + found.sum(axis=2) + remainders
    np.testing.assert_allclose(total, numpy_predict.decision_function(arrays, X[:20]), atol=1e-10)


@pytest.mark.parametrize("options", [{"feature_map": "quadratic"}, {"n_anchors": (1, 8)}], ids=str)
def test_single_precision_in_other_units(options):
    """Rows of any units, in float32, are explained as in Python, too."""
    X, y = make_data(3)
    X = ((X + 1000) * 10.0 ** np.linspace(-6, 6, X.shape[1])).astype(np.float32)
    model = LocallyLinearSVC(**{"n_anchors": 8, "C": 1.0, "random_state": 0} | options).fit(X, y)
    expected = explain(model, X[:20]).contributions
    found, _, _ = numpy_predict.explain(to_numpy(model, contributions=True), X[:20])
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())
    if options.get("feature_map"):
        assert np.isfinite(mean_interactions(model, X).values).all()


def test_two_classes_clusters_and_regression():
    """One column of scores; one SVM per cluster; predictions of numbers."""
    X, y = make_data(2)
    for model in (
        LocallyLinearSVC(8, C=1.0, random_state=0).fit(X, y),
        ClusteredSVC(4, random_state=0).fit(X, y),
        LocallyLinearSVR(8, random_state=0).fit(X, X[:, 0]),
    ):
        expected = explain(model, X[:9]).contributions
        found, _, _ = numpy_predict.explain(to_numpy(model, contributions=True), X[:9])
        np.testing.assert_allclose(found, expected, atol=2e-6 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: LocallyLinearSVC(8, C=1.0, feature_map="nystroem"), "neither linear nor quad"),
        (lambda: LocallyLinearSVC(8, C=1.0, coding="llc"), "coding='llc'"),
        (
            lambda: make_pipeline(PCA(3), LocallyLinearSVC(8, C=1.0, feature_map="piecewise")),
            "'piecewise' after steps that mix features",
        ),
        (lambda: LocalDeepSVC(random_state=0), "LocalDeepSVC"),
        (lambda: make_pipeline(Normalizer(), LocallyLinearSVC(8, C=1.0)), "steps before"),
    ],
)
def test_what_cannot_be_exported_is_named(make, reason):
    """The error says which part it is, and what to do."""
    X, y = make_data(2)
    with pytest.raises(NotPlain, match=f"{reason}.*explain in Python"):
        to_numpy(make().fit(X, y), contributions=True)


def test_without_contributions_explain_says_so():
    """The references are only written where they are asked for."""
    model, X = fitted_pipeline({})
    with pytest.raises(ValueError, match="contributions=True"):
        numpy_predict.explain(to_numpy(model), X)
