"""Runs of recoding dual descent, hyperlocal.solvers.anchor_descent, and its defaults."""

from dataclasses import replace

import numpy as np
import pytest

from hyperlocal.gates.codes import Codes
from hyperlocal.gates.gate import Gate
from hyperlocal.runtime.threads import Workers
from hyperlocal.solvers import anchor_descent, dual
from reference.problems import DTYPES, STORAGES, every_loss, every_problem
from solvers.moving_anchors import Compiled, Setting, every_scale, solved

# Runs of recoding dual descent --------------------------------------------------------------------


@every_loss
@every_scale
def test_anchors_that_learn_serve_better(loss, crammer_singer, normalize):
    """The best objective for the learned anchors is below that for the first ones."""
    setting = Setting(loss=loss, crammer_singer=crammer_singer, normalize=normalize, n_rows=150,
                      noise=0.1)  # fmt: skip
    # The labels follow a model on the anchors there were; learning starts from others.
    elsewhere = np.random.default_rng(5).standard_normal(setting.gate.anchors.shape)
    setting.gate = replace(setting.gate, anchors=elsewhere)
    learned = setting.learn(n_epochs=20, step=0.1)
    before = solved(setting.problem(setting.gate), 1e-4).objective
    after = solved(setting.problem(learned.gate), 1e-4).objective
    assert after < 0.99 * before


@every_loss
def test_frozen_anchors_are_left_alone(loss, crammer_singer):
    """With steps of zero anchors stay to the bit, and what runs is a dual descent."""
    setting = Setting(loss=loss, crammer_singer=crammer_singer, n_rows=60)
    learned = setting.learn(n_epochs=30, step=0.0)
    np.testing.assert_array_equal(learned.gate.anchors, setting.gate.anchors)
    objectives, gaps = (np.array([record[i] for record in learned.history]) for i in (1, 2))
    best = solved(setting.problem(setting.gate), 1e-6).objective
    assert objectives[-1] < objectives[0]
    assert gaps[-1] < 0.2 * gaps[0]
    passes = slice(None, None, anchor_descent.EPOCHS_BETWEEN_PASSES)  # between them are estimates
    assert (np.diff((objectives - gaps)[passes]) >= -1e-6 * best).all()
    assert objectives[passes].min() >= best * (1 - 1e-6)
    assert objectives[-1] == pytest.approx(best, rel=0.02)


@every_loss
def test_frozen_anchors_end_at_the_fixed_gates_solution(loss, crammer_singer):
    """From the variables of a frozen run, the fixed-gate solver ends where it always does."""
    setting = Setting(loss=loss, crammer_singer=crammer_singer)
    learned = setting.learn(n_epochs=5, step=0.0)
    problem = setting.problem(learned.gate)
    rng = np.random.default_rng(1)
    found = dual.solve(problem, tol=1e-13, max_iter=50_000, rng=rng, alpha=learned.alpha)
    expected = solved(setting.problem(setting.gate))
    assert found.objective == pytest.approx(expected.objective, rel=1e-9)
    np.testing.assert_allclose(found.weights, expected.weights, atol=1e-5)


@every_loss
@pytest.mark.parametrize("dtype", DTYPES)
def test_history_tells_what_is_true(dtype, loss, crammer_singer):
    """Before each epoch: its number, the objective, the gap and the accuracy, all finite."""
    setting = Setting(dtype=dtype, loss=loss, crammer_singer=crammer_singer, weighted=True)
    learned = setting.learn(n_epochs=5)
    assert [record.epoch for record in learned.history] == list(range(5))
    assert np.isfinite(learned.history).all()
    assert all(record.objective >= record.duality_gap >= -1e-6 for record in learned.history)
    assert all(0 <= record.accuracy <= 1 for record in learned.history)
    assert np.isfinite(learned.gate.anchors).all()
    assert learned.gate.anchors.dtype == dtype
    # The first record is of weights of zero: every row's loss is ℓ(0).
    zero = setting.first.lifted.zero_weights(setting.first.n_columns)
    assert learned.history[0].objective == pytest.approx(setting.first.objective(zero), rel=1e-5)


def test_the_gates_given_are_not_changed():
    """Runs move a copy of the anchors, and start from a copy of the variables."""
    setting = Setting()
    alpha = solved(setting.problem(setting.gate), 1e-2).alpha
    kept = setting.gate.anchors.copy(), alpha.copy()
    learned = setting.learn(alpha=alpha)
    np.testing.assert_array_equal(setting.gate.anchors, kept[0])
    np.testing.assert_array_equal(alpha, kept[1])
    assert learned.gate.beta == setting.gate.beta
    assert not np.array_equal(learned.gate.anchors, kept[0])


