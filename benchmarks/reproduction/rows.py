"""The rows of a cell: a set cut into training and test rows, prepared alike for every method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from hyperlocal.datasets import load_dataset

from .table import SetPlan


@dataclass(frozen=True)
class Rows:
    """Prepared training and test rows."""

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def load_rows(plan: SetPlan, repeat: int) -> Rows:
    """Cut and prepare a set."""
    X_train, X_test, y_train, y_test = _cut(plan, repeat)
    if plan.positive is not None:
        y_train, y_test = (np.where(y == plan.positive, 1, 0) for y in (y_train, y_test))
    X_train, y_train = thinned(X_train, y_train, plan.most_rows)
    X_test, y_test = thinned(X_test, y_test, plan.most_rows)
    preparation = PREPARATIONS[plan.preparation]()
    X_train = preparation.fit_transform(X_train.astype(np.float64)).astype(np.float32)
    X_test = preparation.transform(X_test.astype(np.float64)).astype(np.float32)
    return Rows(X_train, y_train, X_test, y_test)


def _cut(plan: SetPlan, repeat: int) -> Sequence[np.ndarray]:
    data = load_dataset(plan.data or plan.name)
    if plan.train_share is not None:
        X, y = data.all_rows()
        return train_test_split(X, y, train_size=plan.train_share, random_state=repeat)
    if data.X_test is None or data.y_test is None:
        raise ValueError(
            f"{plan.name} has no standard test part here, so its figures could not be compared "
            "with published ones; set HYPERLOCAL_DATA to a folder with a copy that has one"
        )
    return data.X_train, data.X_test, data.y_train, data.y_test


def thinned(X: np.ndarray, y: np.ndarray, n_rows: int | None) -> tuple[np.ndarray, np.ndarray]:
    """At most so many rows, in proportion for each class, in their order."""
    if n_rows is None or n_rows >= len(y):
        return X, y
    kept, _ = train_test_split(np.arange(len(y)), train_size=n_rows, stratify=y, random_state=0)
    kept.sort()
    return X[kept], y[kept]


def folds_of(plan: SetPlan, n_folds: int) -> Any:
    """How training rows are cut to choose settings; rows of a series stay together."""
    if plan.validation == "blocks":
        return KFold(n_folds)
    return StratifiedKFold(n_folds, shuffle=True, random_state=0)


def _unit_pixels(X: np.ndarray) -> np.ndarray:
    return X / 255.0


def _spread_only() -> StandardScaler:
    """Features of standard deviation 1 at their own place."""
    return StandardScaler(with_mean=False)


PREPARATIONS = {
    "as-it-is": FunctionTransformer,
    "impute": lambda: make_pipeline(SimpleImputer(), StandardScaler()),
    "one-hot": lambda: make_pipeline(
        OneHotEncoder(handle_unknown="ignore", sparse_output=False), StandardScaler()
    ),
    "pixels": lambda: FunctionTransformer(_unit_pixels),
    "standardize": StandardScaler,
    "unit-deviation": _spread_only,
}
