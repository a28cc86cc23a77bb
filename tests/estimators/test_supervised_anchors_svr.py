"""Tests of hyperlocal.estimators.supervised_anchors_svr."""

import numpy as np
import pytest
from sklearn.base import clone

from hyperlocal import LocallyLinearSVR, explain
from hyperlocal.papers import SupervisedAnchorSVR

FEW = {"n_anchors": 10, "n_neighbors": 4, "random_state": 0}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((800, 6))
    y = 50 + 10 * np.sin(2 * X[:, 0]) * X[:, 1] + rng.standard_normal(800)
    return X, y


def fixed(**options):
    return LocallyLinearSVR(
        **FEW, feature_map=None, global_intercept=False, relevance=None, scale=None, **options
    )


@pytest.mark.parametrize(
    "loss", ["squared", "epsilon_insensitive", "squared_epsilon_insensitive", "huber"]
)
def test_learned_anchors_have_the_lower_objective(rows, loss):
    """The problem over anchors and weights ends below the one over weights alone."""
    learned = SupervisedAnchorSVR(**FEW, C=3.0, loss=loss, keep_if_better=False).fit(*rows)
    start = fixed(C=3.0, loss=loss, anchors=learned.initial_anchors_, beta=learned.beta_)
    assert learned.objective_ < 0.9 * start.fit(*rows).objective_


def test_learned_anchors_predict_better(rows):
    """Rows that were not trained on gain, where four of six features mean nothing."""
    X, y = rows
    learned = SupervisedAnchorSVR(**FEW).fit(X[:500], y[:500])
    assert learned.anchors_learned_
    assert learned.held_out_loss_["learned"] < learned.held_out_loss_["started"]
    assert learned.score(X[500:], y[500:]) > fixed(C=10.0).fit(X[:500], y[:500]).score(
        X[500:], y[500:]
    )


def test_anchors_that_stay_are_the_fixed_ones(rows):
    """Without steps of the anchors the model is that of LocallyLinearSVR."""
    still = SupervisedAnchorSVR(**FEW, C=3.0, anchor_step=0.0, tol=1e-8).fit(*rows)
    other = fixed(C=3.0, anchors=still.initial_anchors_, beta=still.beta_, tol=1e-8).fit(*rows)
    np.testing.assert_array_equal(still.anchors_, still.initial_anchors_)
    np.testing.assert_allclose(still.predict(rows[0]), other.predict(rows[0]), rtol=1e-4)


def test_units_of_y_do_not_matter(rows):
    """Values in hundredths and a billion away give the same anchors and predictions."""
    X, y = rows
    first = SupervisedAnchorSVR(**FEW).fit(X, y)
    other = SupervisedAnchorSVR(**FEW).fit(X, 100 * y)
    np.testing.assert_allclose(other.anchors_, first.anchors_, rtol=1e-6)
    np.testing.assert_allclose(other.predict(X), 100 * first.predict(X), rtol=1e-6)


def test_threads_give_the_same_bits(rows):
    """Anchors do not depend on n_jobs."""
    one, two = (SupervisedAnchorSVR(**FEW, n_jobs=n).fit(*rows) for n in (1, 2))
    np.testing.assert_array_equal(one.anchors_, two.anchors_)
    np.testing.assert_array_equal(one.coef_, two.coef_)


def test_several_targets_and_quantiles_share_anchors(rows):
    """A column per target and quantile; quantiles do not cross."""
    X, y = rows
    options = {"loss": "quantile", "quantiles": (0.1, 0.5, 0.9), "max_iter": 100, "tol": 0.01}
    model = SupervisedAnchorSVR(**FEW, **options).fit(X, np.column_stack([y, -y]))
    predicted = model.predict(X)
    assert predicted.shape == (800, 2, 3)
    assert (np.diff(predicted, axis=2) >= 0).all()
    assert model.coef_.shape == (10, 6, 6)


def test_explanations_sum_to_the_prediction(rows):
    """Contributions and the model at a row are exact."""
    X, y = rows
    model = SupervisedAnchorSVR(**FEW).fit(X, y)
    predicted = model.predict(X[:5])
    linear = np.einsum("icv,iv->i", model.local_coef(X[:5]), X[:5])
    np.testing.assert_allclose(linear + model.local_intercept(X[:5])[:, 0], predicted)
    assert "prediction" in str(explain(model, X[0]))


def test_intervals(rows):
    """Calibrated intervals hold about as many rows as asked for."""
    X, y = rows
    model = SupervisedAnchorSVR(**FEW).fit(X[:400], y[:400]).calibrate(X[400:600], y[400:600])
    low, high = model.predict_interval(X[600:], coverage=0.8).T
    assert 0.7 < ((low <= y[600:]) & (y[600:] <= high)).mean() < 0.9


def test_warm_starts_go_on(rows):
    """A second fit starts from the anchors that the first one learned."""
    model = SupervisedAnchorSVR(**FEW, warm_start=True).fit(*rows)
    before = model.anchors_
    np.testing.assert_array_equal(model.fit(*rows).initial_anchors_, before)
    assert not hasattr(clone(model), "model_")


def test_batches_are_refused():
    """There is no stochastic gradient for learned anchors of values."""
    assert not hasattr(SupervisedAnchorSVR(), "partial_fit")
