"""How the gallery's pictures look, and in which order they come."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cycler import cycler

COLORS = ["#2f6fab", "#d9822b", "#3a923a", "#8250a8", "#7a5c3e"]
FIRST = ("decision_boundary", "gates", "number_of_anchors", "learned_anchors", "explain_prediction",
         "explain_digit", "prototypes", "compare_digits", "streaming")  # fmt: skip


def reset(gallery_conf: dict[str, Any], name: str) -> None:
    """Matplotlib's defaults before each example, in the colours of the other pictures."""
    import matplotlib

    matplotlib.use("agg")
    matplotlib.rcdefaults()
    matplotlib.rcParams.update({"axes.prop_cycle": cycler(color=COLORS), "savefig.dpi": 100})


class TellingOrder:
    """The main method first, then the others by name, then what is not run."""

    def __init__(self, folder: str):
        self.folder = folder

    def __call__(self, filename: str) -> tuple[bool, int, str]:
        """What to sort a file by."""
        name = Path(filename).stem.removeprefix("plot_")
        place = FIRST.index(name) if name in FIRST else len(FIRST)
        return not filename.startswith("plot_"), place, name

    def __repr__(self) -> str:
        return "<TellingOrder>"  # the same at every build, so that pages are not read anew
