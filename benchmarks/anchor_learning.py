"""Learned anchors against fixed ones: test errors, small models, biases alone, time.

    python -m benchmarks.anchor_learning choose     # m, k, C and form, by validation
    python -m benchmarks.anchor_learning maps       # linear or quadratic local models, likewise
    python -m benchmarks.anchor_learning accuracy   # test errors of the chosen, five seeds
    python -m benchmarks.anchor_learning rbf        # a tuned RBF SVC on the same rows
    python -m benchmarks.anchor_learning biases     # LLC-SAPL_lcc against LCC+SVM
    python -m benchmarks.anchor_learning curve      # error against the number of anchors
    python -m benchmarks.anchor_learning speed      # time of a fit against fixed anchors

`choose` sees training rows only: a quarter of them is held out. All settings are tried on one such
split; the best few, and the best with more epochs, on two more. Fixed anchors get the same number
of anchors and neighbours as the learned ones, and their own form and C. The other parts read what
it wrote; it has compared learned anchors with fixed ones already, so `keep_if_better` is off.
`maps` tries quadratic local models, as many, normalised with C = 10, on the same splits,
for the sets of few features; `accuracy` uses them where they won. `biases` and `curve` are about
linear ones. `rbf` chooses C and γ by cross-validation on at most 5,000 training rows.

Sets without a standard test part are cut anew for each seed, as in the paper (two thirds to train
on, a half for SKIN); `choose` uses the training rows of seed 0.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, train_test_split
from sklearn.svm import SVC

from hyperlocal.datasets import load_dataset
from hyperlocal.papers import LocalCodingSVC
from hyperlocal.solvers.anchor_learning import FIRST_EPOCHS

from .common import (
    Row,
    argument_parser,
    environment,
    print_table,
    read_result,
    rounded,
    write_result,
)
from .cores import Work, shared_work
from .parts.anchor_tasks import (
    FORMS,
    NORMALIZED,
    PLAIN,
    TASKS,
    VALIDATION_SHARE,
    Task,
    error,
    fixed,
    learned,
)

BIAS_FORMS = [{**PLAIN, "C": 1.0}, {**PLAIN, "C": 10.0}, {**NORMALIZED, "C": 3.0},
              {**NORMALIZED, "C": 30.0}]  # fmt: skip
BIAS_ANCHORS = (5, 10, 20, 50, 100)
RBF_ROWS = 5_000  # the most rows on which C and γ are chosen
RBF_GRID = {"C": [1, 3, 10, 30, 100], "gamma": [0.25, 0.5, 1, 2, 4, 8]}  # γ in units of "scale"
FINALISTS = 4
MORE_EPOCHS = 60
CURVE = (2, 5, 10, 20, 50, 100, 180)


# ---- choose --------------------------------------------------------------------------------------


def choose(tasks: tuple[Task, ...], seed: int, quick: bool) -> list[Row]:
    """Settings of each set, from its training rows."""
    rows = []
    for task in tasks:
        X, y, *_ = task.parts(0, quick)
        splits = [validation_split(task, X, y, seed + number) for number in range(3)]
        tried = [{"m": m, "k": k, **form} for (m, k), form in product(task.shapes, FORMS)]
        best = finalists(learned, tried, splits, task.name)
        more = {**best[0], "anchor_epochs": MORE_EPOCHS}
        setting, found = winner(learned, [*best, more], splits, task.name)
        own = [{"m": setting["m"], "k": setting["k"], **form} for form in FORMS]
        fixed_setting, fixed_found = winner(
            fixed, finalists(fixed, own, splits, task.name), splits, task.name
        )
        rows += [
            {"set": task.name, "anchors": "learned", **setting, "validation error %": found},
            {"set": task.name, "anchors": "fixed", **fixed_setting,
             "validation error %": fixed_found},
        ]  # fmt: skip
    return rows


def validation_split(task: Task, X: np.ndarray, y: np.ndarray, seed: int) -> tuple[np.ndarray, ...]:
    """Training rows cut again, in the order in which `error` wants them.

    Of a series a stretch is held out (the last one first): a window drawn at random has all but one
    of its numbers in common with the next one, which would be trained on.
    """
    if task.is_series:
        held = np.zeros(len(y), bool)
        size = int(VALIDATION_SHARE * len(y))
        end = len(y) - (seed % 3) * size
        held[end - size : end] = True
        return X[~held], y[~held], X[held], y[held]
    split = train_test_split(X, y, test_size=VALIDATION_SHARE, stratify=y, random_state=seed)
    return split[0], split[2], split[1], split[3]


def finalists(make: Callable, tried: list[Row], splits: list, name: str) -> list[Row]:
    """The best settings on the first split, best first."""
    errors = [validate(make, setting, splits[:1], name) for setting in tried]
    return [tried[index] for index in np.argsort(errors, kind="stable")[:FINALISTS]]


def winner(make: Callable, settings: list[Row], splits: list, name: str) -> tuple[Row, float]:
    """The best setting on average over the splits."""
    errors = [validate(make, setting, splits, name) for setting in settings]
    best = int(np.argmin(errors))
    return settings[best], errors[best]


def validate(make: Callable, setting: Row, splits: list, name: str) -> float:
    """Mean validation error."""
    found = float(np.mean([error(make(seed, **setting), s) for seed, s in enumerate(splits)]))
    print(f"{name} {setting} {found:.3f}", file=sys.stderr, flush=True)
    return found


SETTINGS = ("m", "k", "loss", "normalize", "C", "anchor_epochs", "feature_map")


def chosen(name: str, anchors: str) -> Row:
    """The setting that `choose` and `maps` found."""
    for row in read_result("anchor_learning_maps")["rows"]:
        if (row["set"], row["anchors"]) == (name, anchors) and row["chosen"]:
            return {key: row[key] for key in SETTINGS if key in row}
    return chosen_linear(name, anchors)[0]


def chosen_linear(name: str, anchors: str) -> tuple[Row, float]:
    """The setting that `choose` found, and its validation error."""
    for row in read_result("anchor_learning_choose")["rows"]:
        if (row["set"], row["anchors"]) == (name, anchors):
            return {key: row[key] for key in SETTINGS if key in row}, row["validation error %"]
    raise SystemExit(f"{name} is not in the results of `choose`; run that first.")


# ---- maps ----------------------------------------------------------------------------------------


def maps(tasks: tuple[Task, ...], seed: int, quick: bool) -> list[Row]:
    """Quadratic local models at the chosen settings, beside what linear ones reached."""
    rows = []
    for task in (task for task in tasks if task.few_features):
        X, y, *_ = task.parts(0, quick)
        splits = [validation_split(task, X, y, seed + number) for number in range(3)]
        for anchors, make in (("learned", learned), ("fixed", fixed)):
            setting, linear = chosen_linear(task.name, anchors)
            curved = {**NORMALIZED, "C": 10.0, "feature_map": "quadratic"}
            curved |= {"m": setting["m"], "k": setting["k"]}
            found = validate(make, curved, splits, task.name)
            rows.append(
                {"set": task.name, "anchors": anchors, **curved, "validation error %": found,
                 "linear %": linear, "chosen": bool(found < linear)}
            )  # fmt: skip
    return rows


# ---- accuracy ------------------------------------------------------------------------------------


def accuracy(tasks: tuple[Task, ...], repeats: int, quick: bool) -> list[Row]:
    """Test errors of the chosen settings."""
    rows = []
    for task in tasks:
        for anchors, make in (("learned", learned), ("fixed", fixed)):
            setting = chosen(task.name, anchors)
            errors, seconds = [], []
            for seed in range(repeats):
                parts = task.parts(seed, quick)
                start = time.process_time()
                errors.append(error(make(seed, **setting), parts))
                seconds.append(time.process_time() - start)
            row = {
                "set": task.name, "anchors": anchors, **setting,
                "error %": float(np.mean(errors)), "sd": float(np.std(errors)),
                "CPU s (fit and score)": float(np.median(seconds)), "seeds": repeats,
            }  # fmt: skip
            if anchors == "learned":
                row |= {"wanted %": task.wanted, "paper %": task.published}
            rows.append(row)
            print_table([row])
    return rows


# ---- a tuned RBF SVC -----------------------------------------------------------------------------


def rbf(tasks: tuple[Task, ...], repeats: int, quick: bool) -> list[Row]:
    """Test errors of kernel SVMs whose C and γ were chosen on training rows of seed 0."""
    rows = []
    for task in tasks:
        X, y, *_ = task.parts(0, quick)
        setting = tuned_rbf(task, X, y)
        standard = load_dataset(task.name).X_test is not None  # every seed has the same rows
        seeds = range(1 if standard else repeats)
        errors = [error(SVC(cache_size=2000, **setting), task.parts(s, quick)) for s in seeds]
        rows.append(
            {"set": task.name, **setting, "error %": float(np.mean(errors)),
             "sd": float(np.std(errors)), "seeds": len(errors)}
        )  # fmt: skip
        print_table(rows[-1:])
    return rows


def tuned_rbf(task: Task, X: np.ndarray, y: np.ndarray) -> Row:
    """C and γ by three-fold cross-validation, on a sample of large sets."""
    scale = 1 / (X.shape[1] * X.var())
    grid = {"C": RBF_GRID["C"], "gamma": [factor * scale for factor in RBF_GRID["gamma"]]}
    if len(y) > RBF_ROWS:
        X, _, y, _ = train_test_split(X, y, train_size=RBF_ROWS, stratify=y, random_state=0)
    folds = KFold(3) if task.is_series else StratifiedKFold(3, shuffle=True, random_state=0)
    return GridSearchCV(SVC(), grid, cv=folds, n_jobs=2).fit(X, y).best_params_


# ---- biases alone --------------------------------------------------------------------------------


def biases(tasks: tuple[Task, ...], repeats: int, quick: bool) -> list[Row]:
    """LLC-SAPL_lcc against LCC+SVM with few and many anchors; form and C by validation."""
    rows = []
    for task, m in product(tasks, BIAS_ANCHORS):
        X, y, *_ = task.parts(0, quick)
        splits = [validation_split(task, X, y, number) for number in range(3)]
        errors = {}
        for name, make in bias_models(m).items():
            form, _ = winner(make, BIAS_FORMS, splits, f"{task.name} {m} {name}")
            found = [error(make(s, **form), task.parts(s, quick)) for s in range(repeats)]
            errors[name] = float(np.mean(found))
            rows.append(
                {"set": task.name, "m": m, "method": name, **form, "error %": errors[name],
                 "sd": float(np.std(found)), "seeds": repeats}
            )  # fmt: skip
        rows[-3] |= {
            "margin": min(list(errors.values())[1:]) - errors["LLC-SAPL_lcc"],
            "paper's margin": task.published_margin,
        }
        print_table(rows[-3:])
    return rows


def bias_models(m: int) -> dict[str, Callable[..., Any]]:
    """Models of one number per anchor, k = 8 (or all anchors, if they are fewer)."""
    k = min(8, m)

    def lcc(seed: int, coding: str, **form: Any) -> LocalCodingSVC:
        return LocalCodingSVC(m, n_neighbors=k, coding=coding, random_state=seed, **form)

    return {
        "LLC-SAPL_lcc": lambda seed, **form: learned(seed, m, k, feature_map="bias_only", **form),
        "LCC+SVM (lcc codes)": lambda seed, **form: lcc(seed, "lcc", **form),
        "LCC+SVM (soft codes)": lambda seed, **form: lcc(seed, "soft", **form),
    }


# ---- error against the number of anchors ---------------------------------------------------------


def curve(tasks: tuple[Task, ...], repeats: int, quick: bool) -> list[Row]:
    """Test errors with few and many anchors, k = 8, at the chosen form and C, default epochs."""
    rows = []
    for task, m in product(tasks, CURVE):
        errors: dict[str, list[float]] = {"learned": [], "fixed": []}
        for seed in range(repeats if m == 10 else 1):
            parts = task.parts(seed, quick)
            for anchors, make in (("learned", learned), ("fixed", fixed)):
                setting = {**chosen_linear(task.name, anchors)[0], "m": m, "k": 8}
                setting.pop("anchor_epochs", None)
                errors[anchors].append(error(make(seed, **setting), parts))
        row: Row = {"set": task.name, "m": m, "seeds": len(errors["fixed"])}
        row |= {f"{name} error %": float(np.mean(found)) for name, found in errors.items()}
        rows.append(row)
        print_table([row])
    return rows


# ---- time ----------------------------------------------------------------------------------------


def speed(tasks: tuple[Task, ...], repeats: int, quick: bool) -> list[Row]:
    """CPU seconds of fits with learned anchors, and of fits with fixed ones.

    Fixed anchors come twice: trained to the same tolerance, and for as many epochs. Seconds of two
    threads are those on the critical path, as in :mod:`benchmarks.cores`.
    """
    return [_speed_of(task, repeats, quick) for task in tasks]


def _speed_of(task: Task, repeats: int, quick: bool) -> Row:
    setting = {**chosen_linear(task.name, "learned")[0]}
    setting.pop("anchor_epochs", None)
    X, y, *_ = task.parts(0, quick)
    seconds: dict[str, list[float]] = {}

    def clock(name: str, model: Any) -> Any:
        now = time.thread_time if model.n_jobs == 2 else time.process_time
        start = now()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
        seconds.setdefault(name, []).append(now() - start)
        return model

    for _ in range(repeats):
        clock("compared", learned(0, **setting, keep_if_better=True).set_params(n_jobs=1))
        work = Work()
        with shared_work(work):
            clock("two", learned(0, **setting).set_params(n_jobs=2))
        seconds["two"][-1] += work.path
        model = clock("one", learned(0, **setting).set_params(n_jobs=1))
        epochs = len(model.history_) - 1 + model.n_iter_ + FIRST_EPOCHS
        clock("solved", fixed(0, **setting).set_params(n_jobs=1))
        same = fixed(0, **setting).set_params(max_iter=epochs, tol=0, n_jobs=1)
        clock("fixed", same)
    best = {name: min(found) for name, found in seconds.items()}
    return {
        "set": task.name, "m": setting["m"], "k": setting["k"], "epochs": epochs,
        "CPU s": best["one"], "CPU s, compared": best["compared"],
        "CPU s, fixed anchors": best["solved"], "ratio": best["one"] / best["solved"],
        "CPU s, fixed, as many epochs": best["fixed"],
        "ratio, as many epochs": best["one"] / best["fixed"],
        "2 threads, times faster": best["one"] / best["two"],
    }  # fmt: skip


MEASURES: dict[str, Callable[..., list[Row]]] = {
    "accuracy": accuracy, "rbf": rbf, "biases": biases, "curve": curve, "speed": speed,
}  # fmt: skip


def main() -> None:
    """Run one part."""
    parser = argument_parser(__doc__, repeats=5)
    parser.add_argument("part", choices=("choose", "maps", *MEASURES))
    parser.add_argument("--sets", default=",".join(task.name for task in TASKS))
    arguments = parser.parse_args()
    names = arguments.sets.split(",")
    tasks = tuple(task for task in TASKS if task.name in names)
    if arguments.part in ("choose", "maps"):
        choice = choose if arguments.part == "choose" else maps
        rows = choice(tasks, arguments.seed, arguments.quick)
    else:
        rows = MEASURES[arguments.part](tasks, arguments.repeats, arguments.quick)
    print_table(rows, arguments.part)
    name = f"anchor_learning_{arguments.part}"
    rows = [rounded(row) for row in rows]
    if len(tasks) < len(TASKS):  # the other sets' rows stay
        others = [row for row in read_result(name)["rows"] if row["set"] not in names]
        order = [task.name for task in TASKS]
        rows = sorted([*others, *rows], key=lambda row: order.index(row["set"]))
    write_result(name, environment(arguments.seed), rows, tracked=not arguments.quick)


if __name__ == "__main__":
    main()
