"""Pictures of the page, as SVG text: error against prediction time, and calibration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

import numpy as np
from sklearn.calibration import calibration_curve

from .experiment import Experiment
from .metrics import METRICS
from .run import Outcome, Row

LABEL_RADIUS = 10  # of the numbers beside the points


# Error against time -------------------------------------------------------------------------------


def errors_of(rows: Sequence[Row], metric: str) -> dict[int, float]:
    """What is drawn of each measured row, by its number; lower is better.

    The majority class is not among them: as the fastest method it would always be on the front.
    """
    found = {j: getattr(row, metric) for j, row in enumerate(rows) if row.key != "majority"}
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
    left, right, top, bottom = 66, 20, 16, 48

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
    span = max(largest - smallest, 0.2 * largest, 0.01)
    power = 10.0 ** floor(log10(span))
    step = next(s * power for s in (0.2, 0.25, 0.5, 1, 2) if 6 * s * power >= 1.1 * span)
    first = max(floor((smallest - 0.05 * span) / step), 0)
    last = ceil((largest + 0.05 * span) / step)
    return [round(j * step, 9) for j in range(first, max(last, first + 1) + 1)]


# Calibration --------------------------------------------------------------------------------------


def calibration_chart(outcome: Outcome, experiment: Experiment) -> str:
    """How often what has a probability is true: the positive class of two, else the predicted."""
    P = outcome.probabilities
    if P is None or outcome.predicted is None:
        return ""
    classes = outcome.model.classes_
    if len(classes) == 2:
        what = f"class {experiment.positive}"
        p = P[:, int(np.flatnonzero(classes == experiment.positive)[0])]
        truth = experiment.y_test == experiment.positive
    else:
        what, p = "the predicted class", P.max(axis=1)
        truth = experiment.y_test == outcome.predicted
    shares, means = calibration_curve(truth, np.clip(p, 0, 1), n_bins=10, strategy="quantile")
    side, left, bottom = 300, 46, 40
    size = side - left - 14

    def place(x: float, y: float) -> tuple[float, float]:
        return left + x * size, side - bottom - y * size

    corners = [place(*pair) for pair in zip(means, shares, strict=True)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
    (x0, y0), (x1, y1) = place(0, 0), place(1, 1)
    marks = "".join(
        _text("tick", place(t, 0)[0], y0 + 16, f"{t:g}")
        + _text("tick", x0 - 6, place(0, t)[1] + 4, f"{t:g}", anchor="end")
        for t in (0, 0.5, 1)
    )
    number = escape(outcome.row.key or outcome.row.method)
    return (
        f'<svg class="calibration" viewBox="0 0 {side} {side}" role="img" '
        f'aria-labelledby="calibration-{number}"><title id="calibration-{number}">Share of rows of '
        f"{escape(what)} against its predicted probability, in ten groups of equally many rows."
        f'</title><path class="grid" d="M{x0} {y0}H{x1}V{y1}H{x0}Z"/>'
        f'<path class="grid" d="M{x0} {y0}L{x1} {y1}"/>{marks}'
        f'<polyline class="curve" points="{line}"/>'
        + "".join(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="4"/>' for x, y in corners)
        + _text("axis", (x0 + x1) / 2, side - 6, f"probability of {escape(what)}")
        + f'<text class="axis" transform="translate(13 {(y0 + y1) / 2:.0f}) rotate(-90)" '
        'text-anchor="middle">share of rows</text></svg>'
    )
