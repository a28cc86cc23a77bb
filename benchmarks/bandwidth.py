"""How close a dual epoch comes to the memory it must move.

A full epoch (every variable active) reads ``N·k·c·(p+1)`` weights, and writes ``k·(p+1)`` of them
for every α that it changes. Those bytes over the epoch's seconds are compared with plain reads of
an array in memory and of one that fits the second-level cache, on as many threads. The yardstick is
the faster of numpy's sum and BLAS's product of the array with itself: the sum alone is bound by its
additions, not by memory, once the array is in cache. Cores share memory but not that cache: its
reads are timed on one thread and count once per thread (short calls from two Python threads would
wait for each other, not for the cache).

A visit of a short row is not bound by memory. What it does is timed by itself too, per variable on
one thread: the scores of the rows in their order (dots), and the same steps for all rows (adds).
"Steps" is what is left of a visit: the loss, its gap and gain, the random order, and waiting for
the weights of the visit before.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hyperlocal.gates.anchors import choose_anchors
from hyperlocal.gates.gate import fit_gate
from hyperlocal.maps.base import FeatureMap
from hyperlocal.maps.quadratic import QuadraticMap
from hyperlocal.model.lifting import LiftedRows
from hyperlocal.runtime.threads import Workers, row_blocks
from hyperlocal.solvers import Problem, dual

from .common import Row, argument_parser, environment, print_table, rounded, timed, write_result

N_NEIGHBORS = 8
# Epochs before those that are timed: in the first ones nearly every α changes.
EARLIER_EPOCHS = 10
MEMORY_BYTES = 1 << 28
USUAL_L2_BYTES = 1 << 19
FEWEST_READS = 4
READ_BYTES = 1 << 30
GIGABYTE = 1e9

Reader = Callable[[np.ndarray], object]
READERS: dict[str, Reader] = {
    "numpy sum": np.add.reduce,
    "BLAS dot": lambda array: np.dot(array, array),
}


@dataclass(frozen=True)
class Shape:
    """A problem as an epoch sees it."""

    name: str
    n_rows: int
    n_features: int
    n_columns: int
    n_anchors: int
    quadratic: bool = False

    def thinned(self, factor: int) -> Shape:
        """The same with fewer rows."""
        return Shape(
            self.name, self.n_rows // factor, self.n_features, self.n_columns, self.n_anchors,
            self.quadratic,
        )  # fmt: skip


SHAPES = (
    Shape("2 classes, p = 5, in cache", 4_000, 5, 1, 100),
    Shape("2 classes, p = 10, in cache", 4_000, 10, 1, 100),
    Shape("2 classes, p = 20, in cache", 4_000, 20, 1, 100),
    Shape("2 classes, p = 20", 200_000, 20, 1, 100),
    Shape("10 classes, p = 50", 40_000, 50, 10, 100),
    Shape("10 classes, p = 1325 (quadratic)", 10_000, 50, 10, 30, quadratic=True),
    Shape("26 classes, p = 16", 40_000, 16, 26, 100),
)


def make_problem(shape: Shape, seed: int, workers: Workers) -> Problem:
    """Gaussian rows whose class is the largest of some random waves of them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((shape.n_rows, shape.n_features), np.float32)
    n_classes = max(2, shape.n_columns)
    waves = rng.standard_normal((shape.n_features, n_classes), np.float32)
    target = np.cos(X @ waves / np.sqrt(np.float32(shape.n_features))).argmax(axis=1)
    if shape.n_columns == 1:
        target = np.where(target == 1, 0, -1)
    weights = np.ones(shape.n_rows)
    anchors = choose_anchors(X, weights, "kmeans", shape.n_anchors, rng, workers)
    gate = fit_gate(X, weights, anchors, N_NEIGHBORS, "soft", "auto", rng, workers)
    feature_map = QuadraticMap() if shape.quadratic else FeatureMap()
    rows = feature_map.fit(X, target, weights, rng).rows(X)
    lifted = LiftedRows(rows, gate.encode(X, workers), shape.n_anchors, 1.0, True, workers)
    costs = np.full(shape.n_rows, 3, np.float32)
    return Problem(lifted, target.astype(np.int32), costs, shape.n_columns, "squared_hinge")


def full_epoch(descent: dual.Descent) -> None:
    """One epoch that nothing is left out of."""
    descent.active[:] = 1
    descent.skipped[:] = False
    descent.bounds[:] = [np.inf, -np.inf]
    descent.run_epoch()


def epoch_row(shape: Shape, n_jobs: int, seed: int, repeats: int) -> Row:
    """Bytes and seconds of the fastest full epoch after some earlier ones."""
    with Workers(n_jobs) as workers:
        problem = make_problem(shape, seed, workers)
        descent = dual.Descent(problem, 0.0, np.random.default_rng(seed), None)
        for _ in range(EARLIER_EPOCHS):
            full_epoch(descent)
        rates = []
        for _ in range(repeats):
            before = descent.alpha.copy()
            seconds = timed(lambda: full_epoch(descent)).best
            changed = int(np.count_nonzero(descent.alpha != before))
            rates.append((bytes_moved(problem, changed) / seconds, seconds, changed))
        parts = visit_parts(problem, descent, repeats) if n_jobs == 1 else {}
    rate, seconds, changed = max(rates)
    if parts:
        parts["steps ns"] = 1e9 * seconds / descent.alpha.size - parts["dots ns"]
        parts["steps ns"] -= parts["adds ns"] * changed / descent.alpha.size
    return {
        "shape": shape.name,
        "threads": n_jobs,
        "rows": shape.n_rows,
        "weights MB": descent.weights.nbytes / 1e6,
        "epoch s": seconds,
        "ns per variable": 1e9 * seconds / descent.alpha.size,
        "α changed": changed / descent.alpha.size,
        "GB moved": bytes_moved(problem, changed) / GIGABYTE,
        "GB/s": rate / GIGABYTE,
        "Gflop/s": flops(problem, changed) / seconds / 1e9,
        **parts,
    }


