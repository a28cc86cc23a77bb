"""Tests of hyperlocal.estimators.local_model: what fitted models predict and hold, and copies."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from estimators.data import Recorder, every_classifier, make_data, make_ring, model
from hyperlocal import LocallyLinearSVC

# Probabilities ------------------------------------------------------------------------------------


@every_classifier
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_probabilities(Classifier, n_classes, dtype):
    """They sum to one, and the most probable class is the predicted one."""
    X, y = make_data(n_classes, dtype=dtype)
    fitted = Classifier(loss="log", random_state=0).fit(X, y)
    probabilities = fitted.predict_proba(X)
    assert probabilities.shape == (90, n_classes)
    assert probabilities.dtype == dtype
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_array_equal(probabilities.argmax(axis=1), fitted.predict(X))


def test_probabilities_of_extreme_scores(monkeypatch):
    """Scores far from zero give probabilities, not NaN, and keep the largest score ahead."""
    fitted = model(loss="log").fit(*make_data(3))
    scores = np.array([[-2e3, -1e3, -3e3], [1e3, 2e3, -5.0], [0.0, 0.0, 0.0]])
    monkeypatch.setattr(type(fitted), "decision_function", lambda self, X: scores)
    probabilities = fitted.predict_proba(None)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert probabilities[0].argmax() == 1
    np.testing.assert_allclose(probabilities[2], 1 / 3)


def test_only_log_loss_has_probabilities():
    """``predict_proba`` exists with ``loss="log"`` alone, and says so."""
    fitted = model().fit(*make_data())
    assert not hasattr(fitted, "predict_proba")
    with pytest.raises(AttributeError) as raised:
        fitted.predict_proba(make_data()[0])
    assert "needs loss='log'" in str(raised.value.__cause__)


# Labels and shapes --------------------------------------------------------------------------------


@every_classifier
@pytest.mark.parametrize(
    "labels",
    [
        np.array(["no", "yes"]),
        np.array(["no", "yes"], dtype=object),
        np.array([False, True]),
        np.array([-1, 1]),
        np.array([2.0, 7.0]),
    ],
    ids=["str", "object", "bool", "signs", "floats"],
)
def test_labels_of_any_kind(Classifier, labels):
    """Predictions are labels as given; a positive score is for the second."""
    X, y = make_data()
    fitted = Classifier(random_state=0).fit(X, labels[y])
    np.testing.assert_array_equal(fitted.classes_, labels)
    assert fitted.classes_.dtype == labels.dtype
    predictions = fitted.predict(X)
    np.testing.assert_array_equal(predictions, labels[(fitted.decision_function(X) > 0) * 1])
    assert fitted.score(X, labels[y]) > 0.8


@every_classifier
@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
@pytest.mark.parametrize("n_rows", [2, 3, 4])
def test_one_row_per_class(Classifier, multi_class, n_rows):
    """The smallest training sets there are: one row per class."""
    X, y = np.eye(n_rows, 3) * 2, np.arange(n_rows)
    fitted = Classifier(multi_class=multi_class, n_anchors=n_rows, n_neighbors=1, random_state=0)
    np.testing.assert_array_equal(fitted.fit(X, y).predict(X), y)


@pytest.mark.parametrize("n_features", [1, 2, 63, 64, 65, 2000])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_few_and_many_features(n_features, convert):
    """One feature or thousands: shapes fit, and training rows are learned."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, n_features)), np.arange(120) % 2
    X[:, 0] += 4 * y
    fitted = LocallyLinearSVC(random_state=0).fit(convert(X), y)
    assert fitted.n_features_in_ == n_features
    assert fitted.anchors_.shape[1] == n_features
    assert fitted.local_coef(convert(X[:3])).shape == (3, 1, n_features)
    assert fitted.score(convert(X), y) > 0.9


@pytest.mark.parametrize("n_features", [5, 80])
def test_fewer_rows_than_features_or_axes(n_features):
    """Two rows suffice, whatever the number of features."""
    X, _ = make_data(n_rows=20, n_features=n_features)
    assert LocallyLinearSVC(random_state=0).fit(X[:2], [0, 1]).score(X[:2], [0, 1]) == 1


