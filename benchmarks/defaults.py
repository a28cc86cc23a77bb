"""Which defaults do well untuned: rules compared over many sets, on training rows only.

    python -m benchmarks.defaults study      # rules against each other, by validation
    python -m benchmarks.defaults looks      # the same for SecondLookSVC
    python -m benchmarks.defaults confirm    # the defaults against peers, on test rows

`study` and `looks` never touch a test row: each set's training rows are split again, several times,
and the rules are ranked by their mean validation error. `confirm` fits the chosen defaults, a peer
SVC and gradient boosting on training rows and reports test errors; sets without a standard split
are cut in half, stratified, with a seed that the studies do not use.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Iterator
from functools import partial

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedShuffleSplit, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from hyperlocal import LocallyLinearSVC, NeighborhoodSVC, SecondLookSVC
from hyperlocal.datasets import load_dataset

from .common import environment, plain_parser, print_table, write_result

SETS = (
    "a9a", "balance-scale", "banana", "bupa", "glass", "hayes-roth", "heart-statlog", "hepatitis",
    "ijcnn1", "ionosphere", "letter", "magic04", "monks-3", "segment", "skin", "sonar",
    "svmguide1", "tic-tac-toe", "usps",
)  # fmt: skip
MOST_ROWS = 4_000
MOST_STUDY_ROWS = 2_000
STUDY_SPLITS = 3
CONFIRM_SEED = 2_026

# Rules of the study: differences from the defaults.
RULES: dict[str, dict] = {
    "defaults": {},
    "plain quadratic map": {"feature_map": "quadratic"},
    "linear local models": {"feature_map": None},
    "Nyström local maps": {"feature_map": "nystroem"},
    "not normalised, hinge, C = 0.1": {"normalize": False, "loss": "hinge", "C": 0.1},
    "hinge": {"loss": "hinge"},
    "log loss": {"loss": "log"},
    "C = 1": {"C": 1.0},
    "C = 10": {"C": 10.0},
    "k = 4": {"n_neighbors": 4},
    "inverse distance": {"coding": "inverse_distance"},
    "locally linear reconstruction": {"coding": "lle"},
    "nearest anchor only": {"coding": "hard"},
    "one anchor": {"n_anchors": 1, "n_neighbors": 1},
    "8 anchors": {"n_anchors": 8},
    "16 anchors": {"n_anchors": 16},
    "32 anchors": {"n_anchors": 32},
    "32 anchors, k = 16": {"n_anchors": 32, "n_neighbors": 16},
}
# The same for a second look.
LOOKS: dict[str, dict] = {"defaults": {}} | {
    f"low_margin = {margin}, k = {k}, C = {C}": {"low_margin": margin, "k": k, "C": C}
    for margin, k, C in (
        (0, 3, 10), (0.25, 3, 10), (0.5, 3, 3), (0.5, 3, 10), (0.5, 5, 10), (0.5, 10, 10),
        (1, 3, 3), (1, 3, 10), (1, 5, 10), (1, 10, 10),
    )
}  # fmt: skip


def training_rows(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Training rows of a set: the standard part, or the half that `confirm` trains on."""
    return parts(name)[:2]


