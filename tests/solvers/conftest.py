"""Fixtures of the tests of solvers."""

import pytest

from solvers.dual_solves import solve_by_epochs, solve_by_steps


@pytest.fixture(params=[solve_by_epochs, solve_by_steps], ids=["epochs", "newton"], scope="module")
def solve(request):
    """Narrow rows go by Newton's steps: what is claimed holds for them, and without them."""
    return request.param
