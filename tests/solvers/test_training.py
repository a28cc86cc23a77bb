"""Tests of hyperlocal.solvers.training: what goes together, and what every solver solves."""

import numpy as np
import pytest

from hyperlocal.solvers.training import Training
from reference.problems import make_problem


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": 0.0}, "C must be"),
        ({"loss": "absolute"}, "loss must be one of"),
        ({"solver": "newton"}, "solver must be one of"),
        ({"loss": "log", "solver": "qp"}, "use solver='dual' or 'sgd'"),
        ({"loss": "log", "multi_class": "crammer_singer"}, "margin loss"),
    ],
    ids=str,
)
def test_what_does_not_go_together_is_named(options, message):
    """The error names the parameter, and what to use instead."""
    with pytest.raises(ValueError, match=message):
        Training(**{"C": 1.0, "loss": "hinge"} | options).check()


def test_solvers_agree_on_the_objective():
    """Dual descent and interior points reach the same objective, stochastic gradient nearly."""
    problem = make_problem(loss="squared_hinge", n_columns=3)
    found = {
        solver: Training(
            1.0, "squared_hinge", solver=solver, tol=1e-6, max_iter=500, penalize_intercept=True
        ).solve(problem, np.random.default_rng(0)).objective
        for solver in ("dual", "qp", "sgd")
    }  # fmt: skip
    assert found["qp"] == pytest.approx(found["dual"], rel=1e-5)
    assert found["dual"] * (1 - 1e-6) <= found["sgd"] <= 1.05 * found["dual"]


def test_advice_names_the_gap_and_the_remedy():
    """What did not converge is warned of by its gap; stochastic gradient has none."""
    problem = make_problem(loss="hinge", n_columns=1)
    for solver, message in (("dual", "relative duality gap"), ("sgd", "before the objective")):
        training = Training(1.0, "hinge", solver=solver, tol=1e-12, max_iter=1)
        result = training.solve(problem, np.random.default_rng(0))
        assert not result.converged
        advice = training.advice(result)
        assert message in advice
        assert "raise max_iter or tol" in advice
