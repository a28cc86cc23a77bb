"""One pass over up to eight million deformed digits by partial_fit: error, time, memory.

    python -m benchmarks.streaming --rows 8000000
    python -m benchmarks.streaming --draw        # the picture of the tracked run

Rows are made while they are learned: elastic deformations of MNIST's training images, in blocks,
each seen once and forgotten. Principal components come from the images themselves, before the
stream. Anchors and C are chosen on the last 10,000 training images, after a stream of 200,000 rows
made from the others. Errors are those on MNIST's own test images. Seconds are processor time of one
thread.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA

from hyperlocal import LocallyLinearSVC
from hyperlocal.datasets import deformed_digits, load_dataset
from hyperlocal.plots.drawing import BLUE, GREY, ORANGE, pyplot

from .common import (
    MEGABYTE,
    Row,
    argument_parser,
    environment,
    peak_bytes,
    print_table,
    read_result,
    rounded,
    write_result,
)

IMAGES = Path(__file__).parents[1] / "docs" / "images"
N_COMPONENTS = 50
BLOCK_ROWS = 10_000
HELD_OUT_ROWS = 10_000
CHOOSING_ROWS = 200_000
CANDIDATES = tuple({"n_anchors": m, "C": C} for m in (30, 100) for C in (10.0, 100.0, 1000.0))
# Rows after which the error is measured, in units of a decade.
MARKS = (1, 2, 5)


class Stream:
    """Components and local models, fed block by block; adds up the time of each part."""

    def __init__(self, X: np.ndarray, settings: Row, seed: int):
        self.images = X
        self.seed = seed
        self.components = PCA(N_COMPONENTS, svd_solver="covariance_eigh").fit(X)
        self.model = LocallyLinearSVC(
            feature_map="quadratic", solver="sgd", n_jobs=1, random_state=seed, **settings
        )
        self.seconds = {"making": 0.0, "components": 0.0, "learning": 0.0}

    def run(self, y: np.ndarray, n_rows: int) -> Iterator[int]:
        """Learn so many rows, and yield how many were seen after each block."""
        blocks = deformed_digits(
            self.images, y, n_rows, block_rows=BLOCK_ROWS, random_state=self.seed
        )
        seen = 0
        while seen < n_rows:
            start = time.process_time()
            block, labels = next(blocks)
            made = time.process_time()
            rows = self.components.transform(block)
            reduced = time.process_time()
            self.model.partial_fit(rows, labels, classes=np.unique(y))
            learned = time.process_time()
            for part, spent in zip(
                self.seconds, (made - start, reduced - made, learned - reduced), strict=True
            ):
                self.seconds[part] += spent
            seen += len(labels)
            yield seen

    def error(self, X: np.ndarray, y: np.ndarray) -> float:
        """Share of wrong labels, in %."""
        return 100 * (1 - self.model.score(self.components.transform(X), y))


def choose(X: np.ndarray, y: np.ndarray, seed: int, n_rows: int) -> list[Row]:
    """Errors of all candidates on held-out training images."""
    rows = []
    for settings in CANDIDATES:
        stream = Stream(X[:-HELD_OUT_ROWS], settings, seed)
        for _ in stream.run(y[:-HELD_OUT_ROWS], n_rows):
            pass
        error = stream.error(X[-HELD_OUT_ROWS:], y[-HELD_OUT_ROWS:])
        rows.append({"part": "choice", **settings, "rows": n_rows, "error %": error})
        print(rows[-1], file=sys.stderr, flush=True)
    return rows


def measure(
    train: tuple[np.ndarray, np.ndarray],
    test: tuple[np.ndarray, np.ndarray],
    settings: Row,
    seed: int,
    n_rows: int,
) -> list[Row]:
    """The error and the cost so far, at marks along one pass."""
    stream = Stream(train[0], settings, seed)
    marks = {unit * 10**power for unit in MARKS for power in range(4, 8)} | {n_rows}
    rows = []
    for seen in stream.run(train[1], n_rows):
        if seen not in marks:
            continue
        spent = {f"{part}, s": seconds for part, seconds in stream.seconds.items()}
        rows.append(
            {"part": "stream", "rows": seen, "error %": stream.error(*test), **spent,
             "learning, µs per row": 1e6 * stream.seconds["learning"] / seen,
             "peak MB": peak_bytes() / MEGABYTE}
        )  # fmt: skip
        print(rounded(rows[-1]), file=sys.stderr, flush=True)
    return rows


def draw() -> None:
    """Error, time and memory along the tracked pass."""
    rows = [row for row in read_result("streaming")["rows"] if row["part"] == "stream"]
    seen = [row["rows"] for row in rows]
    learning = [row["learning, s"] for row in rows]
    everything = [sum(row[key] for key in row if key.endswith(", s")) for row in rows]
    figure, (left, middle, right) = pyplot().subplots(1, 3, figsize=(10, 2.8), layout="constrained")
    left.plot(seen, [row["error %"] for row in rows], "o-", color=BLUE)
    left.set(ylabel="test error, %", ylim=(0, None))
    middle.plot(seen, learning, "o-", color=BLUE, label="learning")
    middle.plot(seen, everything, "s--", color=GREY, label="with making the rows")
    middle.set(ylabel="processor seconds", yscale="log")
    middle.legend(frameon=False, fontsize=8)
    right.plot(seen, [row["peak MB"] for row in rows], "o-", color=ORANGE)
    right.set(ylabel="peak memory, MB", ylim=(0, None))
    for panel in (left, middle, right):
        panel.set(xscale="log", xlabel="rows seen")
        panel.spines[["top", "right"]].set_visible(False)
    figure.savefig(IMAGES / "streaming.png", dpi=85)


def main() -> None:
    """Choose, stream, and track."""
    parser = argument_parser(__doc__, repeats=1)
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the stream")
    parser.add_argument("--draw", action="store_true", help="draw the tracked run")
    arguments = parser.parse_args()
    if arguments.draw:
        draw()
        return
    n_rows = 30_000 if arguments.quick else arguments.rows
    data = load_dataset("mnist")
    train = np.float32(data.X_train) / 255, data.y_train
    test = np.float32(data.X_test) / 255, data.y_test
    rows = choose(*train, arguments.seed, min(CHOOSING_ROWS, n_rows))
    best = min(rows, key=lambda row: row["error %"])
    settings = {name: best[name] for name in CANDIDATES[0]}
    rows += measure(train, test, settings, arguments.seed, n_rows)
    print_table([row for row in rows if row["part"] == "choice"], "On held-out training images")
    print_table([row for row in rows if row["part"] == "stream"], f"One pass; {settings}")
    write_result(
        "streaming", environment(arguments.seed), map(rounded, rows), tracked=not arguments.quick
    )


if __name__ == "__main__":
    main()
