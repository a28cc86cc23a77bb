"""Which variables an epoch leaves out."""

import numpy as np

from hyperlocal.solvers import shrinking


def test_bounds_come_from_violations_on_either_side():
    """A side without violations takes the other's; without any, nothing is switched off."""
    reports = np.zeros((3, 4))
    reports[:, [shrinking.LARGEST, shrinking.SMALLEST]] = [[1.0, -0.5], [0.0, -0.5], [0.0, 0.0]]
    expected = shrinking.SHRINKING * np.array([[1.0, -0.5], [0.5, -0.5], [np.inf, -np.inf]])
    np.testing.assert_array_equal(shrinking.shrink_bounds(reports), expected)
