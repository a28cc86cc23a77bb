"""SupervisedAnchorSVC goes on: warm starts, streams, copies."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from estimators.data import Recorder, interrupt, make_data, make_ring
from estimators.supervised_models import every_solver, model, streaming, unjudged
from hyperlocal.solvers import dual

# Warm starts --------------------------------------------------------------------------------------


@every_solver
@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
def test_a_warm_start_goes_on(solver, multi_class):
    """A second fit starts from the anchors and the weights that the first left."""
    X, y = make_data(3)
    warm = unjudged(solver=solver, multi_class=multi_class, warm_start=True, C=1.0)
    warm.fit(X, y)
    anchors, records = warm.anchors_.copy(), warm.history_
    warm.fit(X, y)
    np.testing.assert_array_equal(warm.initial_anchors_, anchors)
    assert not np.array_equal(warm.anchors_, anchors)
    middle = 0.5 * (records[0].objective + records[-1].objective)
    assert warm.history_[0].objective < middle
    assert warm.history_[-1].objective <= 1.02 * records[-1].objective


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"C": 1.0}, {"C": 10.0}),
        ({"C": 10.0}, {"C": 0.1}),
        ({"loss": "hinge"}, {"loss": "log"}),
        ({"multi_class": "crammer_singer"}, {"multi_class": "ovr"}),
        ({"solver": "sgd"}, {"solver": "dual"}),
        ({"solver": "dual"}, {"solver": "sgd"}),
        ({"n_anchors": 6}, {"n_anchors": 9}),
        ({"normalize": True}, {"normalize": False}),
        ({"feature_map": None}, {"feature_map": "quadratic"}),
        ({"keep_if_better": True}, {"keep_if_better": False}),
        ({"feature_map": None}, {"feature_map": "bias_only"}),
    ],
    ids=str,
)
def test_warm_starts_take_other_arguments(before, after):
    """Whatever argument changes between two fits, the second is a model of its own problem."""
    X, y = make_data(3, n_rows=250)
    warm = model(warm_start=True, max_iter=5000, **before).fit(X, y).set_params(**after).fit(X, y)
    cold = clone(warm).set_params(warm_start=False).fit(X, y)
    assert warm.coef_.shape == cold.coef_.shape
    assert warm.score(X, y) > cold.score(X, y) - 0.06


def test_a_cold_start_forgets():
    """Without ``warm_start`` a second fit is the first fit."""
    X, y = make_data()
    fitted = model().fit(X, y)
    scores = fitted.decision_function(X)
    fitted.set_params(C=100.0).fit(X, y)
    np.testing.assert_array_equal(fitted.set_params(C=3.0).fit(X, y).decision_function(X), scores)


@every_solver
def test_an_interrupted_warm_start_keeps_the_model(solver, monkeypatch):
    """Ctrl-C in a warm start leaves the last model in use, wherever it strikes."""
    X, y = make_data(3)
    fitted = unjudged(warm_start=True, solver=solver).fit(X, y)
    scores = fitted.decision_function(X)
    if solver == "dual":  # the anchors have moved when the last weights are found
        monkeypatch.setattr(dual, "solve", lambda *args, **options: interrupt())
    else:
        pytest.importorskip("sklearn.callback")
        fitted.set_callbacks(Recorder(act_at=2, act=interrupt))
    with pytest.raises(KeyboardInterrupt):
        fitted.fit(X, y)
    np.testing.assert_array_equal(fitted.decision_function(X), scores)


# partial_fit --------------------------------------------------------------------------------------


def test_only_sgd_streams():
    """``partial_fit`` exists with ``solver="sgd"`` alone, and says so."""
    assert hasattr(streaming(), "partial_fit")
    assert not hasattr(model(), "partial_fit")
    with pytest.raises(AttributeError) as raised:
        model().partial_fit(*make_data())
    assert "needs solver='sgd'" in str(raised.value.__cause__)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
def test_a_stream_learns(n_classes, convert, multi_class):
    """Batches move anchors and weights; the model is nearly as good as one of all rows at once."""
    X, y = make_data(n_classes, n_rows=300)
    streamed = streaming(multi_class=multi_class)
    anchors = []
    for rows in np.array_split(np.arange(1500) % 300, 15):
        streamed.partial_fit(convert(X[rows]), y[rows], classes=np.arange(n_classes))
        anchors.append(streamed.anchors_.copy())
    assert streamed.n_iter_ == 15
    assert all((a != b).any() for a, b in pairwise(anchors))
    assert (streamed.initial_anchors_ != anchors[0]).any()
    assert streamed.anchors_learned_
    assert streamed.held_out_accuracy_ is None
    fitted = streaming(multi_class=multi_class).fit(convert(X), y)
    assert streamed.score(convert(X), y) > fitted.score(convert(X), y) - 0.05


def test_streams_need_classes():
    """The first batch must name its classes; later ones must keep to them."""
    X, y = make_data()
    with pytest.raises(ValueError, match="classes must be given at the first call"):
        streaming().partial_fit(X, y)
    streamed = streaming().partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match=r"labels that are not in classes: \[2\]"):
        streamed.partial_fit(X, y + 1)
    with pytest.raises(ValueError, match="differ from those of the first"):
        streamed.partial_fit(X, y, classes=[0, 1, 2])


@every_solver
@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
def test_a_stream_goes_on_after_fit(solver, multi_class):
    """After ``fit``, a batch moves the fitted model a little; classes need not be given again."""
    X, y = make_data(n_rows=300)
    fitted = model(solver=solver, multi_class=multi_class).fit(X, y)
    anchors, scores = fitted.anchors_.copy(), fitted.decision_function(X)
    fitted.set_params(solver="sgd").partial_fit(X[:20], y[:20])
    assert 0 < np.abs(fitted.anchors_ - anchors).max() < 0.5
    moved = np.abs(fitted.decision_function(X) - scores)
    assert 0 < moved.max() < 0.5 * np.abs(scores).max()


def test_a_stream_after_a_kept_start_is_learned():
    """Where the start was kept, a batch moves the anchors: they are learned then."""
    X, y = make_data(3, n_rows=300)
    fitted = model(anchor_step=1e3).fit(X, y)
    assert not fitted.anchors_learned_
    fitted.set_params(solver="sgd").partial_fit(X, y)
    assert not np.array_equal(fitted.anchors_, fitted.initial_anchors_)
    assert fitted.anchors_learned_


def test_fit_after_a_stream_starts_anew():
    """``fit`` forgets the stream."""
    X, y = make_data(n_rows=200)
    fresh = streaming().fit(X, y)
    used = streaming().partial_fit(X[:50, :3], y[:50], classes=[0, 1]).fit(X, y)
    np.testing.assert_array_equal(used.coef_, fresh.coef_)
    np.testing.assert_array_equal(used.initial_anchors_, fresh.initial_anchors_)


def test_a_stream_after_an_interrupted_fit_starts_anew():
    """A stream stores where its own anchors started, whatever was interrupted before."""
    pytest.importorskip("sklearn.callback")
    X, y = make_data(3)
    used = streaming().set_callbacks(Recorder(act_at=2, act=interrupt))
    with pytest.raises(KeyboardInterrupt):
        used.fit(X, y)
    used.set_callbacks().set_params(n_anchors=4).partial_fit(X, y, classes=[0, 1, 2])
    assert used.initial_anchors_.shape == used.anchors_.shape == (4, 5)


def test_the_delay_is_that_of_the_stream_too():
    """``t0`` delays the steps of a stream: the longer, the smaller they are."""
    X, y = make_data(3)
    sizes = [
        np.abs(streaming(t0=t0).partial_fit(X, y, classes=[0, 1, 2]).coef_).max()
        for t0 in (1e3, 1e9)
    ]
    assert sizes[1] < 1e-3 * sizes[0]


def test_streams_have_weights():
    """A batch of weight-two rows is the batch twice over."""
    X, y = make_data()
    weights = np.arange(len(y)) % 3
    weighted = streaming().partial_fit(X, y, classes=[0, 1], sample_weight=weights)
    X, y = np.repeat(X, weights, axis=0), np.repeat(y, weights)
    repeated = streaming().partial_fit(X, y, classes=[0, 1])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-12)
    np.testing.assert_allclose(weighted.anchors_, repeated.anchors_, atol=1e-12)


def test_float32_streams_stay_float32():
    """Later batches are read in the precision of the first."""
    X, y = make_data(dtype=np.float32)
    streamed = streaming().partial_fit(X[:50], y[:50], classes=[0, 1])
    streamed.partial_fit(X[50:].astype(np.float64), y[50:])
    assert streamed.anchors_.dtype == streamed.coef_.dtype == np.float32


def test_streams_of_biases():
    """Biases alone stream too; their anchors stay among the rows."""
    X, y = make_ring(400)
    streamed = streaming(n_anchors=20, feature_map="bias_only")
    for rows in np.array_split(np.arange(4000) % 400, 20):
        streamed.partial_fit(X[rows], y[rows], classes=[0, 1])
    assert np.abs(streamed.anchors_).max() < 2 * np.abs(X).max()
    assert streamed.score(X, y) > 0.9


# Schedules of stochastic gradient -----------------------------------------------------------------


@pytest.mark.parametrize(("t0", "skip"), [(500.0, "auto"), ("auto", 1), (500, 7)])
def test_schedules(t0, skip):
    """A delay and a skip may be given, or found."""
    X, y = make_data(3)
    fitted = streaming(t0=t0, skip=skip).fit(X, y)
    assert fitted.score(X, y) > 0.7
    assert fitted.n_iter_ == 4


# Copies -------------------------------------------------------------------------------------------


@every_solver
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_pickled_models_predict_the_same(solver, convert):
    """A model survives pickling with all its attributes, and can be fitted on."""
    X, y = make_data(3, n_rows=250)
    fitted = model(solver=solver, warm_start=True).fit(convert(X), y)
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.decision_function(X), fitted.decision_function(X))
    np.testing.assert_array_equal(copy.initial_anchors_, fitted.initial_anchors_)
    assert [tuple(r)[:2] for r in copy.history_] == [tuple(r)[:2] for r in fitted.history_]
    assert copy.held_out_accuracy_ == fitted.held_out_accuracy_
    for each in (copy, fitted):
        each.fit(convert(X), y)
    np.testing.assert_array_equal(copy.anchors_, fitted.anchors_)


def test_pickled_streams_go_on():
    """A pickled stream model takes the next batch as the original does."""
    X, y = make_data(3)
    fitted = streaming().partial_fit(X[:60], y[:60], classes=[0, 1, 2])
    copy = pickle.loads(pickle.dumps(fitted))
    for each in (fitted, copy):
        each.partial_fit(X[60:], y[60:])
    np.testing.assert_array_equal(copy.coef_, fitted.coef_)
    np.testing.assert_array_equal(copy.anchors_, fitted.anchors_)


def test_clones_are_unfitted():
    """A clone has the arguments and nothing learned."""
    X, y = make_data()
    copy = clone(model(anchor_step=0.2).fit(X, y))
    assert copy.anchor_step == 0.2
    with pytest.raises(NotFittedError):
        copy.predict(X)
    assert not hasattr(copy, "initial_anchors_")
