"""Sizes are checked before the core multiplies or narrows them."""

import pytest

from hyperlocal import _core
from reference.core_calls import CALLS
from reference.core_objects import C, D, K, N, flags, ints, zeros

HUGE = 2**40  # more than an index of 32 bits holds


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("dense", {"dense": zeros(0, HUGE)}),
        ("dense", {"dense": zeros(0, 2**17), "quadratic": True}),
        ("csr", {"n_features": HUGE, "quadratic": False}),
        ("csr", {"n_features": 2**17}),
        ("csr", {"n_features": 2**62}),
        ("lifted", {"n_anchors": HUGE}),
        ("lifted", {"rows": lambda: _core.rows(zeros(0, D)), "anchors": ints(0, K),
                    "weights": zeros(0, K), "n_anchors": 0, "offset": 1.0}),
        ("dual", {"n_columns": HUGE}),
        ("gate", {"beta": 1.0, "anchors": zeros(0, D), "neighbors": ints(N, 0),
                  "codes": zeros(N, 0)}),
        ("anchor epoch", {"batch_size": 2**62}),
        ("anchor epoch", {"n_threads": 2**62}),
        ("nearest", {"k": 2**62}),
        ("neighborhood", {"n_classes": HUGE}),
        ("neighborhood scores", {"end": 1, "neighbors": ints(0, HUGE),
                                 "distances": zeros(0, HUGE), "in_question": flags(0, C),
                                 "out": zeros(0, C)}),
        ("gram scores", {"neighbors": ints(0, HUGE), "grams": zeros(0, HUGE + 1, 0),
                         "out": zeros(0, C)}),
        ("cells", {"points": zeros(0, HUGE), "cells": ints(0), "centers": zeros(0, HUGE)}),
        ("tree epoch", {"first_column": 2**63 - 1}),
        ("tree epoch", {"first_column": -1}),
        ("tree gradient", {"first_column": 2**63 - 1}),
        ("tree scores", {"nodes": zeros(0, 7, HUGE, 8), "out": zeros(N, 0)}),
        ("tree scores", {"nodes": zeros(0, 7, 3, HUGE), "out": zeros(N, 0)}),
    ],
)  # fmt: skip
def test_sizes_are_checked_before_they_are_multiplied(name, changed):
    """Sizes that no 32-bit index reaches, and none at all, are errors that name an argument."""
    changed = {key: value() if callable(value) else value for key, value in changed.items()}
    with pytest.raises(ValueError, match="|".join(CALLS[name].arguments)):
        CALLS[name](**changed)