def test_no_epochs_change_nothing():
    """A run of no epochs gives back what it was given."""
    setting = Setting()
    alpha = solved(setting.problem(setting.gate), 1e-2).alpha
    learned = setting.learn(n_epochs=0, alpha=alpha)
    np.testing.assert_array_equal(learned.gate.anchors, setting.gate.anchors)
    np.testing.assert_array_equal(learned.alpha, alpha)
    assert learned.history == []
    assert not learned.stopped


def test_the_first_anchor_steps_have_the_length_asked_for():
    """One batch moves each anchor by ``step``: gradients are scaled to length one."""
    setting = Setting(n_rows=8, n_neighbors=6)
    learned = setting.learn(n_epochs=1, step=0.01)
    moved = np.linalg.norm(learned.gate.anchors - setting.gate.anchors, axis=1)
    np.testing.assert_allclose(moved, 0.01, rtol=1e-6)


def test_a_monitor_hears_of_every_epoch_and_can_stop():
    """The monitor gets number, objective and accuracy, and ends the run by returning True."""
    seen = []

    def monitor(number, objective, accuracy):
        seen.append((number - 1, objective, accuracy))
        return number == 3

    learned = Setting().learn(n_epochs=9, monitor=monitor)
    assert learned.stopped
    assert seen == [(r.epoch, r.objective, r.accuracy) for r in learned.history]
    assert len(seen) == 3
    assert not Setting().learn(n_epochs=2, monitor=lambda number, **facts: False).stopped


# Threads ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("coded", STORAGES)
@every_problem
def test_threads_do_not_change_a_bit(dtype, coded, loss, crammer_singer, n_columns):
    """One thread, two and three (more than there are columns) learn the same."""
    runs = []
    for n_jobs in (1, 2, 3):
        with Workers(n_jobs) as workers:
            setting = Setting(dtype=dtype, coded=coded, workers=workers, loss=loss, n_rows=200,
                              crammer_singer=crammer_singer, n_columns=n_columns)  # fmt: skip
            runs.append(setting.learn(n_epochs=2, fewest_numbers_to_share=0))
    for other in runs[1:]:
        np.testing.assert_array_equal(other.gate.anchors, runs[0].gate.anchors)
        np.testing.assert_array_equal(other.alpha, runs[0].alpha)
        assert other.history == runs[0].history


