"""Tests of hyperlocal.estimators.base: what all locally linear classifiers share."""

import pickle
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import compute_sample_weight

from estimators.data import make_data, make_ring
from hyperlocal import LocalCodingSVC, LocallyLinearSVC
from hyperlocal.solvers import dual, sgd

CLASSIFIERS = [LocallyLinearSVC, LocalCodingSVC]
every_classifier = pytest.mark.parametrize("Classifier", CLASSIFIERS)
PRECISE = {"tol": 1e-9, "max_iter": 50_000}


def model(**options):
    """A small model with a seed."""
    return LocallyLinearSVC(**{"n_neighbors": 3, "n_anchors": 8, "random_state": 0, **options})


def precise(**options):
    """A model whose scores are determined to some six digits."""
    return model(**PRECISE, **options)


# Weights of rows and classes ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"loss": "hinge", "multi_class": "crammer_singer"},
        {"loss": "log", "feature_map": None},
        {"solver": "sgd"},
        {"feature_map": "nystroem", "class_weight": "balanced"},
        {"feature_map": StandardScaler(), "code_on": PCA(2, random_state=0)},
    ],
    ids=str,
)
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_integer_weights_are_repeated_rows(options, convert):
    """A row of weight two is the same as the row twice, and a row of weight zero is no row."""
    if convert is sp.csr_array and "code_on" in options:
        options = {"feature_map": StandardScaler(with_mean=False)}
    X, y = make_data(3)
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = model(**options).fit(convert(X), y, sample_weight=weights)
    repeated = model(**options).fit(convert(np.repeat(X, weights, axis=0)), np.repeat(y, weights))
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-10
    )


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "log"])
def test_integer_weights_are_repeated_rows_of_large_data(loss, monkeypatch):
    """Where equal rows are not merged, the solution is the same to the solver's precision."""
    monkeypatch.setattr("hyperlocal.validation.MOST_ROWS_TO_MERGE", 0)
    X, y = make_data()
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = precise(loss=loss).fit(X, y, sample_weight=weights)
    repeated = precise(loss=loss).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-3
    )
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-6)


@every_classifier
def test_the_order_of_rows_does_not_matter(Classifier):
    """Rows in another order give the same model, to the last bit."""
    X, y = make_data(3)
    order = np.random.default_rng(0).permutation(len(y))
    first = Classifier(random_state=0).fit(X, y)
    second = Classifier(random_state=0).fit(X[order], y[order])
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))


def test_rows_are_merged_only_if_equal(monkeypatch):
    """Should different rows share a key by accident, none is merged."""
    X, y = make_data()
    monkeypatch.setattr("hyperlocal.validation.row_keys", lambda X: np.zeros(len(X), np.uint64))
    assert model().fit(X, y).score(X, y) > 0.8


def test_a_class_of_weight_zero_is_no_class():
    """Labels of rows without weight are not learned."""
    X, y = make_data(3)
    fitted = model().fit(X, y, sample_weight=(y < 2).astype(float))
    np.testing.assert_array_equal(fitted.classes_, [0, 1])


@pytest.mark.parametrize("class_weight", ["balanced", {0: 3.0, 2: 0.2}], ids=str)
def test_class_weights_are_sample_weights(class_weight):
    """A class weight is a weight on each of the class's rows."""
    X, y = make_data(3)
    keep = (y > 0) | (np.arange(len(y)) % 3 == 0)
    X, y = X[keep], y[keep]
    weights = compute_sample_weight(class_weight, y)
    by_class = model(class_weight=class_weight).fit(X, y)
    by_row = model().fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(by_class.decision_function(X), by_row.decision_function(X))


def test_class_and_sample_weights_multiply():
    """Weights of classes and rows multiply."""
    X, y = make_data()
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y))
    both = model(class_weight={1: 4.0}).fit(X, y, sample_weight=weights)
    product = model().fit(X, y, sample_weight=weights * np.where(y == 1, 4.0, 1.0))
    np.testing.assert_allclose(both.decision_function(X), product.decision_function(X))


