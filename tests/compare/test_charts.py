"""Tests of hyperlocal.compare.charts: colors, the front, and where numbers stand."""

import numpy as np

from hyperlocal.compare import Row
from hyperlocal.compare.charts import LABEL_RADIUS, _place_labels, class_colors, pareto_front


def test_every_class_has_its_color():
    """No two classes share a color, however many there are."""
    for n_classes in (2, 10, 40):
        assert len(set(class_colors(n_classes))) == n_classes


def test_pareto_front():
    """The front has the rows than which no other has both a lower error and a shorter time."""
    rows = [
        Row("slow and good", 0.9, 1, 8.0),
        Row("fast and poor", 0.7, 1, 1.0),
        Row("behind", 0.8, 1, 9.0),
        Row("not run"),
        Row("between", 0.8, 1, 2.0),
    ]
    assert pareto_front(rows) == [1, 4, 0]


def test_numbers_of_close_points_stand_apart():
    """Points at one place have their numbers one beside the other, inside of the picture."""
    labels = _place_labels([(50.0, 100.0)] * 6 + [(55.0, 20.0)], 10, 290)
    gaps = [
        np.hypot(a[0] - b[0], a[1] - b[1])
        for i, a in enumerate(labels)
        for b in labels[:i]
    ]  # fmt: skip
    assert min(gaps) >= 2 * LABEL_RADIUS
    assert all(10 <= y <= 290 for _, y in labels)
