"""Tests of hyperlocal.estimators.base: convergence, progress and interrupts."""

import re

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from estimators.data import Recorder, every_classifier, interrupt, make_data, model
from hyperlocal.solvers import dual, sgd


@every_classifier
@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
def test_a_short_run_warns(Classifier, multi_class):
    """Too few epochs give a warning with the gap and what to raise, and a model all the same."""
    X, y = make_data(3)
    short = Classifier(max_iter=1, tol=1e-6, multi_class=multi_class, random_state=0)
    if short.C == "auto":
        short.set_params(C=1.0)
    message = r"after 1 epochs at a relative duality gap of \d\.\de[+-]\d\d.*raise max_iter or tol"
    with pytest.warns(ConvergenceWarning, match=message):
        short.fit(X, y)
    assert short.n_iter_ == 1
    assert short.duality_gap_ > 1e-6 * short.objective_
    assert short.score(X, y) > 0.4


def test_a_short_run_of_sgd_warns():
    """Stochastic gradient has no gap to report, but says what to raise."""
    with pytest.warns(ConvergenceWarning, match="SGD was stopped after 1 epochs.*raise max_iter"):
        model(solver="sgd", max_iter=1).fit(*make_data())


def test_silent_by_default(capfd):
    """Nothing is written unless asked for."""
    model().fit(*make_data()).predict(make_data()[0])
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("solver", ["dual", "sgd"])
@pytest.mark.parametrize("verbose", [1, True, 2])
def test_progress_goes_to_stderr(capfd, solver, verbose):
    """``verbose`` writes epochs to stderr, and nothing on stdout."""
    fitted = model(solver=solver, verbose=verbose).fit(*make_data())
    out, err = capfd.readouterr()
    assert out == ""
    assert re.match(r"\[LocallyLinearSVC\] epoch 1 of at most \d+  objective ", err)
    if verbose == 2:
        assert len(err.splitlines()) == fitted.n_iter_


@pytest.mark.parametrize("solver", ["dual", "sgd"])
def test_callbacks_are_called_at_every_epoch(solver):
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
