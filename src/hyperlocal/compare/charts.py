"""The pictures of the page, as SVG text: error against prediction time, and decision regions."""

from __future__ import annotations

import colorsys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10
from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from ..datasets import is_sparse
from .experiment import Experiment
from .metrics import METRICS
from .png import data_url
from .run import Outcome, Row

GRID_WIDTH, GRID_HEIGHT = 120, 90  # pixels of the decision regions
POINTS_SHOWN = 250
ROWS_FOR_AXES = 5_000
MAX_NUMBERS = 2**24  # of rows that are made dense to draw a picture
REGION_ALPHA = 90
LABEL_RADIUS = 10  # of the numbers beside the points
# Most people can tell these apart, on white and on black; from Okabe and Ito, without black.
COLORS = [
    (0, 114, 178), (230, 159, 0), (0, 158, 115), (204, 121, 167), (213, 94, 0), (86, 180, 233),
    (240, 228, 66), (120, 94, 240), (150, 150, 150), (148, 80, 40),
]  # fmt: skip


def class_colors(n_classes: int) -> list[tuple[int, int, int]]:
    """A color for each class; more than ten go round the circle of hues."""
    if n_classes <= len(COLORS):
        return COLORS[:n_classes]
    hues = (colorsys.hls_to_rgb(j / n_classes, 0.55, 0.65) for j in range(n_classes))
    return [(round(255 * r), round(255 * g), round(255 * b)) for r, g, b in hues]


def css_color(color: tuple[int, int, int]) -> str:
    """A color as style sheets write it."""
    return "#{:02x}{:02x}{:02x}".format(*color)


# Error against time -------------------------------------------------------------------------------


def errors_of(rows: Sequence[Row], metric: str) -> dict[int, float]:
    """What is drawn of each measured row, by its number; lower is better."""
    found = {j: getattr(row, metric) for j, row in enumerate(rows)}
    return {j: METRICS[metric].error(value) for j, value in found.items() if value is not None}


def pareto_front(rows: Sequence[Row], metric: str = "accuracy") -> list[int]:
    """Numbers of the rows than which no other has a lower error and time, the fastest first."""
    errors = errors_of(rows, metric)
    front: list[int] = []
    for j in sorted(errors, key=lambda j: (rows[j].predict_microseconds or 0, errors[j])):
        if not front or errors[j] < errors[front[-1]]:
            front.append(j)
    return front


@dataclass(frozen=True)
class _Axes:
    """From figures to places: powers of ten across, errors in % upwards."""

    first: int  #: power of ten at the left
    last: int  #: and at the right
    ticks: list[float]  #: errors, from the lowest up
    name: str = "test error, %"  #: of the errors

    width, height = 480, 340
    left, right, top, bottom = 52, 20, 16, 48

    def at(self, power: float, error: float) -> tuple[float, float]:
        """Where a point stands in the picture."""
        part = (power - self.first) / (self.last - self.first)
        across = self.left + part * (self.width - self.left - self.right)
        part = (error - self.ticks[0]) / (self.ticks[-1] - self.ticks[0])
        up = part * (self.height - self.top - self.bottom)
        return across, self.height - self.bottom - up

    def lines(self) -> Iterator[str]:
        """Grid, numbers and names of the axes."""
        for tick in self.ticks:
            (x0, y), (x1, _) = self.at(self.first, tick), self.at(self.last, tick)
            yield f'<path class="grid" d="M{x0:.1f} {y:.1f}H{x1:.1f}"/>'
            yield _text("tick", x0 - 8, y + 4, f"{tick:g}", anchor="end")
        for power in range(self.first, self.last + 1):
            (x, y0), (_, y1) = self.at(power, self.ticks[0]), self.at(power, self.ticks[-1])
            yield f'<path class="grid" d="M{x:.1f} {y0:.1f}V{y1:.1f}"/>'
            yield _text("tick", x, y0 + 18, f"{10.0**power:g}")
        middle = (self.left + self.width - self.right) / 2
        yield _text("axis", middle, self.height - 8, "prediction time, µs per row")
        yield (
            f'<text class="axis" transform="translate(14 {(self.height - self.bottom) / 2:.0f}) '
            f'rotate(-90)" text-anchor="middle">{self.name}</text>'
        )


def _text(kind: str, x: float, y: float, text: str, *, anchor: str = "middle") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'


def pareto_chart(rows: Sequence[Row], metric: str = "accuracy") -> str:
    """Error (per cent) against microseconds per predicted row (logarithmic)."""
    figures = {
        j: (log10(max(rows[j].predict_microseconds or 0, 1e-3)), error)
        for j, error in errors_of(rows, metric).items()
    }
    if not figures:
        return "<p>No method could be measured.</p>"
    powers, errors = zip(*figures.values(), strict=True)
    first = floor(min(powers))
    last = max(ceil(max(powers)), first + 1)
    axes = _Axes(first, last, _nice_ticks(min(errors), max(errors)), METRICS[metric].axis)
    places = {j: axes.at(*figure) for j, figure in figures.items()}
    front = pareto_front(rows, metric)
    corners = " ".join(f"{places[j][0]:.1f},{places[j][1]:.1f}" for j in front)
    labels = _place_labels(list(places.values()), axes.top, axes.height - axes.bottom)
    lines = [
        f'<svg viewBox="0 0 {axes.width} {axes.height}" role="img" aria-labelledby="pareto-title">',
        '<title id="pareto-title">Test error against prediction time, one numbered point for each '
        "method; the figures are those of the table.</title>",
        *axes.lines(),
        f'<polyline class="front" points="{corners}"/>',
    ]
    for (j, place), label in zip(places.items(), labels, strict=True):
        kind = "point best" if j in front else "point"
        lines.append(_point(kind, j, rows[j].method, place, label))
    return "\n".join([*lines, "</svg>"])


