"""Sets and splits of the benchmarks of neighborhoods."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from hyperlocal.datasets import load_dataset
from hyperlocal.preprocessing import MEGM

N_COMPONENTS = 50


NOMINAL = ("hayes-roth", "monks-3", "tic-tac-toe")


QUICK_ROWS = 300


@dataclass(frozen=True)
class Split:
    """Training and test rows, scaled by the training rows alone."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    def mapped(self, metric: MEGM) -> Split:
        """Both parts in a learned space."""
        return Split(metric.transform(self.X), self.y, metric.transform(self.X_test), self.y_test)


def log_size(k: float) -> Callable[[int], float]:
    """The papers' size of a neighborhood, ``k log2 N``."""
    return lambda n_rows: k * math.log2(n_rows)


def standard_split(name: str, *, n_test: int | None = None, quick: bool = False) -> Split:
    """A published split: digits on 50 principal components or as pixels, letters standardised."""
    data = load_dataset(name)
    n_train = 10 * QUICK_ROWS if quick else None
    n_test = QUICK_ROWS if quick else n_test
    X, y = data.X_train[:n_train].astype(np.float32), data.y_train[:n_train]
    X_test, y_test = data.X_test[:n_test].astype(np.float32), data.y_test[:n_test]
    if name == "mnist":
        return Split(X / 255, y, X_test / 255, y_test)
    scaler = StandardScaler() if name == "letter" else PCA(N_COMPONENTS, random_state=0)
    X = scaler.fit_transform(X)
    return Split(X, y, scaler.transform(X_test), y_test)


def two_folds(name: str, repeats: int, seed: int) -> Iterator[Split]:
    """Two-fold cross-validation; nominal features one-hot, then all standardised."""
    X, y = load_dataset(name).all_rows()
    X = X.astype(np.float64)
    folds = RepeatedStratifiedKFold(n_splits=2, n_repeats=repeats, random_state=seed)
    for train, test in folds.split(X, y):
        steps = [SimpleImputer()] if np.isnan(X).any() else []
        if name in NOMINAL:
            steps.append(OneHotEncoder(handle_unknown="ignore", sparse_output=False))
        scaler = make_pipeline(*steps, StandardScaler()).fit(X[train])
        yield Split(scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test])


def drawn(
    name: str, n_train: int, n_test: int, repeats: int, seed: int, *, standardise: bool
) -> Iterator[Split]:
    """The paper's protocol for images: a few rows per class, 50 principal components."""
    X, y = load_dataset(name).all_rows()
    X = X.astype(np.float64)
    n_classes = len(np.unique(y))
    splits = StratifiedShuffleSplit(
        repeats, train_size=n_train * n_classes, test_size=n_test * n_classes, random_state=seed
    )
    for train, test in splits.split(X, y):
        steps = [PCA(N_COMPONENTS, random_state=0), *([StandardScaler()] if standardise else [])]
        scaler = make_pipeline(*steps).fit(X[train])
        yield Split(scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test])


def score(model: object, split: Split) -> float:
    """Accuracy in percent."""
    return 100 * model.fit(split.X, split.y).score(split.X_test, split.y_test)
