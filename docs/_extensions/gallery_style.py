"""How the gallery's pictures look."""

from __future__ import annotations

from typing import Any

from cycler import cycler


def reset(gallery_conf: dict[str, Any], name: str) -> None:
    """Matplotlib's defaults before each example, in the colours of the other pictures."""
    import matplotlib

    matplotlib.use("agg")
    matplotlib.rcdefaults()
    colors = ["#2f6fab", "#d9822b", "#3a923a", "#8250a8", "#7a5c3e"]
    matplotlib.rcParams.update({"axes.prop_cycle": cycler(color=colors), "savefig.dpi": 100})
