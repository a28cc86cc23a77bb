"""Draws docs/images/sines.png and, from the tracked results, docs/images/few_anchors.png.

The first is the example of the LLC-SAPL paper: two sine waves, four anchors. The second is its
figure 2: the error against the number of anchors, fixed and learned.
"""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from make_boundary_picture import BLUE, INK, ORANGE, score_grid
from matplotlib.colors import ListedColormap
from sklearn.svm import SVC

from hyperlocal import LocallyLinearSVC, SupervisedAnchorSVC
from hyperlocal.datasets import make_sines

HERE = Path(__file__).parent
CURVES = HERE.parent / "benchmarks" / "results" / "anchor_learning_curve.json"
NAMES = {"letter": "LETTER", "usps": "USPS", "mnist": "MNIST", "ijcnn1": "IJCNN1",
         "magic04": "MAGIC04", "skin": "SKIN", "banana": "Banana"}  # fmt: skip


def draw_sines() -> None:
    """Fixed anchors, learned anchors and a kernel SVM side by side."""
    X, y = make_sines(2000, random_state=0)
    X_test, y_test = make_sines(4000, random_state=1)
    mean, scale = X.mean(axis=0), X.std(axis=0)
    X, X_test = (X - mean) / scale, (X_test - mean) / scale
    fixed = LocallyLinearSVC(4, n_neighbors=3, feature_map=None, random_state=0).fit(X, y)
    learned = SupervisedAnchorSVC(4, n_neighbors=3, random_state=0).fit(X, y)
    kernel = SVC(C=10, gamma=1).fit(X, y)
    figure, panels = plt.subplots(1, 3, figsize=(12.5, 3.9), layout="constrained")
    for axes, model, title in zip(
        panels,
        (fixed, learned, kernel),
        (
            "4 fixed anchors",
            "4 learned anchors",
            f"RBF SVC, {len(kernel.support_)} supports",
        ),
        strict=True,
    ):
        draw_model(axes, model, X, y, view=np.vstack([X, learned.anchors_]))
        axes.set_title(f"{title}   ({model.score(X_test, y_test):.1%})", color=INK, fontsize=11)
    for start, end in zip(learned.initial_anchors_, learned.anchors_, strict=True):
        panels[1].annotate("", end, start, arrowprops={"arrowstyle": "-", "ls": ":", "color": INK})
    figure.savefig(HERE / "images" / "sines.png", dpi=110)


def draw_model(axes, model, X: np.ndarray, y: np.ndarray, view: np.ndarray) -> None:
    """Rows, the two sides, the boundary, and anchors where there are any."""
    a, b, scores = score_grid(model, view, 300)
    axes.contourf(a, b, scores > 0, alpha=0.14, cmap=ListedColormap([BLUE, ORANGE]))
    axes.scatter(*X.T, c=np.where(y == 1, ORANGE, BLUE), s=6, lw=0, alpha=0.5)
    axes.contour(a, b, scores, [0], colors=INK, linewidths=2)
    if hasattr(model, "anchors_"):
        axes.plot(*model.anchors_.T, "*", color=INK, ms=12, mec="white", mew=0.9, ls="none")
    axes.set(xticks=[], yticks=[], xlim=(a.min(), a.max()), ylim=(b.min(), b.max()))


def draw_curves() -> None:
    """Error against the number of anchors, a panel per set."""
    rows = json.loads(CURVES.read_text(encoding="utf-8"))["rows"]
    figure, panels = plt.subplots(2, 4, figsize=(12.5, 5.6), layout="constrained", sharex=True)
    for axes, (name, title) in zip(panels.flat, NAMES.items(), strict=False):
        points = [row for row in rows if row["set"] == name]
        m = [row["m"] for row in points]
        axes.plot(m, [r["fixed error %"] for r in points], "o--", color=BLUE, ms=4, label="fixed")
        axes.plot(m, [r["learned error %"] for r in points], "o-", color=ORANGE, ms=4,
                  label="learned")  # fmt: skip
        axes.set(title=title, xscale="log", xticks=[2, 5, 10, 20, 50, 100, 180])
        axes.set_xticklabels([2, 5, 10, 20, 50, 100, 180])
        axes.minorticks_off()
        axes.set_ylim(bottom=0)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in panels[:, 0]:
        axes.set_ylabel("test error %")
    for axes in panels.flat[len(NAMES) :]:
        axes.set_axis_off()
        axes.legend(*panels.flat[0].get_legend_handles_labels(), loc="center", frameon=False,
                    title="anchors", fontsize=11)  # fmt: skip
    for axes in panels[-1]:
        axes.set_xlabel("anchors")
    figure.savefig(HERE / "images" / "few_anchors.png", dpi=100)


def main() -> None:
    """Draw what there are figures for."""
    draw_sines()
    if CURVES.exists():
        draw_curves()


if __name__ == "__main__":
    main()
