"""The papers' figures that no other benchmark measures: epochs of anchor learning, landmarks.

    python -m benchmarks.figures epochs      # LLC-SAPL, figure 3: objective and accuracy per epoch
    python -m benchmarks.figures landmarks   # L3-SVM, figure 3: accuracy over landmarks
    python -m benchmarks.figures selection   # L3-SVM, figure 4: random landmarks or principal axes
    python -m benchmarks.figures draw        # the pictures for the docs, from the tracked results

C is chosen on training rows: for landmarks here, for anchors by the table of LLC-SAPL. The papers
print these figures as curves, without numbers; ``docs/reproduction.md`` quotes their texts.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from hyperlocal import SupervisedAnchorSVC
from hyperlocal.datasets import load_dataset
from hyperlocal.maps.landmarks import choose_landmarks
from hyperlocal.papers import LandmarkSVC
from hyperlocal.plots.drawing import BLUE, GREY, INK, ORANGE, pyplot
from hyperlocal.runtime.threads import Workers

from .common import (
    RESULTS,
    Row,
    argument_parser,
    environment,
    print_table,
    read_result,
    rounded,
    write_result,
)

IMAGES = Path(__file__).parents[1] / "docs" / "images"
QUICK_ROWS = 600

# ---- epochs of anchor learning -------------------------------------------------------------------

EPOCHS = (0, 1, 2, 3, 5, 7, 10, 15, 20, 30)
EPOCH_SETS = {"ijcnn1": (0, 1.0), "usps": (60, 10.0)}  # principal components (0: none), C


def epochs(seed: int, repeats: int, quick: bool) -> Iterator[Row]:
    """Models whose anchors learned for so many epochs: 100 anchors, 8 of them per row."""
    for name, (n_components, cost) in EPOCH_SETS.items():
        X, y, X_test, y_test = standard_rows(name, n_components, QUICK_ROWS if quick else None)
        for n_epochs in EPOCHS[: 3 if quick else None]:
            model = SupervisedAnchorSVC(
                100, n_neighbors=8, C=cost, anchor_epochs=n_epochs, keep_if_better=False,
                n_jobs=1, random_state=seed,
            ).fit(X, y)  # fmt: skip
            accuracy = 100 * accuracy_score(y_test, model.predict(X_test))
            yield {"set": name, "epochs": n_epochs, "objective": float(model.objective_),
                   "accuracy %": accuracy}  # fmt: skip


def standard_rows(name: str, n_components: int, n_rows: int | None) -> Sequence[np.ndarray]:
    """A set with its standard test part, in principal components if asked for."""
    data = load_dataset(name)
    assert data.X_test is not None
    assert data.y_test is not None
    X, X_test = data.X_train.astype(np.float64), data.X_test.astype(np.float64)
    if n_components:
        pca = PCA(n_components, svd_solver="covariance_eigh").fit(X)
        X, X_test = pca.transform(X), pca.transform(X_test)
    X, X_test = X.astype(np.float32), X_test.astype(np.float32)
    if n_rows is None:
        return X, data.y_train, X_test, data.y_test
    return X[:n_rows], data.y_train[:n_rows], X_test[:n_rows], data.y_test[:n_rows]


# ---- how many landmarks --------------------------------------------------------------------------

LANDMARK_SETS = {"bupa": "Liver", "heart-statlog": "Heart", "sonar": "Sonar",
                 "ionosphere": "Ionosphere"}  # fmt: skip
LANDMARKS = (1, 2, 5, 10, 20, 50, 100)
CLUSTERS = (1, 2, 5)
COSTS = (0.01, 0.1, 1.0, 10.0, 100.0)


def landmarks(seed: int, repeats: int, quick: bool) -> Iterator[Row]:
    """Mean accuracy of five folds, over numbers of landmarks and clusters."""
    for name in list(LANDMARK_SETS)[: 1 if quick else None]:
        X, y = load_dataset(name).all_rows()
        X = X.astype(np.float64)
        peers = {
            "linear SVM": (LinearSVC(random_state=seed), {"C": COSTS}),
            "RBF SVC": (SVC(), {"C": COSTS, "gamma": np.array(COSTS) / X.shape[1]}),
        }
        for peer, (model, grid) in peers.items():
            found = over_folds(model, grid, X, y, seed, 1 if quick else repeats)
            yield {"set": name, "features": X.shape[1], "method": peer, "accuracy %": found}
        for n_clusters in CLUSTERS[: 1 if quick else None]:
            for n_landmarks in (n for n in LANDMARKS if n <= 4 * X.shape[1]):
                model = LandmarkSVC(
                    n_clusters, n_landmarks=n_landmarks, loss="squared_hinge", n_jobs=1,
                    random_state=seed, max_iter=300, tol=1e-2,
                )  # fmt: skip
                costs = {"C": ["auto", *(cost / X.shape[1] for cost in COSTS)]}
                found = over_folds(model, costs, X, y, seed, 1 if quick else repeats)
                yield {
                    "set": name, "features": X.shape[1], "method": "LandmarkSVC",
                    "clusters": n_clusters, "landmarks": n_landmarks, "accuracy %": found,
                }  # fmt: skip


def over_folds(model: Any, grid: Any, X: np.ndarray, y: np.ndarray, seed: int, n: int) -> float:
    """Mean accuracy in % of n times five folds; what is chosen is chosen on training rows."""
    found = []
    for repeat in range(n):
        folds = StratifiedKFold(5, shuffle=True, random_state=seed + repeat)
        for train, test in folds.split(X, y):
            scaler = StandardScaler().fit(X[train])
            search = GridSearchCV(model, grid, cv=3).fit(scaler.transform(X[train]), y[train])
            found.append(search.score(scaler.transform(X[test]), y[test]))
    return 100 * float(np.mean(found))


# ---- which landmarks -----------------------------------------------------------------------------

NUMBERS = (5, 10, 20, 50, 100, 200)
SELECTION_CLUSTERS = 100
CHOOSING_ROWS, FIT_ROWS = 2_000, 6_000


def selection(seed: int, repeats: int, quick: bool) -> Iterator[Row]:
    """Part of MNIST: accuracy and seconds of selection over the landmarks, 100 clusters."""
    X, y, X_test, y_test = standard_rows("mnist", 0, QUICK_ROWS if quick else FIT_ROWS)
    X, X_test = X / 255, X_test / 255
    for n_landmarks in NUMBERS[: 2 if quick else None]:
        for kind in ("random", "pca"):
            options: dict[str, Any] = {
                "n_landmarks": n_landmarks, "landmarks": kind, "loss": "squared_hinge",
                "n_jobs": 1, "max_iter": 100, "tol": 3e-2,
            }  # fmt: skip
            cost = chosen_cost(options, X[:CHOOSING_ROWS], y[:CHOOSING_ROWS], seed)
            accuracies = []
            for repeat in range(1 if quick else repeats):
                model = LandmarkSVC(SELECTION_CLUSTERS, **options, random_state=seed + repeat)
                model.set_params(C=cost * automatic_cost(model, X, y)).fit(X, y)
                accuracies.append(100 * accuracy_score(y_test, model.predict(X_test)))
            yield {"landmarks": n_landmarks, "selection": kind, "rows": len(y), "C / auto": cost,
                   "accuracy %": float(np.mean(accuracies)), "seeds": len(accuracies),
                   "selection s": selection_seconds(kind, n_landmarks, X, seed)}  # fmt: skip


def chosen_cost(options: dict[str, Any], X: np.ndarray, y: np.ndarray, seed: int) -> float:
    """C in units of "auto", by a third of the rows held out."""
    cut = len(y) * 2 // 3
    scores = {}
    for cost in (0.1, 1.0, 10.0):
        model = LandmarkSVC(SELECTION_CLUSTERS, **options, random_state=seed)
        model.set_params(C=cost * automatic_cost(model, X[:cut], y[:cut])).fit(X[:cut], y[:cut])
        scores[cost] = model.score(X[cut:], y[cut:])
    return max(scores, key=lambda cost: scores[cost])


def automatic_cost(model: LandmarkSVC, X: np.ndarray, y: np.ndarray) -> float:
    """What "auto" means for these rows."""
    probe = clone(model).set_params(C="auto", max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return probe.fit(X[:2_000], y[:2_000]).C_


def selection_seconds(kind: str, n_landmarks: int, X: np.ndarray, seed: int) -> float:
    """Processor seconds to find landmarks."""
    weights, rng = np.ones(len(X)), np.random.default_rng(seed)
    with Workers(1) as workers:
        start = time.process_time()
        choose_landmarks(X, weights, kind, n_landmarks, rng, workers)
        return time.process_time() - start


# ---- pictures ------------------------------------------------------------------------------------


def draw() -> None:
    """All pictures for which there are results."""
    pictures = {"epochs": draw_epochs, "landmarks": draw_landmarks, "selection": draw_selection}
    for part, picture in pictures.items():
        if (RESULTS / f"figures_{part}.json").exists():
            picture(read_result(f"figures_{part}")["rows"])


def plain(panel: Any, title: str, across: str, up: str = "") -> None:
    """The look that all panels share."""
    panel.set_title(title, fontsize=10)
    panel.set_xlabel(across, fontsize=9)
    panel.set_ylabel(up, fontsize=9)
    panel.tick_params(labelsize=8)
    panel.spines[["top", "right"]].set_visible(False)


def draw_epochs(rows: Sequence[Row]) -> None:
    """Objective and test accuracy against epochs."""
    plt = pyplot()
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.1), layout="constrained")
    for panel, name in zip(panels, EPOCH_SETS, strict=True):
        points = [row for row in rows if row["set"] == name]
        numbers = [row["epochs"] for row in points]
        panel.plot(numbers, [row["objective"] for row in points], "o--", ms=3.5, color=BLUE)
        plain(panel, name.upper(), "epochs of anchor learning", "objective")
        panel.yaxis.label.set_color(BLUE)
        other = panel.twinx()
        other.plot(numbers, [row["accuracy %"] for row in points], "o-", ms=3.5, color=ORANGE)
        other.set_ylabel("test accuracy, %", fontsize=9, color=ORANGE)
        other.tick_params(labelsize=8)
        other.spines["top"].set_visible(False)
    figure.savefig(IMAGES / "anchor_epochs.png", dpi=90)


def draw_landmarks(rows: Sequence[Row]) -> None:
    """Accuracy against landmarks, a curve per number of clusters, a panel per set."""
    plt = pyplot()
    figure, panels = plt.subplots(1, 4, figsize=(12, 3.2), layout="constrained")
    for panel, (name, title) in zip(panels, LANDMARK_SETS.items(), strict=True):
        found = [row for row in rows if row["set"] == name]
        for n_clusters, colour in zip(CLUSTERS, (ORANGE, BLUE, GREY), strict=True):
            points = [row for row in found if row.get("clusters") == n_clusters]
            panel.plot(
                [row["landmarks"] for row in points], [row["accuracy %"] for row in points],
                "o-", ms=3.5, color=colour, label=f"LandmarkSVC, clusters: {n_clusters}",
            )  # fmt: skip
        for peer, style in (("linear SVM", ":"), ("RBF SVC", "--")):
            level = next(row["accuracy %"] for row in found if row["method"] == peer)
            panel.axhline(level, color=INK, lw=1, ls=style, label=peer)
        panel.axvline(found[0]["features"], color=GREY, lw=0.6)
        panel.set_xscale("log")
        panel.xaxis.set_major_formatter("{x:g}")
        plain(panel, f"{title}, {found[0]['features']} features", "landmarks")
    panels[0].set_ylabel("accuracy, %", fontsize=9)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False, fontsize=8)
    figure.savefig(IMAGES / "landmark_numbers.png", dpi=90)


def draw_selection(rows: Sequence[Row]) -> None:
    """Accuracy and seconds, random landmarks and principal axes."""
    plt = pyplot()
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.1), layout="constrained")
    for kind, colour, label in (("random", BLUE, "random rows"), ("pca", ORANGE, "principal axes")):
        points = [row for row in rows if row["selection"] == kind]
        numbers = [row["landmarks"] for row in points]
        for panel, what in zip(panels, ("accuracy %", "selection s"), strict=True):
            panel.plot(numbers, [row[what] for row in points], "o-", ms=4, color=colour,
                       label=label)  # fmt: skip
            panel.set_xscale("log")
            panel.xaxis.set_major_formatter("{x:g}")
    plain(panels[0], "test accuracy, %", "landmarks")
    plain(panels[1], "seconds to select landmarks", "landmarks")
    panels[1].set_yscale("log")
    panels[0].legend(frameon=False, fontsize=9)
    figure.savefig(IMAGES / "landmark_selection.png", dpi=90)


PARTS = {"epochs": epochs, "landmarks": landmarks, "selection": selection}


def main() -> None:
    """Measure a part, or draw."""
    parser = argument_parser(__doc__, repeats=1)
    parser.add_argument("part", choices=[*PARTS, "draw"])
    arguments = parser.parse_args()
    if arguments.part == "draw":
        draw()
        return
    record = environment(arguments.seed)
    run = PARTS[arguments.part]
    rows = [rounded(row) for row in run(arguments.seed, arguments.repeats, arguments.quick)]
    print_table(rows, arguments.part)
    write_result(f"figures_{arguments.part}", record, rows, tracked=not arguments.quick)


if __name__ == "__main__":
    main()
