"""Tests of hyperlocal.export.c_source: constants and statements in C."""

import numpy as np
import pytest

from hyperlocal.export.c_source import Buffer, Source, number, quantize


def test_equal_constants_are_stored_once():
    """An array that two steps need is written once, and counted once."""
    source = Source("float32")
    assert source.floats([1, 2]) == source.table(np.array([[1.0, 2.0]])).split(",")[0][11:]
    assert source.n_bytes == 8
    assert len(source.constants) == 1


def test_bytes_of_a_table():
    """A table of int8 takes a byte per number, and four for the scale of each row."""
    rows = np.random.default_rng(0).normal(size=(3, 10))
    sizes = {}
    for dtype in ("float32", "int8"):
        source = Source(dtype)
        source.table(rows)
        sizes[dtype] = source.n_bytes
    assert sizes == {"float32": 120, "int8": 30 + 12}


def test_rounding_to_int8():
    """Numbers differ by at most half a step, and rows of zeros stay zeros."""
    rows = np.vstack([np.random.default_rng(0).normal(size=(5, 40)), np.zeros(40)])
    values, scales = quantize(rows)
    assert np.abs(values * scales[:, None] - rows).max() <= scales.max() / 2 + 1e-12
    assert not values[-1].any()


@pytest.mark.parametrize("value", [0.1, -3, 1e-30, 3.4e38, 1 / 3, 0])
def test_numbers_are_read_back(value):
    """The text of a number is a C constant that is the same float."""
    text = number(value)
    assert text.endswith("f")
    assert "." in text or "e" in text
    assert np.float32(text[:-1]) == np.float32(value)


def test_steps_that_are_held_fixed():
    """Their output is computed, but has no weights."""
    source = Source("float32")
    x = Buffer("x0", 2)
    fixed = source.held_fixed(lambda: source.nonlinear("gaussian", x, 3))
    source.linear("local", fixed, 1)
    assert len(source.scores) == 4
    assert len(source.pulls) == len(source.weighted) == 1
    assert not source.without_weights
