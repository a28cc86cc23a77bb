"""Tests of hyperlocal.model.conformal."""

import numpy as np
import pytest

from hyperlocal.gates.codes import Codes
from hyperlocal.model.conformal import Conformal, LocalScales


def nearest(anchors):
    """Codes of rows with one active anchor each."""
    ones = np.ones((len(anchors), 1))
    return Codes(np.asarray(anchors, np.int32)[:, None], ones, ones)


def test_scales_follow_the_residuals_near_an_anchor():
    """Anchors with larger residuals have larger scales; those without rows have the mean."""
    anchors = np.repeat([0, 1], 500)
    residuals = np.where(anchors == 0, 1.0, 5.0)[:, None]
    sizes = LocalScales.of(residuals, nearest(anchors), 3).sizes[:, 0]
    np.testing.assert_allclose(sizes, [1.0, 5.0, 3.0], rtol=0.05)


@pytest.mark.parametrize("coverage", [0.5, 0.9, 0.95])
def test_coverage(coverage):
    """Over repeated samples the mean coverage is the nominal one; per anchor within 4 points."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(200):
        anchors = rng.integers(0, 2, 900)
        residuals = (rng.standard_normal(900) * np.where(anchors == 0, 1, 4))[:, None]
        conformal = Conformal.of(residuals[:300], nearest(anchors[:300]), 2, rng)
        half = conformal.half_widths(nearest(anchors[300:]), coverage)
        inside = (np.abs(residuals[300:]) <= half)[:, 0]
        found.append([inside.mean(), *(inside[anchors[300:] == j].mean() for j in (0, 1))])
    # A mean of 200 has a standard error of about 0.002 overall, 0.005 per anchor, whose scales are
    # drawn towards their mean.
    overall, *by_anchor = np.mean(found, axis=0)
    assert overall == pytest.approx(coverage, abs=0.01)
    np.testing.assert_allclose(by_anchor, coverage, atol=0.04)


def test_too_few_rows():
    """A coverage that so few rows cannot give is refused with the number that can."""
    conformal = Conformal.of(np.ones((30, 1)), nearest(np.zeros(30)), 1, np.random.default_rng(0))
    with pytest.raises(ValueError, match="needs at least 151 rows"):
        conformal.half_widths(nearest([0]), 0.99)
