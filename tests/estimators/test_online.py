"""Tests of hyperlocal.estimators.online: batches of rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from estimators.data import feed, make_data, model
from hyperlocal import LocallyLinearSVC


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("loss", ["squared_hinge", "log"])
def test_a_stream_comes_close_to_fit(n_classes, convert, loss):
    """Batches are nearly as good as all rows at once."""
    X, y = make_data(n_classes, n_rows=600)
    X = convert(X)
    streamed = feed(model(solver="sgd", loss=loss), X, y, 6, 5, classes=np.arange(n_classes))
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


def test_float32_streams_stay_float32():
    """Later batches are read in the precision of the first."""
    X, y = make_data(dtype=np.float32)
    streamed = model(solver="sgd").partial_fit(X[:50], y[:50], classes=[0, 1])
    streamed.partial_fit(X[50:].astype(np.float64), y[50:])
    assert streamed.decision_function(X).dtype == np.float32


@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
@pytest.mark.parametrize("first", ["sgd", "dual"])
def test_a_stream_goes_on_after_fit(first, multi_class):
    """After ``fit``, a batch moves the fitted model a little; classes need not be given again."""
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
