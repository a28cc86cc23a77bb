"""Tests of hyperlocal.model.through: any model and pipeline in the columns of its input."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.ensemble import VotingClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier, SGDOneClassSVM
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, OneClassSVM

from estimators.data import make_data
from hyperlocal import LocallyLinearSVC, NeighborhoodSVC, SecondLookSVC, explain
from hyperlocal.preprocessing import MEGM, RelevanceScaler, TableEncoder

LAST = [
    SVC(), NuSVC(), LinearSVC(), LogisticRegression(), SGDClassifier(random_state=0),
    LocallyLinearSVC(random_state=0),
]  # fmt: skip
STEPS = [
    [StandardScaler()],
    [StandardScaler(), PCA(3)],
    [Normalizer()],
    [PCA(4, whiten=True)],
    [MEGM(max_iter=3, random_state=0)],
    [RelevanceScaler(random_state=0)],
    [StandardScaler(), Nystroem(gamma=0.2, n_components=30, random_state=0)],
]
TEXTS = ["good film really good", "bad film", "good acting", "bad plot", "really bad", "great film"]


def make_frame(n_classes=2):
    """A table of five columns in units of their own, and classes."""
    X, y = make_data(n_classes)
    return pd.DataFrame(10 + 3 * X, columns=list("abcde")), y


def check_sums(found, atol=1e-10):
    """Reference, contributions and remainder are the scores."""
    total = found.references + found.contributions.sum(axis=2) + found.remainders
    np.testing.assert_allclose(total, found.scores, atol=atol * np.abs(found.scores).max())


@pytest.mark.parametrize("last", LAST, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("steps", STEPS, ids=str)
@pytest.mark.parametrize("given", [False, True])
def test_pipelines_are_explained_in_their_input(steps, last, given):
    """Names, values and units are the input's; sums are the decisions; classes are predicted."""
    X, y = make_frame()
    model = make_pipeline(*steps, last).fit(X, y)
    found = explain(model, X[:6], X[20:30] if given else None)
    check_sums(found)
    np.testing.assert_allclose(found.scores[:, 0], model.decision_function(X[:6]), atol=1e-9)
    assert found.feature_names.tolist() == list("abcde")
    np.testing.assert_array_equal(found.values, X[:6])
    assert [one.prediction for one in found] == model.predict(X[:6]).tolist()
    if not isinstance(last, LocallyLinearSVC):
        assert np.abs(found.remainders).max() < 1e-9
    if given:
        expected = model.decision_function(X[20:30]).mean()
        np.testing.assert_allclose(found.references, expected)


@pytest.mark.parametrize("last", [SVC(), NuSVC(), LogisticRegression()], ids=str)
def test_several_classes(last):
    """The predicted class is the one explained, votes or not."""
    X, y = make_frame(4)
    model = make_pipeline(StandardScaler(), last).fit(X, y)
    found = explain(model, X)
    check_sums(found)
    assert [one.prediction for one in found] == model.predict(X).tolist()
    assert all(one.classes[one.column] == one.prediction for one in found)


def test_boundary_points_are_rows_of_the_input():
    """The pipeline predicts another class there."""
    X, y = make_frame()
    for last in (SVC(), LocallyLinearSVC(random_state=0)):
        model = make_pipeline(StandardScaler(), last).fit(X, y)
        points = [one.boundary for one in explain(model, X[:10])]
        rows = pd.DataFrame([point.row for point in points], columns=X.columns)
        assert model.predict(rows).tolist() == [point.prediction for point in points]
        np.testing.assert_allclose(rows - X[:10].to_numpy(), [point.changes for point in points])


def test_changes_are_compared_as_the_model_sees_them():
    """A feature in millionths is as important as it was; components are no columns."""
    X, y = make_frame()
    small = X.assign(b=X["b"] * 1e-6)
    for steps in ([StandardScaler()], [StandardScaler(), PCA(4)]):
        points = [
            explain(make_pipeline(*steps, SVC()).fit(rows, y), rows.iloc[3]).boundary
            for rows in (X, small)
        ]
        np.testing.assert_allclose(points[0].shares, points[1].shares, rtol=1e-4)
        assert points[0].largest(3).tolist() == points[1].largest(3).tolist()
        assert points[0].shares.sum() == pytest.approx(1)


