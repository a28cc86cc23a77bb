"""Draws docs/images/objectives.png and kernel_boundaries.png: the figures of the Pegasos paper."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.preprocessing import scale

from hyperlocal.datasets import make_banana
from hyperlocal.plotting import plot_batch_sizes, plot_boundaries, plot_samplings, plot_solvers

IMAGES = Path(__file__).parent / "images"


def main() -> None:
    """Objectives on overlapping classes in 20 dimensions, boundaries on two crescents."""
    X, y = make_classification(5_000, 20, n_informative=10, flip_y=0.05, random_state=0)
    figure, axes = plt.subplots(1, 3, figsize=(13, 3.6), layout="constrained")
    draws = {
        "solvers": plot_solvers,
        "batch sizes, last iterate": plot_batch_sizes,
        "sampling, last iterate": plot_samplings,
    }
    for ax, (title, draw) in zip(axes, draws.items(), strict=True):
        draw(scale(X), y, passes=30, ax=ax)
        ax.set_title(title, fontsize=11)
    figure.savefig(IMAGES / "objectives.png", dpi=80)
    X, y = make_banana(200, noise=0.25, random_state=3)
    plot_boundaries(scale(X), y).savefig(IMAGES / "kernel_boundaries.png", dpi=48)


if __name__ == "__main__":
    main()
