"""Regression: R² and seconds of LocallyLinearSVR against its peers, with settings chosen or not.

Training rows are three quarters of all, at most 12,000, drawn by the seed; all other rows are test
rows. Features are standardized by the training rows; so are the values of ``SVR``, which needs
that. Settings are chosen on training rows only: those of ``LocallyLinearSVRCV`` by its own search,
those of ``SVR`` by three folds of 2,000 rows over C, gamma and epsilon. One thread; times are
processor seconds, which other processes of the machine hardly change. "fit s" is one fit with the
settings that were chosen, "search s" all of it.

``--parts speed`` takes sets of more than 10,000 rows: with settings "given", fits to three
quarters of all rows; with settings "chosen", the default, the search, and a grid search of ``SVR``
by three folds over the same 12,000 rows, each with its last fit.
``--parts coverage`` calibrates intervals on a third of the training rows, and counts the test rows
that they contain, of all rows and of those nearest to each anchor, in five splits; ``--parts race``
is the dual solver against LIBLINEAR.

The candidates of the search were settled on splits of the training rows of casp, california,
compactiv and puma32h with this seed.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from threadpoolctl import threadpool_limits

from hyperlocal import LocallyLinearSVR, LocallyLinearSVRCV, NeighborhoodSVR
from hyperlocal.datasets import load_dataset
from hyperlocal.papers import SupervisedAnchorSVR
from hyperlocal.runtime.threads import Workers

from .common import (
    Row,
    argument_parser,
    environment,
    print_table,
    read_result,
    rounded,
    write_result,
)
from .liblinear_race import (
    CLOSE_ENOUGH,
    VALUES,
    liblinear_run,
    loosest_tolerance,
    make_task,
    objective,
    our_objective,
    our_run,
)

MOST_ROWS = 12_000
ROWS_TO_SEARCH = 2_000
LIBLINEAR_TOLERANCE = 1e-3
PARTS = ("R²", "speed", "coverage", "race")
LARGE_SETS = ("california", "casp")
COVERAGES = (0.8, 0.9)
# Fewer test rows near an anchor say little of their coverage.
FEWEST_ROWS_PER_ANCHOR = 100
# The coverage of all rows varies from split to split by half a point, with the rows of calibrate.
N_SPLITS_OF_COVERAGE = 5
SETS = ("diabetes", "compactiv", "puma32h", "california", "casp")
MEASURED = ("R²", "fit s", "search s", "predict µs per row")
PEERS = ("lightgbm", "cubist")


class SearchedSVR(RegressorMixin, BaseEstimator):
    """SVR with settings chosen on some of the rows."""

    def __init__(self, seed: int = 0, rows_to_search: int = ROWS_TO_SEARCH):
        self.seed = seed
        self.rows_to_search = rows_to_search

    def fit(self, X: np.ndarray, y: np.ndarray) -> SearchedSVR:
        """Search on a sample, then fit to all rows."""
        rows = np.random.default_rng(self.seed).permutation(len(y))[: self.rows_to_search]
        grid = {
            "regressor__C": [1.0, 10.0, 100.0],
            "regressor__gamma": [factor / X.shape[1] for factor in (0.1, 0.3, 1.0)],
            "regressor__epsilon": [0.03, 0.1],
        }
        model = scaled_values(SVR())
        found = GridSearchCV(model, grid, cv=3, refit=False).fit(X[rows], y[rows])
        self.best_estimator_ = model.set_params(**found.best_params_).fit(X, y)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Of the model fitted to all rows."""
        return self.best_estimator_.predict(X)


def scaled_values(model: Any) -> Any:
    """A regressor of standardized values."""
    return TransformedTargetRegressor(model, transformer=StandardScaler())


def boosted_trees(seed: int, **options: Any) -> Any:
    """LightGBM."""
    from lightgbm import LGBMRegressor

    return LGBMRegressor(n_jobs=1, verbose=-1, random_state=seed, **options)


def rules(seed: int) -> Any:
    """Cubist: rules with linear models."""
    from cubist import Cubist

    return Cubist(random_state=seed)


METHODS: dict[str, Callable[[int], Any]] = {
    "LocallyLinearSVRCV": lambda seed: LocallyLinearSVRCV(random_state=seed, n_jobs=1),
    "LocallyLinearSVR": lambda seed: LocallyLinearSVR(random_state=seed, n_jobs=1),
    "SupervisedAnchorSVR": lambda seed: SupervisedAnchorSVR(random_state=seed, n_jobs=1),
    "NeighborhoodSVR": lambda seed: NeighborhoodSVR(n_jobs=1),
    "SVR, settings chosen": SearchedSVR,
    "SVR(C=10)": lambda seed: scaled_values(SVR(C=10)),
    "HistGradientBoostingRegressor": lambda seed: HistGradientBoostingRegressor(random_state=seed),
    "LightGBM": boosted_trees,
    "LightGBM(linear_tree=True)": lambda seed: boosted_trees(seed, linear_tree=True),
    "Cubist": rules,
    "KNeighborsRegressor": lambda seed: KNeighborsRegressor(),
    "Ridge": lambda seed: Ridge(),
}


