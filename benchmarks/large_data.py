"""Peak memory and time of a fit to a file that is larger than the memory it may take.

    python -m benchmarks.large_data npy
    python -m benchmarks.large_data csv --gigabytes 2
    python -m benchmarks.large_data objectives
    python -m benchmarks.large_data covtype
    python -m benchmarks.large_data millions
    python -m benchmarks.large_data indicators --repeats 2

Rows of 500 features vary mostly along 10 directions, in which the classes are waves. They are
written to a file (npy, or CSV); ``datasets.stream`` reads it and ``fit_stream`` is fitted to it, in
a fresh process. Memory is the peak of that process (no file is mapped into it) beyond its peak
after all imports and a fit to a few rows. The files are deleted at the end.

The objective is compared on a part of the rows: fit and fit_stream with the same gate, in 20
blocks, from rows as they come and from rows sorted by class; and how many passes it takes with more
or fewer epochs at each visit of a block.

Three parts have rows in memory. ``covtype`` (581,012 × 54, seven classes, in the folder that
``HYPERLOCAL_DATA`` names): error on a fifth of the rows and seconds, beside boosted trees, a linear
SVM and scikit-learn-intelex's SVC of a sample; and objectives of the same model (linear local
models, one gate) by fit, by fit_stream and by Dask. ``millions``: a hundred thousand to ten million
synthetic rows of two classes, each fitted in a fresh process (see ``scaling.py``), the share of
training rows that are right, and the exponents of seconds and processor seconds. ``indicators``:
250,000 rows of categories, one-hot encoded, with as many seeds as repeats, beside LightGBM and
logistic regression.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from hyperlocal import LocallyLinearSVC
from hyperlocal.dask import DaskLocallyLinearSVC
from hyperlocal.datasets import load_dataset, stream
from hyperlocal.estimators import streaming
from hyperlocal.model.chain_settings import ChainSettings
from hyperlocal.solvers import blocks as block_descent
from hyperlocal.solvers.stored import StoredProblem

from . import scaling
from .common import (
    MEGABYTE,
    Row,
    argument_parser,
    environment,
    in_fresh_process,
    light_gbm,
    peak_bytes,
    print_table,
    rounded,
    stage_seconds,
    timed,
    write_result,
)
from .parts.indicators import compare_indicators
from .real_tables import Thinned

N_FEATURES = 500
N_DIRECTIONS = 10
N_ANCHORS = 200
LOCAL_MODELS = {"n_anchors": N_ANCHORS, "n_neighbors": 4, "feature_map": None, "C": 3.0}
NOISE = 0.3
LABEL_NOISE = 0.05
ROWS_AT_A_TIME = 5_000
# Numbers of the CSV file have three decimals between these bounds: so many different cells.
LARGEST = 8.0
STEPS = 1000
GIGABYTE = 1e9
COMPARED_ROWS = 100_000
MILLIONS = (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
IN_MEMORY = ("objectives", "covtype", "millions", "indicators")
QUICK_MILLIONS = (10_000, 30_000, 100_000)
PEERS = ("lightgbm", "scikit-learn-intelex")
INDICATOR_ROWS = 250_000
SVC_ROWS = 10_000
COMPARED_BLOCKS = 20
EPOCHS_PER_VISIT = (1, 2, 3, 5, 10)
TOLERANCE = 0.01
TOLERANCE_TO_COMPARE = 1e-3
STAGES = {
    "read and write s": (streaming, "collect_stream"),
    "gate s": (ChainSettings, "fit"),
    "codes s": (StoredProblem, "prepare"),
    "passes s": (block_descent.BlockDescent, "run_pass"),
    "exact gap s": (block_descent.BlockDescent, "check"),
}


# ---- data ----------------------------------------------------------------------------------------


def row_blocks(n_rows: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows and labels, some at a time."""
    rng = np.random.default_rng(seed)
    scale = np.float32(1 / np.sqrt(N_DIRECTIONS))
    mixing = scale * rng.standard_normal((N_DIRECTIONS, N_FEATURES), np.float32)
    wave = rng.standard_normal((N_DIRECTIONS, 3), np.float32)
    noise = np.float32(NOISE) * rng.standard_normal((ROWS_AT_A_TIME, N_FEATURES), np.float32)
    for begin in range(0, n_rows, ROWS_AT_A_TIME):
        n = min(ROWS_AT_A_TIME, n_rows - begin)
        hidden = rng.standard_normal((n, N_DIRECTIONS), np.float32)
        X = hidden @ mixing
        # Fresh noise would take most of the time: each block has the same, shifted.
        X += np.roll(noise, rng.integers(noise.size))[:n]
        y = np.cos(0.5 * hidden @ wave).sum(axis=1) > 1
        yield X, (y ^ (rng.random(n) < LABEL_NOISE)).astype(np.int8)


