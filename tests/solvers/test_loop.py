"""Tests of hyperlocal.solvers.loop: numbers, stopping, and the idle rule."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperlocal.solvers.loop import IDLE_EPOCHS, BestEpoch, Epochs


@dataclass
class State:
    """Converges after a number of epochs."""

    left: float = math.inf

    @property
    def converged(self):
        return self.left <= 0


def run(epochs, state):
    numbers = []
    for number in epochs.until_converged(state):
        state.left -= 1
        numbers.append(number)
        epochs.report()
    return numbers


@given(max_iter=st.integers(0, 9), needed=st.integers(0, 9), stop=st.integers(1, 9))
def test_epochs_end_at_the_first_reason(max_iter, needed, stop):
    """Epochs are numbered from 1 until they run out, the state converges or the monitor stops."""
    epochs = Epochs(max_iter, lambda number: number == stop)
    numbers = run(epochs, State(needed))
    assert numbers == list(range(1, min(max_iter, needed, stop) + 1))
    assert epochs.number == len(numbers)
    assert epochs.stopped == (len(numbers) == stop)
    assert epochs.ended == (len(numbers) in (max_iter, stop))


def test_a_loop_without_a_state_runs_all_epochs():
    """Solvers that never converge run as many epochs as asked for, and need no monitor."""
    epochs = Epochs(4)
    for _ in epochs:
        epochs.report(loss=1.0)
    assert (epochs.number, epochs.stopped, epochs.ended) == (4, False, True)


def test_several_loops_continue_one_count():
    """A solver may change its method after some epochs: the numbers go on."""
    seen = []
    epochs = Epochs(6, lambda number: bool(seen.append(number)))
    assert run(epochs, State(3)) == [1, 2, 3]
    assert not epochs.ended
    assert run(epochs, State(2)) == [4, 5]
    assert run(epochs, State()) == [6]
    assert seen == [1, 2, 3, 4, 5, 6]


def test_a_monitor_gets_the_facts():
    """What a solver reports is what the monitor is called with."""
    seen = []
    epochs = Epochs(1, lambda number, **facts: bool(seen.append((number, facts))))
    for _ in epochs:
        epochs.report(objective=3.0, gap=0.5)
    assert seen == [(1, {"objective": 3.0, "gap": 0.5})]


def test_the_best_weights_are_kept():
    """The weights of the lowest objective are copied; later changes in place do not reach them."""
    weights = np.zeros(2)
    best = BestEpoch(weights, tol=1e-3)
    for objective in (3.0, 1.0, 2.0):
        weights[:] = objective
        best.update(objective, weights)
    assert best.objective == 1.0
    np.testing.assert_array_equal(best.weights, [1.0, 1.0])
    assert [entry[:2] for entry in best.history] == [(1, 3.0), (2, 1.0), (3, 2.0)]


def test_idle_epochs_in_a_row_end_a_run():
    """Progress beyond the tolerance starts the count again."""
    best = BestEpoch(np.zeros(1), tol=0.01)
    objectives = [10.0, *[9.95] * (IDLE_EPOCHS - 1), 9.0, *[8.95] * IDLE_EPOCHS]
    converged = []
    for objective in objectives:
        best.update(objective, np.zeros(1))
        converged.append(best.converged)
    assert converged == [False] * (len(objectives) - 1) + [True]


@pytest.mark.parametrize(("tol", "may_be_idle"), [(None, True), (0.1, False)])
def test_some_epochs_are_never_idle(tol, may_be_idle):
    """Without a tolerance, or before the steps are short enough, no epoch counts as idle."""
    best = BestEpoch(np.zeros(1), tol)
    for _ in range(10):
        best.update(1.0, np.zeros(1), may_be_idle=may_be_idle)
    assert not best.converged


def test_an_objective_that_is_no_number_is_idle():
    """Steps that overflow end the run, and their weights are never the best."""
    best = BestEpoch(np.zeros(1), tol=0.1)
    for _ in range(IDLE_EPOCHS):
        best.update(math.nan, np.ones(1))
    assert best.converged
    assert best.weights == 0