def test_constant_features_do_no_harm():
    """Features that never change leave the accuracy as it is."""
    X, y = make_data()
    constant = np.column_stack([X, np.zeros(len(y)), np.full(len(y), 3.0)])
    assert model().fit(constant, y).score(constant, y) >= model().fit(X, y).score(X, y) - 0.05


@pytest.mark.parametrize("n_features", [3, 80])
@pytest.mark.parametrize("value", [0.0, 5.0])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_rows_that_are_all_equal(n_features, value, convert):
    """Nothing to learn from: the larger class is predicted."""
    X, y = convert(np.full((30, n_features), value)), np.arange(30) % 3 > 0
    fitted = LocallyLinearSVC(random_state=0).fit(X, y)
    assert fitted.anchors_.shape == (1, n_features)
    assert fitted.predict(X).all()


def test_contradicting_rows():
    """Equal rows with different labels are weighed against each other."""
    X = np.repeat(make_data()[0][:10], 3, axis=0)
    y = np.tile([0, 1, 1], 10)
    assert (model(n_anchors=1, n_neighbors=1).fit(X, y).predict(X) == 1).all()


def test_small_differences_far_from_the_origin():
    """A common offset of all features does not hide the classes."""
    X, y = make_ring()
    assert LocallyLinearSVC(random_state=0, n_anchors=30).fit(X + 100, y).score(X + 100, y) > 0.9


# Fitted attributes --------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["dual", "sgd"])
def test_threads_do_not_change_a_bit(solver):
    """One thread and two give the same weights and scores, bit for bit."""
    X, y = make_data(4, n_rows=3000)
    one, two = (
        LocallyLinearSVC(solver=solver, n_jobs=n_jobs, random_state=0, n_anchors=20).fit(X, y)
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.intercept_, two.intercept_)
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))
    np.testing.assert_array_equal(one.local_coef(X[:50]), two.local_coef(X[:50]))


def test_convergence_is_told():
    """A run that converged holds the gap it promised, and the path to it."""
    X, y = make_data(3)
    fitted = model(tol=1e-5).fit(X, y)
    assert fitted.duality_gap_ <= 1e-5 * fitted.objective_
    assert 1 <= fitted.n_iter_ < 1000
    epoch, objective, gap = fitted.history_[-1]
    assert (epoch, objective, gap) == (fitted.n_iter_, fitted.objective_, fitted.duality_gap_)


def test_arguments_act_at_the_next_fit():
    """Changed arguments do not touch a fitted model."""
    X, y = make_data()
    fitted = model().fit(X, y)
    before = fitted.decision_function(X), fitted.local_intercept(X), fitted.intercept_
    fitted.set_params(normalize=False, intercept_scaling=7.0, n_anchors=20, beta=5.0)
    after = fitted.decision_function(X), fitted.local_intercept(X), fitted.intercept_
    for old, new in zip(before, after, strict=True):
        np.testing.assert_array_equal(old, new)


# Copies -------------------------------------------------------------------------------------------


@every_classifier
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_pickled_models_predict_the_same(Classifier, convert):
    """A model survives pickling."""
    X, y = make_data(3)
    fitted = Classifier(warm_start=True, random_state=0).fit(convert(X), y)
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(
        copy.decision_function(convert(X)), fitted.decision_function(convert(X))
    )
    copy.set_params(C=1.0).fit(convert(X), y)


def test_pickled_models_go_on_learning():
    """A pickled stream model takes the next batch as the original does."""
    X, y = make_data(3)
    fitted = model(solver="sgd").partial_fit(X[:60], y[:60], classes=[0, 1, 2])
    copy = pickle.loads(pickle.dumps(fitted))
    for each in (fitted, copy):
        each.partial_fit(X[60:], y[60:])
    np.testing.assert_array_equal(copy.coef_, fitted.coef_)


