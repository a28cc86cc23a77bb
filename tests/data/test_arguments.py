"""Tests of hyperlocal.data.arguments: errors name the argument and what it may be."""

import numpy as np
import pytest

from hyperlocal import NeighborhoodSVC
from hyperlocal.data.arguments import check_choice, check_number, make_generator


@pytest.mark.parametrize("seed", [0, 2**32 - 1, np.int64(7), None, np.random.RandomState(0)])
def test_seeds(seed):
    """All that scikit-learn takes as random_state makes a generator."""
    assert isinstance(make_generator(seed), np.random.Generator)


@pytest.mark.parametrize("seed", [-1, 2**32, 10**40, "0", 1.5, np.random.default_rng(0)], ids=str)
def test_bad_seeds_are_named(seed):
    """The error names random_state and what it may be, also at fit."""
    with pytest.raises(
        ValueError, match=r"random_state must be None, an integer from 0 to 2\*\*32"
    ):
        make_generator(seed)
    with pytest.raises(ValueError, match="random_state must be None"):
        NeighborhoodSVC(random_state=seed).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize(
    "value",
    [0, -3, float("nan"), float("inf"), -float("inf"), 10**400],
    ids=lambda v: f"{str(v)[:8]}",
)
def test_numbers_out_of_range_are_named(value):
    """Numbers below the bound, and those that no float can be, are refused by name."""
    with pytest.raises(ValueError, match="C must be a number greater than 0"):
        check_number("C", value)


@pytest.mark.parametrize("value", [1, 1.5, np.float32(2), np.int8(3), 1e100])
def test_numbers_in_range(value):
    """Numbers of Python and of numpy are taken."""
    check_number("C", value)


def test_integers_beyond_64_bits():
    """The compiled core could not take them, nor numpy's functions."""
    with pytest.raises(ValueError, match="max_iter must be an integer"):
        check_number("max_iter", 2**70, integer=True)
    with pytest.raises(ValueError, match=r"penalty must be .* Write larger numbers as float"):
        check_number("penalty", 2**70)


@pytest.mark.parametrize("value", [1e101, 1e308, 1e-101, 5e-324])
def test_numbers_whose_products_overflow(value):
    """Sizes that no parameter has are refused, before they become NaN."""
    with pytest.raises(ValueError, match=r"C must be between 1e-100 and 1e\+100 in size"):
        check_number("C", value)


@pytest.mark.parametrize(
    ("value", "options", "error", "message"),
    [
        (0, {}, ValueError, "C must be a number greater than 0, not 0"),
        (-1.0, {"inclusive": True}, ValueError, "C must be a number at least 0"),
        (np.nan, {}, ValueError, "C must be a number"),
        (np.inf, {}, ValueError, "C must be a number"),
        ("1", {}, TypeError, "C must be a number"),
        (True, {}, TypeError, "C must be a number"),
        (None, {}, TypeError, "C must be a number"),
        (1.0, {"integer": True}, TypeError, "C must be an integer"),
        (1, {"integer": True, "above": 2}, ValueError, "C must be an integer greater than 2"),
    ],
)
def test_what_is_no_such_number_is_named(value, options, error, message):
    """A wrong type is a TypeError, a value out of range a ValueError; both name the argument."""
    with pytest.raises(error, match=message):
        check_number("C", value, **options)


def test_choices():
    """A choice is one of the names given; anything else is refused by name."""
    check_choice("loss", "hinge", ("hinge", None))
    check_choice("loss", None, ("hinge", None))
    for value in ("hinges", None, 3, ["hinge"], np.array(["hinge"])):
        with pytest.raises(ValueError, match="loss must be one of"):
            check_choice("loss", value, ("hinge",))


def test_generators():
    """Equal seeds give equal generators; a RandomState moves on."""
    first, second = (make_generator(7).random(3) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    state = np.random.RandomState(7)
    assert make_generator(state).random() != make_generator(state).random()
