"""Pictures of fitted models; matplotlib (the extra ``hyperlocal[plot]``) is imported on demand."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["plot_tree_regions"]

N_SHADES = 9  # of matplotlib's Pastel1


def plot_tree_regions(
    model: Any, X: Any, y: Any, *, label: Any = None, ax: Any = None, resolution: int = 300
) -> Any:
    """Draw the regions of a fitted tree (:class:`~hyperlocal.LocalDeepSVC`) over two features.

    Each leaf's region gets a shade; within one, the score is one smooth function. The black line is
    where the score is zero.

    Parameters
    ----------
    model : LocalDeepSVC
        Fitted to two features.
    X : array-like of shape (n_rows, 2)
        Rows to show.
    y : array-like of shape (n_rows,)
        Their labels, shown as colours.
    label : label, default=None
        Whose score to draw where there are more than two classes; the first class by default.
    ax : matplotlib axes, default=None
        Where to draw; a new figure by default.
    resolution : int, default=300
        Points of the grid along each axis.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from hyperlocal import LocalDeepSVC
    >>> from hyperlocal.plotting import plot_tree_regions
    >>> X, y = make_moons(100, random_state=0)
    >>> model = LocalDeepSVC(depth=2, alpha=1e-3, random_state=0).fit(X, y)
    >>> plot_tree_regions(model, X, y).get_title()
    '4 leaves'
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plotting needs matplotlib: pip install hyperlocal[plot].") from error
    if model.n_features_in_ != 2:
        raise ValueError(f"the regions of {model.n_features_in_} features do not fit in a plane.")
    X, y = np.asarray(X), np.asarray(y)
    if label is not None and label not in model.classes_:
        raise ValueError(f"label={label!r} is none of the classes {model.classes_.tolist()}.")
    column = 0 if label is None else int(np.flatnonzero(model.classes_ == label)[0])
    ax = plt.subplots()[1] if ax is None else ax

    margin = 0.08 * (X.max(axis=0) - X.min(axis=0))
    low, high = X.min(axis=0) - margin, X.max(axis=0) + margin
    across, up = (np.linspace(a, b, resolution) for a, b in zip(low, high, strict=True))
    grid = np.column_stack([values.ravel() for values in np.meshgrid(across, up)])
    shape = (resolution, resolution)
    tree = model.tree_[column] if isinstance(model.tree_, list) else model.tree_
    scores = model.decision_function(grid)
    scores = scores if scores.ndim == 1 else scores[:, column]

    leaves = tree.leaves(grid).reshape(shape)
    # Leaves side by side get different shades, as far as there are any.
    shades = (N_SHADES - 1 - leaves) % N_SHADES
    ax.pcolormesh(
        across, up, shades, cmap="Pastel1", vmin=0, vmax=N_SHADES - 1, alpha=0.6,
        shading="nearest", rasterized=True,
    )  # fmt: skip
    ax.contour(across, up, leaves, np.arange(2**tree.depth) + 0.5, colors="white", linewidths=1)
    ax.contour(across, up, scores.reshape(shape), [0], colors="black", linewidths=1.8)
    codes = np.searchsorted(model.classes_, y)
    ax.scatter(*X.T, c=codes, cmap="tab10", vmin=0, vmax=9, s=8, linewidths=0)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), title=f"{2**tree.depth} leaves")
    return ax
