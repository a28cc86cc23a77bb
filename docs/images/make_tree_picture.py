"""Draws docs/images/tree_regions.png: what the tree of a LocalDeepSVC does, in one picture."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt

from hyperlocal import LocalDeepSVC
from hyperlocal.datasets import make_banana
from hyperlocal.plotting import plot_tree_regions


def main() -> None:
    """Fit trees of growing depth to the same rows; draw their regions."""
    X, y = make_banana(700, noise=0.15, random_state=3)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    figure, all_axes = plt.subplots(1, 3, figsize=(12, 4.3), layout="constrained")
    for axes, depth in zip(all_axes, (0, 2, 4), strict=True):
        model = LocalDeepSVC(depth, alpha=1e-4, random_state=0).fit(X, y)
        plot_tree_regions(model, X, y, ax=axes)
        n_leaves = 2**depth
        leaves = "one node" if depth == 0 else f"{n_leaves} leaves"
        axes.set_title(f"depth {depth}: {leaves}   ({model.score(X, y):.1%})", fontsize=11)
        axes.set(xticks=[], yticks=[])
    figure.savefig(Path(__file__).parent / "tree_regions.png", dpi=80)


if __name__ == "__main__":
    main()
