"""What all pictures share: matplotlib on demand, colours, a grid over the plane."""

from __future__ import annotations

from typing import Any

import numpy as np

BLUE, ORANGE, INK, GREY = "#2f6fab", "#d9822b", "#222222", "#8a8a8a"


def pyplot() -> Any:
    """``matplotlib.pyplot``, or an error that says how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plotting needs matplotlib; pip install 'hyperlocal[plot]'.") from error
    return plt


def axes_or_new(ax: Any, **options: Any) -> Any:
    """The axes given, or those of a new figure."""
    return pyplot().subplots(layout="constrained", **options)[1] if ax is None else ax


def plane_grid(
    X: np.ndarray, n_points: int, margin: float = 0.05
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coordinates across and up over the plane that rows span, and the grid's points as rows.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlocal.plots.drawing import plane_grid
    >>> across, up, points = plane_grid(np.array([[0.0, 0.0], [1.0, 2.0]]), 3, margin=0.5)
    >>> across.tolist(), up.tolist(), points.shape
    ([-0.5, 0.5, 1.5], [-1.0, 1.0, 3.0], (9, 2))
    """
    reach = margin * np.ptp(X, axis=0)
    low, high = X.min(axis=0) - reach, X.max(axis=0) + reach
    across, up = np.linspace(low, high, n_points).T
    a, b = np.meshgrid(across, up)
    return across, up, np.column_stack([a.ravel(), b.ravel()])


def draw_bars(names: Any, values: np.ndarray, ax: Any) -> Any:
    """Horizontal bars, the first on top: orange to the right, blue to the left."""
    ax.barh(
        np.arange(len(values)), values, color=[ORANGE if v >= 0 else BLUE for v in values],
        height=0.72,
    )  # fmt: skip
    ax.axvline(0, color=INK, lw=0.8)
    ax.set_yticks(np.arange(len(values)), [str(name) for name in names])
    ax.invert_yaxis()
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.locator_params(axis="x", nbins=5)
    return ax
