"""Draws docs/images/neighborhood.png: accuracy of LSVM and LASVM over k, from the tracked run."""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib.pyplot as plt

HERE = Path(__file__).parent
RESULT = HERE.parent / "benchmarks" / "results" / "neighborhood_claims.json"
COLOURS = {"1": "tab:orange", "local": "tab:blue"}
STYLES = {"LSVM": "--", "LASVM": "-"}


def main() -> None:
    """One panel per set, a curve per method and width."""
    rows = json.loads(RESULT.read_text(encoding="utf-8"))["rows"]
    names = list(dict.fromkeys(row["set"] for row in rows))
    figure, axes = plt.subplots(2, 5, figsize=(12, 4.8), constrained_layout=True)
    for axis, name in zip(axes.flat, names, strict=True):
        for row in rows:
            if row["set"] == name:
                draw(axis, row)
        axis.set_title(name, fontsize=10)
        axis.set_xscale("log")
        axis.set_xticks([1, 2, 3, 5, 10], labels=["1", "2", "3", "5", "10"])
        axis.minorticks_off()
        axis.tick_params(labelsize=8)
    for axis in axes[:, 0]:
        axis.set_ylabel("accuracy, %")
    for axis in axes[1]:
        axis.set_xlabel("k  (K = k log₂ N)")
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False)
    figure.savefig(HERE / "images" / "neighborhood.png", dpi=80)


def draw(axis: plt.Axes, row: dict) -> None:
    """One curve."""
    points = {int(key[2:]): value for key, value in row.items() if key.startswith("k=")}
    sigma = "σ = 1" if row["sigma"] == "1" else "σ local"
    axis.plot(
        list(points), list(points.values()), marker="o", markersize=3,
        color=COLOURS[row["sigma"]], linestyle=STYLES[row["method"]],
        label=f"{row['method']}, {sigma}",
    )  # fmt: skip


if __name__ == "__main__":
    main()
