"""Choosing what was left to "auto" on a held-out part of the training rows."""

from __future__ import annotations

import numpy as np

from .labelled import LabelledRows, part_of

# A part of the training rows that stands for all of them, so that a choice takes seconds.
MOST_ROWS = 20_000
HELD_OUT_SHARE = 0.25
# With fewer rows the choice would be a matter of luck.
FEWEST_ROWS = 40


def split_held_out(
    data: LabelledRows, rng: np.random.Generator
) -> tuple[LabelledRows, LabelledRows] | None:
    """Rows to train on and rows to judge by, at random within each class.

    None where there are too few rows. A class keeps at least one row to train on.
    """
    n_rows = data.X.shape[0]
    if n_rows < FEWEST_ROWS:
        return None
    share = min(1.0, MOST_ROWS / n_rows)
    train, judge = [], []
    for code in range(len(data.classes)):
        rows = rng.permutation(np.flatnonzero(data.target == code))
        rows = rows[: max(1, round(share * len(rows)))]
        cut = int(HELD_OUT_SHARE * len(rows))
        judge.append(rows[:cut])
        train.append(rows[cut:])
    if not sum(map(len, judge)):
        return None
    return part_of(data, np.concatenate(train)), part_of(data, np.concatenate(judge))