def test_weights_scale_like_C():
    """Doubling all weights is doubling ``C``."""
    X, y = make_data()
    doubled = model(C=1.0).fit(X, y, sample_weight=2.0)
    np.testing.assert_allclose(
        doubled.decision_function(X), model(C=2.0).fit(X, y).decision_function(X)
    )


# Reproducibility and copies -----------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"solver": "sgd"}, {"feature_map": "nystroem"}], ids=str)
def test_equal_seeds_give_equal_models(options):
    """The seed decides everything; a RandomState moves on from fit to fit."""
    X, y = make_data()
    first, second = (model(**options).fit(X, y).decision_function(X) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    moving = model(random_state=np.random.RandomState(0), anchors="random", **options)
    assert not np.array_equal(moving.fit(X, y).anchors_, moving.fit(X, y).anchors_)


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


def test_arguments_act_at_the_next_fit():
    """Changed arguments do not touch a fitted model."""
    X, y = make_data()
    fitted = model().fit(X, y)
    before = fitted.decision_function(X), fitted.local_intercept(X), fitted.intercept_
    fitted.set_params(normalize=False, intercept_scaling=7.0, n_anchors=20, beta=5.0)
    after = fitted.decision_function(X), fitted.local_intercept(X), fitted.intercept_
    for old, new in zip(before, after, strict=True):
        np.testing.assert_array_equal(old, new)


def test_input_is_left_alone():
    """Neither rows, labels, weights nor anchors are written to."""
    X, y = make_data()
    weights, anchors = np.ones(len(y)), X[:9].copy()
    for array in (X, y, weights, anchors):
        array.flags.writeable = False
    LocallyLinearSVC(anchors=anchors).fit(X, y, sample_weight=weights).predict(X)


# Warm starts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_a_warm_start_goes_on(loss, multi_class):
    """Fitting the same rows again takes few epochs and ends no higher."""
    X, y = make_data(3)
    fitted = model(loss=loss, multi_class=multi_class, warm_start=True, tol=1e-4, max_iter=5000)
    fitted.fit(X, y)
    epochs, objective = fitted.n_iter_, fitted.objective_
    fitted.fit(X, y)
    assert fitted.n_iter_ < 0.5 * epochs
    assert fitted.objective_ == pytest.approx(objective, rel=1e-3)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"C": 3.0}, {"C": 0.1}),
        ({"C": 0.1}, {"C": 3.0}),
        ({"loss": "hinge", "C": 3.0}, {"C": 0.1}),
        ({"loss": "hinge"}, {"loss": "squared_hinge"}),
        ({"loss": "hinge"}, {"loss": "log"}),
        ({"loss": "log"}, {"loss": "hinge"}),
        ({"normalize": True}, {"normalize": False}),
        ({"intercept_scaling": 1.0}, {"intercept_scaling": 3.0}),
        ({"multi_class": "crammer_singer", "C": 3.0}, {"C": 0.1}),
        ({"multi_class": "crammer_singer", "loss": "hinge", "C": 3.0}, {"C": 0.1}),
        ({"multi_class": "crammer_singer", "loss": "hinge"}, {"loss": "squared_hinge"}),
        ({"multi_class": "crammer_singer"}, {"multi_class": "ovr"}),
        ({"loss": "hinge"}, {"multi_class": "crammer_singer"}),
        ({"solver": "dual"}, {"solver": "qp"}),
        ({"n_anchors": 8}, {"n_anchors": 12}),
        ({"n_neighbors": 3}, {"n_neighbors": 5}),
        ({"beta": 0.5}, {"beta": 2.0}),
        ({"coding": "soft"}, {"coding": "lle"}),
        ({"anchors": "kmeans"}, {"anchors": make_data(3)[0][:8]}),
        ({"feature_map": None}, {"feature_map": "quadratic"}),
        ({"feature_map": PCA(3, random_state=0)}, {"feature_map__n_components": 2}),
        ({"code_on": "input"}, {"code_on": [0, 1]}),
    ],
    ids=str,
)
def test_warm_starts_find_what_cold_starts_find(before, after):
    """Whatever argument changes between two fits, the second solves its own problem."""
    X, y = make_data(3)
    warm = precise(warm_start=True, **before).fit(X, y).set_params(**after).fit(X, y)
    cold = clone(warm).set_params(warm_start=False).fit(X, y)
    assert warm.objective_ == pytest.approx(cold.objective_, rel=1e-6)
    assert warm.coef_.shape == cold.coef_.shape
    np.testing.assert_allclose(warm.decision_function(X), cold.decision_function(X), atol=2e-3)


