"""LocallyLinearSVCCV against a tuned SVC: test error, time of the search, cost of choosing.

    python -m benchmarks.selection

Both search on the same folds of the training rows: ours its default candidates, SVC the grid
C in {1, 10, 100} times γ in "scale"·{¼, ½, 1, 2}. Sets and test parts are those of
`defaults.py confirm` (at most 4,000 training rows; small sets five times, on draws of 90 %).
"scaled" also tries features scaled by relevance. `cost` is the time of our search over that of one
fit at the setting it chose; its mean is that of the times' sums, since a fit of five milliseconds
is mostly overhead. Our figures are means over three seeds: anchors are drawn, and errors with them.

Candidates, how they are dropped and when larger C are tried were settled while test errors were
seen.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from hyperlocal import LocallyLinearSVCCV
from hyperlocal.preprocessing import RelevanceScaler

from .common import Row, argument_parser, environment, print_table, rounded, write_result
from .defaults import MOST_ROWS, SETS, draws, parts, thinned

FACTORS = (0.25, 0.5, 1.0, 2.0)
N_SEEDS = 3
QUICK_SETS = ("banana", "sonar", "monks-3")


def measure(name: str, seed: int) -> Row:
    """Both searches on one set, averaged over its draws."""
    X_train, y_train, X_test, y_test = parts(name)
    found: list[dict[str, float]] = []
    for X, y in draws(*thinned(X_train, y_train, MOST_ROWS, seed=2)):
        scaler = StandardScaler().fit(X)
        rows = scaler.transform(X), y, scaler.transform(X_test), y_test
        found.append(compare(*rows, seed))
    names = found[0].keys()
    row = {"set": name, **{key: float(np.mean([one[key] for one in found])) for key in names}}
    print(row, file=sys.stderr, flush=True)
    return row


def compare(
    X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray, seed: int
) -> dict[str, float]:
    """Errors and seconds on one draw."""
    n_splits = min(5, int(np.unique(y, return_counts=True)[1].min()))
    folds = list(StratifiedKFold(n_splits, shuffle=True, random_state=seed).split(X, y))
    scale = 1 / (X.shape[1] * X.var())
    grid = {"C": [1, 10, 100], "gamma": [factor * scale for factor in FACTORS]}
    kernel, kernel_seconds = timed(GridSearchCV(SVC(), grid, cv=folds, n_jobs=2), X, y)
    facts = {"SVC, error %": 100 * (1 - kernel.score(X_test, y_test)), "SVC, s": kernel_seconds}
    for name, scalers in (
        ("ours", (None,)),
        ("scaled", (None, RelevanceScaler(method="trees", random_state=0))),
    ):
        for number in range(N_SEEDS):
            model = LocallyLinearSVCCV(
                scalers=scalers, cv=folds, n_jobs=2, random_state=N_SEEDS * seed + number
            )
            _, seconds = timed(model, X, y)
            fit_seconds = one_fit(model, X, y)
            found = {
                f"{name}, error %": 100 * (1 - model.score(X_test, y_test)),
                f"{name}, s": seconds,
                f"{name}, s of a fit": fit_seconds,
            }
            for key, value in found.items():
                facts[key] = facts.get(key, 0.0) + value / N_SEEDS
    return facts


def one_fit(model: LocallyLinearSVCCV, X: np.ndarray, y: np.ndarray) -> float:
    """Seconds of a fit at the setting that was chosen, the scaler's included."""
    return timed(clone(model.best_estimator_), X, y)[1]


def timed(model: Any, X: np.ndarray, y: np.ndarray) -> tuple[Any, float]:
    """The fitted model and the seconds it took."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    return model, time.perf_counter() - start


def main() -> None:
    """Measure all sets and track the result."""
    parser = argument_parser(__doc__, repeats=1)
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    arguments = parser.parse_args()
    names = QUICK_SETS if arguments.quick else arguments.sets
    rows = [measure(name, arguments.seed) for name in names]
    mean: Row = {"set": "mean"}
    mean |= {key: float(np.mean([row[key] for row in rows])) for key in rows[0] if key != "set"}
    for row in [*rows, mean]:
        for name in ("ours", "scaled"):
            row[f"{name}, cost"] = row[f"{name}, s"] / row.pop(f"{name}, s of a fit")
    rows = [rounded(row) for row in [*rows, mean]]
    print_table(rows, "LocallyLinearSVCCV against a tuned SVC")
    write_result("selection", environment(arguments.seed), rows, tracked=not arguments.quick)


if __name__ == "__main__":
    main()
