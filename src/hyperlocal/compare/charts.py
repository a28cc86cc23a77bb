"""Pictures of the page, as SVG text: error against time, calibration, values and residuals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, cos, dist, floor, log10, pi, sin

import numpy as np
from sklearn.calibration import calibration_curve

from .experiment import Experiment
from .methods import BASELINES
from .metrics import METRICS
from .run import Outcome, Row
from .targets import in_short

MOST_OF_BASELINE = 1.2  # errors above this part of a baseline's are drawn at the upper edge
LABEL_RADIUS = 10  # of the numbers beside the points
UNITS = ("", "k", "M", "G")
LONG_NUMBER, LARGEST_UNIT = 10_000, 1e9  # numbers on axes from the first on are given in units
ANGLES = [sign * pi * j / 8 for j in (0, 8, 2, 4, 6, 1, 3, 5, 7) for sign in (1, -1)]  # 0 is above


# Error against time -------------------------------------------------------------------------------


def errors_of(rows: Sequence[Row], metric: str) -> dict[int, float]:
    """What is drawn of each measured row, by its number; lower is better.

    Baselines are not among them: as the fastest methods they would always be on the front.
    """
    found = {j: getattr(row, metric) for j, row in enumerate(rows) if row.key not in BASELINES}
    return {j: METRICS[metric].error(value) for j, value in found.items() if value is not None}


def highest_error(rows: Sequence[Row], metric: str) -> float:
    """Where the axis of errors ends at the latest: a bit above what needs no features.

    One method that failed would otherwise press all others together.
    """
    found = [getattr(row, metric) for row in rows if row.key in BASELINES]
    errors = [METRICS[metric].error(value) for value in found if value is not None]
    return MOST_OF_BASELINE * min(errors, default=np.inf)


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
    """From figures to places: powers of ten across, errors upwards."""

    first: int  #: power of ten at the left
    last: int  #: and at the right
    ticks: list[float]  #: errors, from the lowest up
    name: str = "test error, %"  #: of the errors

    width, height = 480, 340
    left, right, top, bottom = 66, 20, 16, 48

    def at(self, power: float, error: float) -> tuple[float, float]:
        """The position of a point in the picture."""
        part = (power - self.first) / (self.last - self.first)
        across = self.left + part * (self.width - self.left - self.right)
        part = (error - self.ticks[0]) / (self.ticks[-1] - self.ticks[0])
        up = part * (self.height - self.top - self.bottom)
        return across, self.height - self.bottom - up

    def contain(self, place: tuple[float, float]) -> bool:
        """Whether a number there is inside of the picture."""
        x, y = place
        across = self.left + LABEL_RADIUS <= x <= self.width - LABEL_RADIUS
        return across and self.top <= y <= self.height - self.bottom

    def lines(self) -> Iterator[str]:
        """Grid, numbers and names of the axes."""
        for tick in self.ticks:
            (x0, y), (x1, _) = self.at(self.first, tick), self.at(self.last, tick)
            yield f'<path class="grid" d="M{x0:.1f} {y:.1f}H{x1:.1f}"/>'
            yield _text("tick", x0 - 8, y + 4, in_short(tick), "end")
        for power in range(self.first, self.last + 1):
            (x, y0), (_, y1) = self.at(power, self.ticks[0]), self.at(power, self.ticks[-1])
            yield f'<path class="grid" d="M{x:.1f} {y0:.1f}V{y1:.1f}"/>'
            yield _text("tick", x, y0 + 18, _power_of_ten(power))
        middle = (self.left + self.width - self.right) / 2
        yield _text("axis", middle, self.height - 8, "prediction time, µs per row")
        yield (
            f'<text class="axis" transform="translate(14 {(self.height - self.bottom) / 2:.0f}) '
            f'rotate(-90)" text-anchor="middle">{self.name}</text>'
        )


def _text(kind: str, x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'


def pareto_chart(rows: Sequence[Row], metric: str = "accuracy") -> str:
    """Error against microseconds per predicted row (logarithmic)."""
    highest = highest_error(rows, metric)
    figures = {
        j: (log10(max(rows[j].predict_microseconds or 0, 1e-3)), min(error, highest))
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
    labels = _place_labels(list(places.values()), axes)
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


def _place_labels(points: Sequence[tuple[float, float]], axes: _Axes) -> list[tuple[float, float]]:
    """A place near each point for its number, free of other numbers, points and their lines."""
    placed: list[tuple[float, float]] = []
    steps = [(LABEL_RADIUS + 7 + 9 * k, angle) for k in range(12) for angle in ANGLES]
    for x, y in points:
        places = ((x + far * sin(angle), y - far * cos(angle)) for far, angle in steps)
        free = (
            place
            for place in places
            if axes.contain(place)
            and all(dist(place, other) > 2 * LABEL_RADIUS for other in placed)
            and all(dist(place, other) > LABEL_RADIUS + 4 for other in points)
            and all(_distance(other, (x, y), place) > LABEL_RADIUS / 2 for other in placed)
        )
        placed.append(next(free, (x, y)))
    return placed


def _distance(
    point: tuple[float, float], start: tuple[float, float], end: tuple[float, float]
) -> float:
    """From a point to the nearest one of a line."""
    along = (end[0] - start[0], end[1] - start[1])
    part = (point[0] - start[0]) * along[0] + (point[1] - start[1]) * along[1]
    part = min(max(part / (along[0] ** 2 + along[1] ** 2), 0.0), 1.0)
    return dist(point, (start[0] + part * along[0], start[1] + part * along[1]))


def _power_of_ten(power: int) -> str:
    """A power of ten in few characters: 0.01, 100, 10k, 1M."""
    thousands = max(0, power) // 3
    return f"{10.0 ** (power - 3 * thousands):g}{UNITS[min(thousands, 3)]}"


def _nice_ticks(smallest: float, largest: float) -> list[float]:
    """Round steps from below the smallest error, but not below zero, to above the largest."""
    span = max(largest - smallest, 0.2 * largest) or 0.01
    return round_steps(max(smallest - 0.05 * span, 0), smallest + 1.05 * span)


def round_steps(low: float, high: float) -> list[float]:
    """At most eight round numbers, the first at most ``low`` and the last at least ``high``.

    Examples
    --------
    >>> from hyperlocal.compare.charts import round_steps
    >>> round_steps(-3, 17)
    [-5.0, 0.0, 5.0, 10.0, 15.0, 20.0]
    """
    span = (high - low) or abs(high) or 1.0
    power = 10.0 ** floor(log10(span))
    step = next(s * power for s in (0.2, 0.25, 0.5, 1, 2) if 6 * s * power >= span)
    first = floor(low / step)
    last = max(ceil(high / step), first + 1)
    return [float(f"{j * step:.9g}") for j in range(first, last + 1)]


# Charts with two linear axes ----------------------------------------------------------------------


@dataclass(frozen=True)
class _Square:
    """From pairs of numbers to places."""

    x_ticks: Sequence[float]
    y_ticks: Sequence[float]
    x_name: str
    y_name: str

    side = 300
    left, bottom, rest = 74, 40, 22

    def at(self, x: float, y: float) -> tuple[float, float]:
        """The position of a point in the picture."""
        across = (x - self.x_ticks[0]) / (self.x_ticks[-1] - self.x_ticks[0])
        up = (y - self.y_ticks[0]) / (self.y_ticks[-1] - self.y_ticks[0])
        width, height = self.side - self.left - self.rest, self.side - self.bottom - self.rest
        return self.left + across * width, self.side - self.bottom - up * height

    def line(self, start: tuple[float, float], end: tuple[float, float]) -> str:
        """A thin line."""
        (x0, y0), (x1, y1) = self.at(*start), self.at(*end)
        return f'<path class="grid" d="M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}"/>'

    def dots(self, points: Iterable[Sequence[float]]) -> str:
        """A dot for each point."""
        places = (self.at(*point) for point in points)
        return "".join(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in places)

    def svg(self, name: str, title: str, content: str) -> str:
        """The picture: axes, and what stands between them."""
        (x0, y0), (x1, y1) = (self.at(self.x_ticks[j], self.y_ticks[j]) for j in (0, -1))
        across, up = _some(self.x_ticks), _some(self.y_ticks)
        marks = [
            _text("tick", self.at(tick, self.y_ticks[0])[0], y0 + 16, text)
            for tick, text in zip(across, tick_texts(across), strict=True)
        ]
        marks += [
            _text("tick", x0 - 6, self.at(self.x_ticks[0], tick)[1] + 4, text, "end")
            for tick, text in zip(up, tick_texts(up), strict=True)
        ]
        return (
            f'<svg class="square" viewBox="0 0 {self.side} {self.side}" role="img" '
            f'aria-labelledby="{name}"><title id="{name}">{title}</title>'
            f'<path class="grid" d="M{x0} {y0}H{x1}V{y1}H{x0}Z"/>{"".join(marks)}{content}'
            + _text("axis", (x0 + x1) / 2, self.side - 6, self.x_name)
            + f'<text class="axis" transform="translate(12 {(y0 + y1) / 2:.0f}) rotate(-90)" '
            f'text-anchor="middle">{self.y_name}</text></svg>'
        )


def tick_texts(ticks: Sequence[float]) -> list[str]:
    """Round numbers in few characters, so that they do not touch: large ones in k, M or G.

    Examples
    --------
    >>> from hyperlocal.compare.charts import tick_texts
    >>> tick_texts([0, 2500, 5000]), tick_texts([-200_000, 0, 200_000])
    (['0', '2,500', '5,000'], ['-200k', '0', '200k'])
    """
    largest = max(map(abs, ticks))
    if not LONG_NUMBER <= largest < 1000 * LARGEST_UNIT:
        return [in_short(tick) for tick in ticks]
    power = min(3, floor(log10(largest)) // 3)
    return [f"{tick / 1000.0**power:g}{UNITS[power] if tick else ''}" for tick in ticks]


def _some(ticks: Sequence[float]) -> Sequence[float]:
    """So few of them that their numbers do not touch; zero, if it is one, among them."""
    step = -(-len(ticks) // 5)
    first = ticks.index(0) % step if 0 in ticks else 0
    return ticks[first::step]


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
    what, halves = escape(what), (0, 0.5, 1)
    chart = _Square(halves, halves, f"probability of {what}", "share of rows")
    points = list(zip(means, shares, strict=True))
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in (chart.at(*point) for point in points))
    return chart.svg(
        f"calibration-{_key(outcome)}",
        f"Share of rows of {what} against its predicted probability, in ten groups of equally "
        "many rows.",
        chart.line((0, 0), (1, 1))
        + f'<polyline class="curve" points="{line}"/>{chart.dots(points)}',
    )


def _key(outcome: Outcome) -> str:
    return escape(outcome.row.key or outcome.row.method)


def values_chart(outcome: Outcome, experiment: Experiment, rows: np.ndarray) -> str:
    """Predicted against true values of some test rows."""
    if outcome.predicted is None:
        return ""
    y, predicted = experiment.y_test[rows], outcome.predicted[rows]
    ticks = round_steps(min(y.min(), predicted.min()), max(y.max(), predicted.max()))
    chart = _Square(ticks, ticks, "true value", "predicted value")
    return chart.svg(
        f"values-{_key(outcome)}",
        f"Predicted against true values of {len(rows)} test rows; right ones are on the diagonal.",
        chart.line((ticks[0], ticks[0]), (ticks[-1], ticks[-1]))
        + chart.dots(zip(y, predicted, strict=True)),
    )


def residuals_chart(outcome: Outcome, experiment: Experiment, rows: np.ndarray) -> str:
    """What is missing to the true values of some test rows, against the predicted ones."""
    if outcome.predicted is None:
        return ""
    predicted = outcome.predicted[rows]
    residuals = experiment.y_test[rows] - predicted
    across = round_steps(predicted.min(), predicted.max())
    up = round_steps(min(residuals.min(), 0), max(residuals.max(), 0))
    chart = _Square(across, up, "predicted value", "true − predicted value")
    return chart.svg(
        f"residuals-{_key(outcome)}",
        f"Residuals against predicted values of {len(rows)} test rows.",
        chart.line((across[0], 0), (across[-1], 0))
        + chart.dots(zip(predicted, residuals, strict=True)),
    )