@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
def test_warm_starts_take_other_labels_and_rows(multi_class):
    """New labels for the same rows, and other rows, are learned as from scratch."""
    X, y = make_data(3)
    fitted = precise(warm_start=True, multi_class=multi_class, loss="hinge").fit(X, y)
    relabelled = clone(fitted).fit(X, (y + 1) % 3).objective_
    assert fitted.fit(X, (y + 1) % 3).objective_ == pytest.approx(relabelled, rel=1e-2)
    assert fitted.fit(X[:70], y[:70]).score(X[:70], y[:70]) > 0.8
    assert fitted.fit(X[:, :4], y).local_coef(X[:2, :4]).shape == (2, 3, 4)
    np.testing.assert_array_equal(fitted.fit(X, y + 5).classes_, [5, 6, 7])


@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_warm_start_of_sgd_goes_on(multi_class, n_classes):
    """Stochastic gradient starts from the weights of the last fit."""
    X, y = make_data(n_classes)
    fitted = model(solver="sgd", warm_start=True, multi_class=multi_class).fit(X, y)
    _, objective_after_one_epoch, _ = fitted.history_[0]
    objective = fitted.objective_
    fitted.fit(X, y)
    assert fitted.history_[0][1] < 0.5 * (objective + objective_after_one_epoch)
    assert fitted.objective_ <= 1.01 * objective


def test_a_cold_start_forgets():
    """Without ``warm_start`` a second fit is the first fit."""
    X, y = make_data()
    fitted = model().fit(X, y)
    scores = fitted.decision_function(X)
    fitted.set_params(C=100.0).fit(X, y)
    np.testing.assert_array_equal(fitted.set_params(C=3.0).fit(X, y).decision_function(X), scores)


# partial_fit --------------------------------------------------------------------------------------


def stream(fitted, X, y, n_batches, n_passes=1, **options):
    """Feed rows batch by batch."""
    for _ in range(n_passes):
        for rows in np.array_split(np.arange(len(y)), n_batches):
            fitted.partial_fit(X[rows], y[rows], **options)
    return fitted


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("loss", ["squared_hinge", "log"])
def test_a_stream_comes_close_to_fit(n_classes, convert, loss):
    """Batches are nearly as good as all rows at once."""
    X, y = make_data(n_classes, n_rows=600)
    X = convert(X)
    streamed = stream(model(solver="sgd", loss=loss), X, y, 6, 5, classes=np.arange(n_classes))
    assert streamed.n_iter_ == 30
    assert streamed.score(X, y) > model(solver="sgd", loss=loss).fit(X, y).score(X, y) - 0.03


def test_one_batch_is_one_epoch_of_fit():
    """``partial_fit`` on all rows does exactly what the first epoch of ``fit`` does."""
    X, y = make_data(3)
    batch = model(solver="sgd").partial_fit(X, y, classes=[0, 1, 2])
    with pytest.warns(ConvergenceWarning):
        epoch = model(solver="sgd", max_iter=1).fit(X, y)
    np.testing.assert_array_equal(batch.coef_, epoch.coef_)
    np.testing.assert_array_equal(batch.intercept_, epoch.intercept_)


