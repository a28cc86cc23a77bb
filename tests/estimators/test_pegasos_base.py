"""Tests of hyperlocal.estimators.pegasos_base: batches and steps."""

import numpy as np
import pytest
from sklearn.base import clone

from estimators.data import make_data
from hyperlocal.linear import PegasosRegressor, PegasosSVC

every_pegasos = pytest.mark.parametrize("Model", [PegasosSVC, PegasosRegressor])
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@every_pegasos
def test_partial_fit_is_fit(Model):
    """One batch is the first epoch of fit; batches go on in its schedule."""
    X, y = make_data()
    first = {} if Model is PegasosRegressor else {"classes": [0, 1]}
    model = Model(0.2, max_iter=1, tol=None, random_state=0)
    whole, batch = clone(model).fit(X, y), clone(model).partial_fit(X, y, **first)
    np.testing.assert_array_equal(whole.coef_, batch.coef_)
    assert whole.t_ == batch.t_ == 90
    batch.partial_fit(X[:40].astype(np.float32), y[:40])
    assert (batch.t_, batch.n_iter_) == (130, 2)
    whole.partial_fit(X[:40], y[:40])
    assert whole.t_ == 130
    assert whole.penalty_ == batch.penalty_ == pytest.approx(1 / (0.2 * 90))


@every_pegasos
def test_many_batches_lead_where_fit_leads(Model):
    """Batches of a stream, given again and again, come close to the objective of fit."""
    X, y = make_data(n_rows=300)
    model = Model(0.5, random_state=0)  # the first batch has a weight of 200
    best = clone(model).set_params(C=1 / 3, tol=None, max_iter=100).fit(X, y).objective_
    first = {} if Model is PegasosRegressor else {"classes": [0, 1]}
    for _ in range(30):
        for begin in range(0, 300, 100):
            rows = slice(begin, begin + 100)
            weights = np.full(100, 2.0)
            model.partial_fit(X[rows], y[rows], sample_weight=weights, **first)
    scores = model.decision_function(X) if Model is PegasosSVC else model.predict(X)
    labels = 2 * y - 1
    losses = np.maximum(0, 1 - labels * scores) if Model is PegasosSVC else np.abs(y - scores)
    norm = np.sum(model.coef_**2) + np.sum(np.square(model.intercept_))
    assert model.penalty_ == 0.01
    assert 0.005 * norm + losses.mean() <= 1.03 * best


def test_overflow_is_an_error():
    """Steps too long for single precision raise, and the message says what to change."""
    X, y = make_data(dtype=np.float32)
    with (
        np.errstate(all="ignore"),
        pytest.raises(ValueError, match="Lower C"),
    ):
        PegasosSVC(1e36, average=False, max_iter=2).fit(1000 * X, y)
