"""Tests of hyperlocal.solvers.best_columns: round numbers, and when copies are compared."""

import numpy as np
import pytest

from hyperlocal.solvers import best_columns
from hyperlocal.solvers.best_columns import BestColumns, is_round


@pytest.mark.parametrize("per_double", [3, 30])
def test_round_numbers_are_close_together(per_double):
    """From any number the next is at most a few shares of it away; powers of ten are round."""
    numbers = [number for number in range(1, 20_001) if is_round(number, per_double)]
    assert numbers[:per_double] == list(range(1, per_double + 1))
    steps = np.diff(numbers)
    assert (steps <= np.maximum(1, 2.5 * np.array(numbers[1:]) / per_double)).all()
    assert {100, 1000, 10_000} <= set(numbers)


def test_copies_are_compared_when_they_fill_memory(monkeypatch):
    """Objectives are computed only then, or when that is asked for."""
    weights, asked = np.ones((1, 2, 4)), []
    monkeypatch.setattr(best_columns, "MOST_BYTES", 2 * weights.nbytes)

    def objectives_of(copy):
        asked.append(copy[0, 0, 0])
        return 10 - copy[0, :, 0]

    best = BestColumns(weights, 2)
    for number in (1, 2, 3, 4):
        best.keep(number, number * weights, objectives_of)
    assert asked == [1, 2, 3]
    best.compare(objectives_of)
    assert asked == [1, 2, 3, 4]
    np.testing.assert_array_equal(best.objectives, [6, 6])
    np.testing.assert_array_equal(best.weights, 4 * weights)


def test_only_round_numbers_are_kept(monkeypatch):
    """Of large weights fewer, but the last ones may always be returned."""
    small, asked = np.zeros((1, 1, 1)), []
    best = BestColumns(small, 1)
    for number in range(1, 101):
        best.keep(number, small + number, None)
    best.compare(lambda copy: asked.append(copy[0, 0, 0]) or np.zeros(1))
    assert asked == [*range(1, 31), *range(32, 61, 2), *range(65, 101, 5)]
    assert not best.may_end(31)
    assert best.may_end(32)
    monkeypatch.setattr(best_columns, "LARGE_BYTES", 4)
    large = BestColumns(small, 1)
    assert not large.is_compared(31)
    assert large.may_end(31)
