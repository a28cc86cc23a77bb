"""Time and memory of a fit as the number of rows grows.

Each fit runs in a fresh process on synthetic rows. The exponent is the slope of log seconds over
log rows: one means linear. Processor seconds (of all threads) have one too, which a busy machine
disturbs less. Epochs are counted, so that the cost of an epoch has an exponent of its own. Peak
memory is what the fit adds to the process that already holds the rows; it is compared with what
must be kept, the codes (an index and a weight per active anchor) and the weights.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from itertools import product

import numpy as np

from hyperlocal import LocallyLinearSVC
from hyperlocal.estimators import tasks
from hyperlocal.gates import levels
from hyperlocal.model import local_model
from hyperlocal.solvers import dual

from .common import (
    MEGABYTE,
    Row,
    argument_parser,
    environment,
    in_fresh_process,
    peak_bytes,
    print_table,
    rounded,
    stage_seconds,
    timed,
    write_result,
)

N_FEATURES = 20
SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
QUICK_SIZES = (3_000, 10_000, 30_000)
CLASSES = (2, 5)
ANCHORS = ("100", "auto")
MAPS = ("default", "linear")
N_WAVES = 3
LABEL_NOISE = 0.02
ROWS_PER_BLOCK = 10_000
ROWS_TO_PREDICT = 10_000
TOLERANCE = 1e-3
STAGES = {
    "checks s": (tasks, "check_labelled_rows"),
    "anchors s": (levels, "choose_anchors"),
    "gate s": (levels, "fit_gate"),
    "codes s": (local_model.LocalModel, "encode"),
    "epochs s": (dual.Descent, "run_epoch"),
    "full checks s": (dual.Descent, "check"),
}


# ---- one fit, in its own process -----------------------------------------------------------------


def make_rows(n_rows: int, n_classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian rows; the class is the largest of as many sums of waves, with some labels wrong.

    The problem is drawn from one seed and rows come block by block: more rows are more of the same
    data, and making them leaves no peak of memory behind.
    """
    rng = np.random.default_rng(seed)
    scale = 1 / np.sqrt(N_FEATURES)
    directions = scale * rng.standard_normal((N_WAVES, N_FEATURES, n_classes), np.float32)
    phases = rng.uniform(0, 2 * np.pi, (N_WAVES, n_classes)).astype(np.float32)
    X = np.empty((n_rows, N_FEATURES), np.float32)
    y = np.empty(n_rows, np.int64)
    for begin in range(0, n_rows, ROWS_PER_BLOCK):
        block = X[begin : begin + ROWS_PER_BLOCK]
        block[:] = rng.standard_normal(block.shape, np.float32)
        scores = sum(
            np.cos(1.5 * block @ w + phase) for w, phase in zip(directions, phases, strict=True)
        )
        wrong = rng.random(len(block)) < LABEL_NOISE
        labels = np.where(wrong, rng.integers(n_classes, size=len(block)), scores.argmax(axis=1))
        y[begin : begin + ROWS_PER_BLOCK] = labels
    return X, y


def fit_once(task: argparse.Namespace) -> Row:
    """Fit; return seconds, epochs, and how much memory that took beyond the rows."""
    X, y = make_rows(task.rows, task.classes, task.seed)
    model = LocallyLinearSVC(
        "auto" if task.anchors == "auto" else int(task.anchors),
        feature_map="auto" if task.map == "default" else None,
        tol=TOLERANCE,
        n_jobs=task.n_jobs,
        random_state=task.seed,
    )
    before, busy_before = peak_bytes(), time.process_time()
    with stage_seconds(STAGES) as stages:
        seconds = timed(lambda: model.fit(X, y)).best
    busy = time.process_time() - busy_before
    added = peak_bytes() - before
    n_active = model.model_.gate.n_neighbors  # of all levels
    codes = task.rows * n_active * (np.dtype(np.int32).itemsize + X.itemsize)
    weights = model.coef_.nbytes + model.intercept_.nbytes
    seen = slice(ROWS_TO_PREDICT)
    return {
        "fitted anchors": len(model.anchors_),
        "features of a local model": model.coef_.shape[2],
        "training accuracy": model.score(X[seen], y[seen]),
        "fit s": seconds,
        "processor s": busy,
        "epochs": model.n_iter_,
        **stages,
        "input MB": X.nbytes / MEGABYTE,
        "codes MB": codes / MEGABYTE,
        "weights MB": weights / MEGABYTE,
        "fit adds MB": added / MEGABYTE,
        "beyond codes and weights MB": (added - codes - weights) / MEGABYTE,
    }