def split(name: str, seed: int, most_rows: int = MOST_ROWS) -> list[np.ndarray]:
    """Training and test rows, standardized by the training rows, with values."""
    if name == "diabetes":
        X, y = load_diabetes(return_X_y=True)
    else:
        X, y = load_dataset(name).all_rows()
    n_train = min(most_rows, 3 * len(y) // 4)
    X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=n_train, random_state=seed)
    scaler = StandardScaler().fit(X_train)
    return [scaler.transform(X_train), scaler.transform(X_test), y_train, y_test]


def measure(name: str, method: str, seed: int) -> Row:
    """R² on the test rows and processor seconds of a method on one set."""
    X_train, X_test, y_train, y_test = split(name, seed)
    model = METHODS[method](seed)
    with threadpool_limits(1):
        search = processor_seconds(lambda: model.fit(X_train, y_train))
        found = getattr(model, "best_estimator_", model)
        one = clone(found)
        fit = search
        if found is not model:
            fit = processor_seconds(lambda: one.fit(X_train, y_train))
        predicted = model.predict(X_test)
        predict = processor_seconds(lambda: model.predict(X_test))
    return {
        "set": name,
        "rows": len(y_train),
        "features": X_train.shape[1],
        "method": method,
        "R²": r2_score(y_test, predicted),
        "fit s": fit,
        "search s": search,
        "predict µs per row": 1e6 * predict / len(y_test),
    }


def processor_seconds(run: Callable[[], Any]) -> float:
    """Seconds that all threads of this process computed."""
    start = time.process_time()
    run()
    return time.process_time() - start


def measured(sets: Sequence[str], methods: Sequence[str], seed: int) -> Iterator[Row]:
    """A row for each set and method, printed as it is found."""
    for name in sets:
        for method in methods:
            row = rounded(measure(name, method, seed))
            print(
                f"{name}, {method}: {row['R²']:.3f}, {row['fit s']:.2f} of {row['search s']:.2f} s",
                flush=True,
            )
            yield row


def speed(name: str, seed: int) -> Iterator[Row]:
    """Seconds with settings given to both sides, and with the choice of settings on both sides.

    The first fit to all training rows, with settings that were chosen before on at most
    ``MOST_ROWS`` of them; the others are given those rows, and choose.
    """
    n_rows = len(load_dataset(name).all_rows()[1])
    part, whole = split(name, seed), split(name, seed, n_rows)
    one_thread = {"random_state": seed, "n_jobs": 1}
    grid = SearchedSVR(seed, rows_to_search=MOST_ROWS)
    choosing = {
        "SVR, grid": grid,
        "LocallyLinearSVR": LocallyLinearSVR(**one_thread),
        "LocallyLinearSVRCV": LocallyLinearSVRCV(**one_thread),
    }
    chosen = list(timed(name, "chosen", choosing, part))
    found = choosing["LocallyLinearSVRCV"].best_params_
    given = {
        "SVR, grid": clone(grid.best_estimator_),
        "LocallyLinearSVR": LocallyLinearSVR(**choosing["LocallyLinearSVR"].chosen_, **one_thread),
        "LocallyLinearSVRCV": LocallyLinearSVR(**found, **one_thread),
        "LocallyLinearSVR(C=10, relevance=None)": LocallyLinearSVR(
            C=10.0, relevance=None, **one_thread
        ),
    }
    yield from timed(name, "given", given, whole)
    yield from chosen


def timed(
    name: str, settings: str, models: dict[str, Any], rows: Sequence[np.ndarray]
) -> Iterator[Row]:
    """Fit and predict; how many times faster than the first."""
    X_train, X_test, y_train, y_test = rows
    first: Row = {}
    for method, model in models.items():
        with threadpool_limits(1):
            seconds = processor_seconds(partial(model.fit, X_train, y_train))
            predicted = model.predict(X_test)
            predict = 1e6 * processor_seconds(partial(model.predict, X_test)) / len(y_test)
        row = {"set": name, "rows": len(y_train), "settings": settings, "method": method}
        row |= {"R²": r2_score(y_test, predicted), "fit s": seconds, "predict µs per row": predict}
        first = first or row
        row |= {
            "fit, times faster": first["fit s"] / seconds,
            "predict, times faster": first["predict µs per row"] / predict,
        }
        print(rounded(row), flush=True)
        yield row


def coverage(name: str, seed: int) -> Iterator[Row]:
    """How many test rows intervals contain: of all, and near each anchor; means of splits."""
    runs = [covered(name, seed + number) for number in range(N_SPLITS_OF_COVERAGE)]
    for index, asked in enumerate(COVERAGES):
        of_asked = [run[index] for run in runs]
        yield (
            {"set": name, "test rows": of_asked[0]["test rows"], "asked": asked}
            | {
                key: np.mean([row[key] for row in of_asked])
                for key in (
                    "covered",
                    "anchors",
                    "median anchor",
                    "lowest anchor",
                    "highest anchor",
                )
            }
            | {"deviation of covered": np.std([row["covered"] for row in of_asked], ddof=1)}
        )


