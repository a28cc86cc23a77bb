"""Pictures: objectives against passes over the data, boundaries and regions in the plane.

Needs matplotlib (``pip install hyperlocal[plot]``), which is imported when something is drawn.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from ..estimators.kernel_pegasos import KernelPegasosSVC
from ..estimators.pegasos import PegasosSVC
from ..estimators.sdca import SDCASVC
from ..solvers.visits import SAMPLINGS
from .drawing import BLUE, INK, ORANGE, pyplot

GRID_POINTS = 200
N_SHADES = 9  # of matplotlib's Pastel1
# Precise enough that what is left of its gap does not show.
TOLERANCE_OF_OPTIMUM = 1e-6

Curve = list[tuple[float, float]]


# ---- objective against passes --------------------------------------------------------------------


def objective_curve(model: Any, X: Any, y: Any, passes: int) -> Curve:
    """Objectives ``λ/2‖w‖² + (1/N) Σ ℓ`` after each pass over the rows.

    Parameters
    ----------
    model : PegasosSVC, KernelPegasosSVC or SDCASVC
        Not fitted here: clones are.
    X, y : rows and labels
    passes : int

    Returns
    -------
    list of (pass, objective)

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from hyperlocal import PegasosSVC
    >>> from hyperlocal.plots.plotting import objective_curve
    >>> X, y = make_blobs(100, centers=2, random_state=0)
    >>> len(objective_curve(PegasosSVC(random_state=0), X, y, passes=5))
    5
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if isinstance(model, PegasosSVC):
            return _pegasos_curve(model, X, y, passes)
        if isinstance(model, SDCASVC):
            return _sdca_curve(model, X, y, passes)
        objectives = [_after(model, X, y, number).objective_ for number in range(1, passes + 1)]
        return list(enumerate(objectives, start=1))


def _after(model: Any, X: Any, y: Any, passes: int) -> Any:
    return clone(model).set_params(max_iter=passes, tol=0.0).fit(X, y)


def _pegasos_curve(model: PegasosSVC, X: Any, y: Any, passes: int) -> Curve:
    model = clone(model).set_params(max_iter=passes, tol=None).fit(X, y)
    return [(number, objective) for number, objective, _ in model.history_]


def _sdca_curve(model: SDCASVC, X: Any, y: Any, passes: int) -> Curve:
    # One epoch at a time, each from the dual variables of the last, each in its own order.
    random = check_random_state(model.random_state)
    model = clone(model).set_params(max_iter=1, warm_start=True, tol=0.0, random_state=random)
    scale = 1 / (model.C * len(y))
    return [(number, scale * model.fit(X, y).objective_) for number in range(1, passes + 1)]


def plot_objectives(
    curves: Mapping[str, Sequence[tuple[float, float]]], *, optimum: float = 0.0, ax: Any = None
) -> Any:
    """Draw objectives, or how far they are above the optimum, against passes over the rows.

    Parameters
    ----------
    curves : mapping of labels to (pass, objective) pairs
        As :func:`objective_curve` makes them.
    optimum : float, default=0.0
        Taken off all objectives.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
    """
    ax = pyplot().subplots(layout="constrained")[1] if ax is None else ax
    for label, curve in curves.items():
        passes, objectives = np.array(curve, dtype=float).T
        ax.plot(passes, np.maximum(objectives - optimum, 1e-16), label=label, lw=1.6)
    ax.set(xlabel="passes over the rows", yscale="log")
    ax.set_ylabel("objective above the optimum" if optimum else "objective")
    ax.legend(frameon=False)
    return ax


def _optimum(X: Any, y: Any, model: PegasosSVC) -> float:
    C = model.C
    dual = SDCASVC(
        C, loss=model.loss, tol=TOLERANCE_OF_OPTIMUM, max_iter=10_000,
        intercept_scaling=model.intercept_scaling, random_state=0,
    ).fit(X, y)  # fmt: skip
    return dual.dual_objective_ / (C * len(y))


def _compare(X: Any, y: Any, models: dict[str, Any], passes: int, ax: Any) -> Any:
    curves = {label: objective_curve(model, X, y, passes) for label, model in models.items()}
    pegasos = next(model for model in models.values() if isinstance(model, PegasosSVC))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        optimum = _optimum(X, y, _after(pegasos, X, y, 1))
    return plot_objectives(curves, optimum=optimum, ax=ax)


def plot_solvers(
    X: Any, y: Any, *, C: float = 1.0, passes: int = 30, random_state: Any = 0, ax: Any = None
) -> Any:
    """Pegasos (its last iterate, and averaged) and dual coordinate ascent on the same problem.

    Parameters
    ----------
    X, y : rows and labels
    C : float, default=1.0
    passes : int, default=30
    random_state : int, RandomState instance or None, default=0
    ax : matplotlib Axes, default=None

    Returns
    -------
    matplotlib Axes
    """
    models = {
        "Pegasos, last iterate": PegasosSVC(C, average=False, random_state=random_state),
        "Pegasos, averaged": PegasosSVC(C, random_state=random_state),
        "SDCA": SDCASVC(C, random_state=random_state),
    }
    return _compare(X, y, models, passes, ax)


