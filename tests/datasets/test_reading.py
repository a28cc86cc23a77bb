"""Tests of hyperlocal.datasets.reading: sizes of blocks, precision and the cache."""

import numpy as np
import pytest

from hyperlocal.datasets.reading import (
    FEWEST_ROWS,
    MOST_ROWS,
    NUMBERS_PER_BLOCK,
    BlockCache,
    Reading,
)


@pytest.mark.parametrize("width", [1, 100, 10_000, 10**8])
def test_blocks_hold_about_as_many_numbers(width):
    """Wider rows make shorter blocks, between a fewest and a most number of rows."""
    n_rows = Reading().rows(width)
    assert FEWEST_ROWS <= n_rows <= MOST_ROWS
    if FEWEST_ROWS < n_rows < MOST_ROWS:
        assert NUMBERS_PER_BLOCK - width < n_rows * width <= NUMBERS_PER_BLOCK


def test_given_number_of_rows():
    """It holds for any width; other values are refused by name."""
    assert Reading(17).rows(None) == Reading(17).rows(10**8) == 17
    with pytest.raises(ValueError, match="block_rows must be a positive integer"):
        Reading(0)


def test_precision():
    """Rows are cast if a precision is given, and not copied if they have it already."""
    X = np.eye(2)
    assert Reading().cast(X) is X
    assert Reading(dtype=np.dtype("f8")).cast(X) is X
    assert Reading(dtype=np.dtype("f4")).cast(X).dtype == np.float32
    with pytest.raises(ValueError, match="floating-point"):
        Reading(dtype=np.dtype("i4"))


def test_cache_repeats_its_blocks(tmp_path):
    """Blocks are read in order, as often as needed; the folder is removed with the cache."""
    cache = BlockCache(tmp_path)
    for number in range(3):
        cache.append({"X": np.full(2, number)})
    for _ in range(2):
        assert [int(block["X"][0]) for block in cache] == [0, 1, 2]
    assert len(list(tmp_path.iterdir())) == 1
    del cache
    assert not list(tmp_path.iterdir())


def test_no_cache():
    """``cache=False`` parses text each time."""
    assert Reading(cache=False).new_cache() is None