def _point(
    kind: str, j: int, name: str, place: tuple[float, float], label: tuple[float, float]
) -> str:
    """A dot, and the number of its method joined to it by a line."""
    (x, y), (label_x, label_y) = place, label
    return (
        f'<g class="{kind}" data-model="{j}"><title>{escape(name)}</title>'
        f'<path d="M{x:.1f} {y:.1f}L{label_x:.1f} {label_y:.1f}"/>'
        f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="4"/>'
        f'<circle cx="{label_x:.1f}" cy="{label_y:.1f}" r="{LABEL_RADIUS}"/>'
        f'<text x="{label_x:.1f}" y="{label_y + 4:.1f}" text-anchor="middle">{j + 1}</text></g>'
    )


def _place_labels(
    points: Sequence[tuple[float, float]], top: float, bottom: float
) -> list[tuple[float, float]]:
    """A place for the number of each point, above or below it, where no other number stands."""
    placed: list[tuple[float, float]] = []
    step = 2 * LABEL_RADIUS + 1
    for x, y in points:
        levels = (y + sign * (LABEL_RADIUS + 7 + k * step) for k in range(20) for sign in (-1, 1))
        free = (
            level
            for level in levels
            if top <= level <= bottom
            and all((x - u) ** 2 + (level - v) ** 2 >= step**2 for u, v in placed)
        )
        placed.append((x, next(free, y)))
    return placed


def _nice_ticks(smallest: float, largest: float) -> list[float]:
    """Round steps from below the smallest value, but not below zero, to above the largest."""
    span = max(largest - smallest, 0.02 * largest, 0.01)
    power = 10.0 ** floor(log10(span))
    step = next(s * power for s in (0.2, 0.25, 0.5, 1, 2) if 6 * s * power >= 1.1 * span)
    first = max(floor((smallest - 0.05 * span) / step), 0)
    last = ceil((largest + 0.05 * span) / step)
    return [round(j * step, 9) for j in range(first, max(last, first + 1) + 1)]


# Decision regions ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plane:
    """The first two principal components of the training rows, and some test rows on them."""

    grid: np.ndarray  #: rows of the plane, one for each pixel, line by line from the top
    points: np.ndarray  #: places of the test rows in the picture, between 0 and 1
    shown: np.ndarray  #: numbers of those test rows
    variance: tuple[float, float]  #: parts of the variance along the two axes


def find_plane(experiment: Experiment, seed: int) -> Plane | None:
    """The plane of the pictures; None if there is none or the rows are too wide for it."""
    n_features = experiment.X_train.shape[1]
    n_grid = GRID_WIDTH * GRID_HEIGHT
    if n_features < 2 or n_features * n_grid > MAX_NUMBERS or experiment.X_train.shape[0] < 3:
        return None
    rng = np.random.default_rng(seed)
    train = _some_rows(experiment.X_train, min(ROWS_FOR_AXES, MAX_NUMBERS // n_features), rng)[0]
    test, shown = _some_rows(experiment.X_test, POINTS_SHOWN, rng)
    pca = PCA(2, svd_solver="full" if n_features < 500 else "randomized", random_state=seed)
    pca.fit(train)
    places = pca.transform(test)
    low, high = places.min(axis=0), places.max(axis=0)
    margin = 0.06 * np.maximum(high - low, 1e-9)
    low, high = low - margin, high + margin
    across, down = np.meshgrid(
        low[0] + (high[0] - low[0]) * (np.arange(GRID_WIDTH) + 0.5) / GRID_WIDTH,
        high[1] - (high[1] - low[1]) * (np.arange(GRID_HEIGHT) + 0.5) / GRID_HEIGHT,
    )
    grid = pca.inverse_transform(np.column_stack([across.ravel(), down.ravel()]))
    points = (places - low) / (high - low)
    points[:, 1] = 1 - points[:, 1]
    first, second = pca.explained_variance_ratio_
    return Plane(grid.astype(train.dtype), points, shown, (float(first), float(second)))


def _some_rows(X: Any, most: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    chosen = np.arange(X.shape[0])
    if len(chosen) > most:
        chosen = np.sort(rng.choice(len(chosen), most, replace=False))
    rows = X[chosen]
    return (rows.toarray() if is_sparse(rows) else rows), chosen


def boundary_chart(
    number: int, outcome: Outcome, experiment: Experiment, plane: Plane, classes: np.ndarray
) -> str:
    """Predictions on the plane, and test rows projected to it; wrong ones have a ring."""
    if outcome.predicted is None:
        return ""
    width, height = 480, 360
    colors = class_colors(len(classes))
    regions = np.searchsorted(classes, outcome.model.predict(plane.grid))
    picture = data_url(regions.reshape(GRID_HEIGHT, GRID_WIDTH), colors, REGION_ALPHA)
    right = outcome.predicted == experiment.y_test
    lines = [
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-labelledby="plane-{number}">',
        f'<title id="plane-{number}">Decision regions of {escape(outcome.row.method)} on the plane '
        f"of the first two principal components, with {len(plane.shown)} test rows.</title>",
        f'<image href="{picture}" width="{width}" height="{height}" preserveAspectRatio="none"/>',
    ]
    for place, row in zip(plane.points, plane.shown, strict=True):
        color = css_color(colors[int(np.searchsorted(classes, experiment.y_test[row]))])
        kind = "" if right[row] else ' class="wrong"'
        lines.append(
            f'<circle{kind} cx="{width * place[0]:.1f}" cy="{height * place[1]:.1f}" '
            f'r="{3.5 if right[row] else 5}" fill="{color}"/>'
        )
    return "\n".join([*lines, "</svg>"])