def plot_batch_sizes(
    X: Any,
    y: Any,
    *,
    batch_sizes: Sequence[int] = (1, 10, 100, 1000),
    C: float = 1.0,
    passes: int = 30,
    random_state: Any = 0,
    ax: Any = None,
) -> Any:
    """The effect of the batch size on Pegasos; arguments as in ``plot_solvers``."""
    models = {
        f"batches of {size}": PegasosSVC(
            C, batch_size=size, average=False, random_state=random_state
        )
        for size in batch_sizes
    }
    return _compare(X, y, models, passes, ax)


def plot_samplings(
    X: Any, y: Any, *, C: float = 1.0, passes: int = 30, random_state: Any = 0, ax: Any = None
) -> Any:
    """The effect of the sampling scheme on Pegasos; arguments as in ``plot_solvers``."""
    models = {
        sampling.replace("_", " "): PegasosSVC(
            C, sampling=sampling, average=False, random_state=random_state
        )
        for sampling in SAMPLINGS
    }
    return _compare(X, y, models, passes, ax)


# ---- boundaries in the plane ---------------------------------------------------------------------


def plot_boundary(model: Any, X: Any, y: Any, *, ax: Any = None) -> Any:
    """Rows in the plane, the boundary of a two-class model, its margins and support vectors.

    Parameters
    ----------
    model : classifier
        Fitted to two features and two classes. Support vectors are circled if it has ``support_``.
    X : array-like of shape (n_rows, 2)
        The training rows.
    y : array-like of shape (n_rows,)
    ax : matplotlib Axes, default=None

    Returns
    -------
    matplotlib Axes
    """
    X, y = np.asarray(X), np.asarray(y)
    if X.ndim != 2 or X.shape[1] != 2 or len(model.classes_) != 2:
        raise ValueError("a boundary can be drawn for two features and two classes only.")
    ax = pyplot().subplots(layout="constrained")[1] if ax is None else ax
    margin = 0.05 * np.ptp(X, axis=0)
    low, high = X.min(axis=0) - margin, X.max(axis=0) + margin
    a, b = np.meshgrid(*np.linspace(low, high, GRID_POINTS).T)
    scores = model.decision_function(np.column_stack([a.ravel(), b.ravel()])).reshape(a.shape)
    ax.contourf(a, b, scores > 0, levels=[-0.5, 0.5, 1.5], colors=[BLUE, ORANGE], alpha=0.15)
    ax.contour(a, b, scores, [-1, 0, 1], colors=INK, linestyles=["--", "-", "--"],
               linewidths=[0.8, 1.8, 0.8])  # fmt: skip
    ax.scatter(*X.T, c=np.where(y == model.classes_[1], ORANGE, BLUE), s=12, lw=0)
    if hasattr(model, "support_"):
        ax.scatter(*X[model.support_].T, facecolors="none", edgecolors=INK, s=34, lw=0.6)
    ax.set(xticks=[], yticks=[], xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    return ax


def plot_boundaries(
    X: Any,
    y: Any,
    *,
    C: Sequence[float] = (0.1, 1, 100),
    sigma: Sequence[float] = (0.1, 0.5, 2),
    random_state: Any = 0,
) -> Any:
    """Boundaries of the Gaussian kernel for several ``C`` (down) and widths σ (across).

    A smaller ``C`` widens the soft margin; a smaller σ comes closer to the nearest neighbour.

    Parameters
    ----------
    X : array-like of shape (n_rows, 2)
    y : array-like of shape (n_rows,)
        Two classes.
    C, sigma : sequences of float
    random_state : int, RandomState instance or None, default=0

    Returns
    -------
    matplotlib Figure
    """
    size = (3 * len(sigma), 3 * len(C))
    figure, grid = pyplot().subplots(
        len(C), len(sigma), figsize=size, squeeze=False, layout="constrained"
    )
    for row, cost in zip(grid, C, strict=True):
        for ax, width in zip(row, sigma, strict=True):
            model = KernelPegasosSVC(
                cost, gamma=1 / (2 * width**2), max_iter=5_000, random_state=random_state
            ).fit(X, y)
            plot_boundary(model, X, y, ax=ax)
            ax.set_title(f"C = {cost:g}, σ = {width:g}", fontsize=10)
    return figure


# ---- trees ---------------------------------------------------------------------------------------


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
    >>> from hyperlocal.plots.plotting import plot_tree_regions
    >>> X, y = make_moons(100, random_state=0)
    >>> model = LocalDeepSVC(depth=2, alpha=1e-3, random_state=0).fit(X, y)
    >>> plot_tree_regions(model, X, y).get_title()
    '4 leaves'
    """
    plt = pyplot()
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
