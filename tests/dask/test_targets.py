"""Tests of hyperlocal.dask.targets: what partitions agree on."""

import numpy as np
import pytest

from hyperlocal.dask.targets import ClassFacts, ClassTarget, ValueFacts, ValueTarget
from hyperlocal.data.labelled import LabelledRows
from hyperlocal.model.residuals import RegressionLoss
from hyperlocal.model.target_scale import TargetScale
from hyperlocal.solvers.training import Training


@pytest.mark.parametrize("shift", [0.0, 1e9])
def test_values_of_parts_have_the_scale_of_all(shift):
    """Center and scale are those of all values in one place, with weights."""
    rng = np.random.default_rng(0)
    values, weights = shift + rng.standard_normal((30, 2)), rng.uniform(0.5, 2, 30)
    parts = [ValueFacts.of(values[i::3], weights[i::3]) for i in range(3)]
    found = ValueTarget.of(parts).kept
    target = np.arange(30)
    whole = TargetScale.of(
        LabelledRows(np.zeros((30, 1)), target, values, weights, is_numeric=True)
    )
    np.testing.assert_allclose(found.center, whole.center)
    np.testing.assert_allclose(found.scale, whole.scale, rtol=1e-6)


def test_values_become_scaled_rows():
    """Rows have mean zero, and a column per quantile."""
    values = np.array([1.0, 3.0])
    target = ValueTarget.of([ValueFacts.of(values, np.ones(2))])
    assert target.labelled(np.zeros((2, 1)), values, np.ones(2), None).labels.tolist() == [-1, 1]
    assert target.n_columns(Training(1.0, RegressionLoss("quantile", 0.1, (0.1, 0.9)))) == 2


def test_classes_are_those_of_all_parts():
    """A part may lack a class; weights of classes multiply those of rows."""
    parts = [ClassFacts.of(np.array(labels), np.ones(2)) for labels in (["a", "b"], ["c", "b"])]
    target = ClassTarget.of(parts, {"a": 2.0})
    assert target.kept.tolist() == ["a", "b", "c"]
    rows = target.labelled(np.zeros((2, 1)), np.array(["a", "c"]), np.ones(2), None)
    assert rows.sample_weight.tolist() == [2, 1]
    assert target.n_columns(Training(1.0, "hinge")) == 3


def test_shapes_must_agree():
    """A partition with another number of targets is refused."""
    parts = [ValueFacts.of(np.ones((3, n)), np.ones(3)) for n in (1, 2)]
    with pytest.raises(ValueError, match="shape"):
        ValueTarget.of(parts)
