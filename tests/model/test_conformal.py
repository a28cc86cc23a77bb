"""Tests of hyperlocal.model.conformal."""

import numpy as np
import pytest

from hyperlocal.gates.codes import Codes
from hyperlocal.gates.gate import ConstantGate, Gate
from hyperlocal.model.conformal import Conformal, LocalScales

TWO = Gate(np.array([[0.0], [1.0]]), 1, "hard")


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


def test_scales_are_not_averages_of_averages():
    """Between anchors, the scale of a row is a mean of scales, and these are found again."""
    rng = np.random.default_rng(0)
    weights = rng.uniform(size=(4_000, 1))
    weights = np.hstack([weights, 1 - weights])
    codes = Codes(np.tile(np.array([0, 1], np.int32), (4_000, 1)), weights, weights)
    residuals = rng.exponential(weights @ [1.0, 5.0])[:, None]
    sizes = LocalScales.of(residuals, codes, 2).sizes[:, 0]
    # 4,000 rows determine them to 4 and 3 percent.
    np.testing.assert_allclose(sizes, [1.0, 5.0], rtol=0.12)


@pytest.mark.parametrize("coverage", [0.5, 0.9, 0.95])
def test_coverage(coverage, workers):
    """Over repeated samples the mean coverage is the nominal one, also near each anchor."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(200):
        space = rng.integers(0, 2, 900).astype(float)[:, None]
        near = space[:, 0] == 0
        # Of different shapes: no scale makes up for that.
        sizes = np.where(near, np.abs(rng.standard_normal(900)), 4 * rng.standard_exponential(900))
        conformal = Conformal.of(sizes[:450, None], space[:450], TWO, rng, workers)
        inside = sizes[450:] <= conformal.half_widths(space[450:], coverage, workers)[:, 0]
        found.append([inside.mean(), inside[near[450:]].mean(), inside[~near[450:]].mean()])
    # Means of 200 have standard errors of 0.003 and 0.004; one row of 150 is 0.007.
    np.testing.assert_allclose(np.mean(found, axis=0), coverage + 0.003, atol=0.012)


def test_one_anchor_gets_others(workers):
    """The scale is local also where the model has one anchor."""
    rng = np.random.default_rng(0)
    space = rng.uniform(size=(2_000, 1))
    residuals = (0.1 + space) * rng.standard_normal((2_000, 1))
    conformal = Conformal.of(residuals, space, ConstantGate(), rng, workers)
    low, high = conformal.half_widths(np.array([[0.05], [0.95]]), 0.9, workers)[:, 0]
    assert high > 3 * low


def test_few_rows_near_an_anchor_share_a_quantile(workers):
    """Also where each group alone has too few rows for the coverage."""
    rng = np.random.default_rng(0)
    space = rng.integers(0, 2, 240).astype(float)[:, None]
    residuals = rng.standard_normal((240, 1))
    conformal = Conformal.of(residuals, space, TWO, rng, workers)
    assert conformal.half_widths(space[:1], 0.99, workers) > 1.5
    assert conformal.half_widths(space[:1], 0.99, workers) < 6


def test_residuals_of_zero(workers):
    """A model without errors has intervals without width."""
    conformal = Conformal.of(
        np.zeros((90, 1)), np.zeros((90, 1)), TWO, np.random.default_rng(0), workers
    )
    np.testing.assert_array_equal(conformal.half_widths(np.zeros((2, 1)), 0.9, workers), 0)


def test_too_few_rows(workers):
    """A coverage that so few rows cannot give is refused with the number that can."""
    rng, space = np.random.default_rng(0), np.zeros((30, 1))
    conformal = Conformal.of(np.ones((30, 1)), space, ConstantGate(), rng, workers)
    with pytest.raises(ValueError, match="needs at least 151 rows"):
        conformal.half_widths(space[:1], 0.99, workers)
