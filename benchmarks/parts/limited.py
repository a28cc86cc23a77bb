"""Fits that are stopped after some time."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class TooSlow(Exception):
    """A fit did not end in time."""


@contextmanager
def stopped_after(seconds: float | None) -> Iterator[None]:
    """Raise TooSlow in the block when this process has been busy for so long; None for never.

    Compiled code ends first: neither EBM nor xRFM stays in it for long.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds or 0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
