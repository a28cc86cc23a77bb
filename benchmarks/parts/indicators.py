"""Made-up rows of categories, one-hot encoded: 128 indicators, 8 or 16 of them one in a row."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from hyperlocal import LocallyLinearSVC

from ..common import Row, light_gbm, print_table

EQUAL = (16,) * 8
MIXED = (2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 9, 10, 12, 14, 17, 22)
# Numbers of values of each column, pairs of columns that count together, and the deviation of the
# table of such a pair, where effects of single values have a deviation of one.
KINDS: dict[str, tuple[tuple[int, ...], list[tuple[int, int]], float]] = {
    "8 columns, no pairs": (EQUAL, [], 0.0),
    "8 columns, one pair": (EQUAL, [(2, 5)], 3.0),
    "8 columns, all pairs": (EQUAL, list(combinations(range(8), 2)), 0.5),
    "16 columns, one pair": (MIXED, [(9, 12)], 3.0),
}
N_TEST = 50_000
METHODS: dict[str, Callable[[int], Any]] = {
    "LocallyLinearSVC": lambda seed: LocallyLinearSVC(random_state=seed),
    "LightGBM": light_gbm,
    "LogisticRegression": lambda seed: LogisticRegression(max_iter=1000),
}


def indicator_rows(kind: str, n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Dense rows of indicators, and labels drawn by the logistic function of their effects."""
    sizes, pairs, deviation = KINDS[kind]
    rng = np.random.default_rng(seed)
    values = np.column_stack([rng.integers(0, size, n_rows) for size in sizes])
    effects = sum(
        rng.standard_normal(size)[column] for size, column in zip(sizes, values.T, strict=True)
    )
    for i, j in pairs:
        table = deviation * rng.standard_normal((sizes[i], sizes[j]))
        effects += table[values[:, i], values[:, j]]
    X = np.hstack(
        [np.eye(size, dtype=np.float32)[v] for size, v in zip(sizes, values.T, strict=True)]
    )
    return X, rng.random(n_rows) < 1 / (1 + np.exp(-(effects - effects.mean())))


def compare_indicators(n_rows: int, seeds: range) -> list[Row]:
    """Error and processor seconds on one thread, of each kind of rows, seed and method."""
    rows: list[Row] = []
    for kind in KINDS:
        for seed in seeds:
            X, y = indicator_rows(kind, n_rows + N_TEST, seed)
            fits = {name: make(seed) for name, make in METHODS.items()}
            for name, model in fits.items():
                start = time.process_time()
                model.fit(X[:n_rows], y[:n_rows])
                middle = time.process_time()
                wrong = model.predict(X[n_rows:]) != y[n_rows:]
                rows.append({
                    "rows": kind, "seed": seed, "method": name,
                    "error %": 100 * float(wrong.mean()),
                    "fit s": middle - start, "predict s": time.process_time() - middle,
                })  # fmt: skip
                print_table(rows[-1:])
    return rows