def covered(name: str, seed: int) -> list[Row]:
    """The same of one split, a row for each coverage."""
    X_train, X_test, y_train, y_test = split(name, seed)
    X_fit, X_held, y_fit, y_held = train_test_split(
        X_train, y_train, test_size=1 / 3, random_state=seed
    )
    model = LocallyLinearSVR(C=10.0, relevance=None, random_state=seed, n_jobs=1)
    model.fit(X_fit, y_fit).calibrate(X_held, y_held)
    with Workers(1) as workers:
        nearest = model.model_.encode(X_test, workers).anchors[:, 0]
    rows = []
    for asked in COVERAGES:
        low, high = model.predict_interval(X_test, asked).T
        inside = (low <= y_test) & (y_test <= high)
        near = [inside[nearest == anchor] for anchor in np.unique(nearest)]
        shares = [rows.mean() for rows in near if len(rows) >= FEWEST_ROWS_PER_ANCHOR]
        rows.append({
            "test rows": len(y_test), "covered": inside.mean(), "anchors": len(shares),
            "median anchor": np.median(shares), "lowest anchor": min(shares),
            "highest anchor": max(shares),
        })  # fmt: skip
    return rows


def race(name: str, seed: int) -> list[Row]:
    """Our dual solver and LIBLINEAR on the same lifted rows, to the same objective.

    LIBLINEAR's own default tolerance of 0.1 ends 4 % above the optimum; here it has 0.001.
    """
    task = make_task(name, True, seed, None)
    liblinear = liblinear_run(task, LIBLINEAR_TOLERANCE)
    theirs = processor_seconds(liblinear)
    reference = objective(task, np.atleast_2d(liblinear().coef_))
    stop = loosest_tolerance(task, CLOSE_ENOUGH * reference)
    ours = min(processor_seconds(lambda: our_run(task, stop, 1)) for _ in range(3))
    reached = our_objective(task, our_run(task, stop, 1))
    shared = {"set": name, "rows": len(task.y)}
    return [
        {**shared, "method": "LIBLINEAR", "processor s": theirs, "objective": reference},
        {
            **shared,
            "method": "hyperlocal",
            "processor s": ours,
            "objective": reached,
            "times faster": theirs / ours,
        },
    ]


def side_by_side(rows: list[Row], methods: Sequence[str]) -> list[Row]:
    """A part for each thing measured, with a line per method and a column per set."""
    found = {(row["method"], row["set"]): row for row in rows}
    titles = {row["set"]: f"{row['set']}, {row['rows']:,} × {row['features']}" for row in rows}
    return [
        {"part": part, "method": method}
        | {title: found[method, name][part] for name, title in titles.items()}
        for part in MEASURED
        for method in methods
    ]


def main() -> None:
    """Measure all methods and track."""
    parser = argument_parser(__doc__, repeats=1)
    parser.add_argument("--sets", nargs="+", choices=SETS, help="others stay as tracked")
    parser.add_argument("--methods", nargs="+", choices=METHODS, help="others stay as tracked")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # of the peers
    sets = SETS[:1] if arguments.quick else tuple(arguments.sets or SETS)
    record = environment(arguments.seed, PEERS)
    if "R²" in arguments.parts:
        methods = tuple(arguments.methods or METHODS)
        found = side_by_side(list(measured(sets, methods, arguments.seed)), methods)
        rows = found if arguments.quick else with_tracked(found)
        for part in MEASURED:
            print_table([row for row in rows if row["part"] == part])
        write_result("regression", record, rows, tracked=not arguments.quick)
    others = {
        "speed": ("regression_speed", LARGE_SETS, speed),
        "coverage": ("regression_coverage", LARGE_SETS, coverage),
        "race": ("regression_race", VALUES, race),
    }
    for part in arguments.parts:
        if part not in others:
            continue
        name, known, measure_set = others[part]
        chosen = [one for one in known if one in sets]
        new = [rounded(row) for one in chosen for row in measure_set(one, arguments.seed)]
        if not new:
            continue
        if arguments.sets:
            new = [row for row in tracked_rows(name) if row["set"] not in sets] + new
        print_table(new)
        write_result(name, record, new)


def tracked_rows(name: str) -> list[Row]:
    """The rows of a tracked result; none if there is no such file."""
    try:
        return list(read_result(name)["rows"])
    except FileNotFoundError:
        return []


def with_tracked(rows: list[Row]) -> list[Row]:
    """Rows found now, and what is tracked of other methods and sets, in the order of methods."""
    merged = {(row["part"], row["method"]): row for row in tracked_rows("regression")}
    for row in rows:
        key = row["part"], row["method"]
        merged[key] = merged.get(key, {}) | row
    keys = [(part, method) for part in MEASURED for method in METHODS]
    return [merged[key] for key in keys if key in merged]


if __name__ == "__main__":
    main()
