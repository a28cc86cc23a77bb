"""What all displays share: matplotlib on demand, colors, axes, and the plane of two features."""

from __future__ import annotations

from typing import Any

import numpy as np

BLUE, ORANGE, INK, GREY = "#2f6fab", "#d9822b", "#222222", "#8a8a8a"


def pyplot() -> Any:
    """``matplotlib.pyplot``, or an error that says how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plotting needs matplotlib; pip install 'hyperlocal[plot]'.") from error
    return plt


# ---- axes ----------------------------------------------------------------------------------------


def open_axes(ax: Any, **options: Any) -> tuple[Any, Any]:
    """The given axes, or those of a new figure, and their figure."""
    plt = pyplot()  # raises the helpful error even where axes are given
    ax = plt.subplots(layout="constrained", **options)[1] if ax is None else ax
    return ax, ax.figure


def grid_of_axes(
    ax: Any, n_rows: int, n_columns: int, figsize: tuple[float, float]
) -> tuple[np.ndarray, Any]:
    """A grid of axes in a new figure, or in the place of the given axes; and the figure."""
    if ax is None:
        figure, grid = pyplot().subplots(
            n_rows, n_columns, figsize=figsize, squeeze=False, layout="constrained"
        )
        return grid, figure
    ax.set_axis_off()
    places = ax.get_subplotspec().subgridspec(n_rows, n_columns)
    return places.subplots(squeeze=False), ax.figure


def frame_left_and_below(ax: Any) -> None:
    """Leave out the frame's upper and right lines."""
    ax.spines[["top", "right"]].set_visible(False)


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


# ---- the plane -----------------------------------------------------------------------------------


def plane_rows(X: Any) -> np.ndarray:
    """Rows of two features as doubles; raises if there are not two."""
    rows = np.asarray(X, dtype=float)
    if rows.ndim != 2 or rows.shape[1] != 2:
        raise ValueError(f"this can be drawn for two features only; X has shape {rows.shape}.")
    return rows


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


def with_names(rows: np.ndarray, names: Any) -> Any:
    """Rows as a data frame with these column names; as they are if there are none."""
    if names is None:
        return rows
    import pandas

    return pandas.DataFrame(rows, columns=list(names))


def class_codes(classes: np.ndarray, y: Any) -> np.ndarray | None:
    """The position of each label among the sorted classes; None without labels."""
    return None if y is None else np.searchsorted(classes, np.asarray(y))


def class_colors(n_classes: int) -> list[Any]:
    """One color per class: blue and orange for two, else those of matplotlib's tab10."""
    if n_classes == 2:
        return [BLUE, ORANGE]
    from matplotlib import colormaps

    return [colormaps["tab10"](i % 10) for i in range(n_classes)]


def draw_rows(ax: Any, rows: np.ndarray, codes: np.ndarray | None, **options: Any) -> None:
    """Rows as points, in the colors of their classes; grey without classes."""
    if codes is None:
        colors: Any = GREY
    else:
        palette = class_colors(max(2, int(codes.max()) + 1))
        colors = [palette[code] for code in codes]
    ax.scatter(*rows.T, **{"c": colors, "s": 9, "lw": 0, "alpha": 0.6, **options})


def draw_anchors(ax: Any, anchors: np.ndarray, **options: Any) -> None:
    """Anchors as stars."""
    style = {"color": INK, "ms": 12, "mec": "white", "mew": 0.9, "ls": "none", **options}
    ax.plot(*anchors.T, "*", **style)


def plane_names(X: Any) -> tuple[str, str]:
    """Names of the two features: those of a table's columns, else their numbers."""
    first, second = getattr(X, "columns", ("feature 0", "feature 1"))
    return str(first), str(second)


def fit_axes_to_plane(ax: Any, across: np.ndarray, up: np.ndarray, names: tuple[str, str]) -> None:
    """Show just the grid, named, without ticks."""
    ax.set(
        xlim=(across[0], across[-1]), ylim=(up[0], up[-1]), xticks=[], yticks=[],
        xlabel=names[0], ylabel=names[1],
    )  # fmt: skip


def name_classes(ax: Any, classes: np.ndarray) -> None:
    """A legend of the colors of classes."""
    for label, color in zip(classes, class_colors(len(classes)), strict=True):
        ax.plot([], [], "o", color=color, ms=5, label=str(label))
    ax.legend(frameon=True, framealpha=0.85, edgecolor="none", title="class")
