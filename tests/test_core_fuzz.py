"""Any arguments to the compiled core work or raise an error."""

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.core_calls import CALLS, MADE
from reference.core_objects import N

sizes = st.integers(0, 5)
odd_numbers = st.sampled_from([0.0, 1.0, -1.0, 1e-300, 1e300, np.inf, -np.inf, np.nan])
N_CALLS = int(os.environ.get("HYPERLOCAL_FUZZ_CALLS", "2880"))  # of all functions together
UNWRITTEN = -7.25  # a number that none of these give


@st.composite
def odd_arrays(draw, dtype, ndim):
    shape = tuple(draw(sizes) for _ in range(ndim))
    size = int(np.prod(shape))
    if np.dtype(dtype).kind == "f":
        values = draw(st.lists(odd_numbers, min_size=size, max_size=size))
    else:
        low = 0 if np.dtype(dtype).kind == "u" else -2
        values = draw(st.lists(st.integers(low, 5), min_size=size, max_size=size))
    return np.array(values, dtype).reshape(shape)


def spoil(data, value):
    """Another value of the same kind, most likely a wrong one."""
    if isinstance(value, np.ndarray):
        return data.draw(odd_arrays(value.dtype, value.ndim))
    if isinstance(value, bool):
        return data.draw(st.booleans())
    if isinstance(value, int):
        return data.draw(st.integers(-3, 7))
    if isinstance(value, float):
        return data.draw(odd_numbers)
    return value


# An empty first CSR row has a test of its own, in a process of its own; and one part of an epoch of
# several threads waits for the others, as test_core_barrier.py shows.
NOT_SPOILED = {
    ("csr", "starts"), ("anchor epoch", "n_threads"), ("joint anchor epoch", "n_threads"),
    ("parts epoch", "n_threads"),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
@settings(max_examples=N_CALLS // len(CALLS) + 1)
@given(data=st.data())
def test_fuzzed_arguments_work_or_raise(name, data):
    """Any arguments of the right types either work or raise an error."""
    arguments = CALLS[name].arguments
    keys = [key for key in arguments if (name, key) not in NOT_SPOILED]
    spoiled = data.draw(st.sets(st.sampled_from(keys), max_size=4))
    try:
        made = CALLS[name](**{key: spoil(data, arguments[key]) for key in sorted(spoiled)})
    except (ValueError, TypeError) as error:
        assert str(error)  # noqa: PT017
        return
    assert isinstance(made, MADE.get(name, type(None)))
    if name in ("dense", "csr"):
        out = np.full((made.n_rows, made.width), UNWRITTEN)
        made.gather(np.arange(made.n_rows), out)
        assert (out != UNWRITTEN).all()
    if name == "lifted":
        norms = np.full(N, UNWRITTEN)
        made.squared_norms(0, N, norms)
        assert (norms != UNWRITTEN).all()
