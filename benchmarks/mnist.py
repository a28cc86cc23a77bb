"""MNIST: quadratic local models against an accelerated kernel SVM, in the same run.

The loss, its scaling and C are chosen on the last 10,000 training rows; test rows are used once, by
the chosen model. Both get the same pixels and all cores.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import SVC

from hyperlocal import LocallyLinearSVC
from hyperlocal.compare import METHODS
from hyperlocal.datasets import load_dataset
from hyperlocal.estimators import base, tasks
from hyperlocal.gates import levels
from hyperlocal.model import local_model
from hyperlocal.model.lifting import LiftedRows
from hyperlocal.solvers import dual

from .common import (
    Row,
    argument_parser,
    environment,
    print_table,
    rounded,
    stage_seconds,
    timed,
    timed_in_turns,
    write_result,
)

# Without scikit-learn-intelex, scikit-learn's own SVC, to see that it works.
PEER = METHODS["intelex-svc" if METHODS["intelex-svc"].package.is_installed else "svc"]
N_COMPONENTS = 50
HELD_OUT_ROWS = 10_000
QUICK_ROWS = 6_000
PCA_SOLVERS = ("auto", "covariance_eigh", "randomized", "full")
CANDIDATES = (
    *({"normalize": True, "loss": "squared_hinge", "C": C} for C in (1.0, 3.0, 10.0)),
    *({"normalize": False, "loss": "hinge", "C": C} for C in (0.003, 0.01, 0.03)),
)
FIT_STAGES = {
    "principal components": (PCA, "fit_transform"),
    "checks of the input": (tasks, "check_labelled_rows"),
    "anchors (k-means)": (levels, "choose_anchors"),
    "sharpness of the gate": (levels, "fit_gate"),
    "codes": (local_model.LocalModel, "encode"),
    "lifting (norms)": (local_model.LocalModel, "lift_stored"),
    "dual epochs": (dual.Descent, "run_epoch"),
    "full checks": (dual.Descent, "check"),
}
PREDICT_STAGES = {
    "principal components": (PCA, "transform"),
    "checks of the input": (base, "check_rows"),
    "codes": (local_model.LocalModel, "encode"),
    "lifting (norms)": (local_model.LocalModel, "lift_stored"),
    "scores": (LiftedRows, "scores"),
}


@dataclass(frozen=True)
class Digits:
    """Pixels in [0, 1], single precision."""

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def load_digits(quick: bool) -> Digits:
    """The standard split, or its first rows."""
    data = load_dataset("mnist")
    rows = slice(QUICK_ROWS if quick else None)
    X_train, X_test = (np.float32(X[rows]) / 255 for X in (data.X_train, data.X_test))
    return Digits(X_train, data.y_train[rows], X_test, data.y_test[rows])


def pipeline(seed: int, options: Row) -> Pipeline:
    """Principal components, then quadratic local models of them."""
    model = LocallyLinearSVC(
        30, n_neighbors=8, feature_map="quadratic", n_jobs=-1, random_state=seed, **options
    )
    return make_pipeline(PCA(N_COMPONENTS, random_state=seed), model)


def error(model: Pipeline | SVC, X: np.ndarray, y: np.ndarray) -> float:
    """Share of wrong predictions, in %."""
    return 100 * float(np.mean(model.predict(X) != y))


def validate(digits: Digits, seed: int) -> list[Row]:
    """Errors of all candidates on held-out training rows; the components are found once."""
    n_held_out = min(HELD_OUT_ROWS, len(digits.y_train) // 6)
    X, y = digits.X_train[:-n_held_out], digits.y_train[:-n_held_out]
    held_out, truth = digits.X_train[-n_held_out:], digits.y_train[-n_held_out:]
    components = PCA(N_COMPONENTS, random_state=seed).fit(X)
    X, held_out = components.transform(X), components.transform(held_out)
    rows = []
    for options in CANDIDATES:
        model = pipeline(seed, options)[-1].fit(X, y)
        rows.append({"part": "validation", **options, "error %": error(model, held_out, truth)})
    return rows


def best_options(validation: list[Row]) -> Row:
    """The candidate of the smallest validation error."""
    best = min(validation, key=lambda row: row["error %"])
    return {name: best[name] for name in CANDIDATES[0]}


def race(digits: Digits, options: Row, seed: int, repeats: int) -> tuple[list[Row], Pipeline]:
    """Test error and the time of whole fits and predictions, both in turns."""
    models = {
        "hyperlocal": pipeline(seed, options),
        f"{PEER.package.name} SVC": PEER.make(seed, -1).set_params(C=10, gamma=0.02),
    }
    fits = timed_in_turns(
        {
            name: lambda model=model: clone(model).fit(digits.X_train, digits.y_train)
            for name, model in models.items()
        },
        repeats,
    )
    predictions = timed_in_turns(
        {
            name: lambda model=fit.value: error(model, digits.X_test, digits.y_test)
            for name, fit in fits.items()
        },
        repeats,
    )
    rows = [
        {
            "part": "race",
            "method": name,
            "error %": predictions[name].value,
            "fit s": fits[name].best,
            "fit s (median)": fits[name].median,
            "predict s": predictions[name].best,
            "predict s (median)": predictions[name].median,
        }
        for name in models
    ]
    return [*rows, ratios(*rows)], fits["hyperlocal"].value


def ratios(ours: Row, theirs: Row) -> Row:
    """How many times longer the peer takes."""
    times = {name: theirs[name] / ours[name] for name in ours if " s" in name}
    return {"part": "race", "method": "times faster", **times}


def compare_components(digits: Digits, seed: int, repeats: int) -> list[Row]:
    """What each way to find the principal components costs."""
    rows = []
    for solver in PCA_SOLVERS:
        pca = PCA(N_COMPONENTS, svd_solver=solver, random_state=seed)
        timing = timed(lambda pca=pca: pca.fit_transform(digits.X_train), repeats)
        rows.append({"part": "components", "svd_solver": solver, "seconds": timing.best})
    return rows


def profile(model: Pipeline, digits: Digits, repeats: int) -> list[Row]:
    """Where the time of a fit and of a prediction goes, in the fastest of several runs."""
    tasks = {
        "fit": (FIT_STAGES, lambda: clone(model).fit(digits.X_train, digits.y_train)),
        "predict": (PREDICT_STAGES, lambda: model.predict(digits.X_test)),
    }
    rows = []
    for task, (stages, run) in tasks.items():
        total, seconds = min(
            (profile_once(stages, run) for _ in range(repeats)), key=lambda found: found[0]
        )
        seconds["all else"] = total - sum(seconds.values())
        rows += [
            {"part": "profile", "task": task, "stage": stage, "seconds": spent, "share": share}
            for stage, spent in seconds.items()
            for share in [spent / total]
        ]
    return rows


def profile_once(stages: Row, run) -> tuple[float, dict[str, float]]:
    """Seconds of one run, in all and by stage."""
    with stage_seconds(stages) as seconds:
        total = timed(run).best
    return total, dict(seconds)


def main() -> None:
    """Choose, race, profile, and track."""
    arguments = argument_parser(__doc__, repeats=3).parse_args()
    digits = load_digits(arguments.quick)
    validation = validate(digits, arguments.seed)
    print_table(validation, "Held-out training rows")
    options = best_options(validation)
    components = compare_components(digits, arguments.seed, arguments.repeats)
    print_table(components, f"The first {N_COMPONENTS} principal components")
    rows, model = race(digits, options, arguments.seed, arguments.repeats)
    print_table(rows, f"Test rows; chosen: {options}")
    stages = profile(model, digits, arguments.repeats)
    print_table(stages, f"Where the time goes ({model[-1].n_iter_} epochs)")
    write_result(
        "mnist",
        environment(arguments.seed, peers=[PEER.package.name]),
        [rounded(row) for row in (*validation, *components, *rows, *stages)],
        tracked=not arguments.quick,
    )


if __name__ == "__main__":
    main()
