"""Tests of hyperlocal.solvers.pegasos: compiled epochs against plain ones, where runs end."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperlocal.runtime.threads import Workers
from hyperlocal.solvers import pegasos, visits
from hyperlocal.solvers.pegasos import PegasosProblem, PegasosState
from reference import pegasos as reference
from reference.problems import every_storage, make_rows
from reference.rows import written_out

BIAS, LAMBDA = 0.7, 0.05
CLOSE = {"float32": {"rtol": 2e-3, "atol": 2e-3}, "float64": {"rtol": 1e-9, "atol": 1e-9}}
EVERY_LOSS = {
    "hinge": {"coupling": "one_vs_rest", "loss": "hinge"},
    "squared_hinge": {"coupling": "one_vs_rest", "loss": "squared_hinge"},
    "log": {"coupling": "one_vs_rest", "loss": "log"},
    "crammer_singer": {"coupling": "crammer_singer", "loss": "hinge"},
    "crammer_singer_squared": {"coupling": "crammer_singer", "loss": "squared_hinge"},
    "multinomial": {"coupling": "multinomial", "loss": "log"},
    "regression": {"coupling": "regression", "epsilon": 0.3},
}
every_loss = pytest.mark.parametrize("kind", EVERY_LOSS)


def make_problem(
    kind="hinge", dtype="float64", storage="dense", n_rows=60, n_columns=3, lambda_=LAMBDA,
    weighted=True, n_jobs=1, seed=0,
):  # fmt: skip
    X = make_rows(dtype, storage, n_rows=n_rows, n_features=6, seed=seed)
    rng = np.random.default_rng([seed, 5])
    costs = rng.uniform(0.2, 2, n_rows) if weighted else np.ones(n_rows)
    options = EVERY_LOSS[kind]
    given = {}
    signal = written_out(X) @ rng.standard_normal((6, n_columns))
    if options["coupling"] == "regression":
        n_columns = 1
        given["values"] = signal[:, 0].astype(dtype)
    else:
        noisy = signal + 0.3 * rng.standard_normal(signal.shape)
        given["target"] = noisy.argmax(axis=1).astype(np.int32)
    return PegasosProblem(
        X=X, costs=(costs / costs.mean()).astype(dtype), lambda_=lambda_, bias=BIAS,
        n_columns=n_columns, workers=Workers(n_jobs), **options, **given,
    )  # fmt: skip


def plain(problem):
    """What the reference wants of a problem."""
    Z = np.column_stack([written_out(problem.X), np.full(problem.n_rows, BIAS)])
    given = {"lambda_": problem.lambda_, "coupling": problem.coupling, "loss": problem.loss}
    given |= {"target": problem.target, "values": problem.values, "epsilon": problem.epsilon}
    return Z, problem.costs.astype(float), given


def solve(problem, *, average=True, seed=0, **options):
    defaults = {"sampling": "permutation", "batch_size": 1, "project": False}
    defaults |= {"tol": 0.0, "max_iter": 50}
    state = PegasosState.start(problem, average)
    rng = np.random.default_rng(seed)
    return pegasos.solve(problem, state, rng=rng, **defaults | options)


# One epoch ----------------------------------------------------------------------------------------


@every_loss
@every_storage
@pytest.mark.parametrize(("batch_size", "project"), [(1, False), (1, True), (7, False), (7, True)])
def test_iterates_equal_plain_pegasos(kind, dtype, storage, batch_size, project):
    """Two epochs step, shrink, project and average as the plain algorithm with the same order."""
    problem = make_problem(kind, dtype, storage)
    Z, costs, given = plain(problem)
    state = PegasosState.start(problem, average=True)
    W = mean = np.zeros((problem.n_columns, 7))
    steps, rng = 0, np.random.default_rng(3)
    radius = problem.radius() if project else np.inf
    for _ in range(2):
        order = rng.permutation(60)[:52]
        pegasos.run_epoch(problem, state, order, batch_size=batch_size, project=project)
        W, mean, steps = reference.epoch(
            Z, costs, W, mean, steps, order, batch_size=batch_size, radius=radius, **given
        )
    assert state.steps == steps
    np.testing.assert_allclose(state.last, W, **CLOSE[dtype])
    np.testing.assert_allclose(state.weights, mean, **CLOSE[dtype])
    expected = reference.objective(Z, costs, W, **given)
    tolerance = 2e-3 if dtype == "float32" else 1e-9
    assert problem.objective(state.last) == pytest.approx(expected, rel=tolerance)


def test_the_first_step_forgets():
    """Whatever the weights were, the first step starts from zero, as ``1 − 1/t`` says."""
    problem = make_problem()
    states = [PegasosState.start(problem, average=True) for _ in range(2)]
    states[1].past[:] = 1e3
    states[1].columns[:] = [7.0, 3.0, 2.0]
    for state in states:
        pegasos.run_epoch(problem, state, np.arange(30), project=True)
    np.testing.assert_array_equal(states[0].weights, states[1].weights)


@pytest.mark.parametrize("average", [False, True])
def test_averaging_changes_no_step(average):
    """The last iterate is the same with and without an average beside it."""
    problem = make_problem()
    state = PegasosState.start(problem, average)
    pegasos.run_epoch(problem, state, np.arange(60))
    other = PegasosState.start(problem, not average)
    pegasos.run_epoch(problem, other, np.arange(60))
    np.testing.assert_array_equal(state.last, other.last)


@given(cut=st.integers(0, 60), batch_size=st.integers(1, 5))
def test_an_epoch_may_be_cut(cut, batch_size):
    """Two calls that meet at the end of a batch make the steps of one."""
    problem = make_problem()
    order = np.random.default_rng(0).permutation(60)
    cut -= cut % batch_size
    whole, parts = (PegasosState.start(problem, average=True) for _ in range(2))
    pegasos.run_epoch(problem, whole, order, batch_size=batch_size)
    for part in (order[:cut], order[cut:]):
        pegasos.run_epoch(problem, parts, part, batch_size=batch_size)
    np.testing.assert_array_equal(whole.scaled, parts.scaled)
    np.testing.assert_array_equal(whole.past, parts.past)
    assert whole.steps == parts.steps


@every_loss
def test_threads_change_nothing(kind):
    """The result is the same to the last bit for any number of threads."""
    with Workers(1) as one, Workers(3) as three:
        runs = []
        for workers in (one, three):
            problem = make_problem(kind)
            object.__setattr__(problem, "workers", workers)
            runs.append(solve(problem, max_iter=3, project=True).weights)
    np.testing.assert_array_equal(*runs)


def test_a_small_scale_is_folded_into_the_weights():
    """A projection that shrinks the scale without end leaves weights and average finite."""
    problem = make_problem(lambda_=1e-14)
    state = PegasosState.start(problem, average=True)
    for _ in range(20):
        pegasos.run_epoch(problem, state, np.arange(60), project=True)
    assert np.isfinite(state.weights).all()
    assert (state.columns[:, pegasos.SCALE] >= 1e-12).all()
    norms = np.linalg.norm(state.last, axis=1)
    assert (norms <= problem.radius() * (1 + 1e-6)).all()


# Where runs end -----------------------------------------------------------------------------------


@every_loss
@pytest.mark.parametrize("project", [False, True])
def test_the_ball_holds_the_optimum(kind, project):
    """Long runs end at the same objective with and without the ball, inside it."""
    problem = make_problem(kind, n_rows=200, lambda_=0.1)
    found = solve(problem, max_iter=150, project=project)
    free = solve(problem, max_iter=150, project=False)
    assert found.objective == pytest.approx(free.objective, rel=5e-3)
    norms = (found.weights[0] ** 2).sum(axis=1)
    largest = norms.max() if problem.coupling == "one_vs_rest" else norms.sum()
    assert np.sqrt(largest) <= problem.radius() * 1.01


@pytest.mark.parametrize("sampling", visits.SAMPLINGS)
@pytest.mark.parametrize("batch_size", [1, 10])
def test_samplings_and_batches_lead_to_the_same_place(sampling, batch_size):
    """Every sampling and batch size approaches the same objective."""
    problem = make_problem(n_rows=200)
    best = solve(problem, max_iter=300).objective
    found = solve(problem, max_iter=100, sampling=sampling, batch_size=batch_size)
    assert best * (1 - 1e-3) <= found.objective <= 1.02 * best


def test_what_is_reported_is_true():
    """The objective is that of the weights, the best of the history; a monitor can stop."""
    problem = make_problem()
    found = solve(problem, max_iter=20)
    assert found.objective == pytest.approx(problem.objective(found.weights[0]), rel=1e-12)
    assert min(objective for _, objective, _ in found.history) == found.objective
    stopped = solve(problem, monitor=lambda number, objective: number == 4)
    assert stopped.n_iter == 4
    assert stopped.stopped
    assert not solve(problem, max_iter=1).converged
    assert solve(problem, tol=0.1, max_iter=200).converged
