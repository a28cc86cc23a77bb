"""Packages that a user might take instead: errors, time, and what they say about one prediction.

Everything has its default settings and one thread; features are standardized. Training rows are at
most 4,000, drawn by the seed, so that the slowest package can be waited for. Times are processor
seconds, which other processes of the machine hardly change. xRFM gets a fifth of the training
rows to stop by, as it demands.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

from hyperlocal import LocallyLinearSVC
from hyperlocal.datasets import load_dataset

from .common import (
    Row,
    argument_parser,
    environment,
    light_gbm,
    print_table,
    rounded,
    write_result,
)

PEERS = ["liblinear-multicore", "scikit-learn-intelex", "lightgbm", "interpret-core", "xrfm"]
MOST_ROWS = 4000
SETS = ("svmguide1", "magic04")


def intelex(seed: int) -> Any:
    """scikit-learn-intelex's RBF SVM."""
    from sklearnex.svm import SVC as FastSVC

    return FastSVC()


def linear_trees(seed: int) -> Any:
    """LightGBM with linear models in its leaves."""
    return light_gbm(seed, linear_tree=True)


def additive(seed: int) -> Any:
    """Explainable boosting machine."""
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(n_jobs=1, random_state=seed)


class FeatureMachine(BaseEstimator):
    """xRFM, with a fifth of the rows held out for its stopping."""

    def __init__(self, seed: int):
        self.seed = seed

    def fit(self, X: np.ndarray, y: np.ndarray) -> FeatureMachine:
        """Fit to float32 rows."""
        import torch
        from xrfm import xRFM

        torch.set_num_threads(1)
        torch.manual_seed(self.seed)
        self.classes_, codes = np.unique(y, return_inverse=True)
        X_fit, X_held, y_fit, y_held = train_test_split(
            X.astype(np.float32), codes, test_size=0.2, random_state=self.seed, stratify=codes
        )
        self.model_ = xRFM(device="cpu", random_state=self.seed)
        self.model_.fit(X_fit, y_fit, X_held, y_held)
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Probabilities of classes."""
        return np.asarray(self.model_.predict_proba(X.astype(np.float32)))

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Labels of rows."""
        return self.classes_[np.asarray(self.model_.predict(X.astype(np.float32))).ravel()]


@dataclass(frozen=True)
class Package:
    """A classifier, and what it says about one prediction."""

    name: str
    make: Callable[[int], Any]
    explains: str


PACKAGES = (
    Package(
        "hyperlocal LocallyLinearSVC", lambda seed: LocallyLinearSVC(random_state=seed),
        "exact contributions of features",
    ),
    Package("scikit-learn SVC", lambda seed: SVC(), "nothing"),
    Package("scikit-learn-intelex SVC", intelex, "nothing"),
    Package(
        "LIBLINEAR (LinearSVC)", lambda seed: LinearSVC(random_state=seed),
        "the same weights for all rows",
    ),
    Package("LightGBM, linear trees", linear_trees, "nothing: `pred_contrib` is refused"),
    Package("EBM (interpret)", additive, "exact contributions of features and pairs"),
    Package("xRFM", FeatureMachine, "nothing; features' weights per leaf"),
)  # fmt: skip


def split(name: str, seed: int) -> tuple[np.ndarray, ...]:
    """Standardized training and test rows with labels."""
    data = load_dataset(name)
    if data.has_test_part:
        X_train, X_test, y_train, y_test = data.X_train, data.X_test, data.y_train, data.y_test
    else:
        X_train, X_test, y_train, y_test = train_test_split(*data.all_rows(), random_state=seed)
    if len(y_train) > MOST_ROWS:
        X_train, _, y_train, _ = train_test_split(
            X_train, y_train, train_size=MOST_ROWS, random_state=seed, stratify=y_train
        )
    scaler = StandardScaler().fit(X_train)
    return scaler.transform(X_train), scaler.transform(X_test), y_train, y_test


def measure(package: Package, name: str, seeds: range) -> Row:
    """Mean error and processor seconds of a package on one set."""
    errors, fits, predictions = [], [], []
    for seed in seeds:
        X_train, X_test, y_train, y_test = split(name, seed)
        model = package.make(seed)
        with threadpool_limits(1):
            start = time.process_time()
            model.fit(X_train, y_train)
            middle = time.process_time()
            labels = model.predict(X_test)
            end = time.process_time()
        errors.append(np.mean(labels != y_test))
        fits.append(middle - start)
        predictions.append((end - middle) / len(y_test))
    return {
        "set": f"{name}, {len(y_train):,} rows",
        "package": package.name,
        "error %": float(100 * np.mean(errors)),
        "sd": float(100 * np.std(errors)),
        "fit s": float(np.median(fits)),
        "predict µs per row": float(1e6 * np.median(predictions)),
        "explains one prediction by": package.explains,
    }


def measured(packages: tuple[Package, ...], seeds: range) -> Iterator[Row]:
    """A row for each set and package, printed as it is found."""
    for name in SETS:
        for package in packages:
            row = measure(package, name, seeds)
            print(f"{row['set']}, {package.name}: {row['error %']:.2f} %", flush=True)
            yield row


def main() -> None:
    """Measure all packages and track."""
    arguments = argument_parser(__doc__, repeats=1).parse_args()
    warnings.simplefilter("ignore")  # of the peers
    seeds = range(arguments.seed, arguments.seed + (1 if arguments.quick else arguments.repeats))
    packages = PACKAGES[:2] if arguments.quick else PACKAGES
    rows = [rounded(row) for row in measured(packages, seeds)]
    print_table(rows)
    write_result("similar", environment(arguments.seed, PEERS), rows, tracked=not arguments.quick)


if __name__ == "__main__":
    main()
