"""Draws landmark_xor.png and landmark_swiss_roll.png: figures 1 and 2 of the L3-SVM paper.

    python docs/images/landmark_pictures.py

C (and γ of the RBF SVM) are chosen by cross-validation over the training rows, as in the paper;
accuracies are those of as many test rows.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from PIL import Image
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC, LinearSVC

from hyperlocal import LandmarkSVC
from hyperlocal.datasets import make_spiral, make_xor

BLUE, ORANGE, INK = "#2f6fab", "#d9822b", "#222222"
COSTS = [0.1, 1.0, 10.0, 100.0]
N_LANDMARKS = 10


def tuned(model, grid: dict, X: np.ndarray, y: np.ndarray):
    """The best of a grid by cross-validation."""
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the largest C are tried all the same
        return GridSearchCV(model, grid, cv=folds).fit(X, y).best_estimator_


def support_of(model, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Support vectors; those of LIBLINEAR are the rows within the margin."""
    if hasattr(model, "support_"):
        return model.support_
    return np.flatnonzero((2 * y - 1) * model.decision_function(X) <= 1)


def draw_plane(axes, model, train, test, title: str) -> None:
    """Rows, the two sides, the boundary; support vectors have a dark dot."""
    X, y = train
    a, b = np.meshgrid(*[np.linspace(-1.12, 1.12, 250)] * 2)
    scores = model.decision_function(np.column_stack([a.ravel(), b.ravel()])).reshape(a.shape)
    axes.contourf(a, b, scores > 0, alpha=0.16, cmap=ListedColormap([BLUE, ORANGE]))
    axes.scatter(*X.T, c=np.where(y > 0, ORANGE, BLUE), s=9, lw=0, alpha=0.7)
    support = support_of(model, X, y)
    axes.scatter(*X[support].T, c=INK, s=2.5, lw=0)
    axes.contour(a, b, scores, [0], colors=INK, linewidths=1.2)
    accuracies = f"train {model.score(X, y):.1%}, test {model.score(*test):.1%}"
    axes.set_title(f"{title}\n{accuracies}, {len(support)} SV", color=INK, fontsize=9)
    axes.set(xticks=[], yticks=[], xlim=(-1.12, 1.12), ylim=(-1.12, 1.12))
    axes.set_aspect("equal")


def draw(name: str, make, variants: dict[str, tuple[int, dict]], seed: int) -> None:
    """Linear and RBF SVM beside L3-SVMs."""
    rng = np.random.RandomState(seed)
    train, test = make(random_state=rng), make(random_state=rng)
    contenders = {
        "linear SVM": (LinearSVC(loss="hinge", max_iter=100_000), {"C": COSTS}),
        "RBF SVM": (SVC(), {"C": COSTS, "gamma": [0.1, 1.0, 10.0, 100.0]}),
    }
    for title, (n_clusters, options) in variants.items():
        model = LandmarkSVC(n_clusters, n_landmarks=N_LANDMARKS, random_state=0, **options)
        contenders[f"L3-SVM, {title}"] = (model, {"C": COSTS})
    figure, panels = plt.subplots(2, 3, figsize=(9, 6.6), layout="constrained")
    order = [panels[0, 0], panels[1, 0], *panels[:, 1], *panels[:, 2]]
    for axes, (title, (model, grid)) in zip(order, contenders.items(), strict=True):
        draw_plane(axes, tuned(model, grid, *train), train, test, title)
    target = Path(__file__).parent / f"{name}.png"
    figure.savefig(target, dpi=90)
    Image.open(target).convert("RGB").quantize(64).save(target, optimize=True)
    plt.close(figure)


def main() -> None:
    """Both figures."""
    rbf = {"projection": "rbf"}
    xor = {
        "2 clusters": (2, {}),
        "2 clusters, RBF projection": (2, rbf),
        "4 clusters": (4, {}),
        "4 clusters, RBF projection": (4, rbf),
    }
    swiss_roll = {
        "2 clusters": (2, {}),
        "100 clusters": (100, {}),
        "100 clusters, RBF projection": (100, rbf),
        "100 soft clusters": (100, {"soft_clusters": True}),
    }
    draw("landmark_xor", make_xor, xor, seed=0)
    draw("landmark_swiss_roll", make_spiral, swiss_roll, seed=0)


if __name__ == "__main__":
    main()