def test_a_stream_keeps_its_anchors():
    """The first batch places the anchors, unless they are given."""
    X, y = make_data()
    streamed = model(solver="sgd").partial_fit(X[:40], y[:40], classes=[0, 1])
    anchors = streamed.anchors_.copy()
    np.testing.assert_array_equal(streamed.partial_fit(X[40:], y[40:]).anchors_, anchors)
    given = LocallyLinearSVC(anchors=X[:9], solver="sgd").partial_fit(X[:3], y[:3], classes=[0, 1])
    np.testing.assert_array_equal(given.anchors_, X[:9])


def test_batches_may_lack_classes():
    """A batch need not have rows of all classes, not even the first."""
    X, y = make_data(3)
    order = np.argsort(y, kind="stable")
    streamed = stream(model(solver="sgd"), X[order], y[order], 6, classes=[0, 1, 2])
    assert streamed.decision_function(X).shape == (90, 3)


def test_string_labels_stream():
    """Labels may be strings; later batches are known by them."""
    X, y = make_data()
    labels = np.array(["no", "yes"])[y]
    streamed = stream(model(solver="sgd"), X, labels, 3, 5, classes=["yes", "no"])
    np.testing.assert_array_equal(streamed.classes_, ["no", "yes"])
    assert streamed.score(X, labels) > 0.8


def test_float32_streams_stay_float32():
    """Later batches are read in the precision of the first."""
    X, y = make_data(dtype=np.float32)
    streamed = model(solver="sgd").partial_fit(X[:50], y[:50], classes=[0, 1])
    streamed.partial_fit(X[50:].astype(np.float64), y[50:])
    assert streamed.decision_function(X).dtype == np.float32


@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
@pytest.mark.parametrize("first", ["sgd", "dual"])
def test_a_stream_goes_on_after_fit(first, multi_class):
    """After ``fit``, a batch moves the fitted model a little; classes need not be told again."""
    X, y = make_data(n_rows=300)
    fitted = model(solver=first, multi_class=multi_class).fit(X, y)
    anchors, scores = fitted.anchors_.copy(), fitted.decision_function(X)
    fitted.set_params(solver="sgd").partial_fit(X[:20], y[:20])
    np.testing.assert_array_equal(fitted.anchors_, anchors)
    moved = np.abs(fitted.decision_function(X) - scores)
    assert 0 < moved.max() < 0.3 * np.abs(scores).max()


def test_fit_after_a_stream_starts_anew():
    """``fit`` forgets the stream; the next batch goes on from ``fit``."""
    X, y = make_data(n_rows=300)
    fresh = model(solver="sgd").fit(X, y)
    used = model(solver="sgd").partial_fit(X[:50, :3], y[:50], classes=[0, 1]).fit(X, y)
    np.testing.assert_array_equal(used.coef_, fresh.coef_)
    used.partial_fit(X[:50], y[:50])
    assert used.n_iter_ == fresh.n_iter_ + 1


def test_streams_have_weights():
    """A batch of weight-two rows is the batch twice over."""
    X, y = make_data()
    weights = np.arange(len(y)) % 3
    weighted = model(solver="sgd").partial_fit(X, y, classes=[0, 1], sample_weight=weights)
    X, y = np.repeat(X, weights, axis=0), np.repeat(y, weights)
    repeated = model(solver="sgd").partial_fit(X, y, classes=[0, 1])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-12)


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ({}, "classes must be given at the first call"),
        ({"classes": [0]}, "classes must name at least two"),
        ({"classes": [0, 2]}, r"labels that are not in classes: \[1\]"),
        ({"classes": [0, 1], "sample_weight": np.zeros(90)}, "sample_weight is zero"),
    ],
    ids=["missing", "one", "unknown", "weightless"],
)
def test_bad_first_batches(batch, message):
    """The first batch must name its classes, and later a good one may follow."""
    X, y = make_data()
    streamed = model(solver="sgd")
    with pytest.raises(ValueError, match=message):
        streamed.partial_fit(X, y, **batch)
    assert streamed.partial_fit(X, y, classes=[0, 1]).n_iter_ == 1


