"""Teams of members in this process, for the tests of teams and members."""

import numpy as np
from sklearn.datasets import make_classification

from hyperlocal import LocallyLinearSVC
from hyperlocal.data.checks import check_labelled_rows
from hyperlocal.data.labelled import part_of
from hyperlocal.model.chain_settings import ChainSettings
from hyperlocal.runtime.threads import Workers
from hyperlocal.solvers.member import Member
from hyperlocal.solvers.partitioning import assign_rows, group_anchors, shared_rows
from hyperlocal.solvers.team import Order, stiffness_of
from hyperlocal.solvers.training import Training

N_ROWS = 400


class LocalTeam:
    """Members in this process, one after the other."""

    def __init__(self, members):
        self.members, self.n_members = members, len(members)
        self.n_groups, self.shape = members[0].n_groups, members[0].shape
        self.dtype = members[0].dtype

    def respond(self, weights, steps, momentum, n_epochs, with_losses):
        """Run the members one after the other."""
        return [
            member.respond(Order(weights, own, momentum, n_epochs, with_losses))
            for member, own in zip(self.members, steps, strict=True)
        ]


def divided_problem(n_members, *, n_classes=2, grouped=True, dtype=np.float64, **arguments):
    """One problem over all rows, and the members' problems."""
    X, y = make_classification(
        N_ROWS, 5, n_informative=4, n_redundant=0, n_classes=n_classes, flip_y=0.1, random_state=0
    )
    training = Training(
        0.5, arguments.pop("loss", "squared_hinge"), arguments.pop("multi_class", "ovr")
    )
    rng, workers = np.random.default_rng(0), Workers()
    weights = rng.uniform(0.5, 2, N_ROWS)
    data = check_labelled_rows(LocallyLinearSVC(), X.astype(dtype), y, weights)
    chain = ChainSettings(12, n_neighbors=3, **arguments).fit(data, rng, workers)
    codes = chain.encode(data.X, workers)
    mass = np.bincount(codes.anchors[:, 0], minlength=12).astype(float)
    groups = rng.integers(n_members, size=N_ROWS)
    if grouped:
        shares = group_anchors(shared_rows(codes, 12), mass, n_members)
        groups = assign_rows(codes.anchors[:, 0], shares, rng)
    problems = []
    for member in range(n_members):
        rows = np.flatnonzero(groups == member)
        problems.append(training.problem(chain, part_of(data, rows), workers))
    return training.problem(chain, data, workers), problems


def team_of(problems, care=0.8):
    """A team whose members are as stiff as their parts in the anchors ask for."""
    masses = np.array([problem.lifted.block_masses() for problem in problems])
    stiffness = stiffness_of(masses, care)
    return LocalTeam(
        [
            Member(problem, own, np.random.default_rng(i))
            for i, (problem, own) in enumerate(zip(problems, stiffness, strict=True))
        ]
    )