# ---- the study -----------------------------------------------------------------------------------


def configurations() -> Iterator[Row]:
    """Classes, anchors and maps, in all combinations."""
    for n_classes, anchors, feature_map in product(CLASSES, ANCHORS, MAPS):
        yield {"classes": n_classes, "anchors": anchors, "map": feature_map}


def best_fit(configuration: Row, n_rows: int, arguments: argparse.Namespace) -> Row:
    """The least disturbed run out of several fresh processes."""
    options = {**configuration, "rows": n_rows, "seed": arguments.seed, "n-jobs": arguments.n_jobs}
    typed = [part for name, value in options.items() for part in (f"--{name}", str(value))]
    runs = [in_fresh_process(["--one", *typed]) for _ in range(arguments.repeats)]
    best = min(runs, key=lambda run: run["fit s"])
    return {**configuration, "rows": n_rows, **best}


def exponent(rows: list[Row], seconds: list[float]) -> float:
    """Slope of the straight line through (log rows, log seconds)."""
    sizes = np.log([row["rows"] for row in rows])
    return float(np.polyfit(sizes, np.log(seconds), 1)[0])


def fit_exponents(rows: list[Row]) -> Row:
    """How seconds and processor seconds of the fit grow."""
    return {
        "fit exponent": exponent(rows, [row["fit s"] for row in rows]),
        "processor exponent": exponent(rows, [row["processor s"] for row in rows]),
    }


def exponents(configuration: Row, rows: list[Row]) -> Row:
    """How the fit, its epochs and the cost of an epoch grow, and the memory at the largest size."""
    return {
        **configuration,
        **fit_exponents(rows),
        "number of epochs exponent": exponent(rows, [row["epochs"] for row in rows]),
        "epoch exponent": exponent(rows, [row["epochs s"] / row["epochs"] for row in rows]),
        "codes exponent": exponent(rows, [row["codes s"] for row in rows]),
        "µs per row, smallest": 1e6 * rows[0]["fit s"] / rows[0]["rows"],
        "µs per row, largest": 1e6 * rows[-1]["fit s"] / rows[-1]["rows"],
        "beyond codes and weights MB": rows[-1]["beyond codes and weights MB"],
    }


def study(arguments: argparse.Namespace) -> None:
    """All configurations over all sizes."""
    sizes = QUICK_SIZES if arguments.quick else SIZES
    fits: list[Row] = []
    slopes: list[Row] = []
    for configuration in configurations():
        rows = [best_fit(configuration, n_rows, arguments) for n_rows in sizes]
        print_table(rows, ", ".join(f"{name}: {value}" for name, value in configuration.items()))
        fits += rows
        slopes.append(exponents(configuration, rows))
    print_table(slopes, "Exponents")
    write_result(
        "scaling",
        environment(arguments.seed),
        [
            *({"part": "exponents", **rounded(row)} for row in slopes),
            *({"part": "fits", **rounded(row)} for row in fits),
        ],
        tracked=not arguments.quick,
    )


def main() -> None:
    """Run the study, or the one fit that the study asks a fresh process for."""
    parser = argument_parser(__doc__, repeats=3)
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--rows", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--classes", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--anchors", help=argparse.SUPPRESS)
    parser.add_argument("--map", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(fit_once(arguments)))
    else:
        study(arguments)


if __name__ == "__main__":
    main()
