"""Tests of hyperlocal.model.problem: labels and the primal objective."""

from dataclasses import replace

import numpy as np
import pytest

from hyperlocal import _core
from hyperlocal.model.losses import LOSSES
from hyperlocal.model.problem import squared_norms_by_column
from reference import losses as reference
from reference.lifting import scores
from reference.problems import every_map, every_storage, make_problem, make_written_out


def plain_objective(problem, Z, weights, penalize_intercept):
    """The formula of the docstring, row by row."""
    penalized = weights if penalize_intercept else weights[..., :-1]
    total = 0.5 * np.sum(penalized.astype(float) ** 2)
    for row, truth, cost in zip(scores(Z, weights), problem.target, problem.costs, strict=True):
        if problem.crammer_singer:
            margins = [row[truth] - np.delete(row, truth).max()]
        else:
            margins = [s if c == truth else -s for c, s in enumerate(row)]
        total += float(cost) * sum(reference.value(problem.loss, margin) for margin in margins)
    return total


@every_storage
@every_map
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("crammer_singer", "n_columns"), [(False, 1), (False, 3), (True, 3)])
@pytest.mark.parametrize("penalize_intercept", [True, False])
def test_objective(dtype, storage, quadratic, loss, crammer_singer, n_columns, penalize_intercept):
    """The objective is ½‖W‖² + Σ C s ℓ, with or without the biases in the norm."""
    problem, Z = make_written_out(
        dtype, storage, quadratic, normalize=False, loss=loss, crammer_singer=crammer_singer,
        n_columns=n_columns, weighted=True,
    )  # fmt: skip
    shape = problem.lifted.zero_weights(n_columns).shape
    weights = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    found = problem.objective(weights, penalize_intercept=penalize_intercept)
    expected = plain_objective(problem, Z, weights, penalize_intercept)
    assert found == pytest.approx(expected, rel=1e-5 if dtype == "float32" else 1e-12)


def test_labels():
    """A row is positive in its own column, and nowhere where its target is −1."""
    joint = make_problem(n_columns=3)
    np.testing.assert_array_equal(
        np.flatnonzero(joint.labels == 1), 3 * np.arange(40) + joint.target
    )
    single = make_problem(n_columns=1)
    np.testing.assert_array_equal(single.labels[:, 0], np.where(single.target == 0, 1, -1))
    assert set(np.unique(single.labels)) == {-1, 1}
    assert single.labels.dtype == single.costs.dtype


@pytest.mark.parametrize("loss", LOSSES)
def test_losses_have_a_compiled_name(loss):
    """Each loss is known to the core."""
    assert make_problem(loss=loss).core_loss == getattr(_core.Loss, loss)


def test_a_problem_does_not_change():
    """What is given stays as it is."""
    with pytest.raises(AttributeError):
        make_problem().loss = "log"


def test_norms_are_summed_in_double_precision():
    """Many small float32 squares do not get lost."""
    weights = np.full((50, 2, 4000), 0.1, np.float32)
    exact = 50 * 4000 * float(np.float32(0.1)) ** 2
    np.testing.assert_allclose(squared_norms_by_column(weights), [exact, exact], rtol=1e-12)


@pytest.mark.parametrize("n_columns", [1, 3])
def test_signed_variables(n_columns):
    """One-vs-rest's variables times ±1, in an array of their own; Crammer–Singer's as they are."""
    problem, _ = make_written_out("float64", "dense", False, normalize=True, n_columns=n_columns)
    alpha = np.random.default_rng(0).uniform(size=(problem.lifted.n_rows, n_columns))
    kept = alpha.copy()
    np.testing.assert_array_equal(problem.signed(alpha), alpha * problem.labels)
    np.testing.assert_array_equal(alpha, kept)
    joint = replace(problem, crammer_singer=True)
    np.testing.assert_array_equal(joint.signed(alpha), alpha)
