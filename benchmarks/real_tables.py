"""Tables as people have them: untuned classifiers, a tuned SVC and boosted trees over many sets.

    python -m benchmarks.real_tables                       # all that is not measured yet
    python -m benchmarks.real_tables --again ours          # a method once more, after a change
    python -m benchmarks.real_tables --rows 4000 --store build/few_rows.json
    python -m benchmarks.real_tables --track               # and write the tables to results

Sets are the tables of `load_dataset` (missing values, categories, text), covtype, census-income,
creditcard and the sets of `defaults.py`: of each, at most `--rows` rows, those of standard test
parts included, in three stratified folds. A table goes through `TableEncoder`, fitted to the
training rows; other sets are standardized. Labels of fewer than ten rows are left out.

EBM and xRFM (packages interpret-core and xrfm) are stopped after two processor minutes; sets of
which they fit all folds are compared in a table of their own.

Every measurement is stored as soon as it is made, so a run can be interrupted and continued; tables
are made of what is stored. Seconds are printed, not tracked: runs are long, and machines busy. SVC
is trained on at most 10,000 rows; its settings (C in {1, 10, 100} times γ in "scale"·{¼, 1, 4}) are
chosen by three folds of at most 2,000 of them. The area under the ROC curve is the mean over
classes, each against the rest; for rare positives (creditcard) the average precision counts.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from hyperlocal import LocallyLinearSVC, LocallyLinearSVCCV
from hyperlocal.datasets import load_dataset
from hyperlocal.preprocessing import TableEncoder

from .common import Row, environment, light_gbm, plain_parser, print_table, rounded, write_result
from .defaults import SETS, thinned
from .parts.limited import TooSlow, stopped_after
from .similar import FeatureMachine, additive

TABLES = (
    "caravan", "cells_excel", "covid_testing", "crash", "credit", "diamonds", "hpc", "penguins",
    "storms", "telco_churn", "tweets", "census-income", "covtype", "creditcard",
)  # fmt: skip
# Positives are so rare that the average precision counts.
RARE = ("creditcard",)
N_FOLDS = 3
FEWEST_ROWS_PER_CLASS = 10
MOST_ROWS = 50_000
MOST_ROWS_FOR_SVC = 10_000
MOST_ROWS_FOR_GRID = 2_000
GRID = {"C": (1, 10, 100), "gamma": (0.25, 1.0, 4.0)}
STORE = Path("build") / "real_tables.json"


@dataclass
class Thinned:
    """A model that is fitted to at most so many rows."""

    model: Any
    most_rows: int = MOST_ROWS_FOR_SVC

    def fit(self, X: np.ndarray, y: np.ndarray) -> Any:
        """The model, fitted."""
        return self.model.fit(*thinned(X, y, self.most_rows, seed=0))


class TunedSVC:
    """SVC with settings that are chosen on few rows."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> SVC:
        """The SVC, fitted."""
        X, y = thinned(X, y, MOST_ROWS_FOR_SVC, seed=0)
        few, labels = thinned(X, y, MOST_ROWS_FOR_GRID, seed=1)
        scale = 1 / (X.shape[1] * (X.var() or 1.0))
        grid = {"C": GRID["C"], "gamma": [factor * scale for factor in GRID["gamma"]]}
        folds = StratifiedKFold(3, shuffle=True, random_state=0)
        chosen = GridSearchCV(SVC(), grid, cv=folds, refit=False).fit(few, labels).best_params_
        return SVC(**chosen).fit(X, y)


METHODS: dict[str, Callable[[], Any]] = {
    "ours": lambda: LocallyLinearSVC(random_state=0),
    "ours, log": lambda: LocallyLinearSVC(loss="log", random_state=0),
    "search": lambda: LocallyLinearSVCCV(random_state=0),
    "logistic": lambda: LogisticRegression(max_iter=1000),
    "linear SVC": lambda: LinearSVC(random_state=0),
    "SVC": lambda: Thinned(SVC(C=10)),
    "tuned SVC": TunedSVC,
    "boosting": lambda: HistGradientBoostingClassifier(random_state=0),
    "LightGBM": lambda: light_gbm(0),
    "EBM": lambda: additive(0),
    "xRFM": lambda: FeatureMachine(0),
}
PEERS = ("lightgbm", "interpret-core", "xrfm")
# Methods whose fits are stopped after so many processor seconds.
SLOW, MOST_SECONDS = ("EBM", "xRFM"), 120.0
TITLES = {
    "ours": "LocallyLinearSVC()",
    "ours, log": 'LocallyLinearSVC(loss="log")',
    "search": "LocallyLinearSVCCV()",
    "logistic": "LogisticRegression",
    "linear SVC": "LinearSVC",
    "SVC": "SVC(C=10)",
    "tuned SVC": "SVC, tuned",
    "boosting": "HistGradientBoosting",
    "LightGBM": "LightGBM",
    "EBM": "EBM",
    "xRFM": "xRFM",
}