@pytest.mark.parametrize("last", [SVR(), LinearSVR(), Ridge()], ids=str)
def test_numbers_are_explained(last):
    """Regressors have one score, the prediction."""
    X, _ = make_frame()
    model = make_pipeline(StandardScaler(), last).fit(X, X["a"] + X["b"])
    found = explain(model, X[:4])
    check_sums(found)
    np.testing.assert_allclose([one.prediction for one in found], model.predict(X[:4]))


def test_outliers():
    """A one-class SVM says −1 or 1."""
    X, _ = make_frame()
    model = make_pipeline(StandardScaler(), OneClassSVM()).fit(X)
    found = explain(model, X[:4])
    assert [one.prediction for one in found] == model.predict(X[:4]).tolist()


@pytest.mark.parametrize("last", [SVC(), LocallyLinearSVC(random_state=0)], ids=str)
@pytest.mark.parametrize(
    "encoder",
    [
        TableEncoder(),
        make_column_transformer((StandardScaler(), ["age"]), (OneHotEncoder(), ["marital"])),
    ],
    ids=["table", "columns"],
)
def test_tables_are_explained_by_column(encoder, last):
    """Dummies are summed; the cells are shown as they are."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"age": rng.normal(40, 10, 200), "marital": rng.choice(["single", "married", "no"], 200)}
    )
    model = make_pipeline(encoder, last).fit(table, table["marital"] == "single")
    found = explain(model, table[:5])
    check_sums(found)
    assert found.feature_names.tolist() == ["age", "marital"]
    assert f"marital = {table['marital'][0]} " in str(found[0])


@pytest.mark.parametrize("given", [False, True])
def test_parts_of_a_table_that_mix_columns_are_undone(given):
    """Components of some columns are these columns; the model is linear: slopes are known."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal([1, 2, 3], [1, 10, 0.1], (100, 3)), columns=["a", "b", "c"])
    table["d"] = rng.choice(["u", "v"], 100)
    encoder = make_column_transformer(
        (make_pipeline(StandardScaler(), PCA(3)), ["c", "a", "b"]), (OneHotEncoder(), ["d"])
    )
    model = make_pipeline(encoder, LinearSVC()).fit(table, table["a"] + table["b"] > 3)
    background = table[50:60] if given else table.iloc[[0]].assign(a=1.0)
    found = explain(model, table[:5], background)
    check_sums(found)
    assert sorted(found.feature_names) == ["a", "b", "c", "d"]
    step = table[:5].assign(b=lambda one: one["b"] + 1)
    slope = model.decision_function(step) - model.decision_function(table[:5])
    change = table["b"][:5] - background["b"].mean()
    place = found.feature_names.tolist().index("b")
    np.testing.assert_allclose(found.contributions[:, 0, place], slope * change, atol=1e-9)
    assert found[0].values[place] == table["b"][0]


