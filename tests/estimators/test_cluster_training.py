"""Tests of hyperlocal.estimators.cluster_training: the automatic C."""

import numpy as np
import pytest

from hyperlocal.data.labelled import LabelledRows
from hyperlocal.estimators.cluster_training import TYPICAL_COST, ClusterTraining


def cost_for(C, squared_norms, weights):
    """The number that ``C`` stands for."""
    weights = np.array(weights, float)
    data = LabelledRows(np.zeros((len(weights), 2)), np.zeros(len(weights), int), [0, 1], weights)
    return ClusterTraining(C, "hinge", 1e-3, 10).for_rows(np.array(squared_norms), data).C


def test_automatic_C_is_one_over_the_mean_squared_length():
    """Rows count by their weights; a part of the rows stands for all."""
    assert cost_for("auto", [1.0, 4.0], [1, 2]) == pytest.approx(TYPICAL_COST / 3)
    assert cost_for("auto", [1.0, 4.0], [1, 2, 9]) == pytest.approx(TYPICAL_COST / 3)
    assert cost_for("auto", [0.0, 0.0], [1, 2]) == TYPICAL_COST


def test_a_given_C_is_used():
    """A number does not depend on the rows."""
    assert cost_for(np.float32(0.5), [1.0, 4.0], [1, 2]) == 0.5


@pytest.mark.parametrize(
    ("C", "error"), [(0, ValueError), ("small", ValueError), (None, TypeError)], ids=str
)
def test_a_bad_C(C, error):
    """It is named."""
    with pytest.raises(error, match="C must be"):
        ClusterTraining(C, "hinge", 1e-3, 10).check()
