"""TableEncoder against a ColumnTransformer made by hand, and boosting, over tables.

    python -m benchmarks.table_encoders
    python -m benchmarks.table_encoders storms tweets   # these alone; the others stay

By hand: missing numbers filled in by the median with an indicator, then standardized; text filled
in by a word and one-hot encoded, at most 100 values a column, unknown ones as rare. Both are fitted
to the training rows of the same three folds of at most 4,000 rows of each table, with all columns
that `load_dataset` gives, and models at their defaults, among them boosted trees. Accuracy in % of
classes, 100 R² of numbers; "difference" is TableEncoder minus by hand, and "±" the standard error
of its mean over folds.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from statistics import mean, stdev
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_limits

from hyperlocal import LocallyLinearSVC, LocallyLinearSVR
from hyperlocal.datasets import load_dataset
from hyperlocal.preprocessing import TableEncoder

from .common import (
    RESULTS,
    Row,
    argument_parser,
    environment,
    print_table,
    read_result,
    rounded,
    script_name,
    write_result,
)
from .real_tables import TABLES, rows_of

NAME = "table_encoders"
MOST_ROWS = 4_000
N_FOLDS = 3
#: Columns with numbers to predict; the set's own label is among the features then.
NUMBERS = {"diamonds": "price", "penguins": "body_mass_g", "storms": "wind"}
CLASSES = tuple(name for name in TABLES if name not in ("covtype", "creditcard"))


def by_hand() -> Any:
    """What the examples of scikit-learn do."""
    numbers = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    texts = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="missing"),
        OneHotEncoder(
            handle_unknown="infrequent_if_exist", max_categories=100, sparse_output=False
        ),
    )
    return make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (texts, make_column_selector(dtype_exclude="number")),
        sparse_threshold=0,
    )


MODELS: dict[str, dict[str, Callable[[int], Any]]] = {
    "classes": {
        "LogisticRegression": lambda seed: LogisticRegression(max_iter=1000),
        "LocallyLinearSVC": lambda seed: LocallyLinearSVC(random_state=seed),
        "HistGradientBoosting": lambda seed: HistGradientBoostingClassifier(random_state=seed),
    },
    "numbers": {
        "Ridge": lambda seed: Ridge(),
        "LocallyLinearSVR": lambda seed: LocallyLinearSVR(random_state=seed),
        "HistGradientBoosting": lambda seed: HistGradientBoostingRegressor(random_state=seed),
    },
}


def classes_of(name: str, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """A table and its label codes."""
    X, y = rows_of(name, MOST_ROWS)
    names = load_dataset(name).feature_names
    return pd.DataFrame(X, columns=names).infer_objects(), y


def numbers_of(name: str, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """A table and one of its columns as values."""
    data = load_dataset(name)
    table = pd.DataFrame(data.X_train, columns=data.feature_names).infer_objects()
    table["label"] = data.y_train
    table = table[table[NUMBERS[name]].notna()]
    if len(table) > MOST_ROWS:
        table, _ = train_test_split(table, train_size=MOST_ROWS, random_state=seed)
    return table.drop(columns=NUMBERS[name]), table[NUMBERS[name]].to_numpy(float)


def measured(kind: str, name: str, seed: int, models: list[str]) -> Iterator[Row]:
    """A row for each model: both encoders over the folds."""
    table, y = (classes_of if kind == "classes" else numbers_of)(name, seed)
    splitter = StratifiedKFold if kind == "classes" else KFold
    folds = list(splitter(N_FOLDS, shuffle=True, random_state=seed).split(table, y))
    for model, make in MODELS[kind].items():
        if models and model not in models:
            continue
        scores: dict[str, list[float]] = {"TableEncoder": [], "by hand": []}
        for train, test in folds:
            for encoder, found in zip((TableEncoder(), by_hand()), scores.values(), strict=True):
                with threadpool_limits(1):  # threads of trees wait for each other on a busy machine
                    pipeline = make_pipeline(encoder, make(seed)).fit(table.iloc[train], y[train])
                    found.append(100 * pipeline.score(table.iloc[test], y[test]))
        differences = np.subtract(scores["TableEncoder"], scores["by hand"])
        yield {
            "table": name if kind == "classes" else f"{name}: {NUMBERS[name]}",
            "model": model,
            "rows": len(y),
            **{encoder: mean(found) for encoder, found in scores.items()},
            "difference": round(float(differences.mean()), 2),
            "±": round(stdev(differences) / N_FOLDS**0.5, 2),
        }


def tracked_rows(tables: list[str]) -> list[Row]:
    """What was measured before, where only some tables are measured."""
    return read_result(NAME)["rows"] if tables and (RESULTS / f"{NAME}.json").exists() else []


def main() -> None:
    """Measure all tables, or some, and track."""
    parser = argument_parser(__doc__, repeats=1)
    parser.add_argument("tables", nargs="*", metavar="TABLE")
    parser.add_argument("--models", nargs="*", default=[], help="these alone")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # of convergence and of unknown categories
    sets = [("classes", name) for name in CLASSES] + [("numbers", name) for name in NUMBERS]
    if arguments.quick:
        sets = [("classes", "penguins")]
    elif arguments.tables:
        sets = [(kind, name) for kind, name in sets if name in arguments.tables]
    found = {(row["table"], row["model"]): row for row in tracked_rows(arguments.tables)}
    for kind, name in sets:
        for row in measured(kind, name, arguments.seed, arguments.models):
            found[row["table"], row["model"]] = rounded(row)
            print(f"{row['table']}, {row['model']}: {row['difference']:+.2f}", flush=True)
            # After each row, so that an interrupted run keeps what it has found.
            record = environment(arguments.seed) | {"command": f"python -m {script_name()}"}
            write_result(NAME, record, found.values(), tracked=not arguments.quick)
    print_table(list(found.values()))


if __name__ == "__main__":
    main()
