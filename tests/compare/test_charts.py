"""Tests of hyperlocal.compare.charts: the front, the axes, and where numbers stand."""

import re
from dataclasses import replace

import numpy as np
import pytest

from hyperlocal.compare import METHODS, Row, prepare, run
from hyperlocal.compare.charts import (
    LABEL_RADIUS,
    _Axes,
    _nice_ticks,
    _place_labels,
    _power_of_ten,
    calibration_chart,
    pareto_chart,
    pareto_front,
    round_steps,
    tick_texts,
)
from hyperlocal.datasets import Dataset, make_banana


def test_powers_of_ten_are_short():
    """The label of a tick does not reach beyond the chart, however slow a method is."""
    shown = [_power_of_ten(power) for power in (-2, 0, 2, 3, 5, 6, 8)]
    assert shown == ["0.01", "1", "100", "1k", "100k", "1M", "100M"]


def test_pareto_front():
    """The front has the rows than which no other has both a lower error and a shorter time."""
    rows = [
        Row("slow and good", 0.9, 1, 8.0),
        Row("fast and poor", 0.7, 1, 1.0),
        Row("behind", 0.8, 1, 9.0),
        Row("not run"),
        Row("between", 0.8, 1, 2.0),
        Row("majority class", 0.5, 1, 0.1, key="majority"),
    ]
    assert pareto_front(rows) == [1, 4, 0]


def test_a_method_that_failed_is_at_the_upper_edge():
    """It does not press the others together: the axis ends a bit above the baseline."""
    rows = [Row("good", 0.9, 1, 1.0), Row("better", 0.95, 1, 2.0), Row("failed", -9.0, 1, 3.0)]
    rows = [replace(row, accuracy=None, r2=row.accuracy) for row in rows]
    rows.append(Row("mean", r2=0.0, key="mean"))
    heights = [float(y) for y in re.findall(r'class="dot" cx="[\d.]+" cy="([\d.]+)"',
                                            pareto_chart(rows, "r2"))]  # fmt: skip
    assert heights[0] - heights[2] > 200
    assert 5 < heights[1] - heights[0] < 20
    assert heights[2] >= _Axes.top


def test_numbers_of_close_points_stand_apart():
    """Points at one place have their numbers one beside the other, near and inside the picture."""
    axes = _Axes(0, 3, [0.0, 10.0])
    points = [(200.0, 290.0)] * 8 + [(205.0, 20.0), (460.0, 100.0)]
    labels = _place_labels(points, axes)
    gaps = [
        np.hypot(a[0] - b[0], a[1] - b[1])
        for i, a in enumerate(labels)
        for b in labels[:i]
    ]  # fmt: skip
    assert min(gaps) >= 2 * LABEL_RADIUS
    assert all(map(axes.contain, labels))
    assert max(np.hypot(*np.subtract(points, labels).T)) < 8 * LABEL_RADIUS


@pytest.mark.parametrize(("smallest", "largest"), [(15.4, 16.6), (0, 3), (2, 2), (0.43, 0.59)])
def test_ticks_begin_near_the_smallest_error(smallest, largest):
    """All errors are on the axis, and the smallest is within two steps of its beginning."""
    ticks = _nice_ticks(smallest, largest)
    assert 0 <= ticks[0] <= smallest <= largest <= ticks[-1]
    assert smallest - ticks[0] < 2 * (ticks[1] - ticks[0])
    assert 2 <= len(ticks) <= 9


@pytest.mark.parametrize("unit", [1e-12, 1, 1e4, 2e5, 3e8, 1e15])
def test_numbers_on_axes_are_short(unit):
    """Numbers of values of any size have few characters, and differ."""
    texts = tick_texts(round_steps(-3 * unit, 17 * unit))
    assert max(map(len, texts)) <= 7
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_calibration(n_classes):
    """Methods with probabilities have a curve that rises; others have none."""
    X, y = make_banana(300, random_state=0)
    if n_classes == 3:
        y = np.where(X[:, 0] > 1.5, 2, y)
    experiment = prepare(Dataset("banana", X, y))
    chart = calibration_chart(run(METHODS["logistic-regression"], experiment), experiment)
    (points,) = re.findall(r'class="curve" points="([^"]*)"', chart)
    heights = [float(point.split(",")[1]) for point in points.split()]
    assert heights[0] > heights[-1]  # SVG counts downwards
    assert ("predicted class" in chart) == (n_classes == 3)
    assert calibration_chart(run(METHODS["linear-svc"], experiment), experiment) == ""
