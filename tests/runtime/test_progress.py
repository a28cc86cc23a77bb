"""Tests of hyperlocal.runtime.progress: lines on a stream, callbacks, and stopping."""

import io

import pytest
from sklearn.base import BaseEstimator

from hyperlocal.runtime import progress
from hyperlocal.runtime.progress import EpochMonitor, JoinedEpochs


class Model:
    """Stands in for an estimator."""


class Task:
    def __init__(self, log, name, stop=False):
        self.log, self.name, self.stop = log, name, stop

    def call_on_fit_task_begin(self, estimator):
        self.log.append(f"begin {self.name}")

    def call_on_fit_task_end(self, estimator):
        self.log.append(f"end {self.name}")
        return self.stop

    def subcontext(self, task_name):
        return Task(self.log, task_name, self.stop)


class ModelWithCallbacks(Model):
    """Has the context that scikit-learn gives estimators with callbacks."""

    def __init__(self, stop=False):
        self.log, self.stop = [], stop

    def _init_callback_context(self, max_subtasks):
        self.log.append(f"at most {max_subtasks}")
        return Task(self.log, "fit", self.stop)


@pytest.fixture
def clock(monkeypatch):
    """A clock that is moved by hand."""
    time = [0.0]
    monkeypatch.setattr(progress.time, "perf_counter", lambda: time[0])
    return time


def test_silent_by_default(capsys):
    """Without verbose nothing is written, and nothing asks to stop."""
    with EpochMonitor(Model(), 5) as monitor:
        assert monitor(1, objective=3.0) is False
    assert capsys.readouterr() == ("", "")


def test_a_line_names_the_model_the_epoch_and_the_facts(clock):
    """A line holds all facts of an epoch."""
    stream = io.StringIO()
    monitor = EpochMonitor(Model(), 5, verbose=2, stream=stream)
    clock[0] = 1.5
    monitor(3, objective=12.5, gap=1e-3)
    assert stream.getvalue() == "[Model] epoch 3 of at most 5  objective 12.5  gap 0.001  1.5 s\n"
    monitor(6, gap=1e-3)
    assert stream.getvalue().endswith("[Model] epoch 6  gap 0.001  1.5 s\n")


def test_a_gap_has_its_goal(clock):
    """Where the estimator has a tolerance, the gap to reach is beside the gap."""
    stream, model = io.StringIO(), Model()
    model.tol = 0.01
    EpochMonitor(model, 5, verbose=2, stream=stream)(1, objective=50.0, gap=2.0, active=1.0)
    assert "objective 50  gap 2 (goal 0.5)  active 1" in stream.getvalue()


@pytest.mark.parametrize(("verbose", "lines"), [(0, 0), (1, 2), (2, 4)])
def test_lines_are_rate_limited(clock, verbose, lines):
    """verbose=1 writes now and then, verbose=2 every epoch."""
    stream = io.StringIO()
    monitor = EpochMonitor(Model(), 5, verbose=verbose, stream=stream)
    for number, now in enumerate([0.0, 0.2, 0.4, 0.6], start=1):
        clock[0] = now
        monitor(number)
    assert len(stream.getvalue().splitlines()) == lines


def test_lines_go_to_stderr(capsys):
    """Messages never mix with results on stdout."""
    EpochMonitor(Model(), 5, verbose=2)(1)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "epoch 1" in captured.err


@pytest.mark.parametrize("stop", [False, True])
def test_callbacks_are_called_for_every_epoch_and_may_stop(stop):
    """The fit and each epoch begin and end; what a callback returns decides about stopping."""
    model = ModelWithCallbacks(stop)
    with EpochMonitor(model, 7) as monitor:
        assert [monitor(1), monitor(2)] == [stop, stop]
    epoch = ["begin epoch", "end epoch"]
    assert model.log == ["at most 7", "begin fit", *epoch, *epoch, "end fit"]


def test_an_error_ends_the_fit_for_callbacks_too():
    """A fit that raises is reported as ended, and the error goes on."""
    model = ModelWithCallbacks()
    with pytest.raises(RuntimeError, match="no memory"), EpochMonitor(model, 7):
        raise RuntimeError("no memory")
    assert model.log[-1] == "end fit"


def test_joined_epochs_are_numbered_as_one():
    """Epochs of several descents are counted on; without a monitor nothing is reported."""
    stream = io.StringIO()
    joined = JoinedEpochs(EpochMonitor(Model(), 9, verbose=2, stream=stream))
    assert not any(joined(number) for number in (1, 2, 1, 2, 3))
    assert [line.split()[2] for line in stream.getvalue().splitlines()] == list("12345")
    assert not JoinedEpochs(None)(1)


def test_joined_epochs_remember_a_stop():
    """A descent that follows one that was stopped is stopped too."""
    joined = JoinedEpochs(EpochMonitor(ModelWithCallbacks(stop=True), 9))
    assert not joined.stop
    assert joined(1)
    assert joined.stop


def test_scikit_learn_has_the_method_that_opens_a_context():
    """An estimator with scikit-learn's own mixin has a context; others have none."""

    class Supported(progress.CallbackSupportMixin, BaseEstimator):
        """An estimator that supports callbacks, where scikit-learn does."""

    has_callbacks = hasattr(Supported, "set_callbacks")
    assert (progress.callback_context(Supported(), 3) is not None) == has_callbacks
    assert progress.callback_context(Model(), 3) is None
