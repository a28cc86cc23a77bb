"""Tests of hyperlocal.estimators.base: how locally linear classifiers are fitted."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.preprocessing import StandardScaler
from sklearn.utils import compute_sample_weight

from estimators.data import Recorder, every_classifier, interrupt, make_data, model, precise
from hyperlocal import LocallyLinearSVC
from hyperlocal.solvers import dual, sgd

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
    monkeypatch.setattr("hyperlocal.data.labelled.MOST_ROWS_TO_MERGE", 0)
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
    monkeypatch.setattr("hyperlocal.data.labelled.row_keys", lambda X: np.zeros(len(X), np.uint64))
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


# Reproducibility ----------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"solver": "sgd"}, {"feature_map": "nystroem"}], ids=str)
def test_equal_seeds_give_equal_models(options):
    """The seed decides everything; a RandomState moves on from fit to fit."""
    X, y = make_data()
    first, second = (model(**options).fit(X, y).decision_function(X) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    moving = model(random_state=np.random.RandomState(0), anchors="random", **options)
    assert not np.array_equal(moving.fit(X, y).anchors_, moving.fit(X, y).anchors_)


def test_input_is_left_alone():
    """Neither rows, labels, weights nor anchors are written to."""
    X, y = make_data()
    weights, anchors = np.ones(len(y)), X[:9].copy()
    given = (X, y, weights, anchors)
    kept = [array.copy() for array in given]
    for writeable in (True, False):
        for array in given:
            array.flags.writeable = writeable
        LocallyLinearSVC(anchors=anchors).fit(X, y, sample_weight=weights).predict(X)
        for array, before in zip(given, kept, strict=True):
            np.testing.assert_array_equal(array, before)


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
    assert re.match(r"\[LocallyLinearSVC\] epoch 1 of at most \d+  objective ", err)
    if verbose == 2:
        assert len(err.splitlines()) == fitted.n_iter_


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