def rows_of(name: str, most_rows: int) -> tuple[Any, np.ndarray]:
    """Rows and label codes of a set, at most so many, without rare labels."""
    data = load_dataset(name)
    X, y = data.X_train, data.y_train
    if data.X_test is not None:
        X, y = np.concatenate([X, data.X_test]), np.concatenate([y, data.y_test])
    kept = _frequent(y, np.arange(len(y)))
    if len(kept) > most_rows:
        kept, _ = train_test_split(kept, train_size=most_rows, stratify=y[kept], random_state=0)
        kept = _frequent(y, kept)
    return X[kept], np.unique(y[kept], return_inverse=True)[1]


def _frequent(y: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The rows whose label is not rare among them."""
    _, codes, counts = np.unique(y[rows], return_inverse=True, return_counts=True)
    return rows[counts[codes] >= FEWEST_ROWS_PER_CLASS]


def folds_of(name: str, most_rows: int) -> Iterator[tuple[np.ndarray, ...]]:
    """Encoded training and test rows with their labels, one fold after the other."""
    X, y = rows_of(name, most_rows)
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    for train, test in folds.split(np.zeros(len(y)), y):
        yield *encoded(X[train], X[test]), y[train], y[test]


def encoded(X_train: Any, X_test: Any) -> tuple[np.ndarray, np.ndarray]:
    """Both parts as numbers; constants of the encoding are those of the training rows."""
    if X_train.dtype == object or np.isnan(X_train.astype(np.float64)).any():
        encoder = TableEncoder(text="tfidf").fit(X_train)
    else:
        encoder = StandardScaler().fit(X_train)
    return encoder.transform(X_train), encoder.transform(X_test)


def measured(method: str, fold: tuple[np.ndarray, ...]) -> Row:
    """Error, areas under curves and seconds of a method on one fold."""
    X_train, X_test, y_train, y_test = fold
    model = METHODS[method]()
    start = time.perf_counter()
    try:
        with stopped_after(MOST_SECONDS if method in SLOW else None):
            fitted = model.fit(X_train, y_train)
    except TooSlow:
        return {"stopped after s": MOST_SECONDS}
    between = time.perf_counter()
    error = 100 * float(np.mean(fitted.predict(X_test) != y_test))
    end = time.perf_counter()
    scores = scores_of(fitted, X_test)
    codes = fitted.classes_
    truth = y_test[:, None] == codes
    areas = [roc_auc_score(t, s) for t, s in zip(truth.T, scores.T, strict=True)]
    found = {
        "error": error,
        "AUC": float(np.mean(areas)),
        "fit s": between - start,
        "predict s": end - between,
    }
    if len(codes) == 2:
        found["precision"] = float(average_precision_score(truth[:, 1], scores[:, 1]))
    return {key: round(value, 5) for key, value in found.items()}


def scores_of(model: Any, X: np.ndarray) -> np.ndarray:
    """A column of scores per class."""
    if not hasattr(model, "decision_function"):
        return model.predict_proba(X)
    scores = model.decision_function(X)
    return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


class Store:
    """Measurements in a JSON file, by set, method and fold."""

    def __init__(self, path: Path):
        self.path = path
        self.rows: dict[tuple[str, str, int], Row] = {}
        if path.exists():
            kept = json.loads(path.read_text(encoding="utf-8"))
            self.rows = {(row["set"], row["method"], row["fold"]): row for row in kept}

    def add(self, key: tuple[str, str, int], row: Row) -> None:
        """Keep one measurement."""
        named = zip(("set", "method", "fold"), key, strict=True)
        self.rows[key] = {**dict(named), **row}
        self.path.parent.mkdir(exist_ok=True, parents=True)
        rows = [self.rows[key] for key in sorted(self.rows)]
        self.path.write_text(json.dumps(rows), encoding="utf-8")


def measure(store: Store, name: str, methods: list[str], most_rows: int, again: list[str]) -> None:
    """All methods on the folds of one set, unless they are stored."""
    wanted = [
        (method, fold)
        for fold in range(N_FOLDS)
        for method in methods
        if method in again or (name, method, fold) not in store.rows
    ]
    if not wanted:
        return
    for number, fold in enumerate(folds_of(name, most_rows)):
        for method, _ in [pair for pair in wanted if pair[1] == number]:
            row = measured(method, fold)
            store.add((name, method, number), row)
            print(name, method, number, row, file=sys.stderr, flush=True)


def means(store: Store, names: list[str], methods: list[str]) -> list[Row]:
    """Per set and method, the means over folds, where all folds are measured."""
    rows = []
    for name in names:
        for method in methods:
            folds = [store.rows.get((name, method, fold)) for fold in range(N_FOLDS)]
            found = [row for row in folds if row is not None and "error" in row]
            if len(found) == N_FOLDS:
                values = {
                    key: float(np.mean([row[key] for row in found]))
                    for key in ("error", "AUC", "precision", "fit s", "predict s")
                    if key in found[0]
                }
                rows.append({"set": name, "method": method, **values})
    return rows


def by_set(rows: list[Row], key: str) -> list[Row]:
    """A line per set with a column per method, and the means over complete lines."""
    lines: dict[str, Row] = {}
    for row in rows:
        lines.setdefault(row["set"], {"set": row["set"]})[TITLES[row["method"]]] = row[key]
    width = max(map(len, lines.values()), default=0)
    complete = [line for line in lines.values() if len(line) == width]
    mean: Row = {"set": f"mean of {len(complete)}"}
    if complete:
        titles = [title for title in complete[0] if title != "set"]
        mean |= {title: float(np.mean([line[title] for line in complete])) for title in titles}
    return [*lines.values(), mean]


def summary(rows: list[Row]) -> list[Row]:
    """Per method: means, ranks and ratings over the sets that all methods were measured on.

    Too low is more than 0.3 points or 0.005 below logistic regression; the number of such sets.
    """
    methods = list(dict.fromkeys(row["method"] for row in rows))
    found = {(row["set"], row["method"]): row for row in rows}
    names = list(dict.fromkeys(row["set"] for row in rows))
    names = [name for name in names if all((name, method) in found for method in methods)]
    lines = []
    errors = np.array([[found[name, method]["error"] for method in methods] for name in names])
    ranks = rankdata(errors, axis=1).mean(axis=0)
    ratings = elo_ratings(errors)
    for method in methods:
        own = [found[name, method] for name in names]
        line: Row = {"method": TITLES[method], "sets": len(own)}
        line |= {
            title: float(np.mean([row[key] for row in own]))
            for title, key in (("error %", "error"), ("AUC", "AUC"))
        }
        line |= {"mean rank": ranks[methods.index(method)], "Elo": ratings[methods.index(method)]}
        if "logistic" in methods:
            linear = [found[name, "logistic"] for name in names]
            pairs = list(zip(own, linear, strict=True))
            line["accuracy too low"] = sum(a["error"] > b["error"] + 0.3 for a, b in pairs)
            line["AUC too low"] = sum(a["AUC"] < b["AUC"] - 0.005 for a, b in pairs)
        lines.append(line)
    return lines


def elo_ratings(errors: np.ndarray) -> np.ndarray:
    """Ratings of methods, with mean 1,000, from which of each two errs less on each set.

    A method rated 400 higher errs less on ten sets of eleven: strengths by which the wins are most
    likely (Bradley and Terry), a tie being half a win; each pair is given one tie more, so that
    ratings stay finite.
    """
    n_methods = errors.shape[1]
    wins = (errors[:, :, None] < errors[:, None, :]).sum(axis=0)
    ties = (errors[:, :, None] == errors[:, None, :]).sum(axis=0)
    wins = (wins + (ties + 1) / 2) * (1 - np.eye(n_methods))
    strengths = np.ones(n_methods)
    for _ in range(1_000):
        meetings = (wins + wins.T) / (strengths[:, None] + strengths)
        strengths = wins.sum(axis=1) / meetings.sum(axis=1)
        strengths /= np.exp(np.log(strengths).mean())
    return 1_000 + 400 * np.log10(strengths)


def main() -> None:
    """Measure what is missing, and print all."""
    parser = plain_parser(__doc__)
    parser.add_argument("--sets", nargs="*", default=[*TABLES, *SETS])
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--again", nargs="*", default=[], help="methods to measure once more")
    parser.add_argument("--rows", type=int, default=MOST_ROWS, help="most rows of a set")
    parser.add_argument("--store", type=Path, default=STORE, help="where measurements are kept")
    parser.add_argument("--track", action="store_true", help="write the tables to results")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", UserWarning)
    store = Store(arguments.store)
    for name in arguments.sets:
        measure(store, name, arguments.methods, arguments.rows, arguments.again)
    rows = means(store, arguments.sets, arguments.methods)
    rare = [row for row in rows if row["set"] in RARE]
    usual, slow = (
        [row for row in rows if (row["method"] in SLOW) == is_slow] for is_slow in (False, True)
    )
    tables = {
        "Means": summary(usual),
        "Means where slow methods finish": summary(rows) if slow else [],
        "Error, %": by_set(usual, "error"),
        "Error of slow methods, %": by_set(slow, "error") if slow else [],
        "Area under the ROC curve": by_set(usual, "AUC"),
        "Average precision": by_set(rare, "precision") if rare else [],
    }
    for title, lines in tables.items():
        print_table(lines, title)
    print_table(by_set(rows, "fit s"), "Seconds of a fit")
    if arguments.track:
        parts = [
            rounded({"part": title, **line}) for title, part in tables.items() for line in part
        ]
        write_result("real_tables", environment(0, PEERS), parts)


if __name__ == "__main__":
    main()
