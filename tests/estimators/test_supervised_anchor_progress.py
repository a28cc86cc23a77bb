"""What SupervisedAnchorSVC reports while it learns, and how it is stopped."""

import re

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from estimators.data import Recorder, interrupt, make_data
from estimators.supervised_models import every_solver, model, unjudged


def test_a_short_run_warns():
    """Too few epochs for the final weights give a warning, and a model all the same."""
    X, y = make_data(3)
    short = unjudged(max_iter=1, tol=1e-9)
    with pytest.warns(ConvergenceWarning, match="after 1 epochs.*raise max_iter or tol"):
        short.fit(X, y)
    assert short.n_iter_ == 1
    assert short.score(X, y) > 0.7


def test_silent_by_default(capfd):
    """Nothing is written unless asked for."""
    model().fit(*make_data())
    assert capfd.readouterr() == ("", "")


@every_solver
@pytest.mark.parametrize("verbose", [1, 2])
def test_progress_goes_to_stderr(capfd, solver, verbose):
    """``verbose`` writes epochs to stderr, numbered as one run."""
    model(solver=solver, verbose=verbose).fit(*make_data())
    out, err = capfd.readouterr()
    assert out == ""
    assert re.match(r"\[SupervisedAnchorSVC\] epoch 1 of at most \d+  objective ", err)
    if verbose == 2:
        numbers = [int(line.split()[2]) for line in err.splitlines()]
        assert numbers == list(range(1, len(numbers) + 1))
        assert "accuracy" in err


@every_solver
@pytest.mark.parametrize("n_rows", [90, 300])
def test_callbacks_are_called_at_every_epoch(solver, n_rows):
    """scikit-learn's callbacks see the fit begin, every epoch of all its parts, and the fit end."""
    pytest.importorskip("sklearn.callback")
    recorder = Recorder()
    model(solver=solver).set_callbacks(recorder).fit(*make_data(3, n_rows=n_rows))
    n_epochs = recorder.log.count("end epoch")
    assert n_epochs > 4
    epochs = ["begin epoch", "end epoch"] * n_epochs
    assert recorder.log == ["setup", "begin fit", *epochs, "end fit", "teardown"]


@pytest.mark.parametrize("C", [1.0, 30.0])
def test_callbacks_have_room_for_all_epochs(C):
    """Short runs of all parts: the callbacks' count of epochs is never too small."""
    pytest.importorskip("sklearn.callback")
    short = model(C=C, max_iter=1, anchor_epochs=1).set_callbacks(Recorder())
    with pytest.warns(ConvergenceWarning):
        short.fit(*make_data(3, n_rows=300))


@every_solver
@pytest.mark.parametrize("act_at", [1, 5, 12])
def test_callbacks_stop_a_fit(solver, act_at):
    """A callback may end the fit in any of its parts, without a warning; a model is left."""
    pytest.importorskip("sklearn.callback")
    X, y = make_data(n_rows=300)
    recorder = Recorder(act_at=act_at)
    stopped = model(solver=solver, anchor_epochs=20, tol=1e-10, max_iter=10_000)
    stopped.set_callbacks(recorder).fit(X, y)
    assert act_at <= recorder.log.count("end epoch") <= act_at + 4
    assert np.isfinite(stopped.objective_)
    if act_at > 1:  # a first epoch alone may leave weights that are of little use
        assert stopped.score(X, y) > 0.7


@every_solver
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interrupted_by_a_callback(solver, n_jobs):
    """Ctrl-C between epochs propagates; the estimator is unfitted, and good for a new fit."""
    pytest.importorskip("sklearn.callback")
    X, y = make_data(3)
    fitted = model(solver=solver, n_jobs=n_jobs).fit(X, y)
    fitted.set_params(n_anchors=9).set_callbacks(Recorder(act_at=5, act=interrupt))
    with pytest.raises(KeyboardInterrupt):
        fitted.fit(X, y)
    with pytest.raises(NotFittedError):
        fitted.predict(X)
    assert fitted.set_callbacks().fit(X, y).coef_.shape[0] == 9
