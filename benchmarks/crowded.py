"""Four processes with two threads each, on fewer cores: what threads that wait cost the others.

    python -m benchmarks.crowded

Each process fits the same synthetic rows several times, all at once: with one thread each, and with
two. Two are worth it only where cores are free; elsewhere the loss must stay small. Seconds
are those until the last process has ended its fits; rounds with one and two threads alternate.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from multiprocessing.synchronize import Barrier

from hyperlocal import LocallyLinearSVC

from .common import Row, argument_parser, environment, print_table, rounded, write_result
from .scaling import make_rows

N_PROCESSES = 4
N_FITS = 5
N_ROWS = 50_000
QUICK_ROWS = 5_000
COST = 3.0
CLASSES = (2, 5)


def fit_several(barrier: Barrier, n_rows: int, n_classes: int, n_threads: int, seed: int) -> None:
    """One process of the crowd; it waits for the others before and after its fits."""
    X, y = make_rows(n_rows, n_classes, seed)
    model = LocallyLinearSVC(C=COST, n_jobs=n_threads, random_state=seed)
    barrier.wait()
    for _ in range(N_FITS):
        model.fit(X, y)
    barrier.wait()


def seconds(n_rows: int, n_classes: int, n_threads: int, seed: int) -> float:
    """Until all processes have ended their fits."""
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(N_PROCESSES + 1)
    given = (barrier, n_rows, n_classes, n_threads, seed)
    crowd = [context.Process(target=fit_several, args=given) for _ in range(N_PROCESSES)]
    for process in crowd:
        process.start()
    barrier.wait()
    start = time.perf_counter()
    barrier.wait()
    found = time.perf_counter() - start
    for process in crowd:
        process.join()
    return found


def measure(n_classes: int, n_rows: int, repeats: int, seed: int) -> Row:
    """The least seconds of several rounds, by threads of a process."""
    found: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(repeats):
        for n_threads, values in found.items():
            values.append(seconds(n_rows, n_classes, n_threads, seed))
    one, two = (min(values) for values in found.values())
    return {
        "classes": n_classes,
        "rows": n_rows,
        "cores": os.cpu_count(),
        "processes": N_PROCESSES,
        "1 thread each, s": one,
        "2 threads each, s": two,
        "lost, %": 100 * (two / one - 1),
    }


def main() -> None:
    """Measure and track."""
    arguments = argument_parser(__doc__, repeats=3).parse_args()
    n_rows = QUICK_ROWS if arguments.quick else N_ROWS
    rows = [measure(each, n_rows, arguments.repeats, arguments.seed) for each in CLASSES]
    print_table(rows)
    write_result(
        "crowded",
        environment(arguments.seed),
        [rounded(row) for row in rows],
        tracked=not arguments.quick,
    )


if __name__ == "__main__":
    main()
