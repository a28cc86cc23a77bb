"""Times of KernelExplainer beside exact contributions, and its error where the values are known."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.svm import SVC

from hyperlocal import LocallyLinearSVC, explain
from hyperlocal.linear import SDCASVC

from ..common import Row
from .attributions import kernel_shap


def measure_shap(seed: int, X: np.ndarray, y: np.ndarray, n_rows: int) -> list[Row]:
    """Processor milliseconds of a row, relative to the same eight references.

    Shapley values of a linear model are its weights times the differences from the mean of the
    references: there the error is known, as a share of the sum of their absolute values.
    """
    train, test = X[:3_000], X[3_000 : 3_000 + n_rows]
    background = X[:8] - X[:8].mean(axis=0) + train.mean(axis=0)
    rows: list[Row] = []
    for name, model in {
        "LocallyLinearSVC": LocallyLinearSVC(C=1.0, relevance=None, random_state=seed),
        "SVC": SVC(),
        "SDCASVC": SDCASVC(random_state=seed),
    }.items():
        model.fit(train, y[:3_000])
        exact, own_time = _timed(lambda model=model: explain(model, X[3_000:], background))
        sampled, time_of_shap = _timed(lambda model=model: kernel_shap(model, test, background))
        row: Row = {
            "measure": "shap", "model": name,
            "explain, CPU ms a row": 1e3 * own_time / (len(X) - 3_000),
            "KernelExplainer, CPU ms a row": 1e3 * time_of_shap / n_rows,
        }  # fmt: skip
        if name == "SDCASVC":
            known = model.coef_[0] * (test - background.mean(axis=0))
            row["error of explain"] = _share(exact.contributions[:n_rows, 0], known)
            row["error of KernelExplainer"] = _share(sampled, known)
        rows.append(row)
        print(row, flush=True)
    return rows


def _share(found: np.ndarray, known: np.ndarray) -> float:
    return float(np.abs(found - known).sum() / np.abs(known).sum())


def _timed(run: Any) -> tuple[Any, float]:
    begin = time.process_time()
    return run(), time.process_time() - begin