def write_npy(folder: Path, n_bytes: float, seed: int) -> tuple[Path, str]:
    """An array of float32, and the labels in a file of their own."""
    n_rows = int(n_bytes / (4 * N_FEATURES))
    rows, labels = folder / "rows.npy", folder / "labels.npy"
    header = {"descr": "<f4", "fortran_order": False, "shape": (n_rows, N_FEATURES)}
    y = np.empty(n_rows, np.int8)
    with open(rows, "wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        begin = 0
        for X, part in row_blocks(n_rows, seed):
            file.write(X.data)
            y[begin : begin + len(part)] = part
            begin += len(part)
    np.save(labels, y)
    return rows, str(labels)


def write_csv(folder: Path, n_bytes: float, seed: int) -> tuple[Path, str]:
    """Numbers of three decimals; the label is the last column."""
    values = np.linspace(-LARGEST, LARGEST, STEPS + 1)
    cells = np.array([f"{value:.3f},".encode() for value in values])
    longest = cells.itemsize
    numbers = np.zeros((len(cells), longest), np.uint8)
    for i, cell in enumerate(cells):  # leading spaces make all cells equally long
        numbers[i] = np.frombuffer(cell.rjust(longest), np.uint8)
    path = folder / "rows.csv"
    n_rows = int(n_bytes / (N_FEATURES * longest + 2))
    with open(path, "wb") as file:
        file.write(",".join([*(f"f{j}" for j in range(N_FEATURES)), "label"]).encode() + b"\n")
        for X, y in row_blocks(n_rows, seed):
            place = (np.clip(X, -LARGEST, LARGEST) + LARGEST) * (STEPS / (2 * LARGEST))
            text = numbers[np.rint(place).astype(np.int16)].reshape(len(X), -1)
            ends = np.column_stack([y.astype(np.uint8) + ord("0"), np.full(len(y), ord("\n"))])
            file.write(np.hstack([text, ends.astype(np.uint8)]).data)
    return path, "label"


WRITERS = {"npy": write_npy, "csv": write_csv}


# ---- one fit, in its own process -----------------------------------------------------------------


def make_model(seed: int, **arguments: Any) -> LocallyLinearSVC:
    """Linear local models on the input."""
    return LocallyLinearSVC(**LOCAL_MODELS, n_jobs=2, random_state=seed, **arguments)


def fit_once(task: argparse.Namespace) -> Row:
    """Fit to the file; return seconds and memory."""
    few = next(row_blocks(1_000, task.seed))
    make_model(task.seed, n_anchors=8).fit_stream([few])
    before = peak_bytes()
    rows = stream(task.data, task.target, dtype=np.float32, cache=task.folder)
    surveyed = timed(lambda: rows.n_rows)
    model = make_model(task.seed, tol=TOLERANCE)
    with stage_seconds(STAGES) as stages:
        seconds = timed(lambda: model.fit_stream(rows, folder=task.folder)).best
    X, y = next(row_blocks(ROWS_AT_A_TIME, task.seed))
    return {
        "rows": surveyed.value,
        "anchors": len(model.anchors_),
        "survey s": surveyed.best,
        "fit s": seconds,
        **stages,
        "passes": model.n_iter_,
        "s per pass": stages["passes s"] / model.n_iter_,
        "relative gap": model.duality_gap_ / model.objective_,
        "training accuracy": model.score(X, y),
        "model MB": (model.coef_.nbytes + model.intercept_.nbytes) / MEGABYTE,
        "peak beyond interpreter MB": (peak_bytes() - before) / MEGABYTE,
        "interpreter MB": before / MEGABYTE,
    }


# ---- the study -----------------------------------------------------------------------------------


def fit_file(kind: str, arguments: argparse.Namespace) -> Row:
    """Write a file (unless there is one), fit to it in a fresh process, delete it."""
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        path, target = arguments.data, arguments.target
        if path is None:
            n_bytes = GIGABYTE * arguments.gigabytes
            path, target = WRITERS[kind](Path(folder), n_bytes, arguments.seed)
        size = Path(path).stat().st_size / GIGABYTE
        typed = [kind, "--one", "--seed", str(arguments.seed), "--folder", folder]
        row = in_fresh_process([*typed, "--data", str(path), "--target", target])
    return {"format": kind, "file GB": size, **row}


def compare_objectives(n_rows: int, seed: int) -> list[Row]:
    """fit and fit_stream with the same gate on the same rows."""
    parts = list(row_blocks(n_rows, seed))
    X, y = (np.concatenate(part) for part in zip(*parts, strict=True))
    given = make_model(seed).fit(X[:16_000], y[:16_000])
    gate = {"anchors": given.anchors_, "beta": given.beta_, "tol": TOLERANCE_TO_COMPARE}
    block_rows = -(-n_rows // COMPARED_BLOCKS)
    whole = make_model(seed, **gate)
    seconds = timed(lambda: whole.fit(X, y)).best
    rows = [{"rows": n_rows, "by": "fit", "epochs or passes": whole.n_iter_, "fit s": seconds}]
    for order, name in (
        (np.arange(n_rows), "fit_stream"),
        (np.argsort(y, kind="stable"), "fit_stream, sorted by class"),
    ):
        model = make_model(seed, **gate)
        blocks = [(X[order], y[order])]
        seconds = timed(lambda: model.fit_stream(blocks, block_rows=block_rows)).best  # noqa: B023
        rows.append(
            {
                "rows": n_rows,
                "by": name,
                "epochs or passes": model.n_iter_,
                "fit s": seconds,
                "objective above fit's": model.objective_ / whole.objective_ - 1,
            }
        )
    for epochs in EPOCHS_PER_VISIT:
        model = make_model(seed, **gate)
        with patch.object(block_descent, "EPOCHS_PER_VISIT", epochs):
            seconds = timed(lambda: model.fit_stream([(X, y)], block_rows=block_rows)).best  # noqa: B023
        row = {"rows": n_rows, "by": f"fit_stream, {epochs} epochs per visit"}
        rows.append({**row, "epochs or passes": model.n_iter_, "fit s": seconds})
    return rows


def covtype_methods(seed: int, n_jobs: int) -> dict[str, Any]:
    """Classifiers at their defaults, with as many threads as they take."""
    return {
        "LocallyLinearSVC": LocallyLinearSVC(random_state=seed, n_jobs=n_jobs),
        "LightGBM": light_gbm(seed, n_jobs),
        "HistGradientBoosting": HistGradientBoostingClassifier(random_state=seed),
        "LinearSVC": LinearSVC(random_state=seed),
        f"SVC(C=10), {SVC_ROWS} rows": Thinned(fast_svc(), SVC_ROWS),
    }


def fast_svc() -> Any:
    """scikit-learn-intelex's SVC."""
    from sklearnex.svm import SVC

    return SVC(C=10)


def covtype_objectives(X: np.ndarray, y: np.ndarray, n_jobs: int, seed: int) -> list[Row]:
    """One model by fit, in blocks, and on a cluster of this machine, to the same tolerance."""
    given = make_model(seed).fit(X[:16_000], y[:16_000])
    gate = {"anchors": given.anchors_, "beta": given.beta_, "tol": TOLERANCE_TO_COMPARE}
    whole, streamed = make_model(seed, **gate), make_model(seed, **gate)
    on_dask = DaskLocallyLinearSVC(**LOCAL_MODELS, **gate, random_state=seed)
    block_rows = -(-len(y) // COMPARED_BLOCKS)

    def fit_on_dask() -> None:
        workers = {"n_workers": n_jobs, "threads_per_worker": 1, "dashboard_address": None}
        with LocalCluster(**workers) as cluster, Client(cluster):
            parts = [da.from_array(one, chunks=(block_rows, *one.shape[1:])) for one in (X, y)]
            on_dask.fit(*parts)

    rows: list[Row] = []
    for name, model, fit in (
        ("fit", whole, lambda: whole.fit(X, y)),
        ("fit_stream", streamed, lambda: streamed.fit_stream([(X, y)], block_rows=block_rows)),
        ("Dask", on_dask, fit_on_dask),
    ):
        seconds = timed(fit).best
        above = model.objective_ / whole.objective_ - 1
        row = {"method": f"linear local models by {name}", "training rows": len(y)}
        rows.append({**row, "fit s": seconds, "objective above fit's": above})
        print_table(rows[-1:])
    return rows


def compare_covtype(n_rows: int | None, n_jobs: int, seed: int) -> list[Row]:
    """Error and seconds of each method, one after the other, on standardized features."""
    data = load_dataset("covtype")
    X, y = np.asarray(data.X_train, np.float32), np.asarray(data.y_train)
    if n_rows is not None:
        X, y = X[:n_rows], y[:n_rows]
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, stratify=y, random_state=seed)
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    rows = []
    for name, model in covtype_methods(seed, n_jobs).items():
        before = time.process_time()
        fit = timed(lambda: model.fit(X, y))  # noqa: B023
        busy = time.process_time() - before
        predict = timed(lambda: fit.value.predict(X_test))  # noqa: B023
        row = {"method": name, "training rows": len(y), "threads": n_jobs}
        error = 100 * float(np.mean(predict.value != y_test))
        times = {"fit s": fit.best, "processor s": busy, "predict s": predict.best}
        rows.append({**row, "error %": error, **times})
        print_table(rows[-1:])
    return rows + covtype_objectives(X, y, n_jobs, seed)


def fit_millions(sizes: Sequence[int], n_jobs: int, seed: int) -> list[Row]:
    """Fits in fresh processes, and how their seconds grow with the rows."""
    given = {"anchors": "auto", "map": "default", "classes": 2, "seed": seed, "n-jobs": n_jobs}
    typed = [part for name, value in given.items() for part in (f"--{name}", str(value))]
    rows = []
    for n_rows in sizes:
        found = in_fresh_process(["millions", "--one", "--rows", str(n_rows), *typed])
        rows.append({"rows": n_rows, **found})
        print_table(rows[-1:])
    return [*rows, scaling.fit_exponents(rows)]


def study(arguments: argparse.Namespace) -> list[Row]:
    """One part."""
    if arguments.part == "covtype":
        n_rows = 10_000 if arguments.quick else None
        return compare_covtype(n_rows, arguments.n_jobs, arguments.seed)
    if arguments.part == "millions":
        sizes = QUICK_MILLIONS if arguments.quick else MILLIONS
        return fit_millions(sizes, arguments.n_jobs, arguments.seed)
    if arguments.part == "indicators":
        seeds = range(arguments.seed, arguments.seed + arguments.repeats)
        return compare_indicators(INDICATOR_ROWS // (50 if arguments.quick else 1), seeds)
    if arguments.part != "objectives":
        return [fit_file(arguments.part, arguments)]
    n_rows = COMPARED_ROWS // 20 if arguments.quick else COMPARED_ROWS
    return compare_objectives(n_rows, arguments.seed)


def main() -> None:
    """Run a part of the study, or the one fit that it asks a fresh process for."""
    parser = argument_parser(__doc__, repeats=1)
    parser.add_argument("part", choices=[*WRITERS, *IN_MEMORY])
    parser.add_argument("--gigabytes", type=float, default=10.0, help="size of the file")
    parser.add_argument("--folder", help="where to write (default: among temporary files)")
    parser.add_argument("--write", action="store_true", help="only write the file, to --folder")
    parser.add_argument("--data", help="a file that --write wrote")
    parser.add_argument("--target", help="its labels")
    parser.add_argument("--n-jobs", type=int, default=2, help="threads of covtype and millions")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    for name, kind in (("rows", int), ("classes", int), ("anchors", str), ("map", str)):
        parser.add_argument(f"--{name}", type=kind, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.write:
        n_bytes = GIGABYTE * arguments.gigabytes
        print(*WRITERS[arguments.part](Path(arguments.folder or "."), n_bytes, arguments.seed))
        return
    if arguments.one:
        fit = scaling.fit_once if arguments.part == "millions" else fit_once
        print(json.dumps(fit(arguments)))
        return
    if arguments.quick:
        arguments.gigabytes = 0.05
    rows = study(arguments)
    print_table(rows)
    write_result(
        f"large_data_{arguments.part}", environment(arguments.seed, PEERS), map(rounded, rows),
        tracked=not arguments.quick,
    )  # fmt: skip


if __name__ == "__main__":
    main()
