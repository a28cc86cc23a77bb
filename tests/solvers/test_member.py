"""A member's variables are its part of the common weights, also after it was lost."""

import numpy as np
import pytest

from hyperlocal.model.losses import conjugate_sums
from hyperlocal.solvers import dual
from hyperlocal.solvers.member import Member
from hyperlocal.solvers.team import Coordinator, Order, solve
from solvers.teams import LocalTeam, divided_problem, team_of


def test_variables_of_members_add_up_to_the_weights():
    """The common weights are the sum of all members' variables times their rows."""
    _, problems = divided_problem(3)
    team = team_of(problems)
    coordinator = Coordinator(team, tol=0.0, n_epochs=3)
    for number in range(4):
        coordinator.ask(number, is_last=False)
        coordinator.decide()
    coordinator.ask(4, is_last=True)  # members take the last steps
    total = np.zeros(team.shape)
    for member, problem in zip(team.members, problems, strict=True):
        problem.lifted.add(member.alpha * problem.labels, total)
    np.testing.assert_allclose(total, coordinator.weights, atol=1e-10)
    dual_value = -0.5 * (total**2).sum() - sum(
        conjugate_sums(member.alpha, problem.target, problem.costs, problem.loss, False).sum()
        for member, problem in zip(team.members, problems, strict=True)
    )
    assert dual_value == pytest.approx(coordinator.dual_value)
    assert dual_value <= coordinator.objective


class LosesAMember(LocalTeam):
    """Forgets one member's variables after some rounds, as a lost worker would."""

    def __init__(self, members, make):
        super().__init__(members)
        self.make, self.number = make, 0

    def respond(self, weights, steps, momentum, n_epochs, look):
        self.number += 1
        if self.number != 8:
            return super().respond(weights, steps, momentum, n_epochs, look)
        self.members[1] = self.make()
        return [
            member.respond(Order(weights, own, momentum, n_epochs, look, restart=place == 1))
            for place, (member, own) in enumerate(zip(self.members, steps, strict=True))
        ]


@pytest.mark.parametrize(
    "case",
    [{}, {"global_intercept": True}, {"n_classes": 3, "multi_class": "crammer_singer"}],
    ids=str,
)
def test_a_lost_member_costs_rounds_and_not_the_optimum(case):
    """A member that comes back with variables at zero does not change the end."""
    whole, problems = divided_problem(3, **case)
    reference = dual.solve(whole, tol=1e-6, max_iter=5000, rng=np.random.default_rng(0))
    members = team_of(problems).members
    team = LosesAMember(
        members,
        lambda: Member(problems[1], np.ones(problems[1].lifted.n_blocks), np.random.default_rng(9)),
    )
    result = solve(team, tol=1e-4, max_iter=2000, n_epochs=4)
    assert team.number > 8
    assert result.converged
    assert whole.objective(result.weights) == pytest.approx(reference.objective, rel=2e-4)