def test_more_threads_than_anchors_and_rows():
    """Threads without an anchor, a row or a column wait with the others."""
    with Workers(4) as workers:
        setting = Setting(workers=workers, n_anchors=2, n_neighbors=2, n_rows=3, n_columns=2)
        many = setting.learn(n_epochs=2, fewest_numbers_to_share=0)
    setting = Setting(n_anchors=2, n_neighbors=2, n_rows=3, n_columns=2)
    np.testing.assert_array_equal(many.gate.anchors, setting.learn(n_epochs=2).gate.anchors)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_anchors_without_rows_come_to_rest(dtype):
    """Average gradients fade away for as long as it takes, and never push a forgotten anchor."""
    setting = Setting(dtype=dtype, n_rows=40, n_anchors=6, n_neighbors=2)
    compiled = Compiled(setting)
    lonely = int(np.argmin(np.bincount(compiled.lifted.anchors.ravel(), minlength=6)))
    order = np.flatnonzero((compiled.lifted.anchors != lonely).all(axis=1))
    compiled.momentum[lonely], compiled.spread[lonely] = 1e-12, 1e-20
    start = compiled.gate.anchors[lonely].copy()
    for _ in range(-(-10_000 // len(order))):
        compiled.run(order, np.full(len(order), 1e-3), 1, 0.5)
    assert np.abs(compiled.gate.anchors[lonely] - start).max() < 0.1


def test_rows_at_rest_are_left_out_until_the_next_look():
    """All rows are visited every few epochs; between passes fewer and fewer are."""
    setting = Setting(n_rows=300, n_anchors=8, seed=1)
    easy = (setting.X[:, 0] > 0).astype(np.int32)
    setting.first = replace(setting.first, target=easy, costs=np.full(300, 10.0))
    passes, visited = [], []

    def pass_over(gate):
        passes.append(gate.anchors.copy())
        return setting.full_pass(gate)

    learner = setting.learner(pass_over, n_epochs=7, step=0.1, epochs_between_passes=3)
    for number in range(7):
        learner.prepare(number)
        learner.run_epoch(number)
        visited.append(set(learner.descent.visited))
    assert len(passes) == 3
    np.testing.assert_array_equal(passes[0], setting.gate.anchors)
    for first in (0, 3):
        assert visited[first + 2] <= visited[first + 1] <= visited[first]
        assert len(visited[first]) < 300
    assert learner.alpha.any()
    assert len(learner.history) == 7
    assert all(0.5 < record.accuracy <= 1 for record in learner.history)


def test_weights_belong_to_codes_by_the_present_anchors():
    """Before each epoch weights are sums over rows as the anchors code them then."""
    setting = Setting(n_rows=80, n_anchors=5, n_neighbors=5)
    learner = setting.learner(setting.full_pass, n_epochs=8, step=0.2)
    for number in range(8):
        learner.prepare(number)
        descent = learner.descent
        gate = setting.twin(learner.gate, descent.problem.lifted.anchors)
        shares = descent.problem.signed(descent.alpha)
        expected = np.einsum("ic,ijv->jcv", shares, gate.lifted())
        np.testing.assert_allclose(descent.weights, expected, atol=1e-9 * np.abs(expected).max())
        learner.run_epoch(number)


def test_visits_tell_nearly_what_a_look_would():
    """Near the optimum, with anchors that do not move, estimates and exact figures are the same."""
    setting = Setting(n_rows=200, loss="squared_hinge")
    alpha = solved(setting.problem(setting.gate), 1e-6).alpha
    learned = setting.learn(n_epochs=7, step=0.0, alpha=alpha)
    exact, seen = learned.history[0], learned.history[1:6]
    assert all(record.objective == pytest.approx(exact.objective, rel=1e-3) for record in seen)
    assert all(record.duality_gap < 1e-3 * exact.objective for record in seen)
    assert all(record.accuracy == pytest.approx(exact.accuracy, abs=0.02) for record in seen)


# Defaults -----------------------------------------------------------------------------------------


def test_default_epochs_fall_with_the_rows():
    """Few rows need many epochs, as do many anchors, and there is a least and a most."""
    sizes = (0, 1, 100, 10_000, 20_000, 10**5, 10**9)
    few, many = (
        [anchor_descent.default_epochs(n, Gate(np.zeros((m, 2)), 4, "soft", 1.0)) for n in sizes]
        for m in (20, 100)
    )
    assert few == sorted(few, reverse=True)
    assert few[0] == few[2] > few[-2] == few[-1] > 0
    assert few[3] < many[3]
    assert all(isinstance(n, int) for n in few)


def test_the_best_epoch_is_returned():
    """Anchors are evaluated after every third epoch and the last; the later of equal ones wins."""
    setting, seen = Setting(n_rows=200, loss="squared_hinge"), []
    values = [(0.1,), (0.5,), (0.5,), (0.2,)]

    def evaluate(gate, weights):
        seen.append(gate.anchors.copy())
        return values[len(seen) - 1]

    learned = setting.learn(n_epochs=10, step=0.05, evaluate=evaluate)
    assert len(seen) == 4
    assert learned.epoch == 9
    np.testing.assert_array_equal(learned.gate.anchors, seen[2])
    assert len(learned.history) == 10


def codes_at(distances):
    distances = np.asarray(distances, float)[:, None]
    return Codes(np.zeros(distances.shape, np.int32), np.ones(distances.shape), distances)


def test_default_step_is_a_part_of_the_typical_distance():
    """Blunt gates: a fixed part of the median distance to the nearest anchor."""
    near = anchor_descent.default_step(codes_at([1, 4, 100]), np.ones(3), beta=1e-9)
    far = anchor_descent.default_step(codes_at([4, 16, 400]), np.ones(3), beta=1e-9)
    assert 0 < near < 2
    assert far == pytest.approx(2 * near)
    heavy = anchor_descent.default_step(codes_at([1, 4, 16]), np.array([1, 1, 5.0]), beta=1e-9)
    assert heavy == pytest.approx(far)


def test_default_step_is_shorter_for_sharp_gates():
    """Sharp gates: twice as sharp, half the step."""
    one, two = (
        anchor_descent.default_step(codes_at([1, 4, 9]), np.ones(3), beta) for beta in (1e3, 2e3)
    )
    assert one == pytest.approx(2 * two)


def test_default_step_of_rows_on_anchors_is_zero():
    """Where most rows lie on an anchor, anchors stay."""
    assert anchor_descent.default_step(codes_at([0, 0, 9]), np.ones(3), beta=1.0) == 0