def test_bad_later_batches():
    """Later batches must have the features and classes of the first."""
    X, y = make_data()
    streamed = model(solver="sgd").partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="expecting 5 features"):
        streamed.partial_fit(X[:, :4], y)
    with pytest.raises(ValueError, match=r"labels that are not in classes: \[2\]"):
        streamed.partial_fit(X, y + 1)
    with pytest.raises(ValueError, match=r"classes=\[0, 1, 2\] differ from those of the first"):
        streamed.partial_fit(X, y, classes=[0, 1, 2])


def test_only_sgd_streams():
    """``partial_fit`` exists with ``solver="sgd"`` alone, and says so."""
    assert hasattr(model(solver="sgd"), "partial_fit")
    assert not hasattr(model(), "partial_fit")
    with pytest.raises(AttributeError) as raised:
        model().partial_fit(*make_data())
    assert "needs solver='sgd'" in str(raised.value.__cause__)


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
    """Predictions are labels as given; a positive score speaks for the second."""
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


# Bad arguments ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("n_anchors", 0, ValueError),
        ("n_anchors", 2.5, TypeError),
        ("n_anchors", True, TypeError),
        ("n_anchors", None, TypeError),
        ("n_anchors", "many", ValueError),
        ("n_neighbors", 0, ValueError),
        ("n_neighbors", 2.0, TypeError),
        ("n_neighbors", 12, ValueError),
        ("coding", "hazy", ValueError),
        ("coding", None, ValueError),
        ("coding", ["soft"], ValueError),
        ("beta", 0, ValueError),
        ("beta", -1.0, ValueError),
        ("beta", np.nan, ValueError),
        ("beta", "sharp", ValueError),
        ("beta", None, TypeError),
        ("anchors", "somewhere", ValueError),
        ("anchors", None, ValueError),
        ("anchors", 3, ValueError),
        ("anchors", np.zeros(5), ValueError),
        ("anchors", np.zeros((8, 4)), ValueError),
        ("anchors", np.zeros((9, 5)), ValueError),
        ("anchors", np.zeros((2, 5)), ValueError),
        ("anchors", np.full((8, 5), np.nan), ValueError),
        ("feature_map", "cubic", ValueError),
        ("feature_map", 3, TypeError),
        ("feature_map", PCA, TypeError),
        ("code_on", "output", ValueError),
        ("code_on", 3, TypeError),
        ("code_on", None, TypeError),
        ("code_on", PCA, TypeError),
        ("code_on", [[0, 1]], TypeError),
        ("code_on", [], ValueError),
        ("code_on", [5], ValueError),
        ("code_on", [-6], ValueError),
        ("code_on", [0.5], ValueError),
        ("code_on", ["x0"], ValueError),
        ("code_on", [True, False], ValueError),
        ("code_on", [False] * 5, ValueError),
        ("normalize", "yes", TypeError),
        ("C", 0, ValueError),
        ("C", -1.0, ValueError),
        ("C", np.inf, ValueError),
        ("C", "1", TypeError),
        ("loss", "logistic", ValueError),
        ("loss", None, ValueError),
        ("multi_class", "ovo", ValueError),
        ("solver", "newton", ValueError),
        ("max_iter", 0, ValueError),
        ("max_iter", 10.0, TypeError),
        ("tol", -1e-3, ValueError),
        ("tol", None, TypeError),
        ("intercept_scaling", -1, ValueError),
        ("intercept_scaling", "1", TypeError),
        ("class_weight", "equal", ValueError),
        ("class_weight", [1, 2], ValueError),
        ("class_weight", {0: -1.0}, ValueError),
        ("class_weight", {"zero": 2.0}, ValueError),
        ("n_jobs", 0, ValueError),
        ("n_jobs", 1.5, TypeError),
        ("n_jobs", "all", TypeError),
        ("warm_start", 1, TypeError),
        ("verbose", -1, ValueError),
        ("verbose", "loud", TypeError),
    ],
    ids=str,
)
def test_bad_arguments_are_named(name, value, error):
    """An argument that makes no sense raises at ``fit``, by its name."""
    with pytest.raises(error, match=name):
        model(**{name: value}).fit(*make_data())


