"""Threads that share an epoch never wait for a part that failed or was cancelled."""

import threading

import pytest

from reference.core_calls import CALLS, fresh
from reference.core_objects import C, anchor_epoch

PATIENCE = 20.0  # seconds; the epoch takes less than a millisecond


class Parts:
    """An epoch of recoding dual descent shared by three threads, one of them without columns."""

    COLUMNS = ((0, 1), (1, C), (C, C))

    def __init__(self):
        given = {key: fresh(value) for key, value in CALLS["anchor epoch"].arguments.items()}
        for key in ("part", "column_begin", "column_end", "n_threads"):
            del given[key]
        self.epoch = anchor_epoch(n_threads=3, **given)
        self.outcomes = {}

    def run(self, part, *columns, **hooks):
        """Run one part, and note what it returned or raised."""
        try:
            self.outcomes[part] = self.epoch.run(part, *columns, **hooks)
        except Exception as error:
            self.outcomes[part] = error

    def start(self, calls):
        """Start each call of :meth:`run` in a thread of its own."""
        threads = [
            threading.Thread(target=self.run, args=arguments, kwargs=hooks, daemon=True)
            for *arguments, hooks in calls
        ]
        for thread in threads:
            thread.start()
        return threads

    def finish(self, threads):
        """Wait for the threads; the names of those that did not end."""
        for thread in threads:
            thread.join(PATIENCE)
        waiting = [thread.name for thread in threads if thread.is_alive()]
        self.epoch.cancel()  # threads that spin would slow down all other tests
        return waiting

    def outcome_of(self, hooks=None, columns=COLUMNS):
        """What each part returned or raised; ``hooks`` are those of some parts."""
        calls = [(part, *own, (hooks or {}).get(part, {})) for part, own in enumerate(columns)]
        assert self.finish(self.start(calls)) == []
        return [self.outcomes[part] for part in range(len(columns))]


def raise_at(batch):
    """A hook that raises before the given batch."""

    def before_batch(number):
        if number == batch:
            raise ZeroDivisionError(f"batch {number}")

    return {"before_batch": before_batch}


def test_parts_run_together():
    """Without a failure all parts come to their end."""
    assert Parts().outcome_of() == [True, True, True]


def test_hooks_are_called_before_each_batch():
    """The hook of a part is called once per batch, in order."""
    seen = []
    assert Parts().outcome_of({1: {"before_batch": seen.append}}) == [True, True, True]
    assert seen == [0, 1, 2]


@pytest.mark.parametrize("batch", [0, 1, 2])
@pytest.mark.parametrize("part", [0, 1, 2])
def test_a_part_that_raises_ends_the_others(part, batch):
    """The exception of one part is raised there, and all others return that they did not end."""
    outcomes = Parts().outcome_of({part: raise_at(batch)})
    assert isinstance(outcomes.pop(part), ZeroDivisionError)
    assert outcomes == [False, False]


def test_one_exception_is_enough():
    """Of several parts that raise, at least one reports its exception, and none waits."""
    outcomes = Parts().outcome_of({part: raise_at(1) for part in range(3)})
    assert any(isinstance(outcome, ZeroDivisionError) for outcome in outcomes)
    assert True not in outcomes


def test_a_part_with_wrong_columns_ends_the_others():
    """A part that is refused before it starts does not leave the others waiting."""
    first, refused, last = Parts().outcome_of(columns=((0, 1), (1, C + 1), (C, C)))
    assert isinstance(refused, ValueError)
    assert [first, last] == [False, False]


def test_a_cancelled_epoch_ends():
    """Parts that wait for one that never starts end when the epoch is cancelled."""
    parts = Parts()
    threads = parts.start([(0, 0, 1, {}), (1, 1, C, {})])
    parts.epoch.cancel()
    assert parts.finish(threads) == []
    assert parts.outcomes == {0: False, 1: False}


def test_an_epoch_that_failed_stays_failed():
    """Once a part has failed, no other part of the epoch starts."""
    parts = Parts()
    parts.outcome_of({0: raise_at(0)})
    parts.run(2, C, C)
    assert parts.outcomes[2] is False