def parts(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training and test rows of a set, without missing values."""
    data = load_dataset(name)
    if data.X_test is None:
        X_train, X_test, y_train, y_test = train_test_split(
            data.X_train, data.y_train, test_size=0.5, stratify=data.y_train,
            random_state=CONFIRM_SEED,
        )  # fmt: skip
    else:
        X_train, y_train, X_test, y_test = data.X_train, data.y_train, data.X_test, data.y_test
    X_train, X_test = (_complete(X, X_train) for X in (X_train, X_test))
    return X_train, y_train, X_test, y_test


def _complete(X: np.ndarray, X_train: np.ndarray) -> np.ndarray:
    """Fill missing values with the training median (hepatitis has some)."""
    X = X.astype(np.float64)
    if np.isnan(X).any():
        X = np.where(np.isnan(X), np.nanmedian(X_train.astype(np.float64), axis=0), X)
    return X


def thinned(X: np.ndarray, y: np.ndarray, n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """At most ``n_rows`` rows, stratified: untuned rules are compared, not sizes."""
    if len(y) <= n_rows:
        return X, y
    kept, _, y_kept, _ = train_test_split(X, y, train_size=n_rows, stratify=y, random_state=seed)
    return kept, y_kept


def validation_error(model, X: np.ndarray, y: np.ndarray) -> float:
    """Mean error in % over splits of the training rows, standardised on the training side."""
    splits = StratifiedShuffleSplit(STUDY_SPLITS, test_size=0.3, random_state=1)
    errors = []
    for train, held_out in splits.split(X, y):
        pipeline = make_pipeline(StandardScaler(), model)
        errors.append(1 - pipeline.fit(X[train], y[train]).score(X[held_out], y[held_out]))
    return 100 * float(np.mean(errors))


def second_look(low_margin="auto", k=3, C=10) -> SecondLookSVC:
    """Locally linear SVMs for all rows, SVMs per query where their margin is low."""
    quick = LocallyLinearSVC(n_jobs=-1, random_state=0)
    local = NeighborhoodSVC(lambda n_rows: k * math.log2(n_rows), C=C)
    return SecondLookSVC(quick, local, low_margin=low_margin, n_jobs=-1, random_state=0)


def study(names: list[str], models: dict) -> list[dict]:
    """Validation error of every rule on every set."""
    rows = []
    for name in names:
        X, y = thinned(*training_rows(name), MOST_STUDY_ROWS, seed=1)
        for rule, model in models.items():
            try:
                error = validation_error(model, X, y)
            except ValueError as problem:  # too few rows for a fixed number of anchors
                print(f"{name}: {rule}: {problem}", file=sys.stderr)
                continue
            rows.append({"set": name, "rule": rule, "error": round(error, 3)})
        for rule, model in peers().items():
            error = validation_error(model, X, y)
            rows.append({"set": name, "rule": rule, "error": round(error, 3)})
        report(rows, name)
    return rows


def peers() -> dict:
    """What people use today, untuned."""
    return {
        "SVC(C=10)": SVC(C=10),
        "HistGradientBoosting": HistGradientBoostingClassifier(random_state=0),
        "LinearSVC": LinearSVC(random_state=0),
    }


def confirm(names: list[str]) -> list[dict]:
    """Test error of the defaults and of the peers on every set."""
    rows = []
    models = {
        "LocallyLinearSVC()": LocallyLinearSVC(n_jobs=-1, random_state=0),
        "SecondLookSVC()": second_look(),
        **peers(),
    }
    for name in names:
        X_train, y_train, X_test, y_test = parts(name)
        trained_on = list(draws(*thinned(X_train, y_train, MOST_ROWS, seed=2)))
        for method, model in models.items():
            errors = []
            for X, y in trained_on:
                pipeline = make_pipeline(StandardScaler(), model).fit(X, y)
                errors.append(100 * (1 - pipeline.score(X_test, y_test)))
            spread = {
                "error": round(float(np.mean(errors)), 3),
                "sd": round(float(np.std(errors)), 3),
            }
            rows.append({"set": name, "rule": method, **spread, "draws": len(trained_on)})
        report(rows, name)
    return rows


def draws(X: np.ndarray, y: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Small training parts are noisy: five draws of 90 % of them, the same for all methods."""
    if len(y) >= 2_000:
        yield X, y
        return
    for seed in range(5):
        X_part, _, y_part, _ = train_test_split(X, y, train_size=0.9, stratify=y, random_state=seed)
        yield X_part, y_part


def report(rows: list[dict], name: str) -> None:
    """Say on stderr what a set gave: a run takes minutes."""
    errors = {row["rule"]: row["error"] for row in rows if row["set"] == name}
    print(name, errors, file=sys.stderr, flush=True)


def means(rows: list[dict]) -> list[dict]:
    """Mean error of each rule over the sets on which all rules ran."""
    rules = list(dict.fromkeys(row["rule"] for row in rows))
    by_set: dict[str, dict[str, float]] = {}
    for row in rows:
        by_set.setdefault(row["set"], {})[row["rule"]] = row["error"]
    complete = [errors for errors in by_set.values() if len(errors) == len(rules)]
    return [
        {"rule": rule, "mean error %": round(float(np.mean([e[rule] for e in complete])), 2)}
        for rule in rules
    ] + [{"rule": f"(over {len(complete)} sets)", "mean error %": ""}]


def main() -> None:
    """Run one part and track it."""
    parser = plain_parser(__doc__)
    parser.add_argument("part", choices=["study", "looks", "confirm"])
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    if arguments.part == "confirm":
        rows = confirm(arguments.sets)
    elif arguments.part == "looks":
        rows = study(arguments.sets, {rule: second_look(**look) for rule, look in LOOKS.items()})
    else:
        kind = partial(LocallyLinearSVC, n_jobs=-1, random_state=0)
        rows = study(arguments.sets, {rule: kind(**options) for rule, options in RULES.items()})
    print_table(means(rows))
    write_result(f"defaults_{arguments.part}", environment(), rows)


if __name__ == "__main__":
    main()
