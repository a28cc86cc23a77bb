"""Draws docs/images/boundary.png: what a locally linear SVM is, in one picture."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap

from hyperlocal import LocallyLinearSVC
from hyperlocal.datasets import make_banana

BLUE, ORANGE, INK = "#2f6fab", "#d9822b", "#222222"


def score_grid(model, X: np.ndarray, n: int = 300):
    """Scores over the plane that the rows span."""
    low, high = X.min(axis=0) - 0.6, X.max(axis=0) + 0.6
    a, b = np.meshgrid(np.linspace(low[0], high[0], n), np.linspace(low[1], high[1], n))
    return a, b, model.decision_function(np.column_stack([a.ravel(), b.ravel()])).reshape(a.shape)


def draw_plane(axes, model, X: np.ndarray, y: np.ndarray) -> None:
    """Rows, the two sides and the boundary, the anchors as stars."""
    a, b, scores = score_grid(model, X)
    axes.contourf(a, b, scores > 0, alpha=0.14, cmap=ListedColormap([BLUE, ORANGE]))
    axes.scatter(*X.T, c=np.where(y == np.unique(y)[1], ORANGE, BLUE), s=7, lw=0, alpha=0.55)
    axes.contour(a, b, scores, [0], colors=INK, linewidths=2)
    axes.plot(*model.anchors_.T, "*", color=INK, ms=12, mec="white", mew=0.9, ls="none")
    axes.set(xticks=[], yticks=[], xlim=(a.min(), a.max()), ylim=(b.min(), b.max()))
    axes.set_aspect("equal")


def main() -> None:
    """Fit a linear SVM (one anchor) and a locally linear one; draw both."""
    X, y = make_banana(700, noise=0.15, random_state=3)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    options = {"feature_map": None, "random_state": 0}
    linear = LocallyLinearSVC(1, n_neighbors=1, **options).fit(X, y)
    local = LocallyLinearSVC(12, n_neighbors=6, **options).fit(X, y)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
    for axes, model, title in (
        (left, linear, "one anchor: a linear SVM"),
        (right, local, "twelve anchors: a locally linear SVM"),
    ):
        draw_plane(axes, model, X, y)
        axes.set_title(f"{title}   ({model.score(X, y):.1%})", color=INK, fontsize=11)
    figure.savefig(Path(__file__).parent / "images" / "boundary.png", dpi=130)


if __name__ == "__main__":
    main()
