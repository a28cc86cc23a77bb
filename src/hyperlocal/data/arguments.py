"""Checks of arguments: each error names the argument and what it may be."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

# Products of two numbers of this size, and of their inverses, are finite and not zero.
LARGEST_NUMBER = 1e100
LARGEST_INTEGER = 2**62


def check_choice(name: str, value: Any, choices: Iterable[Any]) -> None:
    """Raise a ValueError that names the argument unless ``value`` is one of ``choices``."""
    choices = list(choices)
    if not (isinstance(value, str) or value is None) or value not in choices:
        raise ValueError(f"{name} must be one of {choices}, not {value!r}.")


def check_number(
    name: str, value: Any, *, integer: bool = False, above: float = 0, inclusive: bool = False
) -> None:
    """Raise unless ``value`` is a finite number (or integer) above a bound."""
    kind = Integral if integer else Real
    word = "an integer" if integer else "a number"
    bound = f"{'at least' if inclusive else 'greater than'} {above:g}"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, kind):
        raise TypeError(f"{name} must be {word} {bound}, not {value!r}.")
    try:
        number = float(value)
    except OverflowError:  # an integer beyond all floats
        number = np.inf
    if not ((number >= above if inclusive else number > above) and np.isfinite(number)):
        raise ValueError(f"{name} must be {word} {bound}, not {value!r}.")
    if isinstance(value, Integral) and number > LARGEST_INTEGER:
        remedy = "" if integer else " Write larger numbers as float."
        raise ValueError(f"{name} must be an integer of at most 2**62, not {value!r}.{remedy}")
    if number and not 1 / LARGEST_NUMBER <= abs(number) <= LARGEST_NUMBER:
        raise ValueError(
            f"{name} must be between {1 / LARGEST_NUMBER:g} and {LARGEST_NUMBER:g} in size, not "
            f"{value!r}: its products would overflow, or vanish."
        )


def check_auto(name: str, value: Any, **bounds: Any) -> None:
    """Raise unless ``value`` is "auto" or a number within bounds, as in :func:`check_number`."""
    if isinstance(value, str):
        check_choice(name, value, ["auto"])
    else:
        check_number(name, value, **bounds)


def check_flag(name: str, value: Any) -> None:
    """Raise a TypeError that names the argument unless ``value`` is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, not {value!r}.")


def check_n_jobs(n_jobs: Any) -> None:
    """Raise unless ``n_jobs`` is None or an integer other than zero."""
    if n_jobs is None:
        return
    if isinstance(n_jobs, (bool, np.bool_)) or not isinstance(n_jobs, Integral):
        raise TypeError(f"n_jobs must be None or an integer, not {n_jobs!r}.")
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0; give a number of threads, or -1 for all cores.")


def make_generator(random_state: Any) -> np.random.Generator:
    """A numpy Generator seeded by what scikit-learn takes as ``random_state``."""
    try:
        state = check_random_state(random_state)
    except ValueError as error:
        raise ValueError(
            "random_state must be None, an integer from 0 to 2**32 - 1 or a "
            f"numpy.random.RandomState, not {random_state!r}."
        ) from error
    return np.random.default_rng(state.randint(np.iinfo(np.int32).max))
