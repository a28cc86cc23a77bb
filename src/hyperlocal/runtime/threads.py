"""Threads: kernels run without the GIL over blocks of rows; BLAS is limited to one thread.

Blocks are cut the same way whatever the number of threads, and each block is computed by serial
code, so results are bitwise the same for any ``n_jobs``.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import repeat
from types import TracebackType
from typing import TypeVar

import joblib
from threadpoolctl import ThreadpoolController

# The most rows of a block: few enough that threads can share some thousand rows, and that what is
# computed for a block stays in the nearer caches.
MOST_ROWS_PER_BLOCK = 2048

# Whether the running thread is one of a pool, which must not wait for others of it.
_THREAD = threading.local()

Item = TypeVar("Item")
Result = TypeVar("Result")


@cache
def _libraries(*user_apis: str) -> ThreadpoolController:
    # Finding the loaded libraries takes milliseconds: once per process is enough.
    return ThreadpoolController().select(user_api=list(user_apis))


def _set_threads(user_api: str, n_threads: Iterable[int]) -> list[int]:
    """Set the numbers of threads of some libraries; returns those of before."""
    libraries = _libraries(user_api).lib_controllers
    before = [library.num_threads for library in libraries]
    for library, number in zip(libraries, n_threads, strict=False):
        library.set_num_threads(number)
    return before


class SharedBlasLimit:
    """BLAS limited to one thread for as long as any thread of the process needs it.

    The limit is one setting of the process: limits that each thread sets and restores by itself
    would be restored in the wrong order. The first to enter sets it, the last to leave restores it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_inside = 0
        self._before: list[int] = []

    def enter(self) -> None:
        """Limit BLAS, unless it is limited already."""
        with self._lock:
            self._n_inside += 1
            if self._n_inside == 1:
                self._before = self._set(repeat(1))

    def leave(self) -> None:
        """Restore what was before the first entered, if this is the last."""
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0:
                self._set(self._before)

    def forget_parent(self) -> None:
        """In a forked process, where the threads that are inside do not exist: restore BLAS."""
        self._lock = threading.Lock()
        if self._n_inside > 0:
            self._n_inside = 0
            self._set(self._before)

    def _set(self, n_threads: Iterable[int]) -> list[int]:
        before = _set_threads("blas", n_threads)
        # threadpoolctl lets only the thread that set a limit first change it, until that thread has
        # left a context: without this one, over no library, no other thread could restore it.
        with _libraries().limit(limits=None):
            return before


_BLAS_LIMIT = SharedBlasLimit()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_BLAS_LIMIT.forget_parent)


class Workers:
    """A pool of ``n_jobs`` threads, to be used as a context manager.

    Parameters
    ----------
    n_jobs : int or None
        As in scikit-learn: None is 1 (or the number of a surrounding joblib context), -1 all cores.

    Examples
    --------
    >>> from hyperlocal.runtime.threads import Workers
    >>> with Workers(2) as workers:
    ...     workers.map(abs, [-1, 2, -3])
    [1, 2, 3]
    """

    def __init__(self, n_jobs: int | None = None):
        self.n_threads: int = joblib.effective_n_jobs(n_jobs)
        self._pool: ThreadPoolExecutor | None = None
        self._is_open, self._opening = False, threading.Lock()
        self._openmp_before: list[int] = []

    def __enter__(self) -> Workers:
        self._openmp_before = _set_threads("openmp", repeat(1))  # for this thread alone
        _BLAS_LIMIT.enter()
        self._is_open = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._is_open = False
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None
        _BLAS_LIMIT.leave()
        _set_threads("openmp", self._openmp_before)

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Results of ``function`` over ``items``, in their order.

        A call within a call has no threads of its own: all of them could wait for each other.
        """
        items = list(items)
        is_nested = getattr(_THREAD, "is_shared", False)
        alone = not self._is_open or self.n_threads == 1 or is_nested
        if alone or len(items) <= 1:  # one item stays where its data are cached
            return [function(item) for item in items]
        return list(self._opened().map(function, items))

    def _opened(self) -> ThreadPoolExecutor:
        """The pool, which is made when there is something to share: not to predict one row."""
        with self._opening:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(
                    self.n_threads, thread_name_prefix="hyperlocal", initializer=_mark_as_shared
                )
            return self._pool


def _mark_as_shared() -> None:
    _THREAD.is_shared = True


def read_ahead(load: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Results of ``load`` over ``items``, in their order, the next being made while one is in use.

    Examples
    --------
    >>> from hyperlocal.runtime.threads import read_ahead
    >>> list(read_ahead(abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    with ThreadPoolExecutor(1, thread_name_prefix="hyperlocal-read") as pool:
        coming = None
        for item in items:
            ready, coming = coming, pool.submit(load, item)
            if ready is not None:
                yield ready.result()
        if coming is not None:
            yield coming.result()


def row_blocks(n_rows: int, block_size: int) -> Iterator[tuple[int, int]]:
    """Cut ``range(n_rows)`` into half-open ranges of at most ``block_size``.

    Examples
    --------
    >>> from hyperlocal.runtime.threads import row_blocks
    >>> list(row_blocks(5, 2))
    [(0, 2), (2, 4), (4, 5)]
    """
    for begin in range(0, n_rows, block_size):
        yield begin, min(begin + block_size, n_rows)


def split_evenly(loads: list[int], n_parts: int) -> list[tuple[int, int]]:
    """Cut a list of loads into at most ``n_parts`` contiguous ranges of nearly equal load.

    Examples
    --------
    >>> from hyperlocal.runtime.threads import split_evenly
    >>> split_evenly([5, 1, 1, 1, 1, 1], 2)
    [(0, 1), (1, 6)]
    """
    total = sum(loads)
    ranges: list[tuple[int, int]] = []
    begin = carried = 0
    for end, load in enumerate(loads, start=1):
        carried += load
        wanted = total * (len(ranges) + 1) / n_parts
        if end == len(loads) or (carried >= wanted and len(ranges) + 1 < n_parts):
            ranges.append((begin, end))
            begin = end
    return ranges
