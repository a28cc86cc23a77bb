"""Two classes on several cores: seconds on the critical path of a fit, and a model of more cores.

A fit has three kinds of work: what one thread does alone (s), blocks of rows that any number of
threads share (b), and epochs of dual descent, whose rows are in a fixed number of parts (e). With P
threads and K parts the model is

    T(P) = s + b / P + e / min(P, K).

Processor seconds are measured per thread, so that a busy machine disturbs little: T(P) is what the
calling thread takes by itself, and of each shared piece of work the seconds of its busiest thread
(where pieces outnumber threads by far, an equal share of all). s, b and e are those of two threads;
the model is compared with runs of one, two and four threads (more than this machine may have).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.preprocessing import StandardScaler

from hyperlocal import LocallyLinearSVC
from hyperlocal.datasets import load_dataset
from hyperlocal.runtime.threads import Workers
from hyperlocal.solvers.parts import N_PARTS

from . import scaling
from .common import Row, argument_parser, environment, print_table, rounded, write_result

COST = 3.0
MEASURED_THREADS = (1, 2, 4)
MODELLED_THREADS = (8, 32)
# The most rows of each.
SETS = {
    "skin": 300_000,
    "ijcnn1": 300_000,
    "creditcard": 300_000,
    "covtype, 2 or not": 100_000,
    "synthetic": 100_000,
}
QUICK_ROWS = 20_000


@dataclass
class Work:
    """Processor seconds of one fit, by kind."""

    alone: float = 0.0
    blocks: float = 0.0
    parts: float = 0.0
    path: float = 0.0
    epochs: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, n_items: int, n_threads: int, seconds: dict[int, float]) -> None:
        """One piece of shared work, of which each thread has taken some seconds."""
        total = sum(seconds.values())
        with self.lock:
            if n_items <= N_PARTS:
                self.parts += total
                self.path += max(seconds.values())
            else:
                self.blocks += total
                self.path += total / n_threads

    def seconds(self, n_threads: int) -> float:
        """The model: with so many threads."""
        return self.alone + self.blocks / n_threads + self.parts / min(n_threads, N_PARTS)


@contextmanager
def shared_work(work: Work) -> Iterator[None]:
    """Count what threads share."""
    original = Workers.map

    def counted(self: Workers, function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        items, seconds = list(items), dict[int, float]()
        if self.n_threads == 1 or len(items) <= 1:
            return original(self, function, items)

        def timed(item: Any) -> Any:
            before = time.thread_time()
            try:
                return function(item)
            finally:
                own = threading.get_ident()
                seconds[own] = seconds.get(own, 0.0) + time.thread_time() - before

        found = original(self, timed, items)
        work.add(len(items), self.n_threads, seconds)
        return found

    with patch.object(Workers, "map", counted):
        yield


def fit(X: np.ndarray, y: np.ndarray, n_threads: int, seed: int) -> Work:
    """The work of one fit."""
    work = Work()
    model = LocallyLinearSVC(C=COST, n_jobs=n_threads, random_state=seed)
    with shared_work(work):
        before = time.thread_time()
        model.fit(X, y)
        work.alone = time.thread_time() - before
    work.path += work.alone
    work.epochs = model.n_iter_
    return work


def load(name: str, n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Standardized rows of two classes."""
    if name == "synthetic":
        return scaling.make_rows(n_rows, 2, seed)
    data = load_dataset(name.split(",")[0])
    chosen = np.random.default_rng(seed).permutation(len(data.y_train))[:n_rows]
    X, y = np.asarray(data.X_train, np.float32)[chosen], np.asarray(data.y_train)[chosen]
    return StandardScaler().fit_transform(X), y == 2 if "," in name else y


def measure(name: str, n_rows: int, seed: int, repeats: int) -> Row:
    """The least seconds of each number of threads, in turns, and the model."""
    X, y = load(name, n_rows, seed)
    runs: dict[int, list[Work]] = {n: [] for n in MEASURED_THREADS}
    for _ in range(repeats):
        for n_threads, works in runs.items():
            works.append(fit(X, y, n_threads, seed))
    best = {n: min(works, key=lambda work: work.path) for n, works in runs.items()}
    work, alone = best[2], best[1].path
    return {
        "set": name,
        "rows": len(X),
        "epochs": work.epochs,
        "alone s": work.alone,
        "blocks s": work.blocks,
        "parts s": work.parts,
        **{f"{n} threads s": best[n].path for n in MEASURED_THREADS},
        **{f"model, {n} s": work.seconds(n) for n in MEASURED_THREADS},
        "times faster, 2 threads": alone / best[2].path,
        **{f"model, {n} threads": alone / work.seconds(n) for n in MODELLED_THREADS},
    }


def main() -> None:
    """Measure all sets and track."""
    arguments = argument_parser(__doc__, repeats=3).parse_args()
    most = QUICK_ROWS if arguments.quick else max(SETS.values())
    rows = [
        measure(name, min(most, n_rows), arguments.seed, arguments.repeats)
        for name, n_rows in SETS.items()
    ]
    print_table(rows)
    write_result(
        "cores",
        environment(arguments.seed),
        [rounded(row) for row in rows],
        tracked=not arguments.quick,
    )


if __name__ == "__main__":
    main()
