"""Progress of long fits: silent by default, lines on stderr with ``verbose``, callbacks.

scikit-learn's callbacks (1.9 and later, experimental) are used where they exist, and not required.
"""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Protocol, TextIO

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for scikit-learn's mixin where there is none."""

    def with_callbacks(method: Any) -> Any:
        """Return the method unchanged."""
        return method


__all__ = [
    "CallbackSupportMixin", "EpochMonitor", "JoinedEpochs", "Monitor", "ProgressLines",
    "with_callbacks",
]  # fmt: skip

SECONDS_BETWEEN_LINES = 0.5


class Monitor(Protocol):
    """What an iterative solver calls after each epoch; a plain function is a monitor too."""

    def __call__(self, number: int, /, **facts: float) -> bool:
        """Take the number of the epoch, from 1, and its facts; return whether to stop."""


def callback_context(estimator: Any, max_epochs: int) -> Any:
    """The context in which scikit-learn calls callbacks; None for estimators without them.

    Its method begins with an underscore, but scikit-learn documents it for authors of estimators,
    and there is no other.
    """
    begin = getattr(estimator, "_init_callback_context", None)
    return None if begin is None else begin(max_subtasks=max_epochs)


class ProgressLines:
    """A monitor that writes a line now and then: what is counted, its facts, and the time.

    Parameters
    ----------
    estimator : estimator
        Named in the lines. Its ``tol``, times the objective, is the goal of a gap.
    most : int
        The most steps there can be.
    verbose : int
        0 is silent; 1 writes a line now and then; 2 writes every step.
    stream : text stream, default=None
        Where lines go; stderr by default.
    task : str
        What a step is called.
    """

    def __init__(
        self,
        estimator: Any,
        most: int,
        verbose: int = 0,
        stream: TextIO | None = None,
        task: str = "epoch",
    ):
        self._name, self._tol = type(estimator).__name__, getattr(estimator, "tol", None)
        self._most, self._verbose, self._stream, self._task = most, verbose, stream, task
        self._start = time.perf_counter()
        self._last_line = -float("inf")

    def __call__(self, number: int, /, **facts: float) -> bool:
        """Write step ``number``; never requests to stop."""
        now = time.perf_counter()
        due = self._verbose >= 2 or now - self._last_line >= SECONDS_BETWEEN_LINES
        if not self._verbose or not due:
            return False
        self._last_line = now
        texts = {name: f"{name} {value:.6g}" for name, value in facts.items()}
        if "gap" in facts and "objective" in facts and self._tol is not None:
            texts["gap"] += f" (goal {self._tol * facts['objective']:.3g})"
        # A search goes on beyond its candidates while the best is at an end of them.
        goal = f" of at most {self._most}" if number <= self._most else ""
        line = "  ".join([f"{self._task} {number}{goal}", *texts.values()])
        stream = self._stream or sys.stderr
        print(f"[{self._name}] {line}  {now - self._start:.1f} s", file=stream)
        return False


class EpochMonitor:
    """Writes progress lines and calls the estimator's callbacks; to be used as a context manager.

    ``with EpochMonitor(self, self.max_iter, self.verbose) as monitor:`` reports the end of the fit
    on leaving, after an error too. The monitor itself is what solvers take.

    Parameters
    ----------
    estimator : estimator
        Named in the lines; its scikit-learn callbacks are called.
    max_epochs : int
        The most epochs there can be.
    verbose : int
        0 is silent; 1 writes a line now and then; 2 writes every epoch.
    stream : text stream, default=None
        Where lines go; stderr by default.
    task : str
        What an epoch is called.
    """

    def __init__(
        self,
        estimator: Any,
        max_epochs: int,
        verbose: int = 0,
        stream: TextIO | None = None,
        task: str = "epoch",
    ):
        self._task, self._estimator = task, estimator
        self._lines = ProgressLines(estimator, max_epochs, verbose, stream, task)
        self._context = callback_context(estimator, max_epochs)
        if self._context is not None:
            self._context.call_on_fit_task_begin(estimator=estimator)

    def __enter__(self) -> EpochMonitor:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __call__(self, number: int, /, **facts: float) -> bool:
        """Report epoch ``number``; returns whether a callback requests to stop."""
        self._lines(number, **facts)
        if self._context is None:
            return False
        task = self._context.subcontext(task_name=self._task)
        task.call_on_fit_task_begin(estimator=self._estimator)
        return bool(task.call_on_fit_task_end(estimator=self._estimator))

    def close(self) -> None:
        """Report the end of the fit."""
        if self._context is not None:
            self._context.call_on_fit_task_end(estimator=self._estimator)


class JoinedEpochs:
    """A monitor that numbers the epochs of several descents as one.

    ``stop`` is whether the joined monitor has requested to stop, in this descent or before.
    """

    def __init__(self, monitor: Monitor | None):
        self._monitor = monitor
        self._number = 0
        self.stop = False

    def __call__(self, number: int, /, **facts: float) -> bool:
        """Report an epoch under its joint number; without a monitor nothing is reported."""
        self._number += 1
        if self._monitor is None:
            return False
        self.stop = self._monitor(self._number, **facts) or self.stop
        return self.stop