@pytest.mark.parametrize("solver", ["dual", "sgd"])
def test_callbacks_are_not_needed_after_the_fit(solver):
    """A model that was fitted under callbacks is pickled and cloned as any other."""
    pytest.importorskip("sklearn.callback")
    X, y = make_data()
    fitted = model(solver=solver).set_callbacks(Recorder()).fit(X, y)
    fitted.set_callbacks()
    copy = pickle.loads(pickle.dumps(fitted))
    for other in (copy, clone(copy).fit(X, y)):
        np.testing.assert_array_equal(other.decision_function(X), fitted.decision_function(X))


@every_classifier
def test_clones_are_unfitted(Classifier):
    """A clone has the arguments and nothing learned."""
    X, y = make_data()
    fitted = Classifier(9, beta=2.0, C=0.1, anchors=X[:9]).fit(X, y)
    copy = clone(fitted)
    assert copy.C == 0.1
    np.testing.assert_array_equal(copy.anchors, X[:9])
    for method in (copy.predict, copy.decision_function, copy.local_coef, copy.explain):
        with pytest.raises(NotFittedError):
            method(X[:1])
    assert not hasattr(copy, "coef_")


# In the company of scikit-learn -------------------------------------------------------------------


@every_classifier
def test_data_frames_name_their_features(Classifier):
    """Frames give feature names; rows with other names are refused."""
    X, y = make_data()
    frame = pd.DataFrame(X, columns=list("abcde"))
    fitted = Classifier(random_state=0).fit(frame, pd.Series(y))
    np.testing.assert_array_equal(fitted.feature_names_in_, list("abcde"))
    np.testing.assert_array_equal(
        fitted.predict(frame), Classifier(random_state=0).fit(X, y).predict(X)
    )
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict(frame.rename(columns={"a": "z"}))


@every_classifier
def test_a_grid_search(Classifier):
    """Arguments are searched by cross-validation, inside a pipeline."""
    X, y = make_data()
    name = Classifier.__name__.lower()
    grid = {f"{name}__C": [0.1, 3.0], f"{name}__n_anchors": [8, "auto"]}
    search = GridSearchCV(make_pipeline(StandardScaler(), Classifier(random_state=0)), grid, cv=3)
    assert search.fit(X, y).best_score_ > 0.75
    assert search.predict(X).shape == (90,)


def test_a_search_over_feature_maps():
    """Maps are searched by name, as transformers, and into their arguments."""
    X, y = make_data()
    grid = [
        {"feature_map": [None, "quadratic", "nystroem"]},
        {"feature_map": [PCA(random_state=0)], "feature_map__n_components": [2, 4]},
    ]
    assert GridSearchCV(model(), grid, cv=3).fit(X, y).best_score_ > 0.75


@pytest.mark.parametrize("n_classes", [2, 3])
def test_calibrated_probabilities(n_classes):
    """Margins are calibrated by scikit-learn."""
    X, y = make_data(n_classes)
    calibrated = CalibratedClassifierCV(model(), cv=3).fit(X, y)
    np.testing.assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1)


@every_classifier
def test_cross_validation_in_processes(Classifier):
    """Cross-validation scores models in other processes as in this one."""
    X, y = make_data()
    here, elsewhere = (
        cross_val_score(Classifier(random_state=0), X, y, cv=3, n_jobs=n_jobs) for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(here, elsewhere)


@every_classifier
def test_sample_weights_are_routed(Classifier):
    """Metadata routing brings weights through a cross-validation into ``fit``."""
    X, y = make_data()
    seen = []

    class Watching(Classifier):
        def fit(self, X, y, sample_weight=None):
            seen.append(None if sample_weight is None else len(sample_weight))
            return super().fit(X, y, sample_weight)

    with sklearn.config_context(enable_metadata_routing=True):
        asking = Watching(random_state=0).set_fit_request(sample_weight=True)
        asking.set_score_request(sample_weight=False)
        cross_validate(asking, X, y, params={"sample_weight": np.ones(90)}, cv=3)
    assert seen == [60, 60, 60]