def test_a_bad_random_state():
    """A seed that is none raises."""
    with pytest.raises(ValueError, match="seed"):
        model(random_state="today").fit(*make_data())


@every_classifier
def test_numpy_numbers_are_numbers(Classifier):
    """Arguments may be numpy scalars, as a grid search gives them."""
    X, y = make_data()
    options = {"n_neighbors": np.int32(3), "C": np.float32(2), "max_iter": np.int64(500)}
    assert Classifier(np.int64(9), normalize=np.True_, **options).fit(X, y).score(X, y) > 0.8


# Bad data -----------------------------------------------------------------------------------------


def with_value(value):
    X, _ = make_data()
    X[7, 2] = value
    return X


@every_classifier
@pytest.mark.parametrize(
    ("X", "message"),
    [
        (with_value(np.nan), "Input X contains NaN"),
        (with_value(np.inf), "Input X contains infinity"),
        (sp.csr_array(with_value(np.nan)), "Input X contains NaN"),
        (np.zeros((0, 5)), "0 sample"),
        (np.zeros((90, 0)), "0 feature"),
        (np.zeros(90), "Expected 2D array"),
        (np.zeros((90, 2, 2)), "dim 3"),
        (np.ones((90, 2)) * 1j, "Complex data not supported"),
        (np.full((90, 2), "a", dtype=object), "could not convert string"),
        (np.full((90, 2), "a"), "could not convert string|dtype"),
    ],
    ids=[
        "NaN",
        "inf",
        "CSR NaN",
        "no rows",
        "no features",
        "1-D",
        "3-D",
        "complex",
        "object",
        "str",
    ],
)
def test_bad_rows(Classifier, X, message):
    """Rows that are no finite table of numbers are refused."""
    with pytest.raises(ValueError, match=message):
        Classifier().fit(X, np.arange(len(X) if X.ndim != 2 else X.shape[0]) % 2)


@every_classifier
@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        (np.zeros(90), ValueError, "y has one class only, 0.0"),
        (np.arange(80) % 2, ValueError, "inconsistent numbers of samples"),
        (np.linspace(0, 1, 90), ValueError, "Unknown label type"),
        (np.where(np.arange(90) % 2, np.nan, 1.0), ValueError, "Input y contains NaN"),
        (np.zeros((90, 2)), ValueError, "y should be a 1d array"),
        (None, ValueError, "y cannot be None|requires y to be passed"),
        (np.array(["a", 1] * 45, dtype=object), TypeError, "y mixes labels"),
    ],
    ids=["one class", "short", "continuous", "NaN", "2-D", "none", "mixed"],
)
def test_bad_labels(Classifier, y, error, message):
    """Labels that are none are refused."""
    with pytest.raises(error, match=message):
        Classifier().fit(make_data()[0], y)


@every_classifier
@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        (-np.ones(90), ValueError, "sample_weight contains negative"),
        (np.zeros(90), ValueError, "sample_weight is zero for every row"),
        (np.full(90, np.nan), ValueError, "sample_weight contains NaN"),
        (np.full(90, np.inf), ValueError, "sample_weight contains NaN or infinity"),
        (np.ones(80), ValueError, r"sample_weight has shape \(80,\)"),
        (np.ones((90, 1)), ValueError, r"sample_weight has shape \(90, 1\)"),
        (["heavy"] * 90, TypeError, "sample_weight must hold real numbers"),
        (np.ones(90) * 1j, TypeError, "sample_weight must hold real numbers"),
        ((make_data()[1] == 0) * 1, ValueError, "one class only"),
    ],
    ids=["negative", "zero", "NaN", "inf", "short", "column", "str", "complex", "one class"],
)
def test_bad_weights(Classifier, weights, error, message):
    """Weights that are none are refused by name."""
    with pytest.raises(error, match=message):
        Classifier().fit(*make_data(), sample_weight=weights)