def test_parts_that_cannot_be_undone_keep_their_outputs():
    """Two of three components: which columns the rest would be of is not known."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 4)), columns=list("abcd"))
    parts = (Nystroem(n_components=3), ["a", "b"]), ("passthrough", ["c"])
    encoder = make_column_transformer(*parts)
    model = make_pipeline(encoder, LinearSVC()).fit(table, table["a"] > 0)
    found = explain(model, table[:4])
    check_sums(found)
    assert found.feature_names.tolist() == ["nystroem0", "nystroem1", "nystroem2", "c"]


@pytest.mark.parametrize("kernel", ["poly", "linear", "sigmoid", "laplacian"])
@pytest.mark.parametrize("given", [False, True])
def test_approximate_kernels_are_explained_in_their_input(kernel, given):
    """Components of any kernel have gradients; of kinks there is a remainder."""
    X, y = make_frame()
    nystroem = Nystroem(kernel, n_components=20, random_state=0)
    model = make_pipeline(StandardScaler(), nystroem, LogisticRegression()).fit(X, y)
    found = explain(model, X[:6], X[10:13] if given else None)
    check_sums(found)
    assert found.feature_names.tolist() == list(X.columns)
    total = found.references + found.contributions.sum(axis=2) + found.remainders
    np.testing.assert_allclose(total[:, 0], model.decision_function(X[:6]), atol=1e-9)
    remainder = np.abs(found.remainders).max() / np.abs(found.contributions).max()
    assert remainder < (0.05 if kernel == "laplacian" else 1e-9)


def test_selected_columns_are_columns_of_the_input():
    """In the units of the table, though the selection comes after the scaler."""
    X, y = make_frame()
    model = make_pipeline(StandardScaler(), SelectKBest(k=2), SVC()).fit(X, y)
    found = explain(model, X[:4])
    check_sums(found)
    assert found.feature_names.tolist() == list(X.columns)
    assert np.count_nonzero(found.contributions[0, 0]) == 2
    assert found[0].values[0] == X.iloc[0, 0]
    assert found[0].boundary is not None


@pytest.mark.parametrize("vectorizer", [TfidfVectorizer(), CountVectorizer()], ids=str)
@pytest.mark.parametrize(
    "last",
    [LinearSVC(), SVC(), LocallyLinearSVC(random_state=0)],
    ids=lambda one: type(one).__name__,
)
def test_texts_are_explained_by_word(vectorizer, last):
    """Lists of texts, and one text alone."""
    model = make_pipeline(vectorizer, last).fit(TEXTS * 4, [1, 0, 1, 0, 0, 1] * 4)
    found = explain(model, TEXTS)
    check_sums(found)
    assert found.feature_names.tolist() == sorted({word for text in TEXTS for word in text.split()})
    assert explain(model, "good film").prediction == model.predict(["good film"])[0]


def test_searches_and_others():
    """The best estimator of a search; others are refused by name."""
    X, y = make_frame()
    search = GridSearchCV(make_pipeline(StandardScaler(), SVC()), {"svc__C": [1, 10]}).fit(X, y)
    check_sums(explain(search, X[:3]))
    with pytest.raises(TypeError, match="GaussianNB cannot be explained exactly"):
        explain(GaussianNB().fit(X, y), X)


@pytest.mark.parametrize(
    "ensemble",
    [
        CalibratedClassifierCV(LinearSVC(), cv=2), OneVsRestClassifier(LinearSVC()),
        VotingClassifier([("svc", SVC())]), TunedThresholdClassifierCV(LinearSVC(), cv=2),
    ],
    ids=lambda ensemble: type(ensemble).__name__,
)  # fmt: skip
def test_the_refusal_of_an_ensemble_names_its_parts(ensemble):
    """What the error suggests explains a part."""
    X, y = make_frame()
    model = ensemble.fit(X, y)
    with pytest.raises(TypeError, match="Explain its parts") as caught:
        explain(model, X)
    suggested = re.search(r"explain\(model\.(.*), X\)", str(caught.value))[1]
    check_sums(explain(eval(f"model.{suggested}"), X[:3]))


@pytest.mark.parametrize(
    "model",
    [
        NeighborhoodSVC(15), SecondLookSVC(low_margin=0.3, random_state=0), OneClassSVM(),
        SGDOneClassSVM(random_state=0), NuSVC(), SGDClassifier(random_state=0),
        make_pipeline(Nystroem(n_components=20, random_state=0), LinearSVC()),
    ],
    ids=lambda model: type(model).__name__,
)  # fmt: skip
def test_every_kind_of_model_behind_a_scaler(model):
    """Contributions of the columns of the table add up to the pipeline's decision function."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    pipeline = make_pipeline(StandardScaler(), clone(model)).fit(X, y)
    found = explain(pipeline, X[:6])
    total = found.references + found.contributions.sum(axis=2) + found.remainders
    np.testing.assert_allclose(total[:, 0], pipeline.decision_function(X[:6]), atol=1e-8)
    assert found.feature_names[0] == "mean radius"
    assert found.values[0, 0] == X.iloc[0, 0]
    assert [one.prediction for one in found] == pipeline.predict(X[:6]).tolist()
