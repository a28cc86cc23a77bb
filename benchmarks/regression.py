"""Regression: R², seconds of fits and of predictions, against scikit-learn and LightGBM.

Everything has its default settings (``SVR`` ten times its default ``C``) and one thread; features
are standardized, and so are the values of ``SVR``, which needs that. Training rows are at most
6,000, drawn by the seed; all other rows are test rows. Times are processor seconds, which other
processes of the machine hardly change.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from threadpoolctl import threadpool_limits

from hyperlocal import LocallyLinearSVR
from hyperlocal.datasets import load_dataset

from .common import Row, argument_parser, environment, print_table, rounded, write_result

MOST_ROWS = 6000
SETS = ("diabetes", "compactiv", "puma32h", "california", "casp")
MEASURED = ("R²", "fit s", "predict µs per row")


def boosted_trees(seed: int) -> Any:
    """LightGBM."""
    from lightgbm import LGBMRegressor

    return LGBMRegressor(n_jobs=1, verbose=-1, random_state=seed)


def kernel_machine(seed: int) -> Any:
    """SVR on standardized values."""
    return TransformedTargetRegressor(SVR(C=10), transformer=StandardScaler())


METHODS: dict[str, Callable[[int], Any]] = {
    "LocallyLinearSVR": lambda seed: LocallyLinearSVR(random_state=seed, n_jobs=1),
    'LocallyLinearSVR, relevance="gradient"': lambda seed: LocallyLinearSVR(
        relevance="gradient", random_state=seed, n_jobs=1
    ),
    "Ridge": lambda seed: Ridge(),
    "KNeighborsRegressor": lambda seed: KNeighborsRegressor(),
    "SVR(C=10)": kernel_machine,
    "HistGradientBoostingRegressor": lambda seed: HistGradientBoostingRegressor(random_state=seed),
    "LightGBM": boosted_trees,
}


def split(name: str, seed: int) -> list[np.ndarray]:
    """Training and test rows, standardized by the training rows, with values."""
    if name == "diabetes":
        X, y = load_diabetes(return_X_y=True)
    else:
        X, y = load_dataset(name).all_rows()
    n_train = min(MOST_ROWS, 3 * len(y) // 4)
    X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=n_train, random_state=seed)
    scaler = StandardScaler().fit(X_train)
    return [scaler.transform(X_train), scaler.transform(X_test), y_train, y_test]


def measure(name: str, method: str, seed: int) -> Row:
    """R² on the test rows and processor seconds of a method on one set."""
    X_train, X_test, y_train, y_test = split(name, seed)
    model = METHODS[method](seed)
    with threadpool_limits(1):
        start = time.process_time()
        model.fit(X_train, y_train)
        middle = time.process_time()
        predicted = model.predict(X_test)
        end = time.process_time()
    return {
        "set": name,
        "rows": len(y_train),
        "features": X_train.shape[1],
        "method": method,
        "R²": r2_score(y_test, predicted),
        "fit s": middle - start,
        "predict µs per row": 1e6 * (end - middle) / len(y_test),
    }


def measured(sets: tuple[str, ...], seed: int) -> Iterator[Row]:
    """A row for each set and method, printed as it is found."""
    for name in sets:
        for method in METHODS:
            row = rounded(measure(name, method, seed))
            print(f"{name}, {method}: {row['R²']:.3f}, {row['fit s']:.2f} s", flush=True)
            yield row


def side_by_side(rows: list[Row]) -> list[Row]:
    """A part for each thing measured, with a line per method and a column per set."""
    found = {(row["method"], row["set"]): row for row in rows}
    titles = {row["set"]: f"{row['set']}, {row['rows']:,} × {row['features']}" for row in rows}
    return [
        {"part": part, "method": method}
        | {title: found[method, name][part] for name, title in titles.items()}
        for part in MEASURED
        for method in METHODS
    ]


def main() -> None:
    """Measure all methods and track."""
    arguments = argument_parser(__doc__, repeats=1).parse_args()
    warnings.simplefilter("ignore")  # of the peers
    sets = SETS[:1] if arguments.quick else SETS
    rows = side_by_side(list(measured(sets, arguments.seed)))
    for part in MEASURED:
        print_table([row for row in rows if row["part"] == part])
    record = environment(arguments.seed, ["lightgbm"])
    write_result("regression", record, rows, tracked=not arguments.quick)


if __name__ == "__main__":
    main()