@every_classifier
def test_bad_rows_at_prediction(Classifier):
    """Prediction checks its rows as training does."""
    fitted = Classifier(random_state=0).fit(*make_data())
    for method in (fitted.predict, fitted.decision_function, fitted.local_coef):
        with pytest.raises(ValueError, match=r"X has 4 features, but .* is expecting 5"):
            method(np.zeros((3, 4)))
        with pytest.raises(ValueError, match="Expected 2D array"):
            method(np.zeros(5))
        with pytest.raises(ValueError, match="0 sample"):
            method(np.zeros((0, 5)))
        with pytest.raises(ValueError, match="contains NaN"):
            method(with_value(np.nan))


@every_classifier
@pytest.mark.parametrize(("dtype", "size"), [(np.float32, 1e10), (np.float64, 1e100)])
def test_rows_too_large_to_multiply(Classifier, dtype, size):
    """Values whose products overflow are refused, in training and prediction alike."""
    X, y = make_data(dtype=dtype)
    fitted = Classifier(random_state=0).fit(X, y)
    for method in (fitted.predict, lambda rows: fitted.fit(rows, y)):
        with pytest.raises(ValueError, match=f"overflow in {np.dtype(dtype)}.*Scale the features"):
            method(X * dtype(size))


@every_classifier
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_wild_scales_are_warned_of(Classifier, convert):
    """Features that differ in scale by a million give a warning that says what to do."""
    X, y = make_data()
    with pytest.warns(UserWarning, match=r"differ by a factor of 1e\+06.*StandardScaler"):
        Classifier().fit(convert(X * [1e6, 1, 1, 1, 1]), y)


# Convergence, progress and interrupts -------------------------------------------------------------


@every_classifier
@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
def test_a_short_run_warns(Classifier, multi_class):
    """Too few epochs give a warning with the gap and what to raise, and a model all the same."""
    X, y = make_data(3)
    short = Classifier(max_iter=1, tol=1e-6, multi_class=multi_class, random_state=0)
    message = r"after 1 epochs at a relative duality gap of \d\.\de[+-]\d\d.*raise max_iter or tol"
    with pytest.warns(ConvergenceWarning, match=message):
        short.fit(X, y)
    assert short.n_iter_ == 1
    assert short.duality_gap_ > 1e-6 * short.objective_
    assert short.score(X, y) > 0.4


def test_a_short_run_of_sgd_warns():
    """Stochastic gradient has no gap to tell, but says what to raise."""
    with pytest.warns(ConvergenceWarning, match="SGD was stopped after 1 epochs.*raise max_iter"):
        model(solver="sgd", max_iter=1).fit(*make_data())


def test_convergence_is_told():
    """A run that converged holds the gap it promised, and the path to it."""
    X, y = make_data(3)
    fitted = model(tol=1e-5).fit(X, y)
    assert fitted.duality_gap_ <= 1e-5 * fitted.objective_
    assert 1 <= fitted.n_iter_ < 1000
    epoch, objective, gap = fitted.history_[-1]
    assert (epoch, objective, gap) == (fitted.n_iter_, fitted.objective_, fitted.duality_gap_)


def test_silent_by_default(capfd):
    """Nothing is written unless asked for."""
    model().fit(*make_data()).predict(make_data()[0])
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("solver", ["dual", "sgd"])
@pytest.mark.parametrize("verbose", [1, True, 2])
def test_progress_goes_to_stderr(capfd, solver, verbose):
    """``verbose`` tells of epochs on stderr, and nothing on stdout."""
    fitted = model(solver=solver, verbose=verbose).fit(*make_data())
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("[LocallyLinearSVC] epoch 1  objective ")
    if verbose == 2:
        assert len(err.splitlines()) == fitted.n_iter_