def visit_parts(problem: Problem, descent: dual.Descent, repeats: int) -> Row:
    """Nanoseconds per variable of products with all rows, and of steps along all rows."""
    lifted, weights = problem.lifted, descent.weights.copy()
    scores, steps = np.empty_like(descent.alpha), np.full_like(descent.alpha, 1e-12)
    for_one = 1e9 / descent.alpha.size

    def dots() -> None:
        for begin, end in row_blocks(lifted.n_rows, lifted.n_anchors - 1):  # as an epoch does
            lifted.core.scores(begin, end, weights, scores[begin:end])

    def adds() -> None:
        lifted.core.add(steps, weights, 0, problem.n_columns)

    return {f"{run.__name__} ns": for_one * timed(run, repeats).best for run in (dots, adds)}


def numbers_per_visit(problem: Problem) -> int:
    """Weights that one variable's lifted row meets."""
    return problem.lifted.n_neighbors * (problem.lifted.width + 1)


def bytes_moved(problem: Problem, n_changed: int) -> int:
    """Weights read at every variable, and written where α changed."""
    visits = problem.lifted.n_rows * problem.n_columns + n_changed
    return visits * numbers_per_visit(problem) * problem.lifted.dtype.itemsize


def flops(problem: Problem, n_changed: int) -> int:
    """A product and a sum for each of those weights."""
    visits = problem.lifted.n_rows * problem.n_columns + n_changed
    return 2 * visits * numbers_per_visit(problem)


def read_rate(n_bytes: int, n_threads: int, repeats: int, read_once: Reader) -> float:
    """Bytes per second of reading an array again and again, one array per thread."""
    arrays = [np.ones(n_bytes // 4, np.float32) for _ in range(n_threads)]
    n_reads = max(FEWEST_READS, READ_BYTES // n_bytes)

    def read(array: np.ndarray) -> None:
        for _ in range(n_reads):
            read_once(array)

    with Workers(n_threads) as workers:
        seconds = timed(lambda: workers.map(read, arrays), repeats).best
    return n_threads * n_reads * n_bytes / seconds


def l2_bytes() -> int:
    """Size of a core's second-level cache where the system reports it."""
    try:
        text = Path("/sys/devices/system/cpu/cpu0/cache/index2/size").read_text().strip()
    except OSError:
        return USUAL_L2_BYTES
    return int(text.removesuffix("K")) * 1024


def read_rows(threads: list[int], repeats: int) -> list[Row]:
    """What the machine can read, by each yardstick."""
    places = [("memory", MEMORY_BYTES, threads), ("L2", l2_bytes() // 2, [1])]
    return [
        {
            "shape": f"{reader} of an array in {place}",
            "place": place,
            "threads": n_threads,
            "weights MB": n_bytes / 1e6,
            "GB/s": read_rate(n_bytes, n_threads, repeats, read_once) / GIGABYTE,
        }
        for place, n_bytes, timed_threads in places
        for reader, read_once in READERS.items()
        for n_threads in timed_threads
    ]


def compare(epochs: list[Row], reads: list[Row]) -> list[Row]:
    """Add to each epoch how much longer it takes than the fastest reads of as many bytes."""
    for row in epochs:
        n_threads = row["threads"]
        from_memory = fastest(reads, "memory", n_threads)
        from_cache = n_threads * fastest(reads, "L2", 1)
        row["time / memory reads"] = from_memory / row["GB/s"]
        row["time / L2 reads"] = from_cache / row["GB/s"]
    return [*({key: read[key] for key in read if key != "place"} for read in reads), *epochs]


def fastest(reads: list[Row], place: str, n_threads: int) -> float:
    """The best rate that any reader had."""
    return max(
        read["GB/s"] for read in reads if read["place"] == place and read["threads"] == n_threads
    )


def main() -> None:
    """Measure reads and epochs in one run, and track."""
    arguments = argument_parser(__doc__, repeats=7).parse_args()
    threads = [1] if os.cpu_count() == 1 else [1, 2]
    factor = 10 if arguments.quick else 1
    reads = read_rows(threads, arguments.repeats)
    epochs = [
        epoch_row(shape.thinned(factor), n_threads, arguments.seed, arguments.repeats)
        for shape in SHAPES
        for n_threads in threads
    ]
    rows = compare(epochs, reads)
    print_table(rows)
    write_result(
        "bandwidth",
        environment(arguments.seed),
        [rounded(row) for row in rows],
        tracked=not arguments.quick,
    )


if __name__ == "__main__":
    main()
