"""Tests of benchmarks.parts.limited: fits are stopped after some time."""

import signal

import pytest

from benchmarks.parts.limited import TooSlow, stopped_after


def endless():
    while True:
        pass


def test_a_busy_block_is_stopped():
    """Work without end is; what ends in time is not, nor is anything later."""
    handler = signal.getsignal(signal.SIGPROF)
    with pytest.raises(TooSlow), stopped_after(0.05):
        endless()
    for seconds in (60.0, None):
        with stopped_after(seconds):
            sum(range(1_000))
    assert signal.getsignal(signal.SIGPROF) is handler
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)
