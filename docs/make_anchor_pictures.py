"""Draws docs/images/few_anchors.png from the tracked results, figure 2 of the LLC-SAPL paper.

The error against the number of anchors, fixed and learned.
"""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib.pyplot as plt

HERE = Path(__file__).parent
CURVES = HERE.parent / "benchmarks" / "results" / "anchor_learning_curve.json"
BLUE, ORANGE = "#2f6fab", "#d9822b"
NAMES = {"letter": "LETTER", "usps": "USPS", "mnist": "MNIST", "ijcnn1": "IJCNN1",
         "magic04": "MAGIC04", "skin": "SKIN", "banana": "Banana"}  # fmt: skip


def main() -> None:
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


if __name__ == "__main__":
    main()
