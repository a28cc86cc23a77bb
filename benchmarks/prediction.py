"""Prediction against the bare GEMMs that it needs.

A model's scores need, for each anchor j, the product of the ``n_j`` rows that use it with a
``p × c`` block of weights. Those products alone, on arrays gathered beforehand, are the floor;
``decision_function`` starts from rows as the user has them: it checks them, codes them, maps them,
gathers them, multiplies and adds up.

One row at a time, of 30 features: ``predict`` with its checks and ``model_.scorer()`` without, of a
model of 30 anchors, beside other libraries' ways to predict a row.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnxruntime
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from hyperlocal import LocallyLinearSVC
from hyperlocal.estimators import base
from hyperlocal.export import to_onnx
from hyperlocal.model.lifting import LiftedRows
from hyperlocal.model.local_model import LocalModel
from hyperlocal.runtime.threads import Workers

from .common import (
    Row,
    argument_parser,
    environment,
    light_gbm,
    print_table,
    rounded,
    stage_seconds,
    timed_in_turns,
    write_result,
)

N_NEIGHBORS = 8
TRAINING_ROWS = 4_000
ONE_ROW_FEATURES = ONE_ROW_ANCHORS = 30
ROWS_IN_A_ROW = 200
PEERS = ("lightgbm", "onnxruntime")
STAGES = {
    "checks": (base, "check_rows"),
    "codes": (LocalModel, "encode"),
    "lifting": (LocalModel, "lift_stored"),
    "scores": (LiftedRows, "scores"),
}


@dataclass(frozen=True)
class Shape:
    """A model and how many rows it predicts."""

    name: str
    n_rows: int
    n_features: int
    n_classes: int
    n_anchors: int
    feature_map: str | None = None


SHAPES = (
    Shape("c = 10, p = 784", 10_000, 784, 10, 100),
    Shape("c = 10, p = 1325 (quadratic)", 10_000, 50, 10, 30, "quadratic"),
    Shape("c = 26, p = 16", 40_000, 16, 26, 100),
    Shape("c = 100, p = 256", 10_000, 256, 100, 100),
)


def make_model(shape: Shape, rng: np.random.Generator, seed: int) -> LocallyLinearSVC:
    """A model of the shape; one epoch gives it weights, and no more is asked of them."""
    X = rng.standard_normal((TRAINING_ROWS, shape.n_features), np.float32)
    y = np.arange(TRAINING_ROWS) % shape.n_classes
    model = LocallyLinearSVC(
        shape.n_anchors, n_neighbors=N_NEIGHBORS, feature_map=shape.feature_map, max_iter=1,
        random_state=seed,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


def bare_products(
    shape: Shape, model: LocallyLinearSVC, X: np.ndarray, workers: Workers
) -> tuple[Callable[[], list], int]:
    """The products alone, ready to run on gathered arrays, and how many flops they make."""
    phi = model.model_.feature_map.mapped(X)
    anchors = model.model_.encode(X, workers).anchors
    gathered = [
        np.ascontiguousarray(phi[(anchors == anchor).any(axis=1)])
        for anchor in range(len(model.anchors_))
    ]
    weights = [np.ascontiguousarray(blocks.T) for blocks in model.coef_]
    scores = [np.empty((len(rows), shape.n_classes), X.dtype) for rows in gathered]
    operands = list(zip(gathered, weights, scores, strict=True))
    flops = 2 * shape.n_classes * sum(rows.size for rows in gathered)
    return lambda: workers.map(lambda item: np.dot(item[0], item[1], out=item[2]), operands), flops


def compare(shape: Shape, n_jobs: int, seed: int, repeats: int) -> Row:
    """Times of both, in turns, each on ``n_jobs`` threads, and where ours goes."""
    rng = np.random.default_rng(seed)
    model = make_model(shape, rng, seed).set_params(n_jobs=n_jobs)
    X = rng.standard_normal((shape.n_rows, shape.n_features), np.float32)
    with Workers(n_jobs) as workers:
        products, flops = bare_products(shape, model, X, workers)
        runs = {"ours": lambda: model.decision_function(X), "products": products}
        timings = timed_in_turns(runs, repeats)
        with stage_seconds(STAGES) as stages:
            model.decision_function(X)
    ours, bare = timings["ours"], timings["products"]
    return {
        "shape": shape.name,
        "threads": n_jobs,
        "rows": shape.n_rows,
        "anchors": shape.n_anchors,
        "decision_function s": ours.best,
        "bare products s": bare.best,
        "ratio": ours.best / bare.best,
        "ratio (median)": ours.median / bare.median,
        "µs per row": 1e6 * ours.best / shape.n_rows,
        "bare Gflop/s": flops / bare.best / 1e9,
        **{f"{stage} s": seconds for stage, seconds in stages.items()},
    }


def one_row_runs(n_classes: int, seed: int) -> dict[str, Callable[[], Any]]:
    """Ways to predict one row; all models are of the same rows."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((TRAINING_ROWS, ONE_ROW_FEATURES), np.float32)
    y = (X**2 @ rng.standard_normal((ONE_ROW_FEATURES, n_classes))).argmax(axis=1)
    row, matrix = X[0], X[:1]
    ours = LocallyLinearSVC(ONE_ROW_ANCHORS, C=1.0, feature_map=None, random_state=seed).fit(X, y)
    scorer = ours.model_.scorer(ours.classes_)
    session = onnxruntime.InferenceSession(
        to_onnx(ours).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    name = session.get_inputs()[0].name
    linear = LogisticRegression().fit(X, y)
    kernel = SVC().fit(X, y)
    trees = light_gbm(seed).fit(X, y).booster_
    return {
        "model_.scorer()": lambda: scorer(row),
        "LocallyLinearSVC.predict": lambda: ours.predict(matrix),
        "LocallyLinearSVC by onnxruntime": lambda: session.run(None, {name: matrix}),
        "LogisticRegression.predict": lambda: linear.predict(matrix),
        "SVC.predict": lambda: kernel.predict(matrix),
        "LightGBM, booster.predict": lambda: trees.predict(matrix, num_threads=1),
    }


def one_row(n_classes: int, seed: int, repeats: int) -> list[Row]:
    """Microseconds of one row each way, in turns."""

    def many(run: Callable[[], Any]) -> Callable[[], None]:
        def repeat() -> None:
            for _ in range(ROWS_IN_A_ROW):
                run()

        return repeat

    runs = {name: many(run) for name, run in one_row_runs(n_classes, seed).items()}
    return [
        {"one row by": name, "classes": n_classes, "µs": 1e6 * timing.best / ROWS_IN_A_ROW}
        for name, timing in timed_in_turns(runs, repeats).items()
    ]


def main() -> None:
    """Compare all shapes and track."""
    arguments = argument_parser(__doc__, repeats=15).parse_args()
    threads = [1] if os.cpu_count() == 1 else [1, 2]
    repeats = min(3, arguments.repeats) if arguments.quick else arguments.repeats
    rows = [
        compare(shape, n_jobs, arguments.seed, repeats) for shape in SHAPES for n_jobs in threads
    ]
    print_table(rows)
    alone = [row for n_classes in (2, 10) for row in one_row(n_classes, arguments.seed, repeats)]
    print_table(alone)
    write_result(
        "prediction",
        environment(arguments.seed, PEERS),
        [rounded(row) for row in (*rows, *alone)],
        tracked=not arguments.quick,
    )


if __name__ == "__main__":
    main()