class Recorder:
    """A scikit-learn callback that keeps a log, and acts at an epoch."""

    def __init__(self, act_at=None, act=lambda: True):
        self.act_at, self.act, self.log = act_at, act, []

    def setup(self, estimator, context):
        self.log.append("setup")

    def teardown(self, estimator, context):
        self.log.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.log.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context):
        self.log.append(f"end {context.task_name}")
        return self.act() if self.log.count("end epoch") == self.act_at else None


def interrupt():
    raise KeyboardInterrupt


@pytest.mark.parametrize("solver", ["dual", "sgd"])
def test_callbacks_are_told_of_every_epoch(solver):
    """scikit-learn's callbacks see the fit begin, every epoch, and the fit end."""
    pytest.importorskip("sklearn.callback")
    recorder = Recorder()
    fitted = model(solver=solver).set_callbacks(recorder).fit(*make_data())
    epochs = ["begin epoch", "end epoch"] * fitted.n_iter_
    assert recorder.log == ["setup", "begin fit", *epochs, "end fit", "teardown"]


@pytest.mark.parametrize("solver", ["dual", "sgd"])
def test_callbacks_stop_a_fit(solver):
    """A callback may end the fit early, without a warning; the model of that epoch is kept."""
    pytest.importorskip("sklearn.callback")
    X, y = make_data()
    stopped = model(solver=solver, tol=1e-10).set_callbacks(Recorder(act_at=2))
    stopped.fit(X, y)
    assert stopped.n_iter_ == 2
    assert stopped.score(X, y) > 0.8


@pytest.mark.parametrize("solver", ["dual", "sgd"])
def test_callbacks_are_not_needed_after_the_fit(solver):
    """A model that was fitted under callbacks is pickled and cloned as any other."""
    pytest.importorskip("sklearn.callback")
    fitted = model(solver=solver).set_callbacks(Recorder()).fit(*make_data())
    fitted.set_callbacks()
    clone(pickle.loads(pickle.dumps(fitted))).fit(*make_data())


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interrupted_by_a_callback(n_jobs):
    """Ctrl-C between epochs propagates; the estimator is unfitted, and good for a new fit."""
    pytest.importorskip("sklearn.callback")
    X, y = make_data(3)
    fitted = model(n_jobs=n_jobs).fit(X, y)
    fitted.set_params(n_anchors=20).set_callbacks(Recorder(act_at=2, act=interrupt))
    with pytest.raises(KeyboardInterrupt):
        fitted.fit(X, y)
    with pytest.raises(NotFittedError):
        fitted.predict(X)
    assert fitted.set_callbacks().fit(X, y).coef_.shape[0] == 20


@pytest.mark.parametrize(("solver", "module"), [("dual", dual), ("sgd", sgd)])
def test_interrupted_in_a_solver(solver, module, monkeypatch):
    """Ctrl-C during an epoch propagates, and the next fit is as if it never happened."""
    X, y = make_data()
    expected = model(solver=solver).fit(X, y).decision_function(X)
    fitted = model(solver=solver)
    with monkeypatch.context() as patch:
        patch.setattr(module, "solve", lambda *args, **options: interrupt())
        with pytest.raises(KeyboardInterrupt):
            fitted.fit(X, y)
    np.testing.assert_array_equal(fitted.fit(X, y).decision_function(X), expected)


def test_an_interrupted_warm_start_keeps_the_model(monkeypatch):
    """Ctrl-C in a warm start leaves the last model in use."""
    X, y = make_data()
    fitted = model(warm_start=True).fit(X, y)
    scores = fitted.decision_function(X)
    monkeypatch.setattr(dual, "solve", lambda *args, **options: interrupt())
    with pytest.raises(KeyboardInterrupt):
        fitted.set_params(C=1.0).fit(X, y)
    np.testing.assert_array_equal(fitted.decision_function(X), scores)


def test_a_missing_clarabel_is_told(monkeypatch):
    """``solver="qp"`` without its extra says what to install."""
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(ImportError, match=r"hyperlocal\[qp\]"):
        model(solver="qp").fit(*make_data())


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
