"""Tests of hyperlocal.runtime.threads: pools, BLAS limits, and how work is cut."""

import threading
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

from hyperlocal import LocallyLinearSVC
from hyperlocal.runtime.threads import Workers, read_ahead, row_blocks, split_evenly


def blas_threads():
    return {
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    }


@pytest.fixture
def two_blas_threads():
    """BLAS as a process with two cores finds it, with no thread in control of the limit."""

    def limit(n_threads):
        threadpool_limits(n_threads, user_api="blas")

    before = max(blas_threads())
    run_in_thread(limit, 2)  # control ends with the thread
    yield
    run_in_thread(limit, before)


def run_in_thread(function, *arguments):
    thread = threading.Thread(target=function, args=arguments)
    thread.start()
    thread.join()


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 5])
def test_results_come_in_order(n_jobs):
    """Results have the order of the items, however many threads there are."""
    with Workers(n_jobs) as workers:
        assert workers.map(lambda i: i * i, range(50)) == [i * i for i in range(50)]


def test_two_threads_run_at_once():
    """With two threads two items are worked on at the same time."""
    both = threading.Barrier(2, timeout=10)
    with Workers(2) as workers:
        assert workers.map(lambda _: both.wait() in (0, 1), range(2)) == [True, True]


def test_one_thread_stays_in_the_caller():
    """Without a pool the work is done by the calling thread, also outside of the context."""
    here = threading.get_ident()
    assert Workers(1).map(lambda _: threading.get_ident(), range(2)) == [here, here]


def test_one_row_is_predicted_without_threads(monkeypatch):
    """With all cores allowed, the prediction of one row starts no thread."""
    X = np.random.default_rng(0).standard_normal((60, 3))
    model = LocallyLinearSVC(10, C=1.0, random_state=0).fit(X, X[:, 0] > 0)
    model.set_params(n_jobs=-1)
    monkeypatch.setattr(threading.Thread, "start", lambda thread: pytest.fail("a thread"))
    assert model.predict(X[:1]).shape == (1,)


def test_number_of_threads():
    """n_jobs is read as scikit-learn reads it."""
    assert Workers(None).n_threads == 1
    assert Workers(3).n_threads == 3
    assert Workers(-1).n_threads == joblib.cpu_count()
    with joblib.parallel_config(n_jobs=2, backend="threading"):
        assert Workers(None).n_threads == 2


def test_blas_is_limited_and_given_back():
    """Inside, BLAS has one thread; afterwards as many as before."""
    with threadpool_limits(2):
        before = blas_threads()
        with Workers(2):
            assert blas_threads() == {1}
        assert blas_threads() == before


def test_blas_is_given_back_after_an_error():
    """An error ends the pool and lifts the limit."""

    def fail(item):
        raise RuntimeError(f"item {item}")

    with threadpool_limits(2):
        before = blas_threads()
        with pytest.raises(RuntimeError, match="item 0"), Workers(2) as workers:
            workers.map(fail, range(3))
        assert blas_threads() == before


@pytest.mark.usefixtures("two_blas_threads")
def test_blas_limits_nest_across_threads():
    """However the contexts of several threads overlap, BLAS has one thread until the last is left,
    and then as many as before the first was entered."""
    inside, first_left, seen = threading.Barrier(2, timeout=10), threading.Event(), []

    def leave_first():
        with Workers(1):
            inside.wait()
        seen.append(blas_threads())
        first_left.set()

    def leave_last():
        with Workers(1):
            inside.wait()
            assert first_left.wait(10)
            seen.append(blas_threads())
        seen.append(blas_threads())

    other = threading.Thread(target=leave_first)
    other.start()
    leave_last()
    other.join()
    assert seen == [{1}, {1}, {2}]


@pytest.mark.usefixtures("two_blas_threads")
def test_fits_in_several_threads_leave_blas_as_it_was():
    """Many contexts that come and go at once, in threads that live on, leave no limit behind."""

    def fit(_):
        with Workers(2) as workers:
            return workers.map(abs, range(-20, 0))

    with ThreadPoolExecutor(8) as pool:
        assert all(len(found) == 20 for found in pool.map(fit, range(200)))
        assert blas_threads() == {2}
    assert blas_threads() == {2}


def test_a_pool_can_be_used_again():
    """A left context may be entered anew."""
    workers = Workers(2)
    for _ in range(2):
        with workers:
            assert workers.map(abs, [-1]) == [1]


@given(n_rows=st.integers(0, 1000), size=st.integers(1, 300))
def test_row_blocks(n_rows, size):
    """Blocks cover all rows in order, without overlap, none empty or too large."""
    blocks = list(row_blocks(n_rows, size))
    assert [row for begin, end in blocks for row in range(begin, end)] == list(range(n_rows))
    assert all(0 < end - begin <= size for begin, end in blocks)


@given(loads=st.lists(st.integers(0, 50), max_size=30), n_parts=st.integers(1, 8))
def test_split_evenly(loads, n_parts):
    """Parts cover all items in order, are at most n, and none exceeds its share by two loads."""
    parts = split_evenly(loads, n_parts)
    assert [item for begin, end in parts for item in range(begin, end)] == list(range(len(loads)))
    assert len(parts) <= n_parts
    assert all(begin < end for begin, end in parts)
    share = sum(loads) / n_parts + 2 * max(loads, default=0)
    assert all(sum(loads[begin:end]) <= share for begin, end in parts)


def test_reading_ahead_stays_one_item_ahead():
    """Results come in order; no more than one item is loaded before it is asked for."""
    loaded = []

    def load(item):
        loaded.append(item)
        return 2 * item

    results = read_ahead(load, range(5))
    assert next(results) == 0
    assert len(loaded) <= 2
    assert list(results) == [2, 4, 6, 8]
    assert list(read_ahead(load, [])) == []


def test_reading_ahead_raises_errors():
    """What goes wrong while reading ahead is raised where the result would be."""
    results = read_ahead(lambda item: 1 / item, [1, 0])
    assert next(results) == 1
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_a_map_within_a_map_ends():
    """Threads that share work do not wait for each other when that work is to be shared again."""
    with Workers(2) as workers:
        found = workers.map(lambda i: sum(workers.map(lambda j: i * j, range(3))), range(4))
    assert found == [0, 3, 6, 9]
